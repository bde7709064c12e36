"""What a sync says when it ends: to people, to scripts, and to whoever reads its report."""

import shlex
from typing import TYPE_CHECKING

import click

from adanalytics_cli.core.errors import PartlyDone
from adanalytics_client.dataset.failure_report import write_report

if TYPE_CHECKING:
    from adanalytics_cli.console.progress import Progress
    from adanalytics_cli.core.invocation import Invocation
    from adanalytics_client.dataset.store import Store
    from adanalytics_client.dataset.sync_report import Order, Outcome


def again(invocation: "Invocation", place: str, order: "Order") -> str:
    """The command line that goes on with a run; limits are for whoever types it to choose."""
    words = [*invocation.program(), "sync"]
    if order.span:
        words += [str(order.span.first), str(order.span.last)]
    words += ["--to", place]
    if order.via != "auto":
        words += ["--via", order.via]
    if order.repull:
        words += ["--repull", str(order.repull)]
    return shlex.join(words)


def closing(outcome: "Outcome", progress: "Progress", place: str) -> str:
    """One line about a run that did everything."""
    requests = f"{progress.requests:,} request{'' if progress.requests == 1 else 's'}"
    told = f"{requests}, {progress.seconds():.1f} s -> {place}"
    if not outcome.wanted:
        return f"up to date, {told}"
    hours = len(outcome.pulled)
    return f"{outcome.events:,} events in {hours:,} hour{'' if hours == 1 else 's'}, {told}"


def warn(outcome: "Outcome", invocation: "Invocation") -> None:
    """Name what was found damaged, also where nobody watches: a log of cron is read later."""
    if not invocation.quiet:
        for problem in outcome.damaged:
            click.echo(f"Damaged, pulled again: {problem}", err=True)


def partly_done(store: "Store", outcome: "Outcome", command: str) -> PartlyDone:
    """The error of a run that left hours out, with its report written."""
    report = write_report(store, outcome.bad, now=outcome.began, again=command)
    first = outcome.bad[0]
    more = f", and {len(outcome.bad) - 1} more" if len(outcome.bad) > 1 else ""
    return PartlyDone(
        f"{outcome.left:,} of {outcome.wanted or 0:,} hours are not done: "
        f"{first.query}: {first.message.rstrip('.')}{more}. Report: {store.place}/{report}",
        remedy=f"Finish with: {command}",
    )
