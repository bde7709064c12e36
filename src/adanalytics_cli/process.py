"""One run from the words of the line to the exit status, whatever happens on the way."""

import io
import os
import sys
from collections.abc import Sequence
from typing import TextIO

import click

from adanalytics_cli.exit_codes import ExitCode
from adanalytics_cli.invocation import Invocation


def run(root: click.Command, words: Sequence[str], program: str, *, invocation: Invocation) -> int:
    """Parse and run `words` and return the exit status.

    Every failure ends here as one printed message; a traceback only appears with
    `--debug`. Output is flushed inside, because a pipe that was closed by its reader
    shows itself at the last write at the latest.
    """
    _prepare_streams()
    try:
        with root.make_context(program, list(words), obj=invocation) as context:
            root.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as leaving:
        return _flushed(leaving.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return ExitCode.USAGE
    except BrokenPipeError:
        _give_up_stdout()
        return ExitCode.CLOSED_PIPE
    except (KeyboardInterrupt, click.Abort):
        click.echo("Interrupted.", err=True)
        return ExitCode.INTERRUPTED
    except Exception as error:  # noqa: BLE001  whatever it is, the user gets one message
        from adanalytics_cli.error_report import print_error

        return print_error(error, invocation)
    return ExitCode.DONE


def _prepare_streams() -> None:
    """Give stdout and stderr to a run that was started without them, and stdout its buffer.

    PYTHONUNBUFFERED takes the buffer away. Without one a write may take a part of a page and say so
    to nobody: rows would be lost on a full disk, and a closed pipe would look like success.
    """
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    raw = getattr(sys.stdout, "buffer", None)
    if isinstance(raw, io.RawIOBase):
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(raw),
            encoding=sys.stdout.encoding,
            errors=sys.stdout.errors,
            line_buffering=True,
        )


def _nowhere() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123  open for the whole run


def _flushed(code: int) -> int:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _give_up_stdout()
        return ExitCode.CLOSED_PIPE
    return code


def _give_up_stdout() -> None:
    """Point stdout at nothing, or the interpreter complains about the pipe while it exits."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
