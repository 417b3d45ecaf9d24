"""Differential fuzzing of the interpreter: a grammar of Python programs, what is compared, and the runs by hand."""
