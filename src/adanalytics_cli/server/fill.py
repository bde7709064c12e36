"""`adanalytics server load` and `generate`: events into a data folder."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from adanalytics_cli.console.progress import show_stages
from adanalytics_cli.core.command import flag, option
from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.core.numbers import WholeNumber
from adanalytics_cli.core.periods import read_period
from adanalytics_cli.core.prose import fitted
from adanalytics_client import Period
from adanalytics_client._base.escaping import visible
from adanalytics_client._base.quantities import counted

from . import data_folder

if TYPE_CHECKING:
    from adanalytics_server.loading.load import LoadReport


_PARTNER = option("--partner partner_id", str, "ID", "Partner of the events.", required=True)


@data_folder.server_command(
    "load",
    params=[
        click.Argument(
            ["files"], metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path)
        ),
        _PARTNER,
        option(
            "--map columns", str, "FIELD=COLUMN", "Read a field from another column.", multiple=True
        ),
        option(
            "--set constants",
            str,
            "FIELD=VALUE",
            "Set a field to one value in every row.",
            multiple=True,
        ),
        option(
            "--where", str, "COLUMN=VALUE", "Load only the rows with this value.", multiple=True
        ),
        flag("--replace-hours", "Replace all events of every hour that a file contains."),
        data_folder.data_option(),
    ],
    details=(
        "Each column sets the field of the same name. event_time, event_type and supply_tag_id are "
        "required; the other fields have defaults. One bad row rejects the whole file. Loading a "
        "file again adds nothing."
    ),
    examples=[
        "adanalytics server load day.jsonl.gz --partner acme",
        "adanalytics server load clicks.csv --partner acme --map event_time=timestamp \\",
        "    --set event_type=click --set supply_tag_id=1 --where click=1",
    ],
)
def load(
    invocation: Invocation,
    files: tuple[Path, ...],
    partner_id: str,
    columns: tuple[str, ...],
    constants: tuple[str, ...],
    where: tuple[str, ...],
    replace_hours: bool,
    data: Path,
) -> None:
    """Load one file after the other, each whole or not at all, and report on each."""
    from adanalytics_server.loading.load import load_file
    from adanalytics_server.loading.mapping import Mapping

    mapping = Mapping.parse(columns=columns, constants=constants, where=where)
    with data_folder.open_partner_store(data, partner_id) as (partner, store):
        for path in files:
            with show_stages(path.name, invocation) as progress:
                report = load_file(
                    store,
                    path,
                    partner_id=partner.id,
                    currency=partner.currency,
                    mapping=mapping,
                    replace_hours=replace_hours,
                    progress=progress,
                )
            click.echo(fitted(f"{path}: {_describe(report)}", sys.stdout, hang=2))


def _describe(report: "LoadReport") -> str:
    """Describe a load: a line of numbers, then a line for each thing worth knowing."""
    parts = [f"{counted(report.rows, 'row')}, {counted(report.stored, 'event')} stored"]
    if report.duplicates:
        parts.append(f"{counted(report.duplicates, 'duplicate')} skipped")
    if report.not_taken:
        parts.append(f"{counted(report.not_taken, 'row')} left out by --where")
    if report.days:
        # A wrong time zone or year shows here.
        first, last = report.days[0], report.days[-1]
        days = counted(len(report.days), "day")
        parts.append(f"{days} ({first})" if first == last else f"{days} ({first} to {last})")
    lines = [", ".join(parts)]
    # The events stay as they were: the id says that they are the same, and the values differ.
    if report.changed:
        difference = (
            f"{counted(report.changed, 'row')} {'differ' if report.changed > 1 else 'differs'}"
        )
        advice = "" if report.replaced_hours else "; --replace-hours replaces them"
        lines.append(f"{difference} from those stored{advice}")
    if report.replaced_hours:
        lines.append(f"hours replaced: {report.replaced_hours:,}")
    if report.ignored_columns:
        lines.append(f"columns ignored: {visible(', '.join(report.ignored_columns))}")
    if report.times_without_zone:
        lines.append(f"times without a zone, taken as UTC: {report.times_without_zone:,}")
    return "\n  ".join(lines)


@data_folder.server_command(
    "generate",
    params=[
        _PARTNER,
        option("--start", str, "DATE", "First day.", callback=read_period, required=True),
        option("--days", WholeNumber(1, 3660), "N", "Number of days.", 1),
        option(
            "--events-per-day",
            WholeNumber(1, 100_000_000),
            "N",
            "Exact number of events on each day.",
            10_000,
        ),
        option("--seed", WholeNumber(0), "S", "The same seed generates the same events.", 0),
        data_folder.data_option(),
    ],
    examples=[
        "adanalytics server generate --partner acme --start 2026-01-15",
        "adanalytics server generate --partner acme --start -7d --days 7 \\",
        "    --events-per-day 125000 --seed 7",
    ],
)
def generate(
    invocation: Invocation,
    partner_id: str,
    start: Period,
    days: int,
    events_per_day: int,
    seed: int,
    data: Path,
) -> None:
    from adanalytics_server.seed.generate import Sample

    sample = Sample(start=start.first, days=days, events_per_day=events_per_day, seed=seed)
    outcome = data_folder.generate_days(data, partner_id, sample, invocation, label=partner_id)
    text = f"{counted(outcome.stored, 'event')} stored on {counted(days, 'day')} from {start.first}"
    if outcome.duplicates:
        text += f", {outcome.duplicates:,} already there"
    click.echo(fitted(f"{partner_id}: {text}", sys.stdout))
