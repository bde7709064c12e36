"""The errors of the command line itself, and their exit statuses."""

import errno
from enum import IntEnum


class ExitCode(IntEnum):
    """Exit status of `adanalytics`.

    130, 141 and 143 are what a shell reports for a program that SIGINT (128 + 2), SIGPIPE (128 +
    13) or SIGTERM (128 + 15) ended, so that pipelines and `set -e` scripts see the usual numbers.
    """

    DONE = 0
    FAILED = 1
    USAGE = 2
    PARTLY_DONE = 3
    NOT_SIGNED_IN = 4
    USED_UP = 5
    UNREACHABLE = 6
    DAMAGED = 7
    INTERRUPTED = 130
    CLOSED_PIPE = 141
    TERMINATED = 143


class CommandError(Exception):
    """An error that ends the command: its message, and the `remedy`."""

    code = ExitCode.FAILED
    # The request id and the address of a request that failed, shown with -v.
    facts = ""

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy


class SettingsError(CommandError):
    """A setting is missing or cannot be used."""

    code = ExitCode.USAGE


class NoCredential(CommandError):
    """There is nothing to sign in with."""

    code = ExitCode.NOT_SIGNED_IN


class Unreachable(CommandError):
    """A server does not answer."""

    code = ExitCode.UNREACHABLE


class ProblemsFound(CommandError):
    """A dataset differs from its own records or from the service."""

    code = ExitCode.DAMAGED


class PartlyDone(CommandError):
    """Some of the work was done and kept, and some could not be."""

    code = ExitCode.PARTLY_DONE


class UsedUp(CommandError):
    """The run has used up its requests or its time, or would before its end."""

    code = ExitCode.USED_UP


class Terminated(KeyboardInterrupt):
    """SIGTERM, or SIGHUP from a closed terminal; it unwinds a run as Ctrl-C does."""


class Interrupted(CommandError):
    """The end of a run by Ctrl-C or a signal, where a command can resume the work."""

    def __init__(self, message: str, *, remedy: str, interrupt: KeyboardInterrupt) -> None:
        super().__init__(message, remedy=remedy)
        self.code = (
            ExitCode.TERMINATED if isinstance(interrupt, Terminated) else ExitCode.INTERRUPTED
        )


class MissingExtra(CommandError):
    """An optional part of the distribution is not installed."""

    def __init__(self, extra: str, *, needed_for: str) -> None:
        super().__init__(
            f"{needed_for} needs the '{extra}' extra, which is not installed.",
            remedy=f"Install it: python -m pip install 'adanalytics[{extra}]'",
        )

    @classmethod
    def check(cls, module: str, extra: str, *, needed_for: str) -> None:
        """Raise the error unless the `module` of an extra is installed; nothing is imported."""
        from importlib.util import find_spec

        if find_spec(module) is None:
            raise cls(extra, needed_for=needed_for)


_NO_ROOM = "Free some space there, or write to another place."
_NO_PERMISSION = "Change the permissions there, or write to another place."
_REMEDIES = {
    errno.ENOSPC: _NO_ROOM,
    errno.EDQUOT: _NO_ROOM,
    errno.EFBIG: "Write to a place that takes larger files.",
    errno.EACCES: _NO_PERMISSION,
    errno.EPERM: _NO_PERMISSION,
    errno.EROFS: "Write to another place.",
    errno.ENOENT: "Check the path.",
    errno.ENOTDIR: "Check the path.",
    errno.EMFILE: "Raise the limit of open files: ulimit -n 4096",
    errno.ENFILE: "Close other programs: this machine has too many open files.",
    errno.ENOMEM: "Close other programs, or ask for fewer days at a time.",
    errno.EBADF: "Stdout is closed. Send it to a file with > FILE, or to /dev/null.",
}


def remedy_of(error: OSError) -> str:
    """Return the remedy for an error of the system, by its number; empty for the rare ones."""
    return _REMEDIES.get(error.errno or 0, "")
