"""The formats that the suffixes of files stand for."""

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
    """The suffix that stands for a format, and whether `.gz` behind it asks for gzip.

    Examples:
        >>> suffix_of(Path("january.CSV.gz")), suffix_of(Path("january"))
        (('.csv', True), ('', False))
    """
    packed = path.suffix.lower() == ".gz"
    return (path.with_suffix("") if packed else path).suffix.lower(), packed
