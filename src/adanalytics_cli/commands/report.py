"""`adanalytics report`: a summary of a dataset by any field, without a request."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from time import monotonic
from typing import TYPE_CHECKING

import click

from adanalytics_cli.account.dataset_here import find_datasets
from adanalytics_cli.core import periods
from adanalytics_cli.core.command import command, completing, option
from adanalytics_cli.core.errors import CommandError, MissingExtra
from adanalytics_cli.core.invocation import Invocation
from adanalytics_client import Period
from adanalytics_client._json.columns import SUMMARY_COLUMNS

from .metrics import MetricOptions, Span, metric_options, write_answers

if TYPE_CHECKING:
    from adanalytics_cli.output.summary_output import Answer
    from adanalytics_client.dataset.query.session import QuerySession

_FIELDS = ("country", "hour", "creative", "device", "supply-tag", "domain", "day")
_MEMORY = "1GB"


@command(
    "report",
    params=[
        click.Argument(
            ["field"],
            metavar="FIELD",
            shell_complete=completing(_FIELDS),
        ),
        *periods.period_arguments(required=False),
        option(
            "--in places",
            click.Path(),
            "DIR|URL",
            "Dataset to read; by default this folder, or events in it. Several are told "
            "apart by their partners.",
            multiple=True,
        ),
        *metric_options(SUMMARY_COLUMNS),
    ],
    details=(
        f"FIELD is {', '.join(_FIELDS)} or any field of the events. The columns are those of "
        "adanalytics summary, and so are their figures: filtered (invalid) traffic is left out. "
        "Events that are counters are added up; of others without a known type the number of "
        "events is shown. Amounts of several currencies or datasets are never added. Without "
        f"START it takes all days of the dataset. {periods.PERIOD_HELP} Nothing is sent."
    ),
    examples=[
        "adanalytics report country 2026-01 --in events",
        "adanalytics report hour yesterday --chart",
        "adanalytics report creative -7d --sort clicks --top 10",
        "adanalytics report device this-month --compare previous -o devices.xlsx",
    ],
    gather=MetricOptions.gather,
)
def report(
    invocation: Invocation,
    field: str,
    start: Period | None,
    end: Period | None,
    places: tuple[str, ...],
    options: MetricOptions,
) -> None:
    """Add up the traffic of datasets and write its rows as a summary."""
    MissingExtra.check("duckdb", "sql", needed_for="adanalytics report")
    start_time = monotonic()
    datasets = find_datasets(invocation, places)

    from adanalytics_cli.console.progress import show_progress
    from adanalytics_cli.output.query_footer import write_footer
    from adanalytics_cli.output.summary_output import usual_columns
    from adanalytics_client.dataset.query.session import open_session

    with show_progress(invocation, live=False), open_session(datasets, memory=_MEMORY) as session:
        days = sorted({day for dataset in session.coverage for day in dataset.days})
        if not days:
            raise CommandError("The dataset has no day yet.", remedy="Sync it first.")
        start = start or Period(days[0], days[-1])
        spans, omission = [periods.period(invocation, start, end)], ""
        if options.compare:
            last_days = [dataset.last_whole_day or date.min for dataset in session.coverage]
            # A day that is not over would look like a loss beside a whole one.
            whole_until = date.max if options.all_hours else max(last_days)
            days_by_partner = (
                {}
                if options.all_hours
                else {dataset.partner: dataset.days for dataset in session.coverage}
            )
            spans, omission = options.compared_spans(
                invocation, (start, end), whole_until, days_by_partner
            )
        key = session.find_field(field)
        group_by = "day" if key == "date" else session.group_of(key) or key
        answers, *earlier = _ask(session, key, spans)
        if options.chart and len(answers) > 1:
            raise click.UsageError("--chart draws one partner in one currency. Give one --in.")
        # A terminal is narrow: only the usual figures fit.
        if options.output.form.is_table and not (
            options.columns or options.compare or options.chart
        ):
            options = replace(options, columns=tuple(usual_columns(answers, group_by)))
        summary = write_answers(
            answers, earlier, group_by, options, invocation, omission=omission, title="report"
        )
        notes = _gaps(session, spans)
        if texts := session.texts():
            notes.append(f"Texts are not added up: {', '.join(texts)}.")
        write_footer(session.coverage, notes, invocation, has_warnings=False)
    if path := options.output.path:
        invocation.notice(f"{summary}, {monotonic() - start_time:.1f} s -> {path}")


def _ask(session: "QuerySession", field: str, spans: Sequence[Span]) -> "list[list[Answer]]":
    """Return the answers of each span: one for each dataset and currency, in the same order."""
    from adanalytics_cli.output.summary_output import Answer
    from adanalytics_client import Summary

    sides = [session.summarize(field, *days) for days in spans]
    answers: list[list[Answer]] = [[] for _ in spans]
    for number, coverage in enumerate(session.coverage):
        by_currency = [{answer.currency: answer for answer in side[number]} for side in sides]
        currencies = dict.fromkeys(code for side in by_currency for code in side if side[code].rows)
        # A currency that occurs in one period only is compared with nothing.
        for code in currencies or by_currency[0]:
            for list_, side, days in zip(answers, by_currency, spans, strict=True):
                summary = side.get(code) or Summary(currency=code)
                list_.append(Answer(coverage.partner, summary, *days, coverage.zone))
    return answers


def _gaps(session: "QuerySession", spans: Sequence[Span]) -> list[str]:
    """Say which of the days no dataset has."""
    data_days = {day for dataset in session.coverage for day in dataset.days}
    gaps = [periods.gaps_of(*span, data_days) for span in spans]
    return [f"Not in the dataset: {text}." for text in gaps if text]
