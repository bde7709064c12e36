"""`adanalytics server key`: API keys, each shown once, when it is made."""

from datetime import UTC, datetime
from pathlib import Path

import click

from adanalytics_cli.console.remarks import remark
from adanalytics_cli.core.command import ExampleCommand
from adanalytics_cli.core.command_group import ExampleGroup
from adanalytics_cli.core.invocation import current_invocation
from adanalytics_cli.output.listing import print_listing
from adanalytics_cli.server.extra import data_option, server_extra

_COLUMNS = ["id", "name", "user", "last_four", "created_at", "last_used_at"]


@click.pass_context
def run_create(context: click.Context, email: str, name: str, data: Path) -> None:
    """Make a key and print nothing else on stdout, so that a variable can take it."""
    with server_extra():
        from adanalytics_server.admin import create_key
    click.echo(create_key(data, email, name=name))
    remark("This key is not shown again. Hand it over as ADANALYTICS_API_KEY.", context)


@click.pass_context
def run_list(context: click.Context, data: Path) -> None:
    """List the keys without the keys themselves."""
    with server_extra():
        from adanalytics_server.admin import list_keys
    rows = [
        {
            "id": each.number,
            "name": each.name,
            "user": each.email,
            "last_four": each.last_four,
            "created_at": _written(each.created_at),
            "last_used_at": _written(each.last_used_at),
        }
        for each in list_keys(data)
    ]
    print_listing(rows, _COLUMNS, current_invocation(context))


@click.pass_context
def run_delete(context: click.Context, id_or_name: str, data: Path) -> None:
    """Delete one key."""
    with server_extra():
        from adanalytics_server.admin import delete_key
    delete_key(data, id_or_name)
    remark(f"Deleted key {id_or_name}. Whoever uses it is refused from now on.", context)


def _written(milliseconds: int | None) -> str | None:
    if milliseconds is None:
        return None
    return f"{datetime.fromtimestamp(milliseconds // 1000, UTC):%Y-%m-%dT%H:%M:%SZ}"


key = ExampleGroup(
    "key",
    commands=[
        ExampleCommand(
            "create",
            callback=run_create,
            params=[
                click.Option(
                    ["--user", "email"],
                    metavar="EMAIL",
                    required=True,
                    help="The admin whose access the key has.",
                ),
                click.Option(["--name"], metavar="N", required=True, help="What the key is for."),
                data_option(),
            ],
            summary="Create an API key and print it, alone, on stdout.",
            examples=[
                "export ADANALYTICS_API_KEY=$(adanalytics server key create \\",
                "    --user ada@example.org --name nightly)",
            ],
        ),
        ExampleCommand(
            "list",
            callback=run_list,
            params=[data_option()],
            summary="List the API keys, never the keys themselves.",
            examples=["adanalytics server key list"],
        ),
        ExampleCommand(
            "delete",
            callback=run_delete,
            params=[click.Argument(["id_or_name"], metavar="ID_OR_NAME"), data_option()],
            summary="Delete an API key.",
            examples=["adanalytics server key delete nightly"],
        ),
    ],
    summary="Create, list and delete API keys.",
    examples=[
        "adanalytics server key create --user ada@example.org --name nightly",
        "adanalytics server key delete nightly",
    ],
)
