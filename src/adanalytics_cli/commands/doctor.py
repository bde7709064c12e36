"""`adanalytics doctor`: check what a pull depends on, and suggest remedies."""

import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.metadata import distributions
from pathlib import Path
from typing import Literal

import click

from adanalytics_cli.account.connection import connect
from adanalytics_cli.console.redaction import redact
from adanalytics_cli.console.terminal import print_finding
from adanalytics_cli.core.command import command, flag, option
from adanalytics_cli.core.errors import CommandError, ExitCode
from adanalytics_cli.core.invocation import Invocation, print_json
from adanalytics_cli.core.remedies import words_of
from adanalytics_cli.core.settings import ServiceSettings, base_url_of, find_settings, partner_of
from adanalytics_cli.output.formats import json_option
from adanalytics_client._base.escaping import visible
from adanalytics_client._base.files import state_folder
from adanalytics_client._base.quantities import counted
from adanalytics_client._profiles.keyring_access import UnusableLogin

FILE = click.Path(dir_okay=False, path_type=Path)
Result = Literal["ok", "warn", "fail"]

_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check, with a `remedy` where there is something to do."""

    result: Result
    name: str
    found: str
    remedy: str = ""


def _quota_log() -> Check:
    folder = state_folder(os.environ) / "quota"
    parent = next(candidate for candidate in (folder, *folder.parents) if candidate.exists())
    try:
        with tempfile.TemporaryFile(dir=parent):
            return Check("ok", "quota log", str(folder))
    except OSError as error:
        return Check(
            "fail",
            "quota log",
            f"{parent}: {error.strerror}",
            "Requests of several programs cannot be counted together. Make the folder writable.",
        )


def _proxies() -> Check | None:
    names = [
        variable
        for name in _PROXIES
        for variable in (name, name.lower())
        if os.environ.get(variable)
    ]
    finding = ", ".join(f"{name}={redact(os.environ[name], ())}" for name in names)
    remedy = (
        "Requests go through the proxy, except to this machine. To bypass it, set NO_PROXY=HOST."
    )
    return Check("warn", "proxies", finding, remedy) if names else None


_TIMEOUT = 10.0


def check_service(invocation: Invocation, settings: ServiceSettings) -> Iterator[Check]:
    """Check that it answers, accepts the credential and shows the partner."""
    from adanalytics_client import RetryPolicy, errors

    base_url, partner = base_url_of(settings), partner_of(settings)
    with connect(invocation, settings, waits=False) as (raw_client, progress):
        # A diagnosis shows the first failure, and soon.
        client = raw_client.with_options(retry=RetryPolicy(attempts=1), timeout=_TIMEOUT)
        answers, reason = True, ""
        try:
            days = counted(len(client.dates()), "day")
            check = Check("ok", "login", f"accepted; {partner} has data on {days}")
        except (errors.QuotaExceeded, errors.RateLimited):
            # A used-up quota says nothing about the login.
            answers, check = progress.requests > 0, None
            reason = "The login was not checked. Try again then."
        except errors.TransportError as error:
            yield Check("fail", "service", error.message, words_of(error.remedy))
            return
        except errors.AuthenticationError as error:
            remedy = invocation.sign_in_again or "Check ADANALYTICS_API_KEY."
            check = Check("fail", "login", error.message, remedy)
        except (errors.PermissionDenied, errors.NotFound) as error:
            check = Check("fail", "partner", error.message, f"Is '{partner}' the right partner?")
        except errors.AdAnalyticsError as error:
            answers, check = False, Check("fail", "service", error.message, words_of(error.remedy))
        if answers:
            yield Check("ok", "service", f"{base_url} answers")
        if check:
            yield check
        quota = client.quota
        if quota.resumes_at:
            yield Check("warn", "quota", f"used up until {quota.resumes_at:%H:%M} UTC", reason)
        elif quota.remaining is None:
            yield Check("ok", "quota", "requests are not counted")
        else:
            yield Check("ok", "quota", f"{counted(quota.remaining, 'request')} left")


# Where the text of a check begins, behind its result and its name.
_INDENT = 17
_COLORS = {"ok": "green", "warn": "yellow", "fail": "red"}


@command(
    "doctor",
    params=[
        json_option(),
        flag("--probe", "Ask the service what is not published, in at most 12 requests."),
        flag("--with-export", "With --probe: also order an export of one day."),
        option("--against", FILE, "FILE", "With --probe: print what differs from this profile."),
        option("--cassette", FILE, "FILE", "With --probe: keep responses, with other values."),
        flag("--yes", "With --probe: send the requests without asking."),
        option(
            "-o --output",
            FILE,
            "FILE",
            "With --probe: the profile to write; by default service.toml beside the settings.",
        ),
    ],
    details=(
        "Sends one request or two and never waits for quota. Exit status 1 when a check fails, but "
        "not for a warning. With --probe it looks at one day with few events instead, and writes "
        "what the service is to a file for the profile and for serve --as: names, types and "
        "shapes, and no value of the data. A cassette of VCR has the responses with other values "
        "of the same type and length, to replay or to send to others. Exit status 7 when the "
        "service differs from the file --against."
    ),
    examples=[
        "adanalytics doctor",
        "adanalytics doctor --profile night",
        "adanalytics doctor --probe --with-export",
        "adanalytics doctor --probe --yes --against service.toml",
        "adanalytics doctor --json | jq '.[] | select(.result != \"ok\")'",
    ],
    connects=True,
)
def doctor(
    invocation: Invocation,
    probe: bool,
    with_export: bool,
    against: Path | None,
    cassette: Path | None,
    yes: bool,
    output: Path | None,
) -> None:
    if not probe and (with_export or against or cassette or yes or output):
        raise click.UsageError("--with-export, --against, --cassette, --yes and -o need --probe.")
    if probe:
        from .probe import probe_service

        probe_service(
            invocation,
            with_export=with_export,
            against=against,
            cassette=cassette,
            yes=yes,
            output=output,
        )
        return
    checks = []
    for check in _checks(invocation):
        # Findings quote variables and addresses, which may hold a password.
        finding, remedy = (redact(text, invocation.secrets) for text in (check.found, check.remedy))
        checks.append(replace(check, found=finding, remedy=remedy))
        if not invocation.as_json:
            line = f"{check.result:<5} {check.name:<10} {visible(finding)}"
            line += f"\n{'':{_INDENT}}{visible(remedy)}" if remedy else ""
            print_finding(line, check.result, _COLORS[check.result], invocation, hang=_INDENT)
    if invocation.as_json:
        print_json(checks)
    if any(check.result == "fail" for check in checks):
        raise click.exceptions.Exit(ExitCode.FAILED)


def _extras() -> Iterator[Check]:
    # An installation does not record its extras, so their dependencies are looked for.
    packages = distributions(name="adanalytics")
    needs = "\n".join(line for package in packages for line in package.requires or ())
    packages_missing: dict[str, bool] = {}
    for name, extra in re.findall(r"([\w-]+).*; extra == ['\"](?!all)(\w+)", needs):
        packages_missing[extra] = packages_missing.get(extra, False) or not any(
            distributions(name=name)
        )
    present, missing = (
        [name for name in packages_missing if packages_missing[name] is is_missing]
        for is_missing in (False, True)
    )
    yield Check("ok", "extras", f"installed: {', '.join(present) or 'none'}")
    if missing:
        remedy = f"To install them: python -m pip install 'adanalytics[{','.join(missing)}]'"
        yield Check("ok", "extras", f"not installed: {', '.join(missing)}", remedy)


def _checks(invocation: Invocation) -> Iterator[Check]:
    yield _quota_log()
    yield from _extras()
    if proxies := _proxies():
        yield proxies
    name = "settings"
    try:
        settings = find_settings(invocation)
        finding = f"{base_url_of(settings)}, partner {partner_of(settings)}"
        yield Check("ok", name, f"profile {settings.profile.value}: {finding}")
        name = "login"
        yield from check_service(invocation, settings)
    except (CommandError, OSError, UnusableLogin) as error:
        message = getattr(error, "message", str(error))
        yield Check("fail", name, message, getattr(error, "remedy", ""))
