"""`adanalytics status`: who is signed in, where, until when, and what is left of the quota."""

import os
import sys
from datetime import datetime
from typing import TYPE_CHECKING

import click

from adanalytics_cli.account.connection import open_client
from adanalytics_cli.account.credential import Credential, find_credential
from adanalytics_cli.console.quantities import counted
from adanalytics_cli.core.command import ExampleCommand
from adanalytics_cli.core.errors import NoCredential, SettingsError
from adanalytics_cli.core.invocation import current_invocation
from adanalytics_cli.core.settings import (
    Place,
    Setting,
    base_url_of,
    find_place,
    partner_of,
    read_profiles,
    settings_file,
)
from adanalytics_cli.output.row_output import csv_line

if TYPE_CHECKING:
    from adanalytics_client import QuotaState

_NAMES = ("setting", "value", "source")


@click.pass_context
def run(context: click.Context) -> None:
    """Show every setting with its source, and the quota as this machine counts it."""
    invocation = current_invocation(context)
    place = find_place(invocation, os.environ)
    show = _Rows()
    for name, setting in _settings(place):
        show.add(name, setting)
    profiles = read_profiles(settings_file(os.environ))
    if profiles.tables.keys() - {place.profile.value}:
        show.add("profiles", Setting(", ".join(profiles.tables), str(profiles.path)))
    try:
        base_url, partner = base_url_of(place), partner_of(place)
    except SettingsError as missing:
        raise NoCredential(str(missing), remedy=missing.remedy) from missing
    credential = find_credential(place, invocation, os.environ, may_ask=False)
    now = invocation.clock()
    for name, setting in _credential(credential, now):
        show.add(name, setting)
    with open_client(context, base_url, partner, credential, max_wait=0) as (client, _progress):
        show.add("quota left", _left(client.quota))
    if credential.until is not None and credential.until <= now:
        raise NoCredential("The sign-in has expired.", remedy=f"Run: {place.login_command}")


def _left(quota: "QuotaState") -> Setting:
    if quota.remaining is None:
        return Setting("not counted", "")
    # Not of how many: the service may allow fewer than the client counts.
    source = "counted on this machine"
    if quota.resumes_at is not None:
        source += f"; resuming at {quota.resumes_at:%H:%M:%S} UTC"
    return Setting(counted(quota.remaining, "request"), source)


class _Rows:
    """Lines on a terminal, csv in a pipe; each is out before the next can fail."""

    def __init__(self) -> None:
        self._for_people = sys.stdout is not None and sys.stdout.isatty()
        if not self._for_people:
            click.echo(csv_line(_NAMES), nl=False)

    def add(self, name: str, setting: Setting | None) -> None:
        value, source = (setting.value, setting.source) if setting else ("-", "not set")
        if self._for_people:
            click.echo(f"{name:<14}{value}" + (f"  ({source})" if source else ""))
        else:
            click.echo(csv_line([name.replace(" ", "_"), value, source]), nl=False)


def _settings(place: Place) -> list[tuple[str, Setting | None]]:
    return [("profile", place.profile), ("base url", place.base_url), ("partner", place.partner)]


def _credential(found: Credential, now: datetime) -> list[tuple[str, Setting]]:
    who = Setting(found.email or "an API key", found.source)
    return [("signed in as", who), ("until", _until(found, now))]


def _until(found: Credential, now: datetime) -> Setting:
    if found.kind == "api_key":
        return Setting("deleted", "an API key does not expire")
    if found.until is None:
        return Setting("the command ends", "a password is not stored")
    moment = f"{found.until:%Y-%m-%d %H:%M} UTC"
    return Setting(moment, "" if found.until > now else "expired")


status = ExampleCommand(
    "status",
    callback=run,
    params=[],
    summary="Show the settings, the sign-in and the remaining quota.",
    details=(
        "Sends no request and never waits. The quota is the count of this machine; adanalytics "
        "doctor tries the credential. Exit status 4 without a credential, or when it has expired."
    ),
    examples=["adanalytics status", "adanalytics status --profile night"],
    connects=True,
)
