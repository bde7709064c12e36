"""`adanalytics doctor`: check what a pull depends on, and suggest remedies."""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Literal

import click

from adanalytics_cli.account.credential import Credential, find_credential
from adanalytics_cli.console.redaction import redact
from adanalytics_cli.console.terminal import look_at
from adanalytics_cli.core.command import ExampleCommand
from adanalytics_cli.core.errors import CommandError, ExitCode
from adanalytics_cli.core.invocation import Invocation, current_invocation
from adanalytics_cli.core.settings import (
    base_url_of,
    find_settings,
    partner_of,
    state_folder,
)
from adanalytics_cli.output.formats import format_option
from adanalytics_client._base.escaping import visible
from adanalytics_client._base.quantities import counted
from adanalytics_client.encoding import json_text

if TYPE_CHECKING:
    import httpx

    from adanalytics_client import AdAnalyticsError

Result = Literal["ok", "warn", "fail"]

_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check, with a `remedy` unless it is `ok`."""

    result: Result
    name: str
    found: str
    remedy: str = ""


def _quota_log(environment: Mapping[str, str]) -> Check:
    folder = state_folder(environment) / "quota"
    nearest = next(each for each in (folder, *folder.parents) if each.exists())
    try:
        with tempfile.TemporaryFile(dir=nearest):
            return Check("ok", "quota log", str(folder))
    except OSError as error:
        return Check(
            "fail",
            "quota log",
            f"{nearest}: {error.strerror}",
            "Requests of several programs cannot be counted together. Make the folder writable.",
        )


def _proxies(environment: Mapping[str, str]) -> Check | None:
    names = [each for name in _PROXIES for each in (name, name.lower()) if environment.get(each)]
    found = ", ".join(f"{name}={redact(environment[name], ())}" for name in names)
    remedy = "Requests go through the proxy. To bypass it, set NO_PROXY=HOST."
    return Check("warn", "proxies", found, remedy) if names else None


# Longer than a network delays an answer.
_TOLERATED_SECONDS = 30
_TIMEOUT = 10.0


def check_service(
    base_url: str,
    partner: str,
    credential: Credential,
    *,
    sign_in_again: str,
    clock: Callable[[], datetime],
) -> Iterator[Check]:
    """Check that it answers, accepts the credential, shows the partner, and agrees on the time."""
    import httpx

    from adanalytics_client import (
        AdAnalyticsError,
        AuthenticationError,
        Client,
        NotFound,
        PermissionDenied,
        QuotaExceeded,
        RateLimited,
        RetryPolicy,
        TransportError,
    )

    dates: list[tuple[str, datetime]] = []

    def note(response: "httpx.Response") -> None:
        dates.append((response.headers.get("date", ""), clock()))

    with (
        httpx.Client(event_hooks={"response": [note]}, timeout=_TIMEOUT) as http,
        Client(
            base_url,
            partner=partner,
            api_key=credential.of_kind("api_key"),
            token=credential.of_kind("token"),
            email=credential.email if credential.kind == "password" else None,
            password=credential.of_kind("password"),
            retry=RetryPolicy(attempts=1),
            on_limit="raise",
            http=http,
        ) as client,
    ):
        login, unknown = None, ""
        try:
            days = client.dates()
            found = f"accepted; {partner} has data on {counted(len(days), 'day')}"
            login = Check("ok", "login", found)
        except (QuotaExceeded, RateLimited):
            unknown = "The login was not checked. Try again then."
        except TransportError as error:
            yield Check("fail", "service", _cause(error), "Check --base-url and the network.")
            return
        except AuthenticationError as error:
            login = Check("fail", "login", _cause(error), sign_in_again)
        except (PermissionDenied, NotFound) as error:
            login = Check("fail", "partner", _cause(error), f"Is '{partner}' the right partner?")
        except AdAnalyticsError as error:
            login = Check("fail", "service", _cause(error), "Try again later.")
        if dates:
            yield Check("ok", "service", f"{base_url} answers")
        if login:
            yield login
        if dates:
            yield _clock(*dates[-1])
        quota = client.quota
        if quota.resumes_at:
            yield Check("warn", "quota", f"used up until {quota.resumes_at:%H:%M} UTC", unknown)
        else:
            yield Check("ok", "quota", f"{counted(quota.remaining or 0, 'request')} left")


def _cause(error: "AdAnalyticsError") -> str:
    """The first sentence of a message; the rest is a remedy, and a check has its own."""
    return f"{error.message.partition('. ')[0].rstrip('.')}."


def _clock(date_header: str, here: datetime) -> Check:
    try:
        there = parsedate_to_datetime(date_header)
    except ValueError:
        return Check("ok", "clock", "the service does not send its time")
    # The header has whole seconds, cut off.
    away = (here - there.replace(tzinfo=there.tzinfo or UTC)).total_seconds()
    if abs(away) <= _TOLERATED_SECONDS:
        return Check("ok", "clock", "agrees with the service")
    side = "ahead of" if away > 0 else "behind"
    return Check(
        "warn",
        "clock",
        f"{abs(away):,.0f} s {side} the service",
        "Set the clock of this machine: 'today' and the expiry of a token depend on it.",
    )


_COLORS = {"ok": "green", "warn": "yellow", "fail": "red"}


@click.pass_context
def run(context: click.Context, chosen_format: str | None) -> None:
    """Print a line for each check; exit status 1 when one failed."""
    invocation = current_invocation(context)
    colored = look_at(sys.stdout, invocation.color, os.environ).color
    done = []
    for check in _checks(invocation):
        found = redact(check.found, invocation.secrets)
        remedy = redact(check.remedy, invocation.secrets)
        done.append(replace(check, found=found, remedy=remedy))
        if chosen_format != "json":
            label = f"{check.result:<5}"
            label = click.style(label, fg=_COLORS[check.result]) if colored else label
            click.echo(f"{label} {visible(f'{check.name:<10} {found}')}", color=True)
            if remedy:
                click.echo(f"{'':<17}{visible(remedy)}")
    if chosen_format == "json":
        click.echo(json_text([asdict(check) for check in done]))
    if any(check.result == "fail" for check in done):
        context.exit(ExitCode.FAILED)


def _checks(invocation: Invocation) -> Iterator[Check]:
    yield _quota_log(os.environ)
    if proxies := _proxies(os.environ):
        yield proxies
    name = "settings"
    try:
        settings = find_settings(invocation, os.environ)
        base_url, partner = base_url_of(settings), partner_of(settings)
        yield Check("ok", name, f"profile {settings.profile.value}: {base_url}, partner {partner}")
        name = "login"
        credential = find_credential(settings, invocation, os.environ)
    except (CommandError, OSError) as error:
        yield Check("fail", name, str(error), getattr(error, "remedy", ""))
        return
    yield from check_service(
        base_url,
        partner,
        credential,
        sign_in_again=invocation.sign_in_again or "Check ADANALYTICS_API_KEY.",
        clock=invocation.clock,
    )


doctor = ExampleCommand(
    "doctor",
    callback=run,
    params=[format_option(("table", "json"), "Output format; json prints a list of objects.")],
    summary="Check the settings, this machine and the service.",
    details=(
        "Sends one request and never waits for quota. Exit status 1 when a check fails, but not "
        "for a warning."
    ),
    examples=[
        "adanalytics doctor",
        "adanalytics doctor --profile night",
        "adanalytics doctor -f json | jq '.[] | select(.result != \"ok\")'",
    ],
    connects=True,
)
