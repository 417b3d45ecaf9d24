"""The errors of reading files."""

from __future__ import annotations

from solver.errors import InputError, declare

UNREADABLE_FILE = declare(
    "unreadable-file",
    InputError,
    "{file} cannot be read: {what}",
    hint="give a shapeproof/1 file (JSON), a .dlp or a .pt2 archive of PyTorch 2.13",
    about="A file given to the verifier does not exist, is no file, or is neither JSON nor a zip archive.",
)
UNWRITABLE_FILE = declare(
    "unwritable-file",
    InputError,
    "{file} cannot be written: {what}",
    hint="name a file or directory that can be made there",
    about="What the verifier was asked to write beside its report has no place that can be written to.",
)
BAD_ARCHIVE = declare(
    "bad-archive",
    InputError,
    "{file} is no usable archive: {path}: {what}",
    hint="save the program again with torch.export.save of PyTorch 2.13, or with dynamo_lite.save",
    about="An archive is truncated, holds unsafe or missing entries, or an entry does not have the form that its format requires.",
)
ARCHIVE_VERSION = declare(
    "unknown-archive-schema",
    InputError,
    "{file} was written in {version}, which cannot be read; {known} can",
    hint="export and save the program again with PyTorch 2.13",
    about="The archive's schema version is older or newer than the versions that the reader knows.",
)
NO_CHECKER = declare(
    "no-cross-check",
    InputError,
    "cross-checking with {name} is not possible: {what}",
    hint="install the extra: pip install 'dynamo-lite[crosscheck]'",
    about="The solver asked for a second opinion is not known or not installed.",
)
