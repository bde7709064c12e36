"""`adanalytics login` and `logout`: check and store a credential, or forget it."""

import base64
import binascii
import json
import os
import sys
import tomllib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

import click

from adanalytics_cli.account.connection import connect
from adanalytics_cli.account.credential import Credential, in_environment
from adanalytics_cli.console.prompts import ask, ask_secret, can_ask, secret_from_stdin
from adanalytics_cli.core.command import command, flag, option
from adanalytics_cli.core.errors import SettingsError
from adanalytics_cli.core.files import naming
from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.core.prose import fitted
from adanalytics_cli.core.remedies import words_of
from adanalytics_cli.core.settings import (
    Setting,
    base_url_of,
    check_address,
    find_settings,
    partner_of,
    profiles_of,
    write_profile,
)
from adanalytics_client._base.escaping import visible
from adanalytics_client._base.files import state_folder
from adanalytics_client._profiles import keyring_access
from adanalytics_client._profiles.login_store import LoginStore, StoredLogin
from adanalytics_client._profiles.settings_file import settings_file

if TYPE_CHECKING:
    from adanalytics_client import Client

Where = Literal["keyring", "file"]


@command(
    "login",
    params=[
        option("--email", str, "E", "Sign in with this e-mail.  [env: ADANALYTICS_EMAIL]"),
        flag("--password-stdin", "Read the password from stdin."),
        flag("--api-key-stdin", "Read an API key from stdin."),
        option(
            "--store",
            get_args(Where),
            None,
            "Where to store it; by default the keyring, or a private file if there is none.",
        ),
        flag("--no-verify", "Store the credential without trying it."),
    ],
    details=(
        "Takes ADANALYTICS_API_KEY, or ADANALYTICS_EMAIL and ADANALYTICS_PASSWORD, from the "
        "environment, and asks for missing settings; Enter keeps those of the profile. The "
        "address, the partner and the e-mail go to the profile, the secret to the keyring or a "
        "file that only you can read. A password is not stored, only its token, which is valid "
        "for 7 days."
    ),
    examples=[
        "adanalytics login",
        "adanalytics login --email ada@example.org",
        "pass show stats | adanalytics login --api-key-stdin \\",
        "    --base-url https://stats.example --partner acme",
        "adanalytics login --profile night",
    ],
    connects=True,
)
def login(
    invocation: Invocation,
    email: str | None,
    password_stdin: bool,
    api_key_stdin: bool,
    store: Where | None,
    no_verify: bool,
) -> None:
    """Ask for missing settings, try the credential, and store it only if it works."""
    from adanalytics_client import AuthenticationError, NotFound, PermissionDenied

    if api_key_stdin and (password_stdin or email):
        raise click.UsageError("An API key needs no e-mail. Give --api-key-stdin alone.")
    settings = find_settings(invocation, new_profile=True)
    profile = settings.profile.value
    file = profiles_of().service_file(profile)
    if file and invocation.describes_service:
        raise SettingsError(
            f"Profile {profile} has the service in {file}, which login does not change.",
            remedy="Change the file, or leave out --rows-key, --map, --time-field and --zone.",
        )
    logins = LoginStore(state_folder(os.environ))
    login_before = logins.find(profile)
    # Who signed in with a key will most likely do so again.
    key_first = login_before is not None and login_before.kind == "api_key"
    if can_ask():
        check = partial(_check_address, try_it=not no_verify)
        address = _asked("Address of the service", settings.base_url, check)
        settings = settings._replace(base_url=address)
    base_url = base_url_of(settings)
    account = None
    refused_email = None
    invocation.sign_in_again = "Nothing was stored. Run the command again."
    outcome = None
    # Until a credential works. Only an answer to a prompt is asked for again: anything else would
    # be refused in the same way each time.
    while outcome is None:
        if can_ask():
            settings = settings._replace(partner=_asked("Partner", settings.partner))
        partner = partner_of(settings)
        login_email = email or (settings.email.value if settings.email else "")
        account = (
            account
            or _read_stdin(login_email, password=password_stdin, api_key=api_key_stdin)
            or (in_environment(settings) if email is None else None)
            or _ask_account(login_email, refused_email, fixed=bool(email), key_first=key_first)
        )
        invocation.secrets.add(account.secret)
        try:
            with connect(invocation, settings, partner, account) as (client, _progress):
                outcome = check_account(
                    account, client, base_url, now=invocation.clock(), try_it=not no_verify
                )
        except (AuthenticationError, NotFound, PermissionDenied) as error:
            is_login = isinstance(error, AuthenticationError)
            answer = account if is_login else settings.partner
            is_elsewhere = error.remedy.code == "address"
            if answer is None or answer.source != "prompt" or is_elsewhere:
                raise
            remedy = error.remedy if is_login else "Check the partner."
            text = f"Error: {visible(error.message)} {remedy}"
            click.echo(fitted(text, sys.stderr), err=True)
            if is_login:
                key_first, refused_email = account.kind == "api_key", account.email
                account = None
            else:
                settings = settings._replace(partner=None)
    # Nothing is written before this point, so a failed login leaves the profile as it was.
    login, secret = outcome
    invocation.secrets.add(secret)
    values: dict[str, Any] = {"base_url": base_url, "partner": partner_of(settings)}
    if login.email:
        values["email"] = login.email
    if invocation.describes_service:
        values["service"] = tomllib.loads(settings.service.to_toml())
        del values["service"]["version"]
    # First the step that a keyring can refuse.
    place = keep_login(logins, profile, login, secret, store, invocation)
    write_profile(settings_file(os.environ), profile, values)
    until = login.until()
    method = f"as {login.email} until {until:%Y-%m-%d %H:%M} UTC" if until else "with an API key"
    invocation.notice(f"Signed in to {base_url} {method}.")
    invocation.notice(f"Stored for profile {profile} in {place}.")


def _asked(
    question: str, default: Setting | None, check: Callable[[str], str] | None = None
) -> Setting:
    """Return a setting that was given, or what the person answers; Enter keeps that of the profile.

    `check` is as for `ask`.
    """
    if default and not default.source.startswith("profile "):
        return default
    return Setting(ask(question, default=default.value if default else None, check=check), "prompt")


def _check_address(address: str, *, try_it: bool) -> str:
    """Return the address if a service answers there; click.UsageError asks for another one."""
    from adanalytics_client import AdAnalyticsError, Client, QuotaPolicy, RetryPolicy, StatusError

    try:
        check_address(address)
    except SettingsError as error:
        raise click.UsageError(f"{error} {error.remedy}") from None
    once = RetryPolicy(attempts=1)
    try:
        with Client(
            address,
            api_key="-",
            partner="-",
            retry=once,
            timeout=10,
            quota=QuotaPolicy(log="memory"),
        ) as client:
            if try_it:
                client.dates()
    except StatusError:
        # The service answers, and refuses the key as expected.
        pass
    except AdAnalyticsError as error:
        raise click.UsageError(f"{visible(error.message)} {words_of(error.remedy)}") from None
    return address


def _read_stdin(email: str, *, password: bool, api_key: bool) -> Credential | None:
    """Return the credential that comes from stdin, if one does; `email` is an e-mail or empty."""
    if api_key:
        return Credential("api_key", secret_from_stdin("API key"), "stdin")
    if password and not email:
        raise click.UsageError("The e-mail is missing. Give --email E with --password-stdin.")
    return (
        Credential("password", secret_from_stdin("password"), "stdin", email) if password else None
    )


def _ask_account(
    email: str, refused_email: str | None, *, fixed: bool, key_first: bool
) -> Credential:
    """Ask for an API key or a password, first for the kind that the last login used.

    `email` is an e-mail or empty; when it is `fixed`, ask only for its password. One that was
    just refused is the default of the question.
    """
    if not can_ask():
        raise click.UsageError(
            "No credential. Give --api-key-stdin, or --email with --password-stdin, "
            "and write the secret to stdin."
        )
    # An empty answer moves on to the other way of signing in.
    if key_first and not fixed:
        if key := ask_secret("API key (leave empty to use an e-mail)", optional=True):
            return Credential("api_key", key, "prompt")
        email, fixed = email or ask("E-mail"), True
    if refused_email:
        email = email or ask("E-mail", default=refused_email)
    login_email = email or ask("E-mail (leave empty to use an API key)", default="")
    fixed = fixed or not email
    hint = "" if fixed else " (leave empty to use an API key)"
    password = login_email and ask_secret(f"Password of {login_email}{hint}", optional=not fixed)
    if not password:
        return Credential("api_key", ask_secret("API key"), "prompt")
    return Credential("password", password, "prompt", login_email)


# As the service documents it; the expiry inside a readable token takes precedence.
TOKEN_SECONDS = 7 * 24 * 3600


def check_account(
    account: Credential, client: "Client", base_url: str, *, now: datetime, try_it: bool
) -> tuple[StoredLogin, str]:
    """Return the entry to store and its secret, after the service accepted them.

    An e-mail always needs a login request, because the token is stored, never the password.
    `try_it` sends one more request, which also shows that the partner may be read.

    Raises the client's errors when the service refuses or does not answer.
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
    place: Where | None,
    invocation: Invocation,
) -> str:
    """Store a login in the keyring, or in a file if there is none, and return where.

    Raises KeyringError only with `place="keyring"`.
    """
    if place != "file":
        try:
            keyring_access.put_secret(profile, secret)
            store.put(profile, login)
        except keyring_access.KeyringError as error:
            if place == "keyring":
                error.remedy = error.remedy or "Keep the login in a file: --store file"
                raise
            # A machine without a keyring is usual; a keyring that fails is worth a line.
            if not isinstance(error, keyring_access.NoKeyring):
                invocation.notice(f"{error.message} Using a private file instead.")
        else:
            return "the keyring"
    before = store.find(profile)
    with naming(store.path, store.path.parent):
        store.put(profile, replace(login, secret=secret))
    # The former login was in the keyring, where nobody would look for it any more.
    if before is not None and before.secret is None:
        with suppress(keyring_access.KeyringError):
            keyring_access.delete_secret(profile)
    return str(store.path)


def _expiry(token: str) -> int | None:
    """Return when a JWT expires (RFC 7519 section 4.1.4); None if it cannot be read."""
    try:
        body = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        return int(claims["exp"])
    except (IndexError, KeyError, TypeError, ValueError, OverflowError, binascii.Error):
        return None


@command(
    "logout",
    details="The profile keeps its settings, and the service keeps the API key.",
    examples=["adanalytics logout", "adanalytics logout --profile night"],
    connects=True,
)
def logout(invocation: Invocation) -> None:
    settings = find_settings(invocation, new_profile=True)
    profile = settings.profile.value
    removed = LoginStore(state_folder(os.environ)).remove(profile)
    if removed is None:
        invocation.notice(f"Nothing is stored for profile {profile}.")
        return
    place = "keyring" if removed.secret is None else "file"
    invocation.notice(f"Removed the login of profile {profile} from the {place}.")
    if removed.kind == "api_key":
        invocation.notice("The key itself still works until it is deleted in Settings > API Keys.")
