"""`adanalytics reconcile`: the report of the other side against ours."""

import re
from datetime import UTC, timedelta
from decimal import Decimal
from pathlib import Path

import click

from adanalytics_cli.account.connection import connect, report_end
from adanalytics_cli.account.dataset_here import open_dataset
from adanalytics_cli.core.command import command, completing, near_or_known, option, pairs_of
from adanalytics_cli.core.errors import CommandError, MissingExtra
from adanalytics_cli.core.invocation import Invocation, print_json
from adanalytics_cli.core.periods import period, period_words, read_begun_period
from adanalytics_cli.core.settings import now_at_service
from adanalytics_cli.output.formats import Output, formats_with, gather_output, json_option
from adanalytics_cli.output.output_file import output_options
from adanalytics_cli.reconcile.headings import FIELDS, fields_of
from adanalytics_client import Period
from adanalytics_client._base.dates import LATENESS
from adanalytics_client._base.quantities import counted
from adanalytics_client._json.fields import GROUPS, ID_OF

_FORMATS = formats_with()
_PERCENT = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)\s*%?", re.ASCII)


def _read_by(text: str) -> list[str]:
    names = list(dict.fromkeys(text.split(",")))
    for name in names:
        if name not in GROUPS:
            raise click.BadParameter(
                f"there is no '{name}'. {near_or_known(name, GROUPS, 'names')}"
            )
    return names


def _read_tolerance(text: str) -> Decimal:
    match = _PERCENT.fullmatch(text.strip())
    if match is None:
        raise click.BadParameter(f"give a percentage such as 5% or 0.5%, not '{text}'.")
    return Decimal(match[1])


def _read_map(pairs: tuple[str, ...]) -> dict[str, str]:
    names = {}
    for part, name in pairs_of(pairs, "Payout"):
        if part not in FIELDS:
            # People write headings of their report here, such as Imps.
            suggestions = fields_of(part, {})
            hint = (
                f"Did you mean '{suggestions[0]}'?"
                if suggestions
                else near_or_known(part, FIELDS, "fields")
            )
            raise click.BadParameter(f"there is no field '{part}'. {hint}")
        names[part] = name
    return names


@command(
    "reconcile",
    params=[
        click.Argument(
            ["file"], type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE"
        ),
        click.Argument(
            ["days"],
            callback=read_begun_period,
            required=False,
            metavar="[PERIOD]",
            shell_complete=period_words,
        ),
        option(
            "--by",
            _read_by,
            "day,campaign",
            f"Compare by {', '.join(GROUPS)}, or several; by default what FILE has.",
            complete=completing(GROUPS),
        ),
        option(
            "--tolerance",
            _read_tolerance,
            "PERCENT",
            "Exit with status 1 if a figure or a total differs by more.",
            "5%",
        ),
        option(
            "--map names",
            str,
            "FIELD=NAME",
            "The column of FILE for a field, such as impressions='Billable Imps'; "
            "FIELD= leaves the field out; repeatable.",
            multiple=True,
            reader=_read_map,
        ),
        option("--sheet", str, "NAME", "Sheet of a workbook; by default the one with figures."),
        option(
            "--in location",
            click.Path(),
            "DIR|URL",
            "Compare with the events of a dataset, which finds more causes.",
        ),
        *output_options(_FORMATS),
        json_option(),
    ],
    details=(
        "FILE is csv or xlsx as people export it: any separator, decimal mark and order of columns "
        "is recognised and shown on stderr. Each row is a figure on both sides, the largest part "
        "of the gap first. A cause is named if, after it, every figure agrees up to rounding: "
        "another unit, rounding, missing days, names that differ, days that are not over; with "
        "--in also another time zone, filtered traffic and missing hours. Without --in it sends "
        "one request, or one for each day if it compares by day and another column; with it none. "
        f"PERIOD is {Period.FORMS}; by default the days of FILE."
    ),
    examples=[
        "adanalytics reconcile theirs.csv",
        "adanalytics reconcile theirs.xlsx 2026-01 --by day,campaign --tolerance 2%",
        "adanalytics reconcile theirs.csv 2026-01 --in events",
        "adanalytics reconcile theirs.csv --map impressions='Billable Imps' -o gap.xlsx",
    ],
    connects=True,
    gather=gather_output(_FORMATS),
)
def reconcile(
    invocation: Invocation,
    file: Path,
    days: Period | None,
    by: list[str] | None,
    tolerance: Decimal,
    names: dict[str, str],
    sheet: str | None,
    location: str | None,
    output: Output,
) -> None:
    """Read the file, ask for our figures, and write both with the cause of the gap."""
    path = output.path
    if location:
        MissingExtra.check("duckdb", "sql", needed_for="reconcile --in")
    by = by or []
    if not location and len(groups := [group for group in by if group in ID_OF]) > 1:
        raise click.UsageError(f"A summary has one of {' and '.join(groups)}; both need --in DIR.")
    from adanalytics_cli.reconcile.causes import CauseSearch
    from adanalytics_cli.reconcile.figures import ask_service, read_dataset, start_of
    from adanalytics_cli.reconcile.report import Reconciliation
    from adanalytics_cli.reconcile.statement import read_statement

    given_days = period(invocation, days, None) if days else None
    statement = read_statement(file, by, given_days, names, sheet, both_groups=bool(location))
    now = now_at_service(invocation)
    progress = None
    if location:
        _, holdings = open_dataset(invocation, location)
        figures, partner = read_dataset(statement, location, holdings), holdings.partner
    else:
        with connect(invocation) as (client, progress):
            figures, partner = (
                ask_service(statement, client, now.tzinfo or UTC),
                client.partner or "",
            )
    moment = now.replace(tzinfo=None) - LATENESS
    open_days = [day for day in figures.days() if moment < start_of(day) + timedelta(days=1)]
    search = CauseSearch(figures, open_days)
    reconciliation = Reconciliation(search, tolerance, file.name, partner)
    # -f json is a format of the rows.
    as_report = invocation.as_json and output.choice != "json"
    if as_report:
        print_json(reconciliation.as_json())
    if path or not as_report:
        reconciliation.write(output, invocation)
    if path:
        summary = counted(len(reconciliation.gaps), "row")
        statement_days = statement.first, statement.last
        report_end(invocation, summary, progress, days=statement_days, target=path)
    if gaps := reconciliation.above():
        raise CommandError(
            f"{counted(len(gaps), 'figure')}, totals included, beyond {tolerance:f} %.",
            remedy=f"The worst is {reconciliation.describe(gaps[0])}.",
        )
