"""`adanalytics login`: check a credential and keep it for the commands that follow."""

import os
from typing import Literal

import click

from adanalytics_cli.account.credential import Credential, in_environment
from adanalytics_cli.account.login_store import LoginStore, StoredLogin
from adanalytics_cli.account.profile_edit import write_profile
from adanalytics_cli.console.prompts import ask, ask_secret, can_ask, secret_from_stdin
from adanalytics_cli.console.remarks import notice, remark
from adanalytics_cli.core.command import ExampleCommand
from adanalytics_cli.core.connection import open_client
from adanalytics_cli.core.folders import state_folder
from adanalytics_cli.core.invocation import current_invocation
from adanalytics_cli.core.profiles import settings_file
from adanalytics_cli.core.settings import Place, Setting, base_url_of, find_place, partner_of


@click.pass_context
def run(
    context: click.Context,
    email: str | None,
    password_stdin: bool,
    api_key_stdin: bool,
    store: Literal["keyring", "file"] | None,
    no_verify: bool,
) -> None:
    """Ask for what is missing, try it, and store it; nothing is stored that does not work."""
    invocation = current_invocation(context)
    place = find_place(invocation, os.environ, new_profile=True)
    base_url = _given(place.base_url, "Address of the service") or base_url_of(place)
    partner = _given(place.partner, "Partner") or partner_of(place)
    account = _read_account(
        place, email, password_stdin=password_stdin, api_key_stdin=api_key_stdin
    )
    invocation.secrets.add(account.secret)

    from adanalytics_cli.account.sign_in import check_account, keep_login

    invocation.sign_in_again = "Nothing was stored. Run the command again."
    with open_client(context, base_url, partner, account) as (client, _progress):
        login, secret = check_account(
            account, client, base_url, now=invocation.clock(), try_it=not no_verify
        )
    invocation.secrets.add(secret)
    values = {"base_url": base_url, "partner": partner}
    if login.email:
        values["email"] = login.email
    profile = place.profile.value
    write_profile(settings_file(os.environ), profile, values)
    logins = LoginStore(state_folder(os.environ))
    where = keep_login(
        logins, profile, login, secret, store, notice=lambda text: notice(text, context)
    )
    remark(_signed_in(login, base_url), context)
    remark(f"Stored for profile {profile} in {where}.", context)


def _given(setting: Setting | None, question: str) -> str:
    if setting is not None:
        return setting.value
    return ask(question) if can_ask() else ""


def _read_account(
    place: Place, email: str | None, *, password_stdin: bool, api_key_stdin: bool
) -> Credential:
    """What to sign in with: stdin, else the environment, else a person at the terminal."""
    if api_key_stdin and (password_stdin or email):
        raise click.UsageError("an API key needs no e-mail. Give --api-key-stdin by itself.")
    if api_key_stdin:
        return Credential("api_key", secret_from_stdin("API key"), "stdin")
    known = email or (place.email.value if place.email else "")
    if password_stdin:
        if not known:
            raise click.UsageError("whose password? Give --email, too.")
        return Credential("password", secret_from_stdin("password"), "stdin", known)
    found = in_environment(place, os.environ) if email is None else None
    return found or _ask_account(known)


def _ask_account(known: str) -> Credential:
    if not can_ask():
        raise click.UsageError(
            "no credential. Give --api-key-stdin, or --email with --password-stdin, "
            "and write the secret to stdin."
        )
    who = known or ask("E-mail (or nothing, to use an API key)")
    if not who:
        return Credential("api_key", ask_secret("API key"), "prompt")
    return Credential("password", ask_secret(f"Password of {who}"), "prompt", who)


def _signed_in(login: StoredLogin, base_url: str) -> str:
    until = login.until()
    if until is None:
        return f"Signed in to {base_url} with an API key."
    return f"Signed in to {base_url} as {login.email} until {until:%Y-%m-%d %H:%M} UTC."


login = ExampleCommand(
    "login",
    callback=run,
    params=[
        click.Option(["--email"], metavar="E", help="Sign in with this e-mail and its password."),
        click.Option(["--password-stdin"], is_flag=True, help="Read the password from stdin."),
        click.Option(["--api-key-stdin"], is_flag=True, help="Read an API key from stdin."),
        click.Option(
            ["--store"],
            type=click.Choice(["keyring", "file"]),
            help="Where to keep it; by default the keyring, or a private file where there is none.",
        ),
        click.Option(["--no-verify"], is_flag=True, help="Do not try whether it is accepted."),
    ],
    summary="Sign in, and keep the credential for the commands that follow.",
    details=(
        "Asks for what is missing. The address, the partner and the e-mail go to the profile, the "
        "secret to the keyring or a file that only you can read. Of a password only the token is "
        "kept, which the service takes for 7 days."
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
