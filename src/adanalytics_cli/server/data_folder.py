"""The folder of a server's data, and the extra that the server comes with."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from adanalytics_cli.console.progress import show_stages
from adanalytics_cli.core.command import ExampleCommand, command, option
from adanalytics_cli.core.errors import MissingExtra
from adanalytics_cli.core.invocation import Invocation

if TYPE_CHECKING:
    from adanalytics_server.accounts.people import Partner
    from adanalytics_server.seed.generate import Sample
    from adanalytics_server.storage.ingest import Ingested
    from adanalytics_server.storage.store import PartnerStore


DEFAULT_DATA = Path("adanalytics-data")


class ServerCommand(ExampleCommand):
    """A command that imports the server; raises MissingExtra when it is not installed."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as error:
            # A module of ours that is missing is a mistake of ours and no extra.
            if (error.name or "").startswith("adanalytics"):
                raise
            raise MissingExtra("server", needed_for="The embedded server") from error


server_command = partial(command, kind=ServerCommand)


def data_option(*, default: Path | None = DEFAULT_DATA, is_created: bool = False) -> click.Option:
    """`--data DIR`: the folder of a server; it must exist unless it `is_created`."""
    return option(
        "--data",
        click.Path(path_type=Path, file_okay=False, exists=not is_created),
        "DIR",
        f"Data folder of the server{'; created when missing' if is_created else ''}.",
        default,
    )


@contextmanager
def open_partner_store(data: Path, partner_id: str) -> Iterator[tuple["Partner", "PartnerStore"]]:
    """Return the partner and its store; an unknown one is an error that names the known ones."""
    from adanalytics_server.admin import find_partner
    from adanalytics_server.storage.store import Stores

    partner = find_partner(data, partner_id)
    with closing(Stores(data)) as stores:
        yield partner, stores.of(partner.number)


def generate_days(
    data: Path, partner_id: str, sample: "Sample", invocation: Invocation, *, label: str
) -> "Ingested":
    """Store generated events, and show the progress under the name `label`."""
    from adanalytics_server.seed.generate import generate

    with (
        open_partner_store(data, partner_id) as (partner, store),
        show_stages(label, invocation) as progress,
    ):
        return generate(
            store, sample, partner_id=partner.id, currency=partner.currency, progress=progress
        )
