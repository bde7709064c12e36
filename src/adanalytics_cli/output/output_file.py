"""Where data go: stdout, or a file that appears only when it is complete."""

import gzip
import io
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import BinaryIO

import click

from adanalytics_cli.core.command import option
from adanalytics_cli.core.errors import CommandError
from adanalytics_cli.core.files import naming, replacing
from adanalytics_client._base.files import real_path

from .formats import REGIONS, Format, format_option, is_packed

# The densest level costs several times the time of this one for a few percent of size.
_GZIP_LEVEL = 6


def output_option(*, is_folder: bool = False) -> click.Option:
    """Make `-o FILE`; nothing and `-` are stdout. With `is_folder`, it may name a folder."""
    return option(
        "-o --output output",
        click.Path(),
        "FILE",
        "Output file; its suffix sets the format. It appears when complete. - is stdout.",
        reader=partial(_read_path, is_folder=is_folder),
    )


def output_options(formats: Sequence[Format]) -> list[click.Option]:
    region = option(
        "--csv-for region",
        [*REGIONS],
        None,
        "Write csv as spreadsheets of this region open it: its separator and decimal mark, and "
        "a byte order mark.",
    )
    return [output_option(), format_option(formats), region]


def _read_path(value: str | None, *, is_folder: bool) -> Path | None:
    if value is None or value == "-":
        return None
    return Path(value) if is_folder and Path(value).is_dir() else file_path(value)


def file_path(value: str) -> Path:
    """Return the path of a file; raises click.BadParameter where there can be none.

    Raises CommandError where a new file is refused, before any request is spent on it.
    """
    path = Path(value)
    if path.is_dir():
        raise click.BadParameter(f"{path} is a directory. Name a file in it.")
    if not path.parent.is_dir():
        raise click.BadParameter(f"the folder {path.parent} does not exist. Make it first.")
    folder = real_path(path).parent
    if not (is_device(path) or os.access(folder, os.W_OK)):
        raise CommandError(
            f"Cannot write {path}: {folder} takes no new files.", remedy="Write to another place."
        )
    return path


@contextmanager
def open_output(
    path: Path | None, *, private: bool = False, raw: BinaryIO | None = None
) -> Iterator[BinaryIO]:
    """Open a binary stream that ends up as `path`, compressed if it ends in `.gz`.

    The bytes go to a hidden file beside `path`, which replaces `path` once they are on the disk.
    A device or a pipe is written directly. A `private` file can be read by its owner only. `raw` is
    the hidden file, if the caller has opened it.
    Raises CommandError when the file cannot be written.
    """
    if path is None:
        with open_stream(None) as stream:
            yield stream
        return
    place: AbstractContextManager[BinaryIO] = (
        nullcontext(raw)
        if raw
        else open_stream(path)
        if is_device(path)
        else replacing(path, private=private)
    )
    with place as raw, ExitStack() as stack:
        if is_packed(path):
            # No time in the header: the same data give the same file.
            gzip_file = gzip.GzipFile(
                filename="", mode="wb", compresslevel=_GZIP_LEVEL, fileobj=raw, mtime=0
            )
            yield stack.enter_context(io.BufferedWriter(gzip_file))
        else:
            yield raw


@contextmanager
def open_stream(path: Path | None) -> Iterator[BinaryIO]:
    """Open stdout, a pipe or a device for direct writes.

    Raises CommandError when it cannot be written.
    """
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    # Not resolved: the target of a link to a pipe is not a path.
    with naming(path), path.open("wb") as device:
        yield device
        device.flush()


def is_device(path: Path) -> bool:
    """Return whether `path` is a pipe or a device, which is written directly and never replaced."""
    return path.exists() and not (path.is_file() or path.is_dir())
