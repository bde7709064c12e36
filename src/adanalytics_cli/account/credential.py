"""The credential: from the environment, from the stored login, or from a prompt."""

import os
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from adanalytics_cli.console.prompts import ask_secret, can_ask
from adanalytics_cli.core.errors import NoCredential
from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.core.settings import ServiceSettings, base_url_of
from adanalytics_client._base.files import state_folder
from adanalytics_client._profiles.keyring_access import KeyringError, UnusableLogin
from adanalytics_client._profiles.login_store import LoginStore, StoredLogin


@dataclass(frozen=True, slots=True)
class Credential:
    """A secret, its kind and source, and until when a token is valid (UTC)."""

    kind: Literal["api_key", "token", "password"]
    secret: str = field(repr=False)
    source: str
    email: str | None = None
    until: datetime | None = None

    def of_kind(self, kind: str) -> str | None:
        return self.secret if self.kind == kind else None


def in_environment(settings: ServiceSettings) -> Credential | None:
    """Return an API key, or a password whose e-mail is known, in the environment."""
    if api_key := os.environ.get("ADANALYTICS_API_KEY"):
        return Credential("api_key", api_key, "ADANALYTICS_API_KEY")
    password = os.environ.get("ADANALYTICS_PASSWORD")
    if password and settings.email:
        return Credential("password", password, "ADANALYTICS_PASSWORD", settings.email.value)
    return None


def find_credential(
    settings: ServiceSettings, invocation: Invocation, *, may_ask: bool = True
) -> Credential:
    """Return the strongest credential for the service of `settings`.

    An API key in the environment, then an e-mail with a password in the environment, then the
    login stored for this address, then, if it `may_ask`, a password typed at the terminal.

    Raises NoCredential when there is none, UnusableLogin when the stored one cannot be used.
    """
    credential = in_environment(settings)
    if credential is None:
        invocation.sign_in_again = f"Sign in again: {settings.login_command}"
        store = LoginStore(state_folder(os.environ))
        login = store.find(settings.profile.value)
        email = settings.email.value if settings.email else None
        # A stored secret goes only to the address that it was stored for.
        if login is not None and login.is_for(base_url_of(settings), email):
            secret = _revealed(store, login, settings)
            source = "keyring" if login.secret is None else str(store.path)
            credential = Credential(login.kind, secret, source, login.email, login.until())
        else:
            credential = _asked(settings, login, may_ask=may_ask)
    invocation.secrets.add(credential.secret)
    return credential


def secrets_here(settings: ServiceSettings) -> set[str]:
    """Return the secrets that this process can read without asking the keyring or a person."""
    secrets = {os.environ.get(f"ADANALYTICS_{name}") for name in ("API_KEY", "PASSWORD")}
    with suppress(UnusableLogin):
        login = LoginStore(state_folder(os.environ)).find(settings.profile.value)
        secrets.add(login.secret if login else None)
    return {secret for secret in secrets if secret}


def _revealed(store: LoginStore, login: StoredLogin, settings: ServiceSettings) -> str:
    try:
        return store.reveal(settings.profile.value, login)
    except UnusableLogin as error:
        error.remedy = f"Sign in again: {settings.login_command}"
        if isinstance(error, KeyringError):
            in_a_file = f"{settings.login_command} --store file"
            error.remedy = f"Unlock it, or keep the login in a file: {in_a_file}"
        raise


def _asked(settings: ServiceSettings, login: StoredLogin | None, *, may_ask: bool) -> Credential:
    if settings.email and may_ask and can_ask():
        email = settings.email.value
        password = ask_secret(f"Password of {email}")
        return Credential("password", password, "prompt", email)
    state = "Not signed in."
    if login is not None:
        user = f" as {login.email}" if login.email else ""
        state = f"The stored login is for {login.base_url}{user}, not for {base_url_of(settings)}."
    raise NoCredential(
        state, remedy=f"Set ADANALYTICS_API_KEY, or sign in: {settings.login_command}"
    )
