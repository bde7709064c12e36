"""`adanalytics summary`: the metrics of a period."""

import shlex
from collections.abc import Mapping
from datetime import date, timedelta
from itertools import chain
from typing import TYPE_CHECKING

import click

from adanalytics_cli.account.connection import ask_each, connect_each, report_end
from adanalytics_cli.core import periods
from adanalytics_cli.core.command import command, option
from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.core.settings import find_settings, now_at_service
from adanalytics_client import Period
from adanalytics_client._base.dates import LATENESS
from adanalytics_client._json.columns import SUMMARY_COLUMNS
from adanalytics_client._json.fields import GROUPS, GroupBy

from .metrics import MetricOptions, metric_options, write_answers

if TYPE_CHECKING:
    from adanalytics_cli.output.summary_output import Answer
    from adanalytics_client import Client


class _Grouping(click.Choice[str]):
    """The groupings of the service; for others the error names the report that has them."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            field = shlex.quote(value)
            raise click.BadParameter(
                f"'{value}' is not one of {', '.join(self.choices)}, the service's groups. A "
                f"dataset has every field: adanalytics sync, then adanalytics report {field}.",
                ctx,
                param,
            ) from None


def _one_group(values: tuple[GroupBy, ...]) -> GroupBy | None:
    if len(values) > 1:
        raise click.BadParameter("The service groups by one column at a time. Give -g once.")
    return values[0] if values else None


@command(
    "summary",
    params=[
        *periods.period_arguments(required=True),
        option(
            "-g --group-by",
            _Grouping(GROUPS),
            None,
            "Print one row for each; without it, one row with the total.",
            multiple=True,
            reader=_one_group,
        ),
        *metric_options(SUMMARY_COLUMNS),
    ],
    details=(
        f"{periods.PERIOD_HELP} The service leaves out filtered (invalid) traffic. The previous "
        "period is the month, quarter or year before, up to the same day, or as many days before. "
        "Several partners come one after the other and are never added."
    ),
    examples=[
        "adanalytics summary yesterday",
        "adanalytics summary 2026-01 -g campaign --top 10",
        "adanalytics summary this-month --compare previous",
        "adanalytics summary 2026-01 -g day --chart",
        "adanalytics summary 2026-Q1 -g campaign -o quarter.xlsx",
    ],
    connects=True,
    gather=MetricOptions.gather,
)
def summary(
    invocation: Invocation,
    start: Period,
    end: Period | None,
    group_by: GroupBy | None,
    options: MetricOptions,
) -> None:
    """Get the summary and write its rows; a table also shows the totals."""
    spans, omission = [periods.period(invocation, start, end)], ""
    with connect_each(invocation, chart=options.chart) as (clients, progress):
        if options.compare:
            whole_until, days_by_partner = date.max, {}
            if not options.all_hours:
                last_day = (now_at_service(invocation) - LATENESS).date() - timedelta(days=1)
                days_by_partner = ask_each(clients, lambda client: client.dates())
                # A partner whose data end earlier is named below.
                whole_until = min(
                    last_day, max([*chain(*days_by_partner.values())], default=last_day)
                )
            spans, omission = options.compared_spans(
                invocation, (start, end), whole_until, days_by_partner
            )
        zone = find_settings(invocation).service.zone
        answers, *earlier = [_ask(clients, *days, group_by, zone) for days in spans]
    result_text = write_answers(answers, earlier, group_by, options, invocation, omission=omission)
    if group_by == "day":
        for answer in chain(answers, *earlier):
            days = {row.date for row in answer.summary.rows if isinstance(row.date, date)}
            gaps = periods.gaps_of(answer.first, answer.last, days)
            # A row of an unknown day may be of any. A cut of the range looks like this, too.
            if gaps and len(days) == len(answer.summary.rows):
                text = f"The service's summary of {answer.partner} has no row of {gaps}."
                invocation.notice(text)
    if path := options.output.path:
        report_end(invocation, result_text, progress, days=spans[0], target=path)


def _ask(
    clients: "Mapping[str, Client]", first: date, last: date, group_by: GroupBy | None, zone: str
) -> "list[Answer]":
    from adanalytics_cli.output.summary_output import Answer

    summaries = ask_each(clients, lambda client: client.summary(first, last, group_by=group_by))
    return [Answer(partner, summary, first, last, zone) for partner, summary in summaries.items()]
