"""Errors of files to load.

.. code-block:: text

    ValueError
    ├── FieldError      one value of one row: the field, without the line
    └── LoadError       the file, with the line
"""

from pathlib import Path


class FieldError(ValueError):
    """A value that cannot become the named field of an event."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(field, message)
        self.field = field
        self.message = message

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


class LoadError(ValueError):
    """A file was rejected.

    >>> str(LoadError(Path("day.csv"), 7, "country", "'de' is not two upper-case letters"))
    "day.csv:7: country: 'de' is not two upper-case letters; nothing was loaded"

    Args:
        path: the file, as given.
        line: physical line, from 1; for parquet the row, from 1; ``None`` for the whole file.
        field: field of the event, or ``None`` if the whole row is bad.
        message: what is wrong and what to do, without a full stop.
    """

    def __init__(self, path: Path, line: int | None, field: str | None, message: str) -> None:
        super().__init__(path, line, field, message)
        self.path = path
        self.line = line
        self.field = field
        self.message = message

    def __str__(self) -> str:
        place = str(self.path) if self.line is None else f"{self.path}:{self.line}"
        field = "" if self.field is None else f"{self.field}: "
        return f"{place}: {field}{self.message}; nothing was loaded"
