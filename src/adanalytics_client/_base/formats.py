"""The formats of files: of those that `write` makes, and of those that exports are ordered in."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, get_args

Format = Literal["jsonl", "csv", "parquet", "arrow"]
"""The formats of `write`; text formats are compressed if the path ends in `.gz`."""

FORMATS: tuple[Format, ...] = get_args(Format)
SUFFIXES: Mapping[str, Format] = {**{f".{form}": form for form in FORMATS}, ".ndjson": "jsonl"}
"""The format of a file to write by its suffix, in lower case."""

BINARY: frozenset[str] = frozenset({"parquet", "arrow"})
"""The formats that are compressed inside, so that no `.gz` follows their suffix."""

EXPORT_FORMATS = ("csv", "jsonl", "parquet")
"""The formats of the reference server's exports; the service publishes csv and may have others."""

EXPORT_SUFFIXES: Mapping[str, str] = {
    **{f".{form}": form for form in EXPORT_FORMATS},
    ".ndjson": "jsonl",
    ".arrow": "arrow",
}
"""The format to order by the suffix of the file, whatever formats `write` has."""


def suffix_of(path: Path) -> tuple[str, bool]:
    """Return the suffix that names a format, and whether `.gz` after it requests gzip."""
    is_gzip = path.suffix.lower() == ".gz"
    return (path.with_suffix("") if is_gzip else path).suffix.lower(), is_gzip
