"""The stored logins: one entry per profile, in a file that only its owner can read.

The file is in the state folder, not with the settings, because people keep their settings in
repositories. An entry is used only for the address that it names.
"""

import errno
import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from adanalytics_client._base.files import UNFOLLOWED, make_folder, replacing, state_folder
from adanalytics_client._base.locks import POSIX, lock, locked_folder
from adanalytics_client._base.secrets import Secret
from adanalytics_client.errors import ConfigurationError

from .keyring_access import UnusableLogin, delete_secret, get_secret
from .settings_file import Profile, login_command

_NOT_OWNER = 0o077


def read_private(path: Path) -> bytes | None:
    """Return the content of `path`, or None when there is no such file.

    Raises UnusableLogin for a symbolic link, for anything but a plain file, and for a file that
    belongs to or can be read by somebody else.
    """
    try:
        # Without O_NONBLOCK, opening a named pipe here would block.
        handle = os.open(path, os.O_RDONLY | UNFOLLOWED)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _unsafe(path, "is a symbolic link") from error
        raise
    with os.fdopen(handle, "rb") as file:
        stat_result = os.fstat(file.fileno())
        if not stat.S_ISREG(stat_result.st_mode):
            raise _unsafe(path, "is not a plain file")
        if POSIX and stat_result.st_uid != os.geteuid():
            raise _unsafe(path, "belongs to another user")
        if POSIX and stat_result.st_mode & _NOT_OWNER:
            raise UnusableLogin(f"{path} is open to other users.", remedy=f"Run: chmod 600 {path}")
        return file.read()


@contextmanager
def private_folder(path: Path) -> Iterator[None]:
    """Make `path` a folder of mode 0700 and lock it against our other processes.

    Raises UnusableLogin when it is a symbolic link or belongs to somebody else.
    """
    make_folder(path, mode=0o700)
    if not POSIX:
        # The folders of a user are closed to others there.
        with locked_folder(path):
            yield
        return
    try:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise _unsafe(path, "is a symbolic link") from error
        raise
    try:
        stat_result = os.fstat(handle)
        if stat_result.st_uid != os.geteuid():
            raise _unsafe(path, "belongs to another user")
        if stat_result.st_mode & _NOT_OWNER:
            os.fchmod(handle, 0o700)
        lock(handle, path, wait=True)
        yield
    finally:
        os.close(handle)


def _unsafe(path: Path, problem: str) -> UnusableLogin:
    return UnusableLogin(f"{path} {problem}, so it cannot hold a secret.", remedy=f"Remove {path}.")


@dataclass(frozen=True, slots=True)
class StoredLogin:
    """One entry; `secret` is None when the keyring has it, `expires_at` None for an API key.

    Times are seconds since 1970-01-01 UTC.
    """

    kind: Literal["api_key", "token"]
    base_url: str
    email: str | None = None
    expires_at: int | None = None
    secret: str | None = field(default=None, repr=False)

    def is_for(self, base_url: str, email: str | None) -> bool:
        """Return whether it was stored for this address and, if it is a person's, this account."""
        address, address_of_login = (url.strip().rstrip("/") for url in (base_url, self.base_url))
        return address == address_of_login and (
            self.kind == "api_key" or email in {None, self.email}
        )

    def until(self) -> datetime | None:
        """Return when a token expires, in UTC; None for an API key."""
        return None if self.expires_at is None else datetime.fromtimestamp(self.expires_at, UTC)


class LoginStore:
    """The logins of one user; `folder` need not exist."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "logins.json"

    def find(self, profile: str) -> StoredLogin | None:
        """Return the entry of `profile`, without asking the keyring.

        Raises UnusableLogin when others can read the file, or when it cannot be parsed.
        """
        return self._read().get(profile)

    def reveal(self, profile: str, login: StoredLogin) -> str:
        """Return the secret of an entry.

        Raises KeyringError when the keyring has it and cannot be used.
        """
        secret = get_secret(profile) if login.secret is None else login.secret
        if not secret:
            raise UnusableLogin(f"The keyring no longer has the login of profile '{profile}'.")
        return secret

    def remove(self, profile: str) -> StoredLogin | None:
        """Remove the entry of `profile` and return it; the secret in the keyring goes first."""
        login = self.find(profile)
        if login is None:
            return None
        if login.secret is None:
            delete_secret(profile)
        self.put(profile, None)
        return login

    def put(self, profile: str, login: StoredLogin | None) -> None:
        """Write the entry of `profile`, or remove it for None; the keyring stays as it is."""
        with private_folder(self.path.parent):
            logins = self._read()
            if login is None:
                logins.pop(profile, None)
            else:
                logins[profile] = login
            content = {name: asdict(entry) for name, entry in logins.items()}
            with replacing(self.path, private=True) as file:
                file.write(json.dumps({"logins": content}, indent=2).encode() + b"\n")

    def _read(self) -> dict[str, StoredLogin]:
        content = read_private(self.path)
        if content is None:
            return {}
        # Late: most commands find their credential in the environment.
        import msgspec

        try:
            return msgspec.json.decode(content, type=dict[str, dict[str, StoredLogin]])["logins"]
        except (msgspec.DecodeError, KeyError):
            # No cause: a decoding error shows the text, and the text holds secrets.
            raise UnusableLogin(
                f"{self.path} is damaged.", remedy=f"Remove it and sign in again: rm {self.path}"
            ) from None


def sign_in_of(name: str, profile: Profile, environment: Mapping[str, str]) -> tuple[str, Secret]:
    """Return the kind of the credential that is stored for a profile, and the credential."""
    store = LoginStore(state_folder(environment))
    try:
        login = store.find(name)
        if login is not None and login.is_for(profile.base_url or "", profile.email):
            return login.kind, Secret(store.reveal(name, login))
    except UnusableLogin as error:
        advice = f"Unlock the keyring, or sign in again: {login_command(name)} --store file"
        # The command line distinguishes these errors; others know their base class only.
        raise ConfigurationError(error.message, remedy=error.remedy or advice) from None
    raise ConfigurationError(
        f"Nobody is signed in at {profile.base_url or 'a service'} in profile '{name}'.",
        remedy=f"Sign in: {login_command(name)}",
    )
