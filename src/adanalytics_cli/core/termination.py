"""SIGTERM, which is how schedulers, containers and `timeout` end a program."""

import signal
import sys
from types import FrameType

from adanalytics_cli.core.exit_codes import ExitCode


def leave_on_sigterm() -> None:
    """Let SIGTERM unwind the main thread as Ctrl-C does, so that no file is left half-written.

    A caller that had SIGTERM ignored keeps it ignored.
    """
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _leave)


def _leave(number: int, _frame: FrameType | None) -> None:
    # `timeout` sends it to the process and to its group: twice, and the clean-up ends all the same.
    signal.signal(number, signal.SIG_IGN)
    sys.exit(ExitCode.TERMINATED)
