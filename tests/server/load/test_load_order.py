"""The order of what is stored, the memory it takes, and the progress of a load."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from adanalytics_server.loading.load import LoadReport, Progress, load_file
from adanalytics_server.loading.mapping import Mapping
from adanalytics_server.storage.events import LogEvent
from adanalytics_server.storage.store import PartnerStore

Load = Callable[..., LoadReport]

Stored = Callable[[], list[LogEvent]]


@pytest.mark.parametrize("most_bytes", [1, 2_000, 1 << 20])
def test_an_hour_is_in_order_of_time_and_id_and_memory_does_not_matter(
    load: Load, stored: Stored, store: PartnerStore, most_bytes: int
) -> None:
    chance = random.Random(2)
    rows = [
        f"2019-11-{chance.randint(24, 25)} {chance.randint(0, 2):02d}:00:0{chance.randint(0, 1)}Z,"
        f"{chance.randint(0, 3)}\n"
        for _ in range(300)
    ]
    mapping = Mapping.parse(constants=["event_type=impression", "supply_tag_id=1"])
    text = "event_time,campaign_id\n" + "".join(rows)
    assert load("a.csv", text, mapping, most_bytes=most_bytes).stored == 300
    events = stored()
    order = [(event.event_time, event.event_id) for event in events]
    assert order == sorted(order)
    assert len(set(order)) == 300
    # Nothing is left of the temporary files.
    assert {path.name.split(".")[0] for path in store.folder.iterdir()} == {"ledger", "2019-11"}


def test_progress_ends_both_stages(store: PartnerStore, tmp_path: Path) -> None:
    seen: list[Progress] = []
    path = tmp_path / "a.csv"
    rows = "".join(f"2019-11-24 01:00:00.{n:06d}Z,click,1\n" for n in range(10_001))
    path.write_text("event_time,event_type,supply_tag_id\n" + rows)
    load_file(
        store,
        path,
        partner_id="acme",
        currency="USD",
        mapping=Mapping.parse(),
        progress=seen.append,
    )
    assert [(step.stage, step.rows) for step in seen] == [
        ("reading", 5_000),
        ("reading", 10_000),
        ("reading", 10_001),
        ("storing", 5_000),
        ("storing", 10_000),
        ("storing", 10_001),
    ]
    assert all(0 < step.fraction <= 1 for step in seen)
