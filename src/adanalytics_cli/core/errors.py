"""The failures that the command line itself can have; `failures` gives each its exit code."""


class CommandError(Exception):
    """Something the program cannot go on after: what happened, and the `remedy`.

    >>> str(CommandError("no room on the disk", remedy="Free some space."))
    'no room on the disk'
    """

    def __init__(self, what: str, *, remedy: str = "") -> None:
        super().__init__(what)
        self.remedy = remedy


class SettingsError(CommandError):
    """A setting is missing or cannot be used."""


class NoCredential(CommandError):
    """There is nothing to sign in with."""


class UnsafeFile(CommandError):
    """A file with secrets is not as private as it must be."""


class DamagedLogins(NoCredential):
    """What `login` stored cannot be used."""


class KeyringTrouble(NoCredential):
    """The keyring is locked, broken, or not there."""


class NoKeyring(KeyringTrouble):
    """This machine has no keyring, which is usual for a server."""


class Unreachable(CommandError):
    """A server does not answer."""


class DatasetDamaged(CommandError):
    """Files of a dataset are not what was written."""


class PartlyDone(CommandError):
    """Some of the work was done and kept, and some could not be."""


class UsedUp(CommandError):
    """What the run was allowed to spend is spent; what it did is kept."""


class Interrupted(CommandError):
    """Ctrl-C, where it can be said how to go on."""


class MissingExtra(CommandError):
    """An optional part of the distribution is not installed."""

    def __init__(self, extra: str, *, needed_for: str) -> None:
        super().__init__(
            f"{needed_for} needs the '{extra}' extra, which is not installed",
            remedy=f"Install it: python -m pip install 'adanalytics[{extra}]'",
        )
