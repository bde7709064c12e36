"""Entry point of the console script and of `python -m adanalytics_cli`."""

import atexit
import gc
import os
import signal
import stat
import sys
from types import FrameType
from typing import TYPE_CHECKING

from .core.errors import ExitCode, Terminated

if TYPE_CHECKING:
    from .core.invocation import Invocation


def main(invocation: "Invocation | None" = None) -> None:
    """Run the command line with `sys.argv` and leave the process with its exit code.

    Another program that runs a command may begin with an `invocation` of its own.
    """
    try:
        # Importing click takes half of the start-up time, and printing a version does without.
        if sys.argv[1:] in (["--version"], ["-V"], ["version"]):
            sys.exit(_show_version())
        # pyarrow imports numpy, which would start threads that stay idle.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        # httpx has a command line of its own, for which it imports rich; it does without both
        # (httpx/__init__.py catches the ImportError).
        sys.modules["httpx._main"] = None  # type: ignore[assignment]  # an ImportError
        # To look for garbage, mostly while it imports, and at its end among all that the modules
        # hold, takes a sixth of a short run; its objects end with the process anyway.
        gc.set_threshold(100_000)
        atexit.register(gc.freeze)
        from .main import cli

        # A caller that had SIGTERM ignored keeps it ignored.
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, _leave)
        # A terminal that closes ends a run as SIGTERM does, unless nohup started it.
        if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
            signal.signal(signal.SIGHUP, _hang_up)
        cli.main(prog_name="adanalytics", obj=invocation)
    except KeyboardInterrupt:
        # While modules were still being imported; later the run itself reports it.
        if sys.stderr is not None:
            sys.stderr.write("Interrupted.\n")
        sys.exit(ExitCode.INTERRUPTED)


def _leave(number: int, _frame: FrameType | None) -> None:
    """Unwind the main thread as Ctrl-C does, so that no file is left half-written."""
    # `timeout` signals the process and its group: the second SIGTERM must not stop the clean-up.
    signal.signal(number, signal.SIG_IGN)
    raise Terminated


def _hang_up(_number: int, _frame: FrameType | None) -> None:
    """End as SIGTERM does, and write nothing more to a terminal that is gone."""
    for stream in (1, 2):
        # It is a device that no longer answers as a terminal.
        if stat.S_ISCHR(os.fstat(stream).st_mode) and not os.isatty(stream):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    signal.raise_signal(signal.SIGTERM)


def _show_version() -> int:
    """Print the version and return the exit status."""
    from adanalytics_client import __version__

    from .console.streams import discard_stdout, prepare_streams

    prepare_streams()
    try:
        sys.stdout.write(f"adanalytics {__version__}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        discard_stdout()
        return ExitCode.CLOSED_PIPE
    except OSError as error:
        sys.stderr.write(f"Error: {error.strerror}\n")
        discard_stdout()
        return ExitCode.FAILED
    return ExitCode.DONE


if __name__ == "__main__":
    main()
