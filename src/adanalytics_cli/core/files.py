"""Write a file whole or not at all: beside its place, brought to the disk, then renamed."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from adanalytics_cli.core.errors import CommandError, remedy_of

# Characters of a name that a temporary one repeats: the longest that a file system takes is taken.
_REPEATED = 40


@contextmanager
def replacing(path: Path, *, private: bool = False) -> Iterator[BinaryIO]:
    """Open a binary stream that takes the name `path` at the end; until then the old file stays.

    A link stays a link, and a file that is replaced keeps its permissions. A `private` file can be
    read by its owner only, and takes the place of a link. Raises CommandError when it cannot be
    written.
    """
    target = path if private else Path(os.path.realpath(path))
    beside = target.with_name(f".{target.name[:_REPEATED]}.{os.urandom(6).hex()}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        with naming(path, beside):
            with os.fdopen(os.open(beside, flags, 0o600 if private else 0o666), "wb") as stream:
                if not private and target.exists():
                    os.fchmod(stream.fileno(), target.stat().st_mode & 0o7777)
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def naming(path: Path | None, beside: Path | None = None) -> Iterator[None]:
    """Let an error of writing name the file, also when it names `beside`; stdout needs no name.

    A pipe whose reader went away is no error of writing.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if path is None or error.filename not in (None, str(beside)):
            raise
        raise CommandError(
            f"Cannot write {path}: {error.strerror or error}.", remedy=remedy_of(error)
        ) from error
