"""Values of every type in a table: exactly as they were sent, or an error that names them."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from adanalytics_client import errors

if TYPE_CHECKING:
    from tests.client.conftest import Say, StandIn, World

DAY = "2026-01-15"


def test_values_of_every_type_and_none(world: World, stand_in: StandIn, say: type[Say]) -> None:
    exact = "12345678901234567890123456789.123456789"
    body = (
        b'{"events": [{"revenue": 0.000000001, "cost": 5, "campaign_id": "7", "country": 12,'
        b' "event_time": "2026-01-15 01:02:03", "received_at": "2026-01-15T01:02:03.1250000+01:00",'
        b' "event_date": "2026-01-15", "is_filtered": false, "key_values": {"a": 1.50, "b": null}},'
        b' {"revenue": "%b", "cost": "-1E-9", "supply_tag_id": -9223372036854775808,'
        b' "event_id": "\\u00e9"}, {}], "has_more": false}' % exact.encode()
    )
    stand_in.says(say(body))
    first, second, third = world.on(world.client.events(DAY, split="none"), "to_arrow").to_pylist()
    assert {name: value for name, value in first.items() if value is not None} == {
        "revenue": Decimal("0.000000001"),
        "cost": Decimal(5),
        "campaign_id": 7,
        "country": "12",
        "event_time": datetime(2026, 1, 15, 1, 2, 3, tzinfo=UTC),
        "received_at": datetime(2026, 1, 15, 0, 2, 3, 125_000, tzinfo=UTC),
        "event_date": date(2026, 1, 15),
        "is_filtered": False,
        "key_values": [("a", "1.50"), ("b", None)],
    }
    assert (second["revenue"], second["cost"]) == (Decimal(exact), Decimal("-1E-9"))
    assert (second["supply_tag_id"], second["event_id"]) == (-(2**63), "é")
    assert set(third.values()) == {None}


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("revenue", "0.0000000001", "decimal128"),
        ("revenue", 0.0000000001, "decimal128"),
        ("cost", "1" + "0" * 29, "decimal128"),
        ("cost", "NaN", "decimal128"),
        ("cost", True, "decimal128"),
        ("campaign_id", 2**63, "int64"),
        ("campaign_id", 1.5, "int64"),
        ("campaign_id", "01", "int64"),
        ("event_hour", True, "int64"),
        ("event_time", "2026-01-15T00:00:00.0001Z", "timestamp"),
        ("event_time", 1_700_000_000, "timestamp"),
        ("event_date", "2026-02-30", "date32"),
        ("is_filtered", 1, "bool"),
        ("key_values", "x", "map"),
        ("country", "\ud800", "string"),
    ],
)
def test_what_does_not_fit_is_an_error_that_names_it(
    world: World,
    stand_in: StandIn,
    say: type[Say],
    tmp_path: Path,
    name: str,
    value: Any,
    told: str,
) -> None:
    stand_in.says(say({"events": [{"event_id": "e-1"}, {"event_id": "e-2", name: value}]}))
    with pytest.raises(errors.ProtocolError, match=rf"^{name} of event e-2 is .*{told}.*jsonl"):
        world.on(world.client.events(DAY, split="none"), "write", tmp_path / "x.parquet")
    assert list(tmp_path.iterdir()) == []
