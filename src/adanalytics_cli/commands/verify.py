"""`adanalytics verify`: see that a dataset is whole and says what the service says."""

import shlex
from typing import TYPE_CHECKING

import click

from adanalytics_cli.account.connection import connect
from adanalytics_cli.console.terminal import visible
from adanalytics_cli.core.command import ExampleCommand
from adanalytics_cli.core.errors import CommandError, ProblemsFound
from adanalytics_cli.core.invocation import current_invocation, remark

if TYPE_CHECKING:
    from adanalytics_client.dataset import VerifyReport

# More commands than this are no help; one for everything is then shorter.
_MOST_RUNS = 3


@click.pass_context
def run(context: click.Context, place: str, deep: bool) -> None:
    """Check everything, name what is wrong on stdout, and say how to mend it."""
    from adanalytics_client.dataset import Dataset

    dataset = Dataset(place, clock=current_invocation(context).clock)
    if dataset.holdings() is None:
        raise CommandError(
            f"There is no dataset at {place}.",
            remedy=f"Make one: adanalytics sync --to {shlex.quote(place)}",
        )
    with connect(context) as (client, progress):
        report = dataset.verify(client, deep=deep)
        progress.finish()
    if not report.is_whole:
        for problem in report.problems:
            click.echo(visible(str(problem)))
        count = f"{len(report.problems):,} problem{'' if len(report.problems) == 1 else 's'}"
        raise ProblemsFound(f"{count} in {place}", remedy=_mending(place, report))
    checked = f"{report.hours:,} hours with {report.events:,} events are whole"
    remark(f"{checked}, {progress.requests} requests, {progress.seconds():.1f} s", context)


def _mending(place: str, report: "VerifyReport") -> str:
    """What to do: the command lines that pull every day anew that has a problem."""
    runs = report.days_to_repull()
    if len(runs) > _MOST_RUNS:
        runs = [(runs[0][0], runs[-1][1])]
    commands = [
        f"adanalytics sync {first} {last} --to {shlex.quote(place)} "
        f"--repull {(last - first).days + 1}"
        for first, last in runs
    ]
    if not commands:
        return "Delete the files named."
    foreign = any(problem.day is None for problem in report.problems)
    first = "Delete what does not belong. " if foreign else ""
    return f"{first}Mend with: {' && '.join(commands)}"


verify = ExampleCommand(
    "verify",
    callback=run,
    params=[
        click.Argument(["place"], type=click.Path(), metavar="DIR|URL"),
        click.Option(["--deep"], is_flag=True, help="Also compare every event with a bulk export."),
    ],
    summary="Check a dataset against its own records and the service.",
    details=(
        "Checks the checksum, the event ids and the hours of every file, finds missing days and "
        "hours, and compares the sums of each day with the summary. Prints a line on stdout for "
        "each problem; exit status 7."
    ),
    examples=["adanalytics verify events", "adanalytics verify s3://bucket/events --deep"],
    connects=True,
)
