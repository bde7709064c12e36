"""`adanalytics query`: an answer in SQL from datasets, without a request."""

import os
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from time import monotonic

import click

from adanalytics_cli.account.dataset_here import default_dataset
from adanalytics_cli.core.command import command, flag, option
from adanalytics_cli.core.errors import CommandError, MissingExtra, SettingsError
from adanalytics_cli.core.invocation import Invocation, remark
from adanalytics_cli.output.formats import FORMATS, Format, pick_format
from adanalytics_cli.output.output_file import output_options
from adanalytics_client._base.quantities import counted

_FORMATS: tuple[Format, ...] = (*FORMATS, "parquet", "xlsx")


@command(
    "query",
    params=[
        click.Argument(["sql"], metavar="SQL"),
        click.Option(
            ["--in", "places"],
            type=click.Path(),
            metavar="DIR|URL",
            multiple=True,
            help="Dataset to read; by default this folder, or events in it. Several are joined "
            "into one view with a column dataset.",
        ),
        *output_options(_FORMATS),
        flag("--chart", "Draw bars of an answer with two columns: a label and a number."),
        option(
            "--memory",
            str,
            "SIZE",
            "Most memory of the query; what does not fit waits in a temporary folder.",
            "1GB",
        ),
    ],
    details=(
        "SQL is one SELECT in the dialect of DuckDB over the view events, which has the "
        "documented columns, and date and hour, which choose the files to read. Events that are "
        "filtered (invalid traffic) are in the view, and in no summary: leave them out with WHERE "
        "NOT is_filtered. Nothing is sent, and the query can read nothing but the dataset."
    ),
    examples=[
        'adanalytics query "SELECT country, sum(revenue) FROM events GROUP BY country"',
        'adanalytics query "SELECT media_type, count(*) FROM events GROUP BY 1" --chart',
        'adanalytics query "FROM events WHERE hour = 13" --in events -o hour.parquet',
        'adanalytics query "DESCRIBE events" --in s3://bucket/events',
    ],
)
def query(
    invocation: Invocation,
    sql: str,
    places: tuple[str, ...],
    chosen_format: str | None,
    output: Path | None,
    region: str | None,
    chart: bool,
    memory: str,
) -> None:
    form = pick_format(
        chosen_format, output, piped="csv", known=_FORMATS, region=region, chart=chart
    )
    if find_spec("duckdb") is None:
        raise MissingExtra("sql", needed_for="adanalytics query")
    started = monotonic()
    found, facts = _datasets(invocation, places)

    from adanalytics_cli.output.query_output import write_chart_of, write_result
    from adanalytics_client.dataset.query import run_query

    with run_query(sql, found, memory=memory) as result:
        if chart:
            rows = write_chart_of(result, output, invocation)
        else:
            about = {"query": sql, "datasets": ", ".join(found), **facts}
            rows = write_result(result, form, output, invocation, region=region, about=about)
    if output is not None:
        remark(f"{counted(rows, 'row')}, {monotonic() - started:.1f} s -> {output}", invocation)


def _datasets(
    invocation: Invocation, places: tuple[str, ...]
) -> tuple[list[str], dict[str, object]]:
    """Return the datasets to read, and whose events they hold, of which days.

    Raises CommandError with the sync that makes a missing one.
    """
    from adanalytics_cli.output.row_output import facts_about
    from adanalytics_client.dataset import Dataset

    places = places or (default_dataset(),)
    same = {place if "://" in place else os.path.realpath(place) for place in places}
    if len(same) < len(places):
        raise SettingsError("--in names a dataset twice.", remedy="Give each dataset once.")
    partners: list[str] = []
    days: list[date] = []
    for place in places:
        held = Dataset(place).holdings()
        if held is None:
            sync = invocation.command_line("sync", "-7d", "--to", place)
            raise CommandError(f"There is no dataset at {place}.", remedy=f"Make one: {sync}")
        partners.append(held.partner)
        days.extend(held.hours)
    return [*places], facts_about(partners, days)
