"""Check a credential with the service, and store it where it is safest."""

import base64
import binascii
import json
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from adanalytics_cli.account.credential import Credential
from adanalytics_cli.account.keyring_access import delete_secret
from adanalytics_cli.account.login_store import LoginStore, StoredLogin
from adanalytics_cli.core.errors import KeyringTrouble, MissingExtra, NoKeyring

if TYPE_CHECKING:
    from adanalytics_client import Client

Where = Literal["keyring", "file"]
# What the service documents; the token's own word counts where it can be read.
TOKEN_SECONDS = 7 * 24 * 3600


def check_account(
    account: Credential, client: "Client", base_url: str, *, now: datetime, try_it: bool
) -> tuple[StoredLogin, str]:
    """The entry to store and its secret, after the service accepted them.

    An e-mail always takes a login, because it is the token that is stored, never the password.
    `try_it` sends one more request, which also shows that the partner may be read.

    Raises what the client raises when the service refuses or is not there.
    """
    if account.kind == "api_key":
        login, secret = StoredLogin("api_key", base_url), account.secret
    else:
        secret = client.log_in()
        expires_at = _expiry(secret) or int(now.timestamp()) + TOKEN_SECONDS
        login = StoredLogin("token", base_url, account.email, expires_at)
    if try_it:
        client.dates()
    return login, secret


def keep_login(
    store: LoginStore,
    profile: str,
    login: StoredLogin,
    secret: str,
    where: Where | None,
    *,
    notice: Callable[[str], None],
) -> str:
    """Store a login in the keyring, or in a file where there is none; says where it is.

    Raises KeyringTrouble or MissingExtra only when the keyring was asked for.
    """
    if where != "file":
        try:
            store.put_in_keyring(profile, login, secret)
        except (KeyringTrouble, MissingExtra) as trouble:
            if where == "keyring":
                trouble.remedy = trouble.remedy or "Unlock it, or keep the login with --store file."
                raise
            if not isinstance(trouble, NoKeyring | MissingExtra):
                notice(f"Using a file of mode 0600 instead of the keyring: {trouble}.")
        else:
            return "the keyring"
    before = store.find(profile)
    store.put_in_file(profile, login, secret)
    if before is not None and before.secret is None:
        with suppress(KeyringTrouble, MissingExtra):
            delete_secret(profile)
    return str(store.path)


def _expiry(token: str) -> int | None:
    """When a JWT ends, as it says itself (RFC 7519 section 4.1.4); None where it cannot be read."""
    try:
        body = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        return int(claims["exp"])
    except (IndexError, KeyError, TypeError, ValueError, OverflowError, binascii.Error):
        return None
