"""The keyring of the desktop: optional, imported late, and never waited for longer than 2 s."""

import threading
from collections.abc import Callable
from importlib import import_module
from queue import Empty, SimpleQueue
from types import ModuleType

from adanalytics_client.errors import ConfigurationError


class UnusableLogin(ConfigurationError):
    """The stored login cannot be used."""


class KeyringError(UnusableLogin):
    """The keyring is locked, broken, or not there."""


class NoKeyring(KeyringError):
    """This machine has no keyring, which is usual for a server, or Python cannot use it."""


SERVICE = "adanalytics"
# A locked keyring waits for a window that nobody may see, over ssh for example.
TIMEOUT = 2.0


def put_secret(name: str, secret: str) -> None:
    """Keep `secret` under `name`.

    Raises KeyringError when that fails.
    """
    _within_time(lambda keyring: keyring.set_password(SERVICE, name, secret))
    # The null backend takes everything and keeps nothing.
    if get_secret(name) != secret:
        raise KeyringError("The keyring does not keep secrets.")


def get_secret(name: str) -> str | None:
    """Return the secret under `name`, or None; raises as `put_secret` does."""
    return _within_time(lambda keyring: keyring.get_password(SERVICE, name))


def delete_secret(name: str) -> None:
    """Forget the secret under `name`, if there is one; raises as `put_secret` does."""
    if get_secret(name) is not None:
        _within_time(lambda keyring: keyring.delete_password(SERVICE, name))


def _within_time(work: Callable[[ModuleType], str | None]) -> str | None:
    """Do `work` in a thread that is abandoned when it takes too long."""
    outcome: SimpleQueue[str | BaseException | None] = SimpleQueue()

    def run() -> None:
        try:
            outcome.put(work(import_module("keyring")))
        except BaseException as error:  # noqa: BLE001  # backends raise what they like
            outcome.put(error)

    threading.Thread(target=run, name="keyring", daemon=True).start()
    try:
        result = outcome.get(timeout=TIMEOUT)
    except Empty:
        raise KeyringError(f"The keyring did not answer within {TIMEOUT:.0f} s.") from None
    if isinstance(result, ModuleNotFoundError) and result.name == "keyring":
        raise NoKeyring(
            "The keyring needs the 'keyring' extra, which is not installed.",
            remedy="Install it: python -m pip install 'adanalytics[keyring]'",
        ) from result
    if isinstance(result, BaseException):
        if type(result).__name__ == "NoKeyringError":
            raise NoKeyring("This machine has no keyring.") from result
        # The text of a backend's error may hold anything, so only its first line is shown.
        reason = str(result).strip().partition("\n")[0] or type(result).__name__
        raise KeyringError(f"The keyring cannot be used: {reason.rstrip('.')}.") from result
    return result
