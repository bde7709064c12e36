"""`adanalytics server partner`, `user` and `key`: the accounts of a server."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, get_args

import click

from adanalytics_cli.console.prompts import can_ask, secret_from_stdin
from adanalytics_cli.core.command import CommandGroup, Entry, ExampleCommand, flag, option
from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.output.formats import TEXT_FORMATS, Output, format_option, gather_output
from adanalytics_cli.output.row_output import Listing, write_rows

from .data_folder import data_option, server_command

Role = Literal["admin", "analyst", "viewer"]


def _list_command(noun: str, columns: Mapping[str, str]) -> ExampleCommand:
    """Make the command that lists all of these; `columns` are the attributes by their headings."""

    @server_command(
        "list",
        params=[
            format_option(TEXT_FORMATS, "Output format; a pipe gets CSV by default."),
            data_option(),
        ],
        examples=[f"adanalytics server {noun} list"],
        gather=gather_output(TEXT_FORMATS),
    )
    def listing(invocation: Invocation, output: Output, data: Path) -> None:
        from adanalytics_cli.console.table_view import Column
        from adanalytics_server import admin

        rows = [
            {heading: _plain(name, getattr(record, name)) for heading, name in columns.items()}
            for record in getattr(admin, f"list_{noun}s")(data)
        ]
        headings = [Column(heading, heading=heading.replace("_", " ")) for heading in columns]
        write_rows(Listing(rows, headings), output, invocation)

    return listing


def _plain(name: str, value: object) -> object:
    if isinstance(value, int) and name.endswith("_at"):
        return f"{datetime.fromtimestamp(value // 1000, UTC):%Y-%m-%dT%H:%M:%SZ}"
    return value


@server_command(
    "add",
    params=[
        click.Argument(["partner_id"], metavar="ID"),
        option("--name", str, "N", "Display name (default: the ID)."),
        option("--currency", str, "CODE", "ISO 4217 code of the partner's currency.", "USD"),
        data_option(is_created=True),
    ],
    examples=["adanalytics server partner add acme --name 'Acme Media' --currency EUR"],
)
def partner_add(
    invocation: Invocation, partner_id: str, name: str | None, currency: str, data: Path
) -> None:
    from adanalytics_server.admin import add_partner

    record = add_partner(data, partner_id, name=name or partner_id, currency=currency)
    invocation.notice(f"Added partner {record.id} ({record.name}, {record.currency}) in {data}.")


partner_list = _list_command("partner", {"id": "id", "name": "name", "currency": "currency"})
partner = CommandGroup(
    "partner",
    entries={
        "add": Entry("server.accounts:partner_add", "Add a partner."),
        "list": Entry("server.accounts:partner_list", "List the partners."),
    },
    examples=["adanalytics server partner add acme", "adanalytics server partner list"],
)


@server_command(
    "add",
    params=[
        click.Argument(["email"], metavar="EMAIL"),
        option(
            "--role",
            get_args(Role),
            None,
            "An admin reads every partner and makes API keys.",
            required=True,
        ),
        option(
            "--partner partners",
            str,
            "ID",
            "Partner that an analyst or viewer may read; repeatable.",
            multiple=True,
        ),
        flag("--password-stdin", "Read the password from stdin."),
        data_option(is_created=True),
    ],
    examples=[
        "adanalytics server user add ada@example.org --role admin",
        "pass show acme | adanalytics server user add bo@acme.example --role analyst \\",
        "    --partner acme --password-stdin",
    ],
)
def user_add(
    invocation: Invocation,
    email: str,
    role: Role,
    partners: tuple[str, ...],
    password_stdin: bool,
    data: Path,
) -> None:
    from adanalytics_server.admin import add_user

    password = _read_password(email, from_stdin=password_stdin)
    invocation.secrets.add(password)
    record = add_user(data, email, password=password, role=role, partners=partners)
    invocation.notice(f"Added user {record.email} with role {record.role} in {data}.")


user_list = _list_command("user", {"email": "email", "role": "role"})


@server_command(
    "delete",
    params=[click.Argument(["email"], metavar="EMAIL"), data_option()],
    examples=["adanalytics server user delete bo@acme.example"],
)
def user_delete(invocation: Invocation, email: str, data: Path) -> None:
    from adanalytics_server.admin import delete_user

    delete_user(data, email)
    invocation.notice(f"Deleted user {email} and the API keys it made.")


def _read_password(email: str, *, from_stdin: bool) -> str:
    if from_stdin:
        return secret_from_stdin("password")
    if not can_ask():
        raise click.UsageError(
            "No password. Give --password-stdin and write the password to stdin."
        )
    answer: str = click.prompt(
        f"Password for {email}", hide_input=True, confirmation_prompt=True, err=True
    )
    return answer


user = CommandGroup(
    "user",
    entries={
        "add": Entry("server.accounts:user_add", "Add a user."),
        "list": Entry("server.accounts:user_list", "List the users."),
        "delete": Entry("server.accounts:user_delete", "Delete a user and the user's API keys."),
    },
    examples=[
        "adanalytics server user add ada@example.org --role admin",
        "adanalytics server user list",
    ],
)


@server_command(
    "create",
    params=[
        option("--user email", str, "EMAIL", "Admin whose access the key gets.", required=True),
        option("--name", str, "N", "Purpose of the key.", required=True),
        data_option(),
    ],
    examples=[
        "export ADANALYTICS_API_KEY=$(adanalytics server key create \\",
        "    --user ada@example.org --name nightly)",
    ],
)
def key_create(invocation: Invocation, email: str, name: str, data: Path) -> None:
    """Make a key and print only the key on stdout, so that a shell variable can hold it."""
    from adanalytics_server.admin import create_key

    click.echo(create_key(data, email, name=name))
    invocation.notice("This key is not shown again. Clients read it from ADANALYTICS_API_KEY.")


key_list = _list_command(
    "key",
    {
        "id": "number",
        "name": "name",
        "user": "email",
        "last_four": "last_four",
        "created_at": "created_at",
        "last_used_at": "last_used_at",
    },
)


@server_command(
    "delete",
    params=[click.Argument(["id_or_name"], metavar="ID_OR_NAME"), data_option()],
    examples=["adanalytics server key delete nightly"],
)
def key_delete(invocation: Invocation, id_or_name: str, data: Path) -> None:
    from adanalytics_server.admin import delete_key

    delete_key(data, id_or_name)
    invocation.notice(f"Deleted key {id_or_name}. The server now refuses it.")


key = CommandGroup(
    "key",
    entries={
        "create": Entry(
            "server.accounts:key_create", "Create an API key and print only the key on stdout."
        ),
        "list": Entry("server.accounts:key_list", "List the API keys without their secrets."),
        "delete": Entry("server.accounts:key_delete", "Delete an API key."),
    },
    examples=[
        "adanalytics server key create --user ada@example.org --name nightly",
        "adanalytics server key delete nightly",
    ],
)
