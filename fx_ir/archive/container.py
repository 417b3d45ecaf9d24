"""The zip file: what may be in it, and how entries are written aligned and read without extraction."""

from __future__ import annotations

import mmap
import os
import struct
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any, Final

from fx_ir.archive import limits
from fx_ir.errors import ARCHIVE_BAD, ARCHIVE_FOREIGN, ARCHIVE_MISSING

_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
_LOCAL_HEADER: Final = 30
_ZIP64_EXTRA: Final = 20
_PADDING_ID: Final = 0xD935  # the id that Android's zipalign uses for padding


def write_entry(archive: zipfile.ZipFile, name: str, chunks: Iterable[Any], *, stored: bool = False) -> None:
    """Adds an entry; a stored one starts at a multiple of the alignment, so that it can be mapped. Bytes repeat exactly."""
    info = zipfile.ZipInfo(name, _EPOCH)
    info.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    if stored:
        start = archive.fp.tell() + _LOCAL_HEADER + len(name) + 4 + _ZIP64_EXTRA  # type: ignore[union-attr]
        padding = -start % limits.ALIGNMENT
        info.extra = struct.pack("<HH", _PADDING_ID, padding) + bytes(padding)
    with archive.open(info, "w", force_zip64=stored) as entry:
        for chunk in chunks:
            entry.write(chunk)


class Container:
    """An opened archive: its name for errors, its entries, and its bytes or map."""

    def __init__(self, name: str, data: Any) -> None:
        self.name = name
        self.data = data
        try:
            with zipfile.ZipFile(_Reader(data)) as archive:
                infos = archive.infolist()
        except (
            zipfile.BadZipFile,
            NotImplementedError,
            ValueError,
            EOFError,
            struct.error,
            OverflowError,
        ) as error:
            raise ARCHIVE_FOREIGN(file=name, problem=f"it is no complete zip file ({error})") from None
        self.entries: dict[str, zipfile.ZipInfo] = {}
        if len(infos) > limits.MAX_ENTRIES:
            raise self.bad(f"{len(infos)} entries")
        for info in infos:
            self._admit(info)
        missing = [entry for entry in limits.REQUIRED if entry not in self.entries]
        if missing:
            raise ARCHIVE_FOREIGN(file=name, problem=f"it has no {missing[0]}")

    def bad(self, problem: str) -> Exception:
        return ARCHIVE_BAD(file=self.name, problem=problem)

    def _admit(self, info: zipfile.ZipInfo) -> None:
        name = info.filename
        if name in self.entries:
            raise self.bad(f"the entry {name!r} is there twice")
        parts = name.replace("\\", "/").split("/")
        if name.startswith(("/", "\\")) or ".." in parts or ":" in name or "\0" in name:
            raise self.bad(f"the entry name {name!r} leads out of the archive")
        if info.flag_bits & 1:
            raise self.bad(f"the entry {name!r} is encrypted")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise self.bad(f"the entry {name!r} is compressed by an unknown method")
        self.entries[name] = info

    @staticmethod
    def open(file: Any) -> Container:
        """Maps a file, or takes a stream's bytes. Raises ``archive-missing`` or ``archive-foreign``."""
        if hasattr(file, "read"):
            return Container(getattr(file, "name", "the stream"), _whole(file))
        path = Path(os.fspath(file))
        try:
            with path.open("rb") as stream:
                if os.fstat(stream.fileno()).st_size == 0:
                    raise ARCHIVE_FOREIGN(file=str(path), problem="it is empty")
                # A private map: programs may write to their tensors, the file never changes.
                return Container(str(path), mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY))
        except OSError as error:
            raise ARCHIVE_MISSING(file=str(path), problem=error.strerror or str(error)) from None

    def read(self, entry: str, limit: int) -> bytes:
        """An entry's bytes, decompressed, with its checksum compared."""
        info = self.entries[entry]
        if info.file_size > limit or info.file_size > max(1, info.compress_size) * limits.MAX_RATIO:
            raise self.bad(f"{entry} would take {info.file_size} bytes")
        try:
            with zipfile.ZipFile(_Reader(self.data)) as archive, archive.open(info) as stream:
                data = stream.read(limit + 1)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, OSError) as error:
            raise self.bad(f"{entry} is damaged ({error})") from None
        if len(data) != info.file_size:
            raise self.bad(f"{entry} has not the length that it declares")
        return data

    def map(self, entry: str) -> memoryview:
        """A stored entry's bytes in place. Checksums of very large ones are left to the reader of the data."""
        info = self.entries[entry]
        if info.compress_type != zipfile.ZIP_STORED:
            raise self.bad(f"{entry} must be stored, not compressed")
        view = memoryview(self.data)
        header = bytes(view[info.header_offset : info.header_offset + _LOCAL_HEADER])
        if len(header) < _LOCAL_HEADER or header[:4] != b"PK\x03\x04":
            raise self.bad(f"the place of {entry} is damaged")
        name_length, extra_length = struct.unpack("<HH", header[26:30])
        start = info.header_offset + _LOCAL_HEADER + name_length + extra_length
        data = view[start : start + info.file_size]
        if len(data) != info.file_size or info.compress_size != info.file_size:
            raise self.bad(f"{entry} is cut off")
        if len(data) <= limits.MAX_CHECKED_BYTES and zlib.crc32(data) != info.CRC:
            raise self.bad(f"{entry} is damaged (its checksum differs)")
        return data


def _whole(stream: IO[bytes]) -> bytearray:
    """All bytes of a stream, in memory that tensors may write to."""
    stream.seek(0)
    data = stream.read()
    if not isinstance(data, (bytes, bytearray)):
        raise ARCHIVE_FOREIGN(file="the stream", problem="it gives text, open it in binary mode")
    return bytearray(data)


class _Reader:
    """A seekable file over memory, without copying it."""

    def __init__(self, data: Any) -> None:
        self._view = memoryview(data)
        self._at = 0

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        base = (0, self._at, len(self._view))[whence]
        if base + offset < 0:
            raise OSError("seek before the start")
        self._at = base + offset
        return self._at

    def read(self, size: int = -1) -> bytes:
        end = len(self._view) if size is None or size < 0 else self._at + size
        data = bytes(self._view[self._at : end])
        self._at += len(data)
        return data

    def close(self) -> None:
        """Nothing to close: the memory outlives the reader."""
