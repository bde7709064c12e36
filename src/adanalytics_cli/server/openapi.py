"""`adanalytics server openapi`: the description of the API that generators and validators read."""

from pathlib import Path

import click

from adanalytics_cli.core.command import ExampleCommand
from adanalytics_cli.server.extra import server_extra


def run() -> None:
    """Print the document; no server and no data folder is needed."""
    with server_extra():
        from adanalytics_server.api.openapi import document_text
        from adanalytics_server.app import create_app
        from adanalytics_server.settings import Settings
    click.echo(document_text(create_app(Settings(data=Path()))), nl=False)


openapi = ExampleCommand(
    "openapi",
    callback=run,
    params=[],
    summary="Print the OpenAPI document of the server.",
    details="A running server has the same at /openapi.json.",
    examples=["adanalytics server openapi > openapi.json"],
)
