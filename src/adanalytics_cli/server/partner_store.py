"""Open the events of one partner of a data folder, for the commands that fill it."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from adanalytics_cli.server.extra import server_extra

if TYPE_CHECKING:
    from adanalytics_server.accounts import Partner
    from adanalytics_server.storage.store import PartnerStore


@contextmanager
def open_partner_store(data: Path, partner_id: str) -> Iterator[tuple["Partner", "PartnerStore"]]:
    """The partner and its store; an unknown partner is an error that names the known ones."""
    with server_extra():
        from adanalytics_server.admin import find_partner
        from adanalytics_server.storage.stores import Stores
    partner = find_partner(data, partner_id)
    with closing(Stores(data)) as stores:
        yield partner, stores.of(partner.number)
