"""`adanalytics verify`: check that a dataset is complete and matches the service."""

import shlex
import sys
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

import click

from adanalytics_cli.account.connection import connect, report_end
from adanalytics_cli.account.dataset_here import open_dataset
from adanalytics_cli.core.command import command, flag, option
from adanalytics_cli.core.errors import PartlyDone, ProblemsFound
from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.core.periods import read_period
from adanalytics_cli.core.prose import fitted
from adanalytics_cli.output.formats import json_option
from adanalytics_client._base.escaping import visible
from adanalytics_client._base.quantities import counted

if TYPE_CHECKING:
    from adanalytics_client import Period
    from adanalytics_client.dataset import Holdings, VerifyReport

# Beyond this, one command for the whole range is easier to run than many.
_MOST_RUNS = 3


@command(
    "verify",
    params=[
        click.Argument(["location"], type=click.Path(), metavar="DIR|URL"),
        json_option(),
        flag("--deep", "Also compare every event with a bulk export."),
        flag("--strict", "Exit with status 7 if no figure could be compared with the service."),
        flag("--offline", "Check without the service, which needs no sign-in and no request."),
        option(
            "--until",
            str,
            "DATE",
            "Last day that the dataset must hold; by default the last day that is over.",
            callback=read_period,
        ),
    ],
    details=(
        "Checks the checksum, the event ids and the hours of every file, finds days and hours that "
        "the service has and the dataset lacks, and compares each day with the summary and with "
        "the service's own count. Prints a line on stdout for each problem; the last line on "
        "stderr says which figures were compared, and which could not be. Exit status 3 when days "
        "or hours are missing, 7 when something else is wrong. With --offline it knows only the "
        "dataset's own records."
    ),
    examples=[
        "adanalytics verify events",
        "adanalytics verify january --until 2026-01-31",
        "adanalytics verify events --offline --until yesterday",
        "adanalytics verify events --strict",
        "adanalytics verify events --json | jq .problems",
        "adanalytics verify s3://bucket/events --deep",
    ],
    connects=True,
)
def verify(
    invocation: Invocation,
    location: str,
    deep: bool,
    strict: bool,
    offline: bool,
    until: "Period | None",
) -> None:
    """Check everything, list the problems on stdout, and name the command that fixes them."""
    from adanalytics_cli.output.sync_output import describe_comparison, write_verify_report

    # Refused rather than ignored: who asks for more must not get less.
    for is_set, name in ((deep, "--deep"), (strict, "--strict")):
        if offline and is_set:
            raise click.UsageError(f"{name} asks the service. Leave out --offline or {name}.")
    # Before the client is opened: without a dataset, no sign-in is needed to say so.
    dataset, holdings = open_dataset(invocation, location)
    last = until.last if until else None
    if offline:
        from adanalytics_cli.console.progress import show_progress

        with show_progress(invocation, live=True) as progress:
            report = dataset.verify(None, until=last, observer=progress)
    else:
        with connect(invocation) as (client, progress):
            report = dataset.verify(client, deep=deep, until=last)
            progress.finish()
    if invocation.as_json:
        write_verify_report(report, location, progress)
    if not report.is_whole:
        for problem in () if invocation.as_json else report.problems:
            click.echo(fitted(visible(str(problem)), sys.stdout))
        count = counted(len(report.problems), "problem")
        # What is only missing comes with the next sync; anything else is damage.
        missing = all(problem.missing for problem in report.problems)
        kind = PartlyDone if missing else ProblemsFound
        remedy = _bound(holdings, report) + _remedy(invocation, location, report)
        raise kind(f"{count} in {location}", remedy=remedy)
    is_unproved = not report.compared
    if is_unproved and strict:
        raise ProblemsFound(
            f"No figure of {location} could be compared with the service.",
            remedy="Leave out --strict to accept that.",
        )
    summary = f"OK: {counted(report.hours, 'hour')}, {counted(report.events, 'event')}"
    if offline:
        as_recorded = f"{summary}, complete and as recorded; the service was not asked"
        report_end(invocation, as_recorded, progress)
        return
    cost = f"{counted(progress.requests, 'request')}, {progress.seconds():.1f} s"
    invocation.notice(f"{summary}; {visible(describe_comparison(report))}; {cost}")
    if is_unproved:
        invocation.notice("Warning: no figure could be compared. With --strict, this is an error.")


def _remedy(invocation: Invocation, location: str, report: "VerifyReport") -> str:
    """Return the cheapest commands that fix every day with a problem."""
    lines = []
    hours = [problem.changed for problem in report.problems if problem.changed]
    # To delete a changed file is cheapest: a sync then pulls only its hours.
    if "://" not in location and 0 < len(hours) <= _MOST_RUNS:
        lines.append(shlex.join(["rm", *(f"{location.rstrip('/')}/{name}" for name in hours)]))
        problems = [
            replace(problem, remedy="sync") if problem.changed else problem
            for problem in report.problems
        ]
        report = replace(report, problems=problems)
    for runs, repull in ((report.days_to_sync(), False), (report.days_to_repull(), True)):
        # Some more days cost less than a command of a hundred lines.
        spans = runs if len(runs) <= _MOST_RUNS else [(runs[0][0], runs[-1][1])]
        for first, last in spans:
            words = ["sync", str(first), str(last), "--to", location]
            words += ["--repull", str((last - first).days + 1)] if repull else []
            lines.append(invocation.command_line(*words))
    if not lines:
        return "Delete the files named above."
    foreign = any(problem.remedy == "delete" for problem in report.problems)
    return (
        f"{'Delete the files that do not belong. ' if foreign else ''}To fix: {' && '.join(lines)}"
    )


def _bound(holdings: "Holdings", report: "VerifyReport") -> str:
    """Suggest --until if the dataset may be meant to end on its last day."""
    last = max(holdings.hours, default=date.max)
    missing = [problem.day for problem in report.problems if problem.missing and problem.day]
    # A gap before the last day is a gap in any case.
    if not missing or min(missing) <= last:
        return ""
    return f"If the dataset is meant to end on {last}, give --until {last}. "
