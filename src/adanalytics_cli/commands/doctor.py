"""`adanalytics doctor`: look at everything that a pull depends on, and say what to do."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from adanalytics_cli.account.credential import find_credential
from adanalytics_cli.commands.machine_checks import Check, check_machine
from adanalytics_cli.console.redaction import redact
from adanalytics_cli.console.terminal import look_at
from adanalytics_cli.core.command import ExampleCommand
from adanalytics_cli.core.errors import CommandError, SettingsError
from adanalytics_cli.core.exit_codes import ExitCode
from adanalytics_cli.core.invocation import Invocation, current_invocation
from adanalytics_cli.core.settings import base_url_of, find_place, partner_of

_COLORS = {"ok": "green", "warn": "yellow", "fail": "red"}


@click.pass_context
def run(context: click.Context) -> None:
    """Print a line for each check; exit status 1 when one failed."""
    invocation = current_invocation(context)
    colored = look_at(sys.stdout, invocation.color, os.environ).color
    failed = False
    for check in _checks(invocation):
        failed = failed or check.result == "fail"
        label = f"{check.result:<5}"
        label = click.style(label, fg=_COLORS[check.result]) if colored else label
        text = redact(f"{check.name:<10} {check.found}", invocation.secrets)
        click.echo(f"{label} {text}", color=True)
        if check.remedy:
            click.echo(redact(f"{'':<17}{check.remedy}", invocation.secrets))
    if failed:
        context.exit(ExitCode.FAILED)


def _checks(invocation: Invocation) -> Iterator[Check]:
    yield from check_machine(os.environ, Path.cwd())
    try:
        place = find_place(invocation, os.environ)
        base_url, partner = base_url_of(place), partner_of(place)
    except SettingsError as error:
        yield Check("fail", "service", str(error), error.remedy)
        return
    try:
        credential = find_credential(place, invocation, os.environ)
    except CommandError as error:
        yield Check("fail", "login", str(error), error.remedy)
        return

    from adanalytics_cli.commands.service_checks import check_service

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
    params=[],
    summary="Look at everything that a pull depends on, and say what to do.",
    details="Sends one request. Exit status 1 when a check fails; a warning is none.",
    examples=["adanalytics doctor", "adanalytics doctor --profile night"],
    connects=True,
)
