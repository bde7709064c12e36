"""The file that keeps an export under way, so that a later run can go on with it."""

import os
import secrets
from pathlib import Path

import click

from adanalytics_cli.errors import CommandError


def job_option() -> click.Option:
    """`--job FILE`."""
    return click.Option(
        ["--job"],
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
    return path


def read_job(path: Path | None) -> str | None:
    """What is kept, or None; an empty file, as mktemp makes it, keeps nothing."""
    if path is None or not path.exists():
        return None
    return path.read_text(encoding="utf-8", errors="replace") or None


def write_job(path: Path, text: str) -> None:
    """Keep an export, whole or not at all; only the owner may read its signed addresses.

    Raises CommandError when the file cannot be written.
    """
    beside = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
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
