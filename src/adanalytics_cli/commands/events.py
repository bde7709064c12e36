"""`adanalytics events`: every event of a period, as the service sent it."""

import os
from pathlib import Path
from typing import Literal, get_args

import click

from adanalytics_cli.account.connection import announce_end, connect, report_end
from adanalytics_cli.core.command import command
from adanalytics_cli.core.files import naming
from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.core.numbers import WholeNumber, number_option
from adanalytics_cli.core.periods import PERIOD_HELP, period_arguments, without_future_days
from adanalytics_cli.output.formats import (
    BINARY,
    FORMATS,
    bom_option,
    columns_option,
    format_option,
    pick_format,
)
from adanalytics_cli.output.output_file import output_option
from adanalytics_client import Period
from adanalytics_client._base.quantities import counted

Split = Literal["hourly", "daily", "none", "auto"]

LARGEST_PAGE = 10_000
_FORMATS = (*FORMATS, *BINARY)
# More rows of a table would only scroll by.
ROWS_OF_A_TABLE = 100


@command(
    "events",
    params=[
        *period_arguments(required=True),
        output_option(),
        format_option(_FORMATS),
        bom_option(),
        number_option("--hour", WholeNumber(0, 23), "H", "Pull only this hour of each day."),
        columns_option(),
        number_option("--limit", WholeNumber(1), "N", "Stop after this many events."),
        click.Option(
            ["--split"],
            type=click.Choice(get_args(Split)),
            help=(
                "Query each hour, each day, or all at once; auto takes the fewest requests. "
                "Default: hourly, or auto with --limit or for a table."
            ),
        ),
        number_option(
            "--per-page",
            WholeNumber(1, LARGEST_PAGE),
            "N",
            f"Events per request (default and maximum: {LARGEST_PAGE}).",
        ),
        number_option(
            "--concurrency", WholeNumber(1, 64), "N", "Number of requests sent at the same time.", 4
        ),
    ],
    details=(
        f"{PERIOD_HELP} A day takes 24 requests, or fewer with --split auto. A terminal shows the "
        f"first {ROWS_OF_A_TABLE} events as a table; a pipe gets all events as JSON lines."
    ),
    examples=[
        "adanalytics events yesterday -o yesterday.jsonl.gz",
        "adanalytics events 2026-01-15 --hour 13 | jq .event_type",
        "adanalytics events 2026-01 --split daily -o january.parquet",
        "adanalytics events -7d --columns event_time,revenue -f csv",
    ],
    connects=True,
)
def events(
    invocation: Invocation,
    start: Period,
    end: Period | None,
    hour: int | None,
    split: Split | None,
    per_page: int | None,
    concurrency: int,
    columns: tuple[str, ...],
    limit: int | None,
    chosen_format: str | None,
    output: Path | None,
    bom: bool,
) -> None:
    """Pull the events and write them; a file appears only when it is complete."""
    form = pick_format(chosen_format, output, piped="jsonl", known=_FORMATS, bom=bom)
    from adanalytics_cli.output.event_output import (
        documented_names,
        write_event_table,
        write_events,
    )

    columns = documented_names(columns)
    first, last = without_future_days(invocation, start, end)
    shown = ROWS_OF_A_TABLE if form == "table" and limit is None else limit
    # Hour by hour, many empty hours may come before the first events.
    split = split or ("auto" if shown else "hourly")
    # Rows may reach the terminal of the live line, also through another program.
    live = form == "table" or output is not None or os.path.isfile(1)  # noqa: PTH113  # a descriptor
    with connect(invocation, live=live) as (client, progress):
        query = client.events(
            first,
            last,
            hour=hour,
            split=split,
            per_page=per_page or min(shown or LARGEST_PAGE, LARGEST_PAGE),
            concurrency=concurrency,
            max_events=shown,
        )
        if split != "auto":
            requests = query.plan.least_requests
            advice = f" Cheaper ways: adanalytics plan {first} {last}"
            announce_end(invocation, client, requests, advice)
            progress.expect(requests)

        if form == "table":
            cut_at = shown if limit is None else None
            written = write_event_table(query, output, columns, progress, invocation, cut_at=cut_at)
        else:
            with naming(output):
                about = {"first day": first, "last day": last, "made": invocation.clock()}
                written = write_events(query, form, output, columns, progress, bom=bom, about=about)
    done = counted(written, "event")
    report_end(invocation, done, progress, days=(first, last), target=output)
