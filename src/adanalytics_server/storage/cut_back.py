"""Files that only grow, after a write that failed: what it took of the disk is given back."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def cut_back_on_failure(path: Path) -> Iterator[None]:
    """Cut off what a block appended to a file if it fails: a full disk is not to stay full.

    Nothing may point behind the old end yet.

    Raises:
        OSError: what failed was a write; its own error would not say where.
    """
    size = path.stat().st_size if path.exists() else 0
    try:
        yield
    except BaseException as error:
        if path.exists():
            os.truncate(path, size)
        if isinstance(error, OSError) and error.errno and not error.filename:
            # The error of a write does not say where it was.
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
