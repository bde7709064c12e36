"""What `login` stored: one entry a profile in a private file, its secret there or in the keyring.

The file is among the state, not among the settings, because people keep their settings in
repositories. An entry names the address it is for, and is used for no other.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from adanalytics_cli.account.keyring_access import delete_secret, get_secret, put_secret
from adanalytics_cli.account.private_file import private_folder, read_private, write_private
from adanalytics_cli.core.errors import DamagedLogins

FILE_NAME = "logins.json"
Kind = Literal["api_key", "token"]


@dataclass(frozen=True, slots=True)
class StoredLogin:
    """One entry; `secret` is None when the keyring has it, `expires_at` None for an API key.

    Times are seconds since 1970-01-01 UTC.
    """

    kind: Kind
    base_url: str
    email: str | None = None
    expires_at: int | None = None
    secret: str | None = field(default=None, repr=False)

    @property
    def place(self) -> str:
        """Where the secret is, for people."""
        return "keyring" if self.secret is None else "file"

    def until(self) -> datetime | None:
        """When a token ends, in UTC; None for what does not end."""
        return None if self.expires_at is None else datetime.fromtimestamp(self.expires_at, UTC)


class LoginStore:
    """The logins of one user; `folder` need not exist."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME

    def find(self, profile: str) -> StoredLogin | None:
        """The entry of `profile`, without asking the keyring.

        Raises UnsafeFile when others can read the file, DamagedLogins when it makes no sense.
        """
        return self._read().get(profile)

    def names(self) -> list[str]:
        """The profiles that have an entry; raises as `find` does."""
        return list(self._read())

    def reveal(self, profile: str, login: StoredLogin) -> str:
        """The secret of an entry.

        Raises KeyringTrouble or MissingExtra when the keyring has it and cannot be used.
        """
        secret = get_secret(profile) if login.secret is None else login.secret
        if not secret:
            raise DamagedLogins(f"the keyring no longer has the login of profile '{profile}'")
        return secret

    def put_in_keyring(self, profile: str, login: StoredLogin, secret: str) -> None:
        """Store an entry whose secret goes to the keyring; raises as `put_secret` does."""
        put_secret(profile, secret)
        self._change(profile, replace(login, secret=None))

    def put_in_file(self, profile: str, login: StoredLogin, secret: str) -> None:
        """Store an entry together with its secret."""
        self._change(profile, replace(login, secret=secret))

    def remove(self, profile: str) -> StoredLogin | None:
        """Forget the entry of `profile`, and give what it was; the keyring goes first."""
        found = self.find(profile)
        if found is None:
            return None
        if found.secret is None:
            delete_secret(profile)
        self._change(profile, None)
        return found

    def _change(self, profile: str, login: StoredLogin | None) -> None:
        with private_folder(self.path.parent):
            logins = self._read()
            if login is None:
                logins.pop(profile, None)
            else:
                logins[profile] = login
            content = {name: asdict(each) for name, each in logins.items()}
            write_private(self.path, json.dumps({"logins": content}, indent=2).encode() + b"\n")

    def _read(self) -> dict[str, StoredLogin]:
        content = read_private(self.path)
        if content is None:
            return {}
        try:
            entries: Mapping[str, Mapping[str, object]] = json.loads(content)["logins"]
            return {name: _entry(fields) for name, fields in entries.items()}
        except (ValueError, TypeError, KeyError, AttributeError):
            # No cause: a decoding error shows the text, and the text holds secrets.
            raise DamagedLogins(
                f"{self.path} is damaged", remedy=f"Remove it and sign in again: rm {self.path}"
            ) from None


def _entry(fields: Mapping[str, object]) -> StoredLogin:
    known = dict(fields)
    kind, base_url = known.pop("kind"), known.pop("base_url")
    email, secret, expires_at = (
        known.pop(name, None) for name in ("email", "secret", "expires_at")
    )
    if (
        known
        or not (kind == "api_key" or kind == "token")
        or not isinstance(base_url, str)
        or not isinstance(email, str | None)
        or not isinstance(secret, str | None)
        or not isinstance(expires_at, int | None)
    ):
        raise ValueError("unknown fields")
    return StoredLogin(kind, base_url, email, expires_at, secret)
