"""The physical lines of a text file, plain or gzip, each checked and counted."""

import gzip
import io
import os
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, cast

from adanalytics_server.loading.errors import LoadError

# Longer lines are refused, so that one line cannot fill the memory.
MOST_LINE_BYTES = 1 << 20


class TextLines:
    """Iterates over the lines of a file with their endings, once.

    Attributes:
        path: the file.
        number: physical number, from 1, of the line given last; 0 before the first.
        size: bytes of the file as it is on disk.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.number = 0
        self._stack = ExitStack()
        try:
            self._raw = self._stack.enter_context(path.open("rb"))
            self.size = os.fstat(self._raw.fileno()).st_size
        except OSError as error:
            raise LoadError(path, None, None, f"cannot be read, {error.strerror}") from error
        self._lines: BinaryIO = self._raw
        if path.suffix.lower() == ".gz":
            member = self._stack.enter_context(gzip.GzipFile(fileobj=self._raw, mode="rb"))
            # GzipFile finds line ends in Python, BufferedReader in C.
            buffered = self._stack.enter_context(io.BufferedReader(cast("io.RawIOBase", member)))
            self._lines = cast("BinaryIO", buffered)

    def __iter__(self) -> Iterator[str]:
        """Give the lines.

        Raises:
            LoadError: the file cannot be read on, a gzip is damaged, or a line is too long,
                holds a NUL or is not UTF-8.
        """
        while line := self._read_line():
            self.number += 1
            if len(line) > MOST_LINE_BYTES:
                raise self.error(f"the line is longer than {MOST_LINE_BYTES} bytes")
            if b"\0" in line:
                raise self.error("the line holds a NUL byte; the file must be UTF-8 text")
            if self.number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
            try:
                yield line.decode()
            except UnicodeDecodeError as error:
                raise self.error(f"the line is not UTF-8 text, {error.reason}") from error

    def fraction_read(self) -> float:
        """Tell how much of the file on disk has been read, 0.0 to 1.0."""
        return self._raw.tell() / self.size if self.size else 1.0

    def close(self) -> None:
        """Close the file."""
        self._stack.close()

    def error(self, message: str) -> LoadError:
        """Make the error for the line given last."""
        return LoadError(self.path, self.number, None, message)

    def _read_line(self) -> bytes:
        try:
            return self._lines.readline(MOST_LINE_BYTES + 1)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            message = f"the gzip data are damaged after line {self.number}, {error}"
            raise LoadError(self.path, None, None, message) from error
        except OSError as error:
            message = f"cannot be read, {error.strerror}"
            raise LoadError(self.path, None, None, message) from error
