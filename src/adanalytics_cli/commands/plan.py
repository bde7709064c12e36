"""`adanalytics plan`: the price of each way to pull a period, before the pull."""

from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

from adanalytics_cli.account.connection import connect
from adanalytics_cli.core.command import command
from adanalytics_cli.core.invocation import Invocation, print_json
from adanalytics_cli.core.periods import PERIOD_HELP, period, period_arguments
from adanalytics_cli.output.formats import json_option
from adanalytics_client import Period

if TYPE_CHECKING:
    from adanalytics_client import Client
    from adanalytics_client.pricing import Estimate


@command(
    "plan",
    params=[*period_arguments(required=True), json_option()],
    details=(
        "Compares hourly pages, the pages of --split auto and a bulk export, and recommends one. "
        "Sends one request, or two when the summary has no counts, and never waits for quota. "
        f"{PERIOD_HELP}"
    ),
    examples=[
        "adanalytics plan 2026-01",
        "adanalytics plan -30d",
        "adanalytics plan 2026-01-01 2026-03-31 --json | jq -r .recommended.command",
    ],
    connects=True,
)
def plan(invocation: Invocation, start: Period, end: Period | None) -> None:
    """Estimate the events of each day, price the ways, and recommend one."""
    first, last = period(invocation, start, end)
    with connect(invocation, waits=False) as (client, progress):
        estimate = replace(_estimate(client, first, last), before=invocation.clock())
        quota, requests = client.quota, progress.requests

    from adanalytics_cli.output.plan_output import plan_record, write_plan_table

    record = plan_record(estimate, quota, requests)
    if not invocation.as_json:
        write_plan_table(record, invocation)
    else:
        print_json(record)


def _estimate(client: "Client", first: date, last: date) -> "Estimate":
    """Take events by day from one summary; if it has no counts, the days from `dates`."""
    from adanalytics_client import errors
    from adanalytics_client.pricing import Estimate

    estimate = Estimate(first, last, None)
    try:
        estimate = Estimate.of(client.summary(first, last, group_by="day"), first, last)
    except (errors.AuthenticationError, errors.PermissionDenied, errors.RateLimited):
        raise
    # A service without a usable summary may still list its days.
    except (errors.StatusError, errors.ProtocolError):
        pass
    if estimate.counts is not None:
        return estimate
    days = frozenset(day for day in client.dates() if first <= day <= last)
    return Estimate(first, last, None, days) if days else Estimate(first, last, {})
