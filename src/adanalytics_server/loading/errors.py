"""What can be wrong with a file that is to be loaded.

.. code-block:: text

    ValueError
    ├── FieldError      one value of one row; knows the field, not yet the place
    └── LoadError       the file; knows the place
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
    """A file that was refused as a whole.

    >>> str(LoadError(Path("day.csv"), 7, "country", "'de' is not two upper-case letters"))
    "day.csv:7: country: 'de' is not two upper-case letters; nothing was loaded"

    Args:
        path: the file, as it was given.
        line: physical line, from 1; for parquet the row, from 1; ``None`` for the file as such.
        field: field of the event, or ``None`` when the row as such is bad.
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
