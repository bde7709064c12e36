"""Write a complete file or none: beside its target, flushed to the disk, then renamed."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from adanalytics_client._base import files

from .errors import CommandError, remedy_of


@contextmanager
def replacing(path: Path, *, private: bool = False) -> Iterator[BinaryIO]:
    """Open a binary stream that takes the name `path` at the end; until then the old file stays.

    A link stays a link, and a file that is replaced keeps its permissions. A `private` file can be
    read by its owner only, and takes the place of a link. Raises CommandError when it cannot be
    written.
    """
    target = path if private else Path(os.path.realpath(path))
    with naming(path, target.parent), files.replacing(target, private=private) as stream:
        yield stream


@contextmanager
def naming(path: Path | None, folder: Path | None = None) -> Iterator[None]:
    """Turn a write error about `path`, or a temporary file in `folder`, into a CommandError.

    The error names `path`; stdout has no name. A closed pipe is not a write error.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        parent = error.filename and Path(error.filename).parent
        # An error about some other file is not about this output.
        if path is None or parent not in (None, folder):
            raise
        raise CommandError(
            f"Cannot write {path}: {error.strerror or error}.", remedy=remedy_of(error)
        ) from error
