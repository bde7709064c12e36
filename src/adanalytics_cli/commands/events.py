"""`adanalytics events`: every event of a period, as the service sent it."""

import os
from pathlib import Path
from typing import get_args

from adanalytics_cli.account.connection import connect, report_end
from adanalytics_cli.account.quota import QuotaCheck, how_to_go_on
from adanalytics_cli.core.command import check_option, command, option
from adanalytics_cli.core.files import naming
from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.core.numbers import WholeNumber
from adanalytics_cli.core.periods import PERIOD_HELP, period, period_arguments
from adanalytics_cli.core.settings import now_at_service
from adanalytics_cli.output.formats import FORMATS, Output, columns_option, gather_output
from adanalytics_cli.output.output_file import output_options
from adanalytics_client import Period
from adanalytics_client._base.choices import Check, Split
from adanalytics_client._base.quantities import counted
from adanalytics_client._json.columns import EVENT_COLUMNS

LARGEST_PAGE = 10_000
_FORMATS = tuple(FORMATS.values())
# More rows of a table would only scroll by.
ROWS_OF_A_TABLE = 100


@command(
    "events",
    params=[
        *period_arguments(required=True),
        *output_options(_FORMATS),
        option("--hour", WholeNumber(0, 23), "H", "Pull only this hour of each day."),
        columns_option(EVENT_COLUMNS),
        option("--limit", WholeNumber(1), "N", "Stop after this many events."),
        option(
            "--split",
            get_args(Split),
            None,
            "Query each hour, each day, or all at once; auto chooses by the number of events.",
            "auto",
        ),
        option(
            "--per-page",
            WholeNumber(1, LARGEST_PAGE),
            "N",
            f"Events per request (default and maximum: {LARGEST_PAGE}).",
        ),
        option(
            "--concurrency", WholeNumber(1, 64), "N", "Number of requests sent at the same time.", 4
        ),
        check_option(),
    ],
    details=(
        f"{PERIOD_HELP} A pull that needs more requests than the quota has left stops before them, "
        "with exit status 5; on a terminal it asks, and with --max-wait it starts. A terminal "
        f"shows the first {ROWS_OF_A_TABLE} events as a table; a pipe gets all events as JSON "
        "lines."
    ),
    examples=[
        "adanalytics events yesterday -o yesterday.jsonl.gz",
        "adanalytics events 2026-01-15 --hour 13 | jq .event_type",
        "adanalytics events 2026-01 --split daily -o january.parquet",
        "adanalytics events -7d --columns event_time,revenue -f csv",
    ],
    connects=True,
    gather=gather_output(_FORMATS, piped="jsonl"),
)
def events(
    invocation: Invocation,
    start: Period,
    end: Period | None,
    hour: int | None,
    split: Split,
    per_page: int | None,
    concurrency: int,
    check: Check,
    columns: tuple[str, ...],
    limit: int | None,
    output: Output,
) -> None:
    """Pull the events and write them; a file appears only when it is complete."""
    form, path = output.form, output.path
    from adanalytics_cli.output.event_output import SheetCheck, write_event_table, write_events
    from adanalytics_cli.output.row_output import facts_about
    from adanalytics_client._progress.progress import joined

    first, last = period(invocation, start, end)
    row_limit = ROWS_OF_A_TABLE if form.is_table and limit is None else limit
    # Rows may reach the terminal of the live line, also through another program.
    live = form.is_table or path is not None or os.path.isfile(1)  # noqa: PTH113  # a descriptor
    with connect(invocation, live=live) as (client, progress):
        quota_check = QuotaCheck(
            invocation,
            client,
            progress,
            remedy=how_to_go_on(invocation, first, last, divided=split in {"hourly", "daily"}),
        )
        # A limit is the user's own answer to too many events.
        checks = [SheetCheck()] if form.is_typed and limit is None else []
        observers = (*checks, quota_check, *invocation.observers, progress)
        query = client.with_options(observer=joined(*observers)).events(
            first,
            last,
            hour=hour,
            split=split,
            per_page=per_page or min(row_limit or LARGEST_PAGE, LARGEST_PAGE),
            concurrency=concurrency,
            # What is written row by row becomes a file, too; a table is a look.
            check="always" if check == "auto" and not form.is_table else check,
            max_events=row_limit,
        )
        now = now_at_service(invocation)
        if last == now.date():
            query = query.only_before(now)
        quota_check.check(query.plan.least_requests)
        progress.expect(query.plan.least_requests)

        if form.is_table:
            cut_at = row_limit if limit is None else None
            count = write_event_table(query, output, columns, progress, invocation, cut_at=cut_at)
        else:
            with naming(path, path and Path(os.path.realpath(path)).parent):
                facts = facts_about([client.partner or ""], (first, last)) | {"hour": hour}
                count = write_events(query, output, columns, invocation, facts)
    summary = counted(count, "event")
    report_end(invocation, summary, progress, days=(first, last), target=path)
