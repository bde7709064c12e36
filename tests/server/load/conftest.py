"""What the tests of loading share: a text becomes a file, the file a load, the load events."""

from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from adanalytics_server.loading.load import LoadReport, load_file
from adanalytics_server.loading.mapping import Mapping
from adanalytics_server.storage.chunks import split_pieces
from adanalytics_server.storage.days import DayRange
from adanalytics_server.storage.events import LogEvent, decode_event
from adanalytics_server.storage.pages import read_page
from adanalytics_server.storage.store import PartnerStore

Load = Callable[..., LoadReport]


@pytest.fixture
def load(store: PartnerStore, tmp_path: Path) -> Load:
    """Write a text (or bytes) to a file of that name and load it for partner acme, in USD."""

    def write_and_load(
        name: str,
        content: str | bytes,
        mapping: Mapping | None = None,
        *,
        replace_hours: bool = False,
        most_bytes: int = 1 << 20,
    ) -> LoadReport:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return load_file(
            store,
            path,
            partner_id="acme",
            currency="USD",
            mapping=mapping or Mapping.parse(),
            replace_hours=replace_hours,
            most_bytes=most_bytes,
        )

    return write_and_load


@pytest.fixture
def stored(store: PartnerStore) -> Callable[[], list[LogEvent]]:
    """Read back the events of November 2019 in the order of storage."""

    def read() -> list[LogEvent]:
        november = DayRange(date(2019, 11, 1), date(2019, 11, 30))
        return [
            decode_event(body)
            for body in split_pieces(read_page(store, november, page=1, per_page=100_000).pieces)
        ]

    return read
