"""`adanalytics server`: the group, and the commands that need no data folder."""

from pathlib import Path

import click

from adanalytics_cli.core.command import CommandGroup, Entry, command
from adanalytics_cli.core.errors import SettingsError, Unreachable
from adanalytics_cli.core.invocation import Invocation

from .data_folder import server_command

server = CommandGroup(
    "server",
    entries={
        "partner": Entry("server.accounts:partner", "Add and list partners."),
        "user": Entry("server.accounts:user", "Add, list and delete users."),
        "key": Entry("server.accounts:key", "Create, list and delete API keys."),
        "load": Entry("server.fill:load", "Load files of events."),
        "generate": Entry("server.fill:generate", "Generate realistic events."),
        "openapi": Entry("server.group:openapi", "Print the OpenAPI document of the server."),
        "health": Entry("server.group:health", "Check that a running server is ready."),
    },
    examples=[
        "adanalytics server partner add acme --currency USD",
        "adanalytics server user add ada@example.org --role admin",
        "adanalytics server key create --user ada@example.org --name nightly",
        "adanalytics server load day.csv --partner acme",
        "adanalytics server health http://127.0.0.1:8000",
    ],
)


# A server that needs longer is no use to a load balancer either.
_PATIENCE_SECONDS = 5.0


@command(
    "health",
    params=[click.Argument(["url"], metavar="URL")],
    details="The exit status is 0 when it is ready, 6 otherwise.",
    examples=["adanalytics server health http://127.0.0.1:8000"],
)
def health(_invocation: Invocation, url: str) -> None:
    import httpx

    address = f"{url.rstrip('/')}/readyz"
    try:
        # No proxy of the environment: a probe is of the server alone. Without TLS no certificates
        # are read, so they need not be readable.
        transport = httpx.HTTPTransport(verify=address.startswith("https:"))
        with httpx.Client(transport=transport, timeout=_PATIENCE_SECONDS) as http:
            answer = http.get(address)
    except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
        raise SettingsError(
            f"'{url}' is not the address of a server.",
            remedy="Write it like http://127.0.0.1:8000.",
        ) from error
    except httpx.HTTPError as error:
        reason, remedy = str(error), "Check that the server is running on this port."
        if reason.startswith("[SSL"):
            reason, remedy = "it does not speak https", "Did you mean http://?"
        reason = reason.rpartition("] ")[2]
        raise Unreachable(f"No answer from {url}: {reason}.", remedy=remedy) from error
    if answer.status_code != httpx.codes.OK:
        raise Unreachable(
            f"{url} is not ready: status {answer.status_code}.",
            remedy="Read the log of the server.",
        )
    click.echo(f"{url} is ready")


@server_command(
    "openapi",
    details="A running server serves it at /openapi.json.",
    examples=["adanalytics server openapi > openapi.json"],
)
def openapi(_invocation: Invocation) -> None:
    """Print the document; needs no server and no data folder."""
    from adanalytics_server.api.openapi import document_text
    from adanalytics_server.app import create_app
    from adanalytics_server.settings import Settings

    click.echo(document_text(create_app(Settings(data=Path()))), nl=False)
