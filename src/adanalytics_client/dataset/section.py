"""Ranges of the bytes of a file, so that several processes may read it."""

from csv import reader
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from adanalytics_client._base.compression import GZIP_MAGIC


@dataclass(frozen=True, slots=True)
class Section:
    """A range of the bytes of a file: the lines, or groups of rows, that begin in it."""

    begin: int
    end: int

    @classmethod
    def of_file(cls, path: Path, count: int) -> "list[Section]":
        """Divide a file into sections; none if it is compressed, or for fewer than two."""
        if count < 2 or beginning_of(path).startswith(GZIP_MAGIC):
            return []
        size = path.stat().st_size
        ends = [size * number // count for number in range(count + 1)]
        return [cls(begin, end) for begin, end in pairwise(ends)]

    def lines_of(self, path: Path) -> tuple[list[str], int, int]:
        """Return the header of a CSV file, and where the lines begin and end."""
        with path.open("rb") as file:
            header = file.readline()
            begin = max(_line_at(file, self.begin), len(header))
            end = max(_line_at(file, self.end), begin)
        return next(reader([header.decode("utf-8-sig", "replace")])), begin, end


def _line_at(file: BinaryIO, place: int) -> int:
    """Return where the first line begins that does so at a place or after it."""
    file.seek(max(place - 1, 0))
    file.readline()
    return file.tell()


def beginning_of(path: Path) -> bytes:
    """Return the four bytes that show the format of a file."""
    with path.open("rb") as file:
        return file.read(4)
