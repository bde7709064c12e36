"""`adanalytics server user`: who can sign in to a server."""

from pathlib import Path
from typing import Literal

import click

from adanalytics_cli.console.prompts import can_ask, secret_from_stdin
from adanalytics_cli.console.remarks import remark
from adanalytics_cli.core.command import ExampleCommand
from adanalytics_cli.core.command_group import ExampleGroup
from adanalytics_cli.core.invocation import current_invocation
from adanalytics_cli.output.listing import print_listing
from adanalytics_cli.server.extra import data_option, server_extra


@click.pass_context
def run_add(
    context: click.Context,
    email: str,
    role: Literal["admin", "partner"],
    partners: tuple[str, ...],
    password_stdin: bool,
    data: Path,
) -> None:
    """Add one user with a password from stdin or a prompt."""
    with server_extra():
        from adanalytics_server.admin import add_user
    password = _read_password(email, from_stdin=password_stdin)
    current_invocation(context).secrets.add(password)
    added = add_user(data, email, password=password, role=role, partners=partners)
    remark(f"Added user {added.email} with role {added.role} in {data}.", context)


@click.pass_context
def run_list(context: click.Context, data: Path) -> None:
    """List the users."""
    with server_extra():
        from adanalytics_server.admin import list_users
    rows = [{"email": each.email, "role": each.role} for each in list_users(data)]
    print_listing(rows, ["email", "role"], current_invocation(context))


@click.pass_context
def run_delete(context: click.Context, email: str, data: Path) -> None:
    """Delete one user and the keys it made."""
    with server_extra():
        from adanalytics_server.admin import delete_user
    delete_user(data, email)
    remark(f"Deleted user {email} and the API keys it made.", context)


def _read_password(email: str, *, from_stdin: bool) -> str:
    if from_stdin:
        return secret_from_stdin("password")
    if not can_ask():
        raise click.UsageError("no password. Give --password-stdin and write it to stdin.")
    answer: str = click.prompt(
        f"Password for {email}", hide_input=True, confirmation_prompt=True, err=True
    )
    return answer


def _email() -> click.Argument:
    return click.Argument(["email"], metavar="EMAIL")


user = ExampleGroup(
    "user",
    commands=[
        ExampleCommand(
            "add",
            callback=run_add,
            params=[
                _email(),
                click.Option(
                    ["--role"],
                    type=click.Choice(["admin", "partner"]),
                    required=True,
                    help="An admin reads every partner and makes API keys.",
                ),
                click.Option(
                    ["--partner", "partners"],
                    metavar="ID",
                    multiple=True,
                    help="A partner that a user of role partner reads; may be repeated.",
                ),
                click.Option(
                    ["--password-stdin"], is_flag=True, help="Read the password from stdin."
                ),
                data_option(made=True),
            ],
            summary="Add a user.",
            examples=[
                "adanalytics server user add ada@example.org --role admin",
                "pass show acme | adanalytics server user add bo@acme.example --role partner \\",
                "    --partner acme --password-stdin",
            ],
        ),
        ExampleCommand(
            "list",
            callback=run_list,
            params=[data_option()],
            summary="List the users.",
            examples=["adanalytics server user list"],
        ),
        ExampleCommand(
            "delete",
            callback=run_delete,
            params=[_email(), data_option()],
            summary="Delete a user and the API keys it made.",
            examples=["adanalytics server user delete bo@acme.example"],
        ),
    ],
    summary="Add, list and delete users.",
    examples=[
        "adanalytics server user add ada@example.org --role admin",
        "adanalytics server user list",
    ],
)
