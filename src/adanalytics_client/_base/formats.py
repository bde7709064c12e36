"""The formats of files by their suffixes."""

from pathlib import Path

SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".parquet": "parquet",
    ".arrow": "arrow",
}
"""The format of a file by its suffix, in lower case."""


def suffix_of(path: Path) -> tuple[str, bool]:
    """Return the suffix that names a format, and whether `.gz` after it requests gzip."""
    is_gzip = path.suffix.lower() == ".gz"
    return (path.with_suffix("") if is_gzip else path).suffix.lower(), is_gzip
