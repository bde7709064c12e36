"""`adanalytics server partner`: whose data a server holds."""

from pathlib import Path

import click

from adanalytics_cli.console.remarks import remark
from adanalytics_cli.core.command import ExampleCommand
from adanalytics_cli.core.command_group import ExampleGroup
from adanalytics_cli.core.invocation import current_invocation
from adanalytics_cli.output.listing import print_listing
from adanalytics_cli.server.extra import data_option, server_extra


@click.pass_context
def run_add(
    context: click.Context, partner_id: str, name: str | None, currency: str, data: Path
) -> None:
    """Add one partner."""
    with server_extra():
        from adanalytics_server.admin import add_partner
    added = add_partner(data, partner_id, name=name or partner_id, currency=currency)
    remark(f"Added partner {added.id} ({added.name}, {added.currency}) in {data}.", context)


@click.pass_context
def run_list(context: click.Context, data: Path) -> None:
    """List the partners."""
    with server_extra():
        from adanalytics_server.admin import list_partners
    rows = [
        {"id": each.id, "name": each.name, "currency": each.currency}
        for each in list_partners(data)
    ]
    print_listing(rows, ["id", "name", "currency"], current_invocation(context))


partner = ExampleGroup(
    "partner",
    commands=[
        ExampleCommand(
            "add",
            callback=run_add,
            params=[
                click.Argument(["partner_id"], metavar="ID"),
                click.Option(["--name"], metavar="N", help="Name for people; by default the ID."),
                click.Option(
                    ["--currency"],
                    metavar="CODE",
                    default="USD",
                    show_default=True,
                    help="ISO 4217 code of all its money.",
                ),
                data_option(made=True),
            ],
            summary="Add a partner.",
            examples=["adanalytics server partner add acme --name 'Acme Media' --currency EUR"],
        ),
        ExampleCommand(
            "list",
            callback=run_list,
            params=[data_option()],
            summary="List the partners.",
            examples=["adanalytics server partner list"],
        ),
    ],
    summary="Add and list partners.",
    examples=["adanalytics server partner add acme", "adanalytics server partner list"],
)
