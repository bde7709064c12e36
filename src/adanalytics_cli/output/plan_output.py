"""The prices of a period as one record for programs and as a table for people."""

import sys
from collections.abc import Mapping
from typing import Any

import click

from adanalytics_cli.console.table_view import Column, count
from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.core.prose import fitted
from adanalytics_client import QuotaState
from adanalytics_client._base.quantities import counted, in_bytes, in_minutes
from adanalytics_client.pricing import Estimate, Pace, Price, choose, prices

from .formats import TABLE, Output
from .row_output import Listing, write_rows

Record = Mapping[str, Any]
_DAY = 86_400


def plan_record(estimate: Estimate, quota: QuotaState, cost: int) -> Record:
    """Return the estimate as plain values; `cost` is the number of its requests."""
    price_table = prices(estimate, quota)
    choice = choose(estimate, price_table)
    entries = {price.way: _entry(price, estimate) for price in price_table}
    return {
        "start": estimate.start,
        "end": estimate.end,
        "events": estimate.events,
        "days": estimate.days,
        "spent_requests": cost,
        "quota": {"remaining": quota.remaining},
        "prices": [*entries.values()],
        "recommended": None if estimate.events == 0 else entries[choice.way],
        "why": choice.why,
    }


def write_plan_table(record: Record, invocation: Invocation) -> None:
    """Print a row for each way, and below them events, quota, assumptions and advice."""
    columns = [
        Column("via"),
        Column("split"),
        Column("requests", count),
        Column("bytes", _bytes, "size"),
        Column("seconds", _time, "time"),
        Column("waits_seconds", _time, "waiting"),
    ]
    write_rows(Listing(record["prices"], columns), Output(TABLE), invocation)
    lines = ["", *_facts(record)]
    if best := record["recommended"]:
        choice = f"--split {best['split']}" if best["split"] else "an export"
        lines += [f"Recommended: {choice}, {record['why']}.", f"  {best['command']}"]
        if (best["waits_seconds"] or 0) >= _DAY:
            lines.insert(
                -1, f"It takes {_time(best['waits_seconds'])} of quota, {_bytes(best['bytes'])}."
            )
    click.echo(fitted("\n".join(lines), sys.stdout))


def _entry(price: Price, estimate: Estimate) -> dict[str, Any]:
    days, is_export = f"{estimate.start} {estimate.end}", price.way == "export"
    command = f"adanalytics events {days} --split {price.way} -o events.jsonl.gz"
    return {
        "via": "export" if is_export else "pages",
        "split": None if is_export else price.way,
        "requests": price.requests,
        "bytes": price.size,
        "seconds": None if price.seconds is None else round(price.seconds),
        "waits_seconds": round(price.waits),
        "command": f"adanalytics export {days} -o events.csv" if is_export else command,
    }


def _facts(record: Record) -> list[str]:
    """Tell the events and days, the quota, and what the estimate assumes."""
    quota, pace = quota_line(record), Pace()
    if record["events"] is None:
        days = f" data on {counted(record['days'], 'day')};" if record["days"] is not None else ""
        note = f"The number of events is unknown;{days} requests are the fewest possible."
        return [note, quota, "Without the number of events, sizes and times are unknown."]
    note = "No day of the period has data."
    if record["events"]:
        events, days = counted(record["events"], "event"), counted(record["days"], "day")
        note = f"The summary counts {events} by type on {days}, without filtered ones."
    assumptions = (
        f"Assumes {pace.answer:g} s per request, {in_bytes(int(pace.transfer))}/s, "
        f"{pace.event_bytes} B per event ({pace.row_bytes} B as CSV)."
    )
    return [note, quota, assumptions]


def quota_line(record: Record) -> str:
    """Tell the requests that an estimate cost and those left, from `spent_requests` and `quota`."""
    cost, quota = record["spent_requests"], record["quota"]
    requests = counted(cost, "request")
    if quota["remaining"] is None:
        return f"This estimate cost {requests}; no quota is counted."
    return f"This estimate cost {requests}; {quota['remaining']:,} left this hour."


def _bytes(size: object) -> str:
    return in_bytes(size) if isinstance(size, int) else "-"


def _time(seconds: object) -> str:
    """Write a duration as a clock shows it, and a long one in days."""
    if not isinstance(seconds, int) or not seconds:
        return "-"
    return in_minutes(seconds) if seconds < 2 * _DAY else counted(round(seconds / _DAY), "day")
