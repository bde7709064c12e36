"""Which service, whose data, and what to sign in with: option, environment, profile."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

import click

from adanalytics_cli.errors import NoCredential, SettingsError
from adanalytics_cli.invocation import Invocation
from adanalytics_cli.profiles import load_profile, settings_file


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """Everything that a connection needs; either `api_key` or `email` and `password` are set."""

    base_url: str
    partner: str
    api_key: str | None = field(default=None, repr=False)
    email: str | None = None
    password: str | None = field(default=None, repr=False)


def resolve_settings(invocation: Invocation, environment: Mapping[str, str]) -> ServiceSettings:
    """Take each setting from the strongest place that has it.

    An option wins over `ADANALYTICS_*`, which wins over the profile. An empty variable
    counts as not set. Secrets come from the environment, or from a prompt when an e-mail
    address is known and a person is at the terminal.

    Raises SettingsError without an address or a partner, NoCredential without a credential.
    """
    profile = load_profile(
        settings_file(environment),
        invocation.profile or environment.get("ADANALYTICS_PROFILE") or None,
    )
    base_url = invocation.base_url or environment.get("ADANALYTICS_BASE_URL") or profile.base_url
    partner = invocation.partner or environment.get("ADANALYTICS_PARTNER") or profile.partner
    if not base_url:
        raise _missing("no address of the service", "--base-url URL", "ADANALYTICS_BASE_URL")
    if not partner:
        raise _missing("no partner", "--partner ID", "ADANALYTICS_PARTNER")
    if api_key := environment.get("ADANALYTICS_API_KEY"):
        invocation.secrets.add(api_key)
        return ServiceSettings(base_url, partner, api_key=api_key)
    email = environment.get("ADANALYTICS_EMAIL") or profile.email
    password = environment.get("ADANALYTICS_PASSWORD") or _ask_password(email)
    if not (email and password):
        raise NoCredential(
            "nothing to sign in with",
            remedy="Set ADANALYTICS_API_KEY, or ADANALYTICS_EMAIL and ADANALYTICS_PASSWORD.",
        )
    invocation.secrets.add(password)
    return ServiceSettings(base_url, partner, email=email, password=password)


def _missing(what: str, option: str, variable: str) -> SettingsError:
    return SettingsError(what, remedy=f"Give {option}, set {variable}, or use a profile.")


def _ask_password(email: str | None) -> str | None:
    if not (email and sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    answer: str = click.prompt(f"Password of {email}", hide_input=True, err=True)
    return answer
