"""Where data go: stdout, or a file that appears whole or not at all."""

import gzip
import io
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

import click

from adanalytics_cli.core.errors import CommandError

# The densest level costs several times the time of this one for a few percent of size.
_GZIP_LEVEL = 6

# Characters of a name that a temporary one repeats: the longest that a file system takes is taken.
_REPEATED = 40


def output_option() -> click.Option:
    """`-o FILE`; nothing and `-` are stdout."""
    return click.Option(
        ["-o", "--output", "output"],
        type=click.Path(),
        metavar="FILE",
        callback=_as_path,
        help="File to write, whole or not at all; its suffix gives the format. - is stdout.",
    )


def _as_path(
    _context: click.Context, _parameter: click.Parameter, value: str | None
) -> Path | None:
    if value is None or value == "-":
        return None
    path = Path(value)
    if path.is_dir():
        raise click.BadParameter(f"{path} is a directory. Name a file in it.")
    if not path.parent.is_dir():
        raise click.BadParameter(f"there is no folder {path.parent}. Make it first.")
    return path


@contextmanager
def open_output(path: Path | None) -> Iterator[BinaryIO]:
    """Lend a binary stream that ends up as `path`, compressed if it ends in `.gz`.

    The bytes go to a hidden file beside `path`, which takes its name once they are on the
    disk; whatever was there before stays until then. A device or a pipe is written directly.
    Raises CommandError when the file cannot be written.
    """
    if path is None:
        with open_stream(None) as stream:
            yield stream
        return
    with _replacing(path) as raw, ExitStack() as stack:
        if path.suffix == ".gz":
            # No time in the header: the same data give the same file.
            packed = gzip.GzipFile(
                filename="", mode="wb", compresslevel=_GZIP_LEVEL, fileobj=raw, mtime=0
            )
            yield stack.enter_context(io.BufferedWriter(packed))
        else:
            yield raw


@contextmanager
def open_stream(path: Path | None) -> Iterator[BinaryIO]:
    """Lend stdout, or a pipe or a device, which gets what is written as it is.

    Raises CommandError when it cannot be written.
    """
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    # By the name that was given: what a link to a pipe leads to is no path.
    with naming(path), path.open("wb") as device:
        yield device
        device.flush()


def is_device(path: Path) -> bool:
    """Whether `path` is a pipe or a device, which is written as it is and never replaced."""
    return path.exists() and not path.is_file()


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    if is_device(path):
        with open_stream(path) as device:
            yield device
        return
    target = Path(os.path.realpath(path))
    try:
        handle, name = tempfile.mkstemp(
            prefix=f".{target.name[:_REPEATED]}.", suffix=".part", dir=target.parent
        )
    except OSError as error:
        raise _unwritable(path, error) from error
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        part.chmod(_permissions(target))
        part.replace(target)
    except OSError as error:
        if error.filename is None or error.filename == name:
            raise _unwritable(path, error) from error
        raise
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def naming(path: Path | None) -> Iterator[None]:
    """Let an error of writing say which file it was; stdout needs no name.

    That the reader of a pipe went away is no error of writing.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if path is None or error.filename is not None:
            raise
        raise _unwritable(path, error) from error


def _permissions(target: Path) -> int:
    """The bits of the file that is replaced, or what the umask leaves of a new one."""
    if target.exists():
        return target.stat().st_mode & 0o7777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _unwritable(path: Path, error: OSError) -> CommandError:
    return CommandError(
        f"cannot write {path}: {error.strerror or error}",
        remedy="Choose another place with -o FILE, or make room and permission for this one.",
    )
