"""The three standard streams, also when the caller closed one or its reader went away."""

import io
import os
import sys


def prepare_streams() -> None:
    """Give stdin, stdout and stderr to a run that was started without them, and stdout its buffer.

    Without a stand-in the next file opened gets the number of a closed stream, and messages end
    up in the data. The stand-in for stdout refuses every write: lost data is an error, as on a
    full disk, while a run that prints no data succeeds.

    PYTHONUNBUFFERED removes the buffer; without one a write may silently take only part of a
    page: rows would be lost on a full disk, and a closed pipe would look like success.
    """
    # The next file that is opened would get a closed descriptor, and what is printed.
    for number, flags in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)
    sys.stdin = sys.stdin or os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", encoding="utf-8", closefd=False)
    raw = getattr(sys.stdout, "buffer", None)
    if isinstance(raw, io.RawIOBase):
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(raw),
            encoding=sys.stdout.encoding,
            errors=sys.stdout.errors,
            line_buffering=True,
        )


def drop_unwritable() -> None:
    """Drop unwritten output of stdout, after its error was reported."""
    try:
        sys.stdout.flush()
    except OSError:
        discard_stdout()


def discard_stdout() -> None:
    """Point stdout at the null device, or the interpreter complains while it exits."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
