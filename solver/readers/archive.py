"""Opening zip archives that nobody has checked: limits first, nothing is extracted, nothing is run."""

from __future__ import annotations

import json
import zipfile
import zlib
from pathlib import Path
from typing import IO, Final

from solver.readers.errors import BAD_ARCHIVE, UNREADABLE_FILE

MAX_ENTRIES: Final = 200_000
MAX_JSON_BYTES: Final = 512 * 1024 * 1024
MAX_RATIO: Final = 200
MAX_NAME: Final = 4096


class Archive:
    """A zip file, or a file object that holds one, its entries by name."""

    def __init__(self, path: Path, stream: IO[bytes] | None = None) -> None:
        self.path = path
        try:
            self._zip = zipfile.ZipFile(path if stream is None else stream)
        except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError) as error:
            raise BAD_ARCHIVE(file=path.name, path="zip directory", what=_sentence(error)) from None
        except OSError as error:
            raise UNREADABLE_FILE(file=path.name, what=error.strerror or str(error)) from None
        try:
            self.entries = self._checked(self._zip.infolist())
        except BaseException:
            self._zip.close()
            raise

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def _checked(self, infos: list[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
        if len(infos) > MAX_ENTRIES:
            raise BAD_ARCHIVE(
                file=self.path.name, path="zip directory", what=f"more than {MAX_ENTRIES} entries"
            )
        entries: dict[str, zipfile.ZipInfo] = {}
        for info in infos:
            name = info.filename
            if (
                len(name) > MAX_NAME
                or name.startswith(("/", "\\"))
                or ".." in name.replace("\\", "/").split("/")
            ):
                raise BAD_ARCHIVE(
                    file=self.path.name, path=name[:80], what="an entry's name leads out of the archive"
                )
            if name in entries:
                raise BAD_ARCHIVE(file=self.path.name, path=name[:80], what="the entry occurs twice")
            entries[name] = info
        return entries

    def read(self, name: str, limit: int = MAX_JSON_BYTES) -> bytes:
        """An entry's bytes. Raises BAD_ARCHIVE for one that is too large, packed beyond reason, encrypted or damaged."""
        info = self.entries.get(name)
        if info is None:
            raise BAD_ARCHIVE(file=self.path.name, path=name, what="the entry is missing")
        if info.file_size > limit:
            raise BAD_ARCHIVE(
                file=self.path.name, path=name, what=f"{info.file_size} bytes, more than {limit}"
            )
        if info.file_size > 1 << 20 and info.file_size > MAX_RATIO * max(info.compress_size, 1):
            raise BAD_ARCHIVE(
                file=self.path.name, path=name, what="it unpacks to more than 200 times its size"
            )
        if info.flag_bits & 1:
            raise BAD_ARCHIVE(file=self.path.name, path=name, what="the entry is encrypted")
        try:
            with self._zip.open(info) as stream:
                data = stream.read(info.file_size + 1)
        except (
            zipfile.BadZipFile,
            zlib.error,
            EOFError,
            OSError,
            NotImplementedError,
            RuntimeError,
            ValueError,
        ) as error:
            raise BAD_ARCHIVE(file=self.path.name, path=name, what=_sentence(error)) from None
        if len(data) > info.file_size:
            raise BAD_ARCHIVE(file=self.path.name, path=name, what="it holds more bytes than it declares")
        return data

    def json(self, name: str) -> object:
        """An entry read as JSON."""
        try:
            return json.loads(self.read(name))
        except RecursionError:
            raise BAD_ARCHIVE(file=self.path.name, path=name, what="nested too deeply") from None
        except (ValueError, UnicodeDecodeError) as error:
            raise BAD_ARCHIVE(file=self.path.name, path=name, what=_sentence(error)) from None


def _sentence(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
