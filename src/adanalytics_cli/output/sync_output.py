"""The results of sync and verify as one object; the plan of a sync also as a table."""

import sys
from collections.abc import Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any

import click

from adanalytics_cli.console.table_view import Column, count
from adanalytics_cli.core.invocation import Invocation, print_json
from adanalytics_cli.core.prose import fitted
from adanalytics_cli.core.remedies import words_of
from adanalytics_client import QuotaState
from adanalytics_client._base.escaping import visible
from adanalytics_client._base.quantities import counted

from .formats import TABLE, Output
from .plan_output import quota_line
from .row_output import Listing, write_rows

if TYPE_CHECKING:
    from adanalytics_client._progress.progress import Progress
    from adanalytics_client.dataset import DayChange, SyncPlan, SyncReport, VerifyReport

Record = Mapping[str, Any]
# The name of the service's own count of events among the figures.
_COUNT = "total"


def write_sync_report(report: "SyncReport", location: str, progress: "Progress") -> None:
    """Print the result of a sync, also of a stopped one, as one object."""
    record = {
        "place": location,
        "wanted": report.wanted,
        "hours": len(report.hours),
        "events": report.events,
        "left": report.left,
        "pages_kept": report.pages,
        "damaged": report.damaged,
        "failed": [
            {**failure.as_json(), "remedy": words_of(failure.remedy)} for failure in report.failed
        ],
        "changed": [
            {"hour": str(hour), "before": before, "after": after}
            for hour, (before, after) in sorted(report.changed.items())
        ],
        "restated": [row for change in report.restated for row in change_rows(change)],
        "report": report.file or None,
        "requests": progress.requests,
        "seconds": round(progress.seconds(), 3),
    }
    print_json(record)


def change_rows(change: "DayChange") -> list[Record]:
    """Return a row for each figure of a day that changed."""
    return [
        {
            "date": change.day,
            "noticed_at": f"{change.noticed_at:%Y-%m-%dT%H:%M:%SZ}",
            "figure": name,
            "before": before,
            "after": change.after[name],
        }
        for name, before in change.before.items()
    ]


def write_verify_report(report: "VerifyReport", location: str, progress: "Progress") -> None:
    """Print the result of a verification as one object."""
    record = {
        "place": location,
        "whole": report.is_whole,
        "hours": report.hours,
        "events": report.events,
        "problems": report.problems,
        "compared": report.compared,
        "not_compared": report.uncompared,
        "without_id": report.without_id,
        "requests": progress.requests,
        "seconds": round(progress.seconds(), 3),
    }
    print_json(record)


def describe_comparison(report: "VerifyReport") -> str:
    """Say which figures were compared with the service, and which were not and why."""
    figures = [str(figure) for figure in report.compared if figure.name != _COUNT]
    count = "with the service's count" if len(figures) < len(report.compared) else ""
    texts = ["not compared with the service"]
    if figures:
        texts = [f"compared with the summary: {', '.join(figures)}{count and f', and {count}'}"]
    elif count:
        texts = [f"compared {count}"]
    names = dict[str, list[str]]()
    for figure in report.uncompared:
        names.setdefault(figure.reason, []).append(figure.name)
    reasons = [f"{', '.join(columns)}, {reason}" for reason, columns in names.items()]
    texts += [f"not compared: {'; '.join(reasons)}"] if reasons else []
    # Who reads OK must know that this was not looked for.
    if report.without_id and report.without_id == report.events:
        texts.append("repeats could not be looked for, because no event has an id")
    elif report.without_id:
        texts.append(f"{counted(report.without_id, 'event')} without an id may be repeats")
    return "; ".join(texts)


def show_dry_run(
    plan: "SyncPlan", quota: QuotaState, requests: int, command: str, invocation: Invocation
) -> None:
    """Print a plan: a table, or one object.

    `requests` is the number of requests that planning cost; `command` carries the plan out.
    """
    record = _record(plan, quota, requests, command)
    if invocation.as_json:
        print_json(record)
    else:
        _write_table(record, invocation)


def _record(plan: "SyncPlan", quota: QuotaState, requests: int, command: str) -> Record:
    runs = [
        (reason, [*hours]) for reason, hours in groupby(sorted(plan.hours), plan.hours.__getitem__)
    ]
    return {
        "hours": len(plan.hours),
        "events": plan.events,
        "requests": plan.requests,
        "page": plan.page,
        "exports": plan.exports,
        "by_hour": plan.by_hour,
        "prices": plan.prices,
        "asked": [
            {"start": run[0].day, "end": run[-1].day, "hours": len(run), "why": reason}
            for reason, run in runs
        ],
        "damaged": [*plan.damaged],
        "spent_requests": requests,
        "quota": {"remaining": quota.remaining},
        "command": command,
    }


def _write_table(record: Record, invocation: Invocation) -> None:
    """Print the hours in runs with a reason each, and below them the price and the command."""
    for problem in record["damaged"]:
        click.echo(fitted(visible(f"Damaged: {problem}"), sys.stdout))
    if not record["asked"]:
        lines = f"Up to date: a sync would pull nothing.\n{quota_line(record)}"
        click.echo(fitted(lines, sys.stdout))
        return
    columns = [
        Column("start", heading="first day"),
        Column("end", heading="last day"),
        Column("hours", count),
        Column("why"),
    ]
    write_rows(Listing(record["asked"], columns), Output(TABLE), invocation)
    amount = f"{counted(record['hours'], 'hour')}, about {counted(record['events'], 'event')}"
    exports = f", {counted(record['exports'], 'bulk export')}" if record["exports"] else ""
    note, (pages, export) = "", (record["prices"][way] for way in ("pages", "export"))
    if record["by_hour"]:
        note = (
            "Each hour is a query: no field of the events is known to hold their time. Name it "
            "with --time-field.\n"
        )
    elif pages != export:
        note = f"The events by pages: {counted(pages, 'request')}; by exports: {export:,}.\n"
    lines = (
        f"\nWould pull {amount}: at most {counted(record['requests'], 'request')}{exports}, "
        f"with pages of {record['page']:,} events.\n"
        f"{note}{quota_line(record)}\n"
        "Nothing was pulled or written. To pull:\n"
        f"  {visible(record['command'])}"
    )
    click.echo(fitted(lines, sys.stdout))
