"""What events are written as, and where to: a file that appears whole, or a stream."""

import io
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import BinaryIO, Literal, Protocol, cast, get_args

from adanalytics_client._arrow_output import ArrowFormat, ArrowOutput
from adanalytics_client._arrow_rows import ArrowRows, Row
from adanalytics_client._arrow_schema import SUMMARY_KINDS
from adanalytics_client._csv_output import CsvOutput
from adanalytics_client._files import AtomicFile, Target, check_name
from adanalytics_client._gzip_target import GzipTarget
from adanalytics_client._jsonl_output import JsonlOutput
from adanalytics_client._pages import Fetched
from adanalytics_client._streams import Device, Stream
from adanalytics_client.errors import ConfigurationError

Format = Literal["jsonl", "csv", "parquet", "arrow"]
"""What `write` writes; the text formats also packed, by the suffix `.gz` of a path."""

_SUFFIXES: dict[str, Format] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".parquet": "parquet",
    ".arrow": "arrow",
}


class Output(Protocol):
    """Takes pages and makes them a file."""

    def add(self, page: Fetched, most: int | None) -> int:
        """Write a page, at most `most` of its events; gives how many were written."""

    def commit(self) -> None:
        """Finish and make the file visible."""

    def abort(self) -> None:
        """Give up; a file that was there before stays as it was."""


def open_output(
    to: str | os.PathLike[str] | BinaryIO,
    wanted: str | None,
    columns: Sequence[str] | None = None,
    *,
    waits: bool = True,
) -> Output:
    """An output for a path or a binary stream; the format follows the suffix when none is wanted.

    Raises:
        ConfigurationError: for an unknown format, a path that cannot be a file, or a library that
            is not installed.
        NoReader: for a pipe that nobody reads, unless it `waits` for somebody.
        OSError: when the folder cannot be written.
    """
    place = _path(to) if isinstance(to, str | os.PathLike) else _binary(to)
    path = place if isinstance(place, Path) else None
    packed = path is not None and path.suffix.lower() == ".gz"
    make = _maker(_format(path, wanted, packed=packed), columns)
    target = _target(place, waits=waits) if isinstance(place, Path) else Stream(place)
    try:
        return make(GzipTarget(target) if packed else target)
    except BaseException:
        target.abort()
        raise


def write_summary(rows: Sequence[Row], to: BinaryIO, form: ArrowFormat) -> None:
    """Write the rows of a summary as a table: counts whole, money and fractions decimal.

    Raises:
        ConfigurationError: when pyarrow is not installed.
        ProtocolError: for a value that its column cannot hold exactly.
    """
    output = ArrowOutput(Stream(to), form, ArrowRows(kinds=SUMMARY_KINDS))
    try:
        output.add_rows(rows)
        output.commit()
    except BaseException:
        output.abort()
        raise


def _target(path: Path, *, waits: bool) -> Target:
    """A file that appears whole, or what has this name and is no file."""
    check_name(path)
    special = path.exists() and not path.is_file() and not path.is_dir()
    return Device(path, waits=waits) if special else AtomicFile(path)


def _format(path: Path | None, wanted: str | None, *, packed: bool) -> Format:
    suffix = "" if path is None else path.with_suffix("").suffix if packed else path.suffix
    chosen = wanted or _SUFFIXES.get(suffix.lower())
    if chosen not in get_args(Format):
        told = f"format={wanted!r}" if wanted or path is None else _named(path, suffix)
        raise ConfigurationError(
            f"{told}: events are written as {', '.join(get_args(Format))}; "
            "use such a suffix or pass format=."
        )
    if packed and chosen in get_args(ArrowFormat):
        raise ConfigurationError(
            f"{chosen} files are compressed inside; leave .gz out of the name."
        )
    return cast("Format", chosen)


def _named(path: Path, suffix: str) -> str:
    if suffix:
        return f"{path.name} ends in {suffix}"
    return f"{path.name} has no suffix" + (" in front of .gz" if path.suffix else "")


def _maker(form: Format, columns: Sequence[str] | None) -> Callable[[Target], Output]:
    """What makes the output of a format, with everything checked that needs no target."""
    if form == "jsonl":
        return partial(JsonlOutput, columns=columns)
    if form == "csv":
        return partial(CsvOutput, columns=columns)
    return partial(ArrowOutput, form=form, rows=ArrowRows(columns))


def _path(to: str | os.PathLike[str]) -> Path:
    # Path("") would be the folder that one is in.
    if not os.fspath(to):
        raise ConfigurationError("The path is empty. Pass a path, or a file opened for bytes.")
    if os.fspath(to).endswith(os.sep) and not Path(to).is_dir():
        raise ConfigurationError(f"{os.fspath(to)!r} ends as a folder does; name a file.")
    return Path(to)


def _binary(to: object) -> BinaryIO:
    """A stream that takes bytes; of a stream of one's own only `write` is asked for."""
    if getattr(to, "closed", False) is True:
        raise ConfigurationError("The file is closed; pass a path, or a file that is still open.")
    writable = getattr(to, "writable", None)
    reads_only = callable(writable) and writable() is False
    if isinstance(to, io.TextIOBase) or not hasattr(to, "write") or reads_only:
        raise ConfigurationError("Pass a path, or a file opened for writing bytes.")
    return cast("BinaryIO", to)
