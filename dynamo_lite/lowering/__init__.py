"""The one path from a Python-level tensor call to an ATen overload."""
