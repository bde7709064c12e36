"""Open an output: its format, and a stream or a file that appears only when complete."""

import io
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeAlias, cast

from adanalytics_client._base.formats import BINARY, FORMATS, SUFFIXES, Format, suffix_of
from adanalytics_client._json.columns import Columns
from adanalytics_client.errors import ConfigurationError

from .csv import CsvOutput
from .files import AtomicFile, Device, GzipTarget, Stream, Target
from .jsonl import JsonlOutput

if TYPE_CHECKING:
    from .arrow.output import ParquetOutput

Output: TypeAlias = "JsonlOutput | CsvOutput | ParquetOutput"
"""Receives pages and makes a file of them."""


def open_output(
    to: str | os.PathLike[str] | BinaryIO,
    format_name: str | None,
    columns: Sequence[str] | None = None,
) -> Output:
    """Return an output for a path or a binary stream; by default the suffix decides the format.

    Raises:
        ConfigurationError: for an unknown format, a path that cannot be a file, or a library that
            is not installed.
        OSError: when the folder cannot be written.
    """
    if not isinstance(to, str | os.PathLike):
        file = _binary(to)
        return _maker(_format(format_name, f"format={format_name!r}"), columns)(Stream(file))
    path = _path(to)
    suffix, is_gzip = suffix_of(path)
    option = f"format={format_name!r}" if format_name else _described(path, suffix)
    form = _format(format_name or SUFFIXES.get(suffix), option)
    if is_gzip and form in BINARY:
        raise ConfigurationError(
            f"{form} files are compressed internally.", remedy="Leave .gz out of the name."
        )
    # Before the file is made: a missing extra must not leave an empty one.
    make = _maker(form, columns)
    # /dev/stdout and pipes cannot be replaced by a rename.
    special = path.exists() and not path.is_file() and not path.is_dir()
    target = Device(path) if special else AtomicFile(path)
    return make(GzipTarget(target) if is_gzip else target)


def _format(format_name: str | None, option: str) -> Format:
    if format_name not in FORMATS:
        raise ConfigurationError(
            f"{option}: events are written as {', '.join(FORMATS)}.",
            remedy="Use such a suffix or pass format=.",
        )
    return format_name


def _described(path: Path, suffix: str) -> str:
    if suffix:
        return f"{path.name} ends in {suffix}"
    return f"{path.name} has no suffix" + (" in front of .gz" if path.suffix else "")


def _maker(form: Format, columns: Sequence[str] | None) -> Callable[[Target], Output]:
    """Return a function that makes the output of a format; check all but the target."""
    if writer := _TEXT_WRITERS.get(form):
        return partial(writer, columns=None if columns is None else Columns(columns))
    from .arrow.batches import ArrowRows
    from .arrow.output import WRITERS

    return partial(WRITERS[form], rows=ArrowRows(columns))


_TEXT_WRITERS: Mapping[Format, type[JsonlOutput] | type[CsvOutput]] = {
    "jsonl": JsonlOutput,
    "csv": CsvOutput,
}


def _path(to: str | os.PathLike[str]) -> Path:
    # Path("") would be the current folder.
    if not os.fspath(to):
        raise ConfigurationError(
            "The path is empty.", remedy="Pass a path, or a file opened for bytes."
        )
    if os.fspath(to).endswith(os.sep) and not Path(to).is_dir():
        raise ConfigurationError(
            f"{os.fspath(to)!r} ends with a slash, so it names a folder.", remedy="Name a file."
        )
    return Path(to)


def _binary(to: object) -> BinaryIO:
    """Return a stream that accepts bytes; a caller's own class needs only `write`."""
    if getattr(to, "closed", False) is True:
        raise ConfigurationError(
            "The file is closed.", remedy="Pass a path, or a file that is still open."
        )
    writable = getattr(to, "writable", None)
    # Found now rather than after a pull of an hour.
    reads_only = callable(writable) and writable() is False
    if isinstance(to, io.TextIOBase) or not hasattr(to, "write") or reads_only:
        raise ConfigurationError(
            "This is not a file for bytes.",
            remedy="Pass a path, or a file opened for writing bytes.",
        )
    return cast("BinaryIO", to)
