"""The file that keeps an export under way, so that a later run can go on with it."""

import os
import secrets
from pathlib import Path

import click

from adanalytics_cli.core.errors import CommandError

_LONGEST = 1 << 20
"""Bytes; a kept export has a few kilobytes, most of them signed addresses."""

# Characters of a name that a temporary one repeats: the longest that a file system takes is taken.
_REPEATED = 40


def job_option() -> click.Option:
    """`--job FILE`."""
    return click.Option(
        ["--job"],
        type=click.Path(),
        metavar="FILE",
        callback=_as_path,
        help="Go on with the export kept in FILE; when there is none, start it and keep it there.",
    )


def _as_path(
    _context: click.Context, _parameter: click.Parameter, value: str | None
) -> Path | None:
    if value is None:
        return None
    path = Path(value)
    if path.is_dir():
        raise click.BadParameter(f"{path} is a directory. Name a file in it.")
    if not path.parent.is_dir():
        raise click.BadParameter(f"there is no folder {path.parent}. Make it first.")
    # A device or a pipe can be read without end, and would be replaced by what is kept.
    if path.exists() and not path.is_file():
        raise click.BadParameter(f"{path} is not a file. Name one, or one to be made.")
    return path


def read_job(path: Path | None) -> str | None:
    """What is kept, or None; an empty file, as mktemp makes it, keeps nothing.

    Of a file that is no kept export at all, no more than `_LONGEST` bytes are read.
    """
    if path is None or not path.exists():
        return None
    with path.open("rb") as file:
        return file.read(_LONGEST).decode("utf-8", errors="replace") or None


def write_job(path: Path, text: str) -> None:
    """Keep an export, whole or not at all; only the owner may read its signed addresses.

    Raises CommandError when the file cannot be written.
    """
    beside = path.with_name(f".{path.name[:_REPEATED]}.{secrets.token_hex(6)}.tmp")
    try:
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f"{text}\n")
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        raise CommandError(
            f"cannot write {path}: {error.strerror}",
            remedy="Choose another place with --job FILE, or make room and permission for it.",
        ) from error
    finally:
        beside.unlink(missing_ok=True)
