"""`adanalytics sync`: keep a folder of hourly files equal to the service."""

import os
from typing import TYPE_CHECKING

import click

from adanalytics_cli.account.connection import connect
from adanalytics_cli.core.command import ExampleCommand
from adanalytics_cli.core.errors import Interrupted, UsedUp
from adanalytics_cli.core.invocation import current_invocation, remark
from adanalytics_cli.core.periods import period, period_arguments
from adanalytics_cli.core.settings import base_url_of, find_place, partner_of
from adanalytics_client import Period

if TYPE_CHECKING:
    from adanalytics_client.dataset.layout import PartFormat
    from adanalytics_client.dataset.planning import Via


@click.pass_context
def run(
    context: click.Context,
    start: Period | None,
    end: Period | None,
    place: str,
    via: "Via",
    part_format: "PartFormat | None",
    repull: int,
    max_requests: int | None,
    deadline: float | None,
) -> None:
    """Pull what is missing, was open when it was pulled, or was restated; leave the rest alone."""
    from adanalytics_cli.commands.memory import share_memory
    from adanalytics_cli.commands.sync_messages import again, closing, partly_done, warn
    from adanalytics_cli.core.budget import Budget
    from adanalytics_client.dataset.dataset import Dataset
    from adanalytics_client.dataset.identity import check_place, settle_identity
    from adanalytics_client.dataset.run import Sync
    from adanalytics_client.dataset.store import open_store
    from adanalytics_client.dataset.sync_report import Order

    share_memory()
    invocation = current_invocation(context)
    order = Order(Period(*period(start, end)) if start else None, repull, via)
    service = find_place(invocation, os.environ)
    store = open_store(place)
    check_place(store)
    budget = Budget(requests=max_requests, seconds=deadline, clock=invocation.clock)
    with store.lock(), connect(context, budget=budget) as (client, progress):
        identity = settle_identity(
            store,
            partner=partner_of(service),
            origin=base_url_of(service),
            form=part_format,
        )
        sync = Sync(client, Dataset(store, identity), order, invocation.clock, progress.expect)
        outcome = sync.outcome
        try:
            sync.run()
        except (UsedUp, KeyboardInterrupt) as stopped:
            ended = Interrupted if isinstance(stopped, KeyboardInterrupt) else UsedUp
            raise ended(
                f"{str(stopped) or 'interrupted'}; {outcome.progress}",
                remedy=f"Go on with: {again(invocation, place, order)}",
            ) from None
        finally:
            progress.finish()
            warn(outcome, invocation)
        if outcome.bad:
            raise partly_done(store, outcome, again(invocation, place, order))
        remark(closing(outcome, progress, place), context)


sync = ExampleCommand(
    "sync",
    callback=run,
    params=[
        *period_arguments(required=False),
        click.Option(
            ["--to", "place"],
            type=click.Path(),
            metavar="DIR|URL",
            required=True,
            help="The dataset: a folder, or an address such as s3://bucket/events.",
        ),
        click.Option(
            ["--via"],
            type=click.Choice(["auto", "pages", "export"]),
            default="auto",
            show_default=True,
            help="Page by page, as bulk exports, or what costs less.",
        ),
        click.Option(
            ["--format", "part_format"],
            type=click.Choice(["parquet", "jsonl", "csv"]),
            help="Form of a new dataset's files; parquet unless told.",
        ),
        click.Option(
            ["--repull"],
            type=click.IntRange(min=0),
            metavar="DAYS",
            default=0,
            help="Pull the last DAYS days again, whatever the service says of them.",
        ),
        click.Option(
            ["--max-requests"],
            type=click.IntRange(min=1),
            metavar="N",
            help="Send no more than N requests in this run.",
        ),
        click.Option(
            ["--deadline"],
            type=click.FloatRange(min=0, min_open=True),
            metavar="S",
            help="Send nothing more after S seconds.",
        ),
    ],
    summary="Keep a folder of hourly files equal to the service.",
    details=(
        f"START and END are {Period.FORMS}; both are inclusive, in UTC. Without them the range is "
        "what the service has. Pulled are hours that are missing, were not over yet, or were "
        "restated since. Stopped in any way, the same command goes on where it was."
    ),
    examples=[
        "adanalytics sync --to events",
        "adanalytics sync -7d yesterday --to events",
        "adanalytics sync 2026-01 --to s3://bucket/events --max-requests 500",
    ],
    connects=True,
)
