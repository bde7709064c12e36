"""Sort any number of records in bounded memory: runs in memory, then in a file, then a merge."""

import heapq
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Self

import msgspec

from adanalytics_server.storage.events import Record

# Memory for the records of one run. With the blocks below, it limits the memory of a sort.
MOST_BYTES = 64 << 20
# Records of each run that the merge holds in memory.
_BLOCK = 64
# Bytes of a record's tuple, numbers and object headers, without its body.
_OVERHEAD = 300

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Record]).decode


class RecordSorter:
    """Takes records in any order and yields them sorted as tuples; a context manager.

    Runs that do not fit in about ``most_bytes`` go to one file in the folder, which is created if
    needed. The file has no name, so a killed process leaves nothing behind.
    """

    def __init__(self, *, folder: Path, most_bytes: int = MOST_BYTES) -> None:
        self._folder = folder
        self._most_bytes = most_bytes
        self._bytes = 0
        self._records: list[Record] = []
        self._file: IO[bytes] | None = None
        # The place of each run in the file.
        self._starts: list[int] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._records = []
        if self._file is not None:
            # On a full disk, closing would try once more to write what nobody needs.
            with suppress(OSError):
                self._file.close()

    def add(self, record: Record) -> None:
        """Add a record.

        Raises:
            OSError: a run cannot be written to the folder, for example because the disk is full.
        """
        self._records.append(record)
        self._bytes += len(record.body) + _OVERHEAD
        if self._bytes > self._most_bytes:
            self._write_run()

    def __iter__(self) -> Iterator[Record]:
        """Yield all records sorted; call once, after adding the last one."""
        self._records.sort()
        if self._file is None:
            return iter(self._records)
        runs = [_read_run(self._file, start) for start in self._starts]
        return heapq.merge(self._records, *runs)

    def _write_run(self) -> None:
        self._records.sort()
        if self._file is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115  # closed at exit
        self._starts.append(self._file.tell())
        for start in range(0, len(self._records), _BLOCK):
            block = _encode(self._records[start : start + _BLOCK])
            self._file.write(len(block).to_bytes(4))
            self._file.write(block)
        # A block without bytes ends the run.
        self._file.write(bytes(4))
        self._file.flush()
        self._records = []
        self._bytes = 0


def _read_run(file: IO[bytes], offset: int) -> Iterator[Record]:
    while True:
        # The readers of several runs take turns, and Windows has no os.pread.
        file.seek(offset)
        size = int.from_bytes(file.read(4))
        if not size:
            return
        offset += 4 + size
        yield from _decode(file.read(size))
