"""`adanalytics server load`: files of events into a server's data."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from adanalytics_cli.console.stage_line import show_stages
from adanalytics_cli.core.command import ExampleCommand
from adanalytics_cli.core.invocation import current_invocation
from adanalytics_cli.server.extra import data_option, server_extra
from adanalytics_cli.server.partner_store import open_partner_store

if TYPE_CHECKING:
    from adanalytics_server.loading.load import LoadReport


@click.pass_context
def run(
    context: click.Context,
    files: tuple[Path, ...],
    partner_id: str,
    columns: tuple[str, ...],
    constants: tuple[str, ...],
    where: tuple[str, ...],
    replace_hours: bool,
    data: Path,
) -> None:
    """Load one file after the other, each whole or not at all, and report on each."""
    with server_extra():
        from adanalytics_server.loading.load import load_file
        from adanalytics_server.loading.mapping import Mapping
    mapping = Mapping.parse(columns=columns, constants=constants, where=where)
    with open_partner_store(data, partner_id) as (partner, store):
        for path in files:
            with show_stages(path.name, current_invocation(context)) as progress:
                report = load_file(
                    store,
                    path,
                    partner_id=partner.id,
                    currency=partner.currency,
                    mapping=mapping,
                    replace_hours=replace_hours,
                    progress=progress,
                )
            click.echo(f"{path}: {describe(report)}")


def describe(report: "LoadReport") -> str:
    """What became of a file: a line of numbers, then a line for each thing worth knowing."""
    parts = [f"{report.rows:,} rows, {report.stored:,} events stored"]
    if report.duplicates:
        parts.append(f"{report.duplicates:,} duplicates skipped")
    if report.not_taken:
        parts.append(f"{report.not_taken:,} rows left out by --where")
    if report.days:
        first, last = report.days[0], report.days[-1]
        days = f"{len(report.days)} days" if len(report.days) > 1 else "1 day"
        parts.append(f"{days} ({first})" if first == last else f"{days} ({first} to {last})")
    lines = [", ".join(parts)]
    if report.replaced_hours:
        lines.append(f"hours replaced: {report.replaced_hours:,}")
    if report.ignored_columns:
        lines.append(f"columns ignored: {', '.join(report.ignored_columns)}")
    if report.times_without_zone:
        lines.append(f"times without a zone, taken as UTC: {report.times_without_zone:,}")
    return "\n  ".join(lines)


def _pairs(name: str, variable: str, form: str, meaning: str) -> click.Option:
    return click.Option([name, variable], metavar=form, multiple=True, help=meaning)


load = ExampleCommand(
    "load",
    callback=run,
    params=[
        click.Argument(
            ["files"], metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path)
        ),
        click.Option(
            ["--partner", "partner_id"], metavar="ID", required=True, help="Whose events they are."
        ),
        _pairs("--map", "columns", "FIELD=COLUMN", "Read a field from a column of another name."),
        _pairs("--set", "constants", "FIELD=VALUE", "Give a field the same value in every row."),
        _pairs("--where", "where", "COLUMN=VALUE", "Take only the rows with this value."),
        click.Option(
            ["--replace-hours"],
            is_flag=True,
            help="Hours that occur in a file lose what they had before.",
        ),
        data_option(),
    ],
    summary="Load files of events.",
    details=(
        "A column belongs to the field of its name. event_time, event_type and supply_tag_id are "
        "needed; the rest has defaults. A file with one bad row is refused as a whole. Loading "
        "a file again adds nothing."
    ),
    examples=[
        "adanalytics server load day.jsonl.gz --partner acme",
        "adanalytics server load clicks.csv --partner acme --map event_time=timestamp \\",
        "    --set event_type=click --set supply_tag_id=1 --where click=1",
    ],
)
