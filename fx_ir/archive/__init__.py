"""Programs in files: ``.dlp``, a versioned zip without pickle. ``docs/format.md`` describes it."""

from fx_ir.archive.files import load, save

__all__ = ["load", "save"]
