"""`adanalytics status`: who is signed in, where, until when, and how much quota is left."""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from adanalytics_cli.account.connection import connect
from adanalytics_cli.account.credential import Credential, find_credential
from adanalytics_cli.account.dataset_here import dataset_here
from adanalytics_cli.console.redaction import redact
from adanalytics_cli.core.command import command, option
from adanalytics_cli.core.errors import NoCredential, SettingsError
from adanalytics_cli.core.freshness import age_of
from adanalytics_cli.core.invocation import Invocation, print_json
from adanalytics_cli.core.prose import fitted
from adanalytics_cli.core.settings import (
    ServiceSettings,
    Setting,
    base_url_of,
    find_settings,
    partners_of,
    profiles_of,
)
from adanalytics_cli.output.formats import json_option
from adanalytics_client._base.escaping import visible
from adanalytics_client._base.quantities import counted
from adanalytics_client._profiles.settings_file import Profiles

if TYPE_CHECKING:
    from adanalytics_client import QuotaState


@dataclass(slots=True)
class _Setup:
    """The facts collected so far; those after an error stay None."""

    settings: ServiceSettings
    profiles: Profiles
    credential: Credential | None = None
    quota: "QuotaState | None" = None
    last_hour: datetime | None = None
    place: str | None = None


@command(
    "status",
    params=[
        option(
            "--in location",
            click.Path(),
            "DIR|URL",
            "The dataset whose last hour is told; by default this folder.",
        ),
        json_option(),
    ],
    details=(
        "Sends no request and never waits. The quota is what this machine has counted. To try the "
        "credential, run adanalytics doctor. In the folder of a dataset, it tells the last hour "
        "with data there. Exit status 4 when it is missing or has expired."
    ),
    examples=[
        "adanalytics status",
        "adanalytics status --profile night",
        "adanalytics status --in ~/events",
        "adanalytics status --json | jq .quota.remaining",
    ],
    connects=True,
)
def status(invocation: Invocation, location: str | None) -> None:
    """Show every setting with its source, and the quota as counted on this machine."""
    now = invocation.clock()
    settings = find_settings(invocation)
    address = settings.base_url
    if address:
        # Also an address that is refused, without the secrets that it may hold.
        text = re.sub(r"([?#]).+", r"\1***", redact(address.value, ()), flags=re.DOTALL)
        address = replace(address, value=text)
    shown_settings = settings._replace(base_url=address)
    setup = _Setup(shown_settings, profiles_of(), place=location)
    try:
        try:
            base_url_of(settings)
            partner = partners_of(settings)[0]
        except SettingsError as missing:
            raise NoCredential(str(missing), remedy=missing.remedy) from missing
        # To show the state must not need an answer, such as in a script.
        credential = find_credential(settings, invocation, may_ask=False)
        setup.credential = credential
        with connect(invocation, settings, partner, credential, waits=False) as (client, _progress):
            setup.quota = client.quota
    finally:
        try:
            dataset = dataset_here(settings, location)
            setup.last_hour = dataset.last_hour if dataset else None
        finally:
            _show(setup, invocation)
    if credential.until is not None and credential.until <= now:
        raise NoCredential("The sign-in has expired.", remedy=f"Run: {settings.login_command}")


def _show(setup: _Setup, invocation: Invocation) -> None:
    if invocation.as_json:
        print_json(_record(setup))
        return
    for name, setting in _lines(setup, invocation.clock()):
        value, source = (setting.value, setting.source) if setting else ("-", "not set")
        line = visible(f"{name:<14}{value}" + (f"  ({source})" if source else ""))
        click.echo(fitted(line, sys.stdout, hang=14))


def _lines(setup: _Setup, now: datetime) -> Iterator[tuple[str, Setting | None]]:
    settings, profiles, credential = setup.settings, setup.profiles, setup.credential
    yield from (("profile", settings.profile), ("base url", settings.base_url))
    yield "partner", settings.partner
    if profiles.tables.keys() - {settings.profile.value}:
        yield "profiles", Setting(", ".join(profiles.tables), str(profiles.path))
    if credential:
        yield "signed in as", Setting(credential.email or "an API key", credential.source)
        yield "until", _until(credential, now)
    if setup.quota:
        yield "quota left", _left(setup.quota)
    if setup.last_hour:
        of_which = setup.place or "this folder"
        source = f"last hour in the dataset of {of_which}, {age_of(setup.last_hour, now)}"
        yield "data until", Setting(f"{setup.last_hour:%Y-%m-%d %H:%M %Z}", source)


def _record(setup: _Setup) -> dict[str, object]:
    settings, credential, quota = setup.settings, setup.credential, setup.quota
    return {
        "profile": settings.profile,
        "base_url": settings.base_url,
        "partner": settings.partner,
        "profiles": list(setup.profiles.tables),
        "credential": credential
        and {
            "kind": credential.kind,
            "email": credential.email,
            "source": credential.source,
            "until": credential.until and f"{credential.until:%Y-%m-%dT%H:%M:%SZ}",
        },
        "quota": quota
        and {
            "remaining": quota.remaining,
            "resumes_at": quota.resumes_at and f"{quota.resumes_at:%Y-%m-%dT%H:%M:%SZ}",
        },
        "dataset": setup.last_hour
        and {"last_hour": f"{setup.last_hour.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"},
    }


def _left(quota: "QuotaState") -> Setting:
    if quota.remaining is None:
        return Setting("not counted", "")
    # Without the limit: the service may allow fewer requests than the client counts.
    source = "counted on this machine"
    if quota.resumes_at is not None:
        source += f"; resuming at {quota.resumes_at:%H:%M:%S} UTC"
    return Setting(counted(quota.remaining, "request"), source)


def _until(credential: Credential, now: datetime) -> Setting:
    if credential.kind == "api_key":
        return Setting("no end", "an API key does not expire")
    if credential.until is None:
        return Setting("the command ends", "a password is not stored")
    moment = f"{credential.until:%Y-%m-%d %H:%M} UTC"
    return Setting(moment, "" if credential.until > now else "expired")
