"""`adanalytics verify`: see that a dataset is whole and says what the service says."""

import os
import shlex
from typing import TYPE_CHECKING

import click

from adanalytics_cli.account.connection import connect
from adanalytics_cli.core.command import ExampleCommand
from adanalytics_cli.core.errors import CommandError, ProblemsFound
from adanalytics_cli.core.invocation import current_invocation, remark
from adanalytics_cli.core.settings import base_url_of, find_place, partner_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adanalytics_client.dataset.verify import Problem

# More commands than this are no help; one for everything is then shorter.
_MOST_RUNS = 3


@click.pass_context
def run(context: click.Context, place: str, deep: bool) -> None:
    """Check everything, name what is wrong on stdout, and say how to mend it."""
    from adanalytics_client.dataset.dataset import Dataset
    from adanalytics_client.dataset.day_states import ServiceView
    from adanalytics_client.dataset.identity import Identity, settle_identity
    from adanalytics_client.dataset.store import open_store
    from adanalytics_client.dataset.verify import Verification

    service = find_place(current_invocation(context), os.environ)
    store = open_store(place)
    if Identity.read(store) is None:
        raise CommandError(
            f"there is no dataset at {place}",
            remedy=f"Make one: adanalytics sync --to {shlex.quote(place)}",
        )
    with store.lock(), connect(context) as (client, progress):
        identity = settle_identity(
            store, partner=partner_of(service), origin=base_url_of(service), form=None
        )
        dataset = Dataset(store, identity)
        verification = Verification(dataset, current_invocation(context).clock)
        problems = list(verification.files())
        view = ServiceView(client, None, dataset.manifest.days())
        problems += verification.against(view)
        if deep:
            from adanalytics_client.dataset.compare_export import compare_with_export

            broken = frozenset(problem.day for problem in problems)
            problems += compare_with_export(client, dataset, broken)
        progress.finish()
        if problems:
            raise _damaged(place, problems)
    checked = verification.checked
    told = f"{checked.hours:,} hours with {checked.events:,} events are whole"
    remark(f"{told}, {progress.requests} requests, {progress.seconds():.1f} s", context)


def _damaged(place: str, problems: "Sequence[Problem]") -> ProblemsFound:
    """Print what is wrong, a line each, and give the error that ends the command."""
    for problem in problems:
        click.echo(str(problem))
    count = f"{len(problems):,} problem{'' if len(problems) == 1 else 's'}"
    return ProblemsFound(f"{count} in {place}", remedy=_mending(place, problems))


def _mending(place: str, problems: "Sequence[Problem]") -> str:
    """What to do: the command lines that pull every day anew that has a problem."""
    from adanalytics_client.dataset.verify import NO_DAY, runs_of_days

    runs = runs_of_days(problem.day for problem in problems if problem.day != NO_DAY)
    if len(runs) > _MOST_RUNS:
        runs = [(runs[0][0], runs[-1][1])]
    commands = [
        f"adanalytics sync {first} {last} --to {shlex.quote(place)} "
        f"--repull {(last - first).days + 1}"
        for first, last in runs
    ]
    if not commands:
        return "Delete the files named."
    first = "Delete what does not belong. " if any(each.day == NO_DAY for each in problems) else ""
    return f"{first}Mend with: {' && '.join(commands)}"


verify = ExampleCommand(
    "verify",
    callback=run,
    params=[
        click.Argument(["place"], type=click.Path(), metavar="DIR|URL"),
        click.Option(
            ["--deep"], is_flag=True, help="Compare every event with a bulk export as well."
        ),
    ],
    summary="See that a dataset is whole and says what the service says.",
    details=(
        "Reads every file: its checksum, its events, their ids and hours; looks for days and "
        "hours that are missing, and compares the sums of each day with the summary. What is "
        "wrong is named on stdout, a line each, and the exit status is 7."
    ),
    examples=["adanalytics verify events", "adanalytics verify s3://bucket/events --deep"],
    connects=True,
)
