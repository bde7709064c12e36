"""Ranges of the bytes of a file, so that several processes may read it."""

from collections.abc import Callable
from dataclasses import dataclass
from io import SEEK_END
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from adanalytics_client._base.compression import GZIP_MAGIC

if TYPE_CHECKING:
    import pyarrow.parquet as pq

# https://parquet.apache.org/docs/file-format/
PARQUET = b"PAR1"
# The length of the metadata before it, and the magic number.
_FOOTER_BYTES = 8
_BLOCK = 65_536

PARQUET_BYTES = 1_000_000_000
"""The least bytes of a Parquet file to divide.

A smaller one has at most some 10 million events, which one process sorts in about a minute, and two
would still need two thirds of that. Text takes longer to read.
"""


@dataclass(frozen=True, slots=True)
class Section:
    """A byte range of a file; it stands for the lines or row groups that begin in the range."""

    begin: int
    end: int

    @classmethod
    def divide(cls, beginning: bytes, size: int, count: int) -> "list[Section]":
        """Divide a file with these first four bytes into sections; return none to read it whole."""
        # The footer is read for each section, which pays only for large files; gzip has no middle.
        is_small = beginning == PARQUET and size < PARQUET_BYTES
        if count < 2 or is_small or beginning.startswith(GZIP_MAGIC):
            return []
        ends = [size * number // count for number in range(count + 1)]
        return [cls(begin, end) for begin, end in pairwise(ends)]

    def lines_of(self, path: Path) -> tuple[int, int]:
        """Return where the lines of the section begin and end in a CSV file."""
        with path.open("rb") as file:
            header = file.readline()
            begin = max(_line_at(file, self.begin), len(header))
            return begin, max(_line_at(file, self.end), begin)

    def collect(self, path: Path, size: int, fetch: Callable[[BinaryIO, range], object]) -> None:
        """Download only the bytes needed to read the section, and put them in a sparse file."""
        from pyarrow.parquet import read_metadata

        with path.open("w+b") as file:
            # A sparse file has the size of the whole one, so a reader finds each byte at its place.
            file.truncate(size)

            def fetch_line(place: int) -> None:
                while place < size:
                    fetch(file, range(place, min(place + _BLOCK, size)))
                    file.seek(place)
                    if b"\n" in file.read(_BLOCK):
                        return
                    place += _BLOCK

            fetch_line(0)
            # One byte before tells whether a line begins here or before.
            begin, end = max(self.begin - 1, 0), self.end
            # Sections of parquet end at row groups, those of CSV at the first line end behind them.
            if beginning_of(path) == PARQUET:
                fetch(file, range(size - _FOOTER_BYTES, size))
                file.seek(-_FOOTER_BYTES, SEEK_END)
                footer = int.from_bytes(file.read(4), "little")
                fetch(file, range(max(size - _FOOTER_BYTES - footer, 0), size))
                begins = group_begins(read_metadata(file))
                begin, end = (
                    min((offset for offset in begins if offset >= place), default=size)
                    for place in (self.begin, self.end)
                )
            else:
                fetch_line(end)
            if begin < end:
                fetch(file, range(begin, end))


def group_begins(metadata: "pq.FileMetaData") -> list[int]:
    """Return where each group of rows of a Parquet file begins."""
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    columns = [group.column(0) for group in groups]
    return [column.dictionary_page_offset or column.data_page_offset for column in columns]


def _line_at(file: BinaryIO, place: int) -> int:
    """Return where the first line begins that does so at a place or after it."""
    file.seek(max(place - 1, 0))
    file.readline()
    return file.tell()


def beginning_of(path: Path) -> bytes:
    """Return the first four bytes of a file, which show its format."""
    with path.open("rb") as file:
        return file.read(4)
