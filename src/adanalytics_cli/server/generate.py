"""`adanalytics server generate`: realistic events out of nothing but a seed."""

from datetime import date
from pathlib import Path

import click

from adanalytics_cli.console.stage_line import show_stages
from adanalytics_cli.core.command import ExampleCommand
from adanalytics_cli.core.invocation import current_invocation
from adanalytics_cli.core.periods import date_option
from adanalytics_cli.server.extra import data_option, server_extra
from adanalytics_cli.server.partner_store import open_partner_store


@click.pass_context
def run(
    context: click.Context,
    partner_id: str,
    start: date,
    days: int,
    events_per_day: int,
    seed: int,
    data: Path,
) -> None:
    """Generate the days and say what was stored."""
    with server_extra():
        from adanalytics_server.seed.generate import generate
    with (
        open_partner_store(data, partner_id) as (partner, store),
        show_stages(partner.id, current_invocation(context)) as progress,
    ):
        outcome = generate(
            store,
            partner_id=partner.id,
            currency=partner.currency,
            start=start,
            days=days,
            events_per_day=events_per_day,
            seed=seed,
            progress=progress,
        )
    text = (
        f"{outcome.stored:,} events stored on {days} {'day' if days == 1 else 'days'} from {start}"
    )
    if outcome.duplicates:
        text += f", {outcome.duplicates:,} were there already"
    click.echo(f"{partner.id}: {text}")


def _number(name: str, most: int, default: int, meaning: str) -> click.Option:
    return click.Option(
        [name],
        type=click.IntRange(1, most),
        metavar="N",
        default=default,
        show_default=True,
        help=meaning,
    )


generate = ExampleCommand(
    "generate",
    callback=run,
    params=[
        click.Option(
            ["--partner", "partner_id"], metavar="ID", required=True, help="Whose events they are."
        ),
        date_option("--start", "First day."),
        _number("--days", 3660, 1, "Days in a row."),
        _number("--events-per-day", 100_000_000, 10_000, "Exactly so many each day."),
        click.Option(
            ["--seed"],
            type=click.IntRange(0),
            metavar="S",
            default=0,
            show_default=True,
            help="The same seed gives the same events.",
        ),
        data_option(),
    ],
    summary="Fill in realistic generated events.",
    examples=[
        "adanalytics server generate --partner acme --start 2026-01-15",
        "adanalytics server generate --partner acme --start -7d --days 7 \\",
        "    --events-per-day 125000 --seed 7",
    ],
)
