"""A page that comes once more ends a pull; pages that only look alike do not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from adanalytics_client import SeenEvents
from adanalytics_client.errors import ProtocolError

if TYPE_CHECKING:
    from tests.client.conftest import Asked, OpenWorld, Say, StandIn, World

DAY = "2026-01-15"


def without_ids(number: int, at: int) -> dict[str, str]:
    """Event `at` of a page: one of a thousand differs from page to page."""
    return {"event_type": "impression", "revenue": f"0.00{number}" if at == 401 else "0.001"}


def with_long_texts(number: int, at: int) -> dict[str, str]:
    """Ids that are far from each other, between texts that are the same on each page."""
    return {"event_id": f"{number}-{at:03}", "pad": "x" * (5000 if at % 100 == 0 else 3)}


@pytest.mark.parametrize("event", [without_ids, with_long_texts])
def test_pages_that_differ_in_little_are_two(
    world: World, stand_in: StandIn, say: type[Say], event: Any
) -> None:
    def script(asked: Asked) -> Say:
        number = int(asked.query["page"])
        return say({"events": [event(number, at) for at in range(1000)], "has_more": number < 3})

    stand_in.script = script
    assert len(world.rows(DAY, split="none", per_page=1000)) == 3000


@pytest.mark.parametrize("split", ["none", "auto"])
def test_the_error_stands_behind_the_first_page_and_names_the_answer(
    open_world: OpenWorld, stand_in: StandIn, say: type[Say], split: str
) -> None:
    same = {"events": [{"event_id": each} for each in "abc"]}
    stand_in.says(say(same, headers={"X-Request-Id": "r-2"}))
    seen = SeenEvents()
    with pytest.raises(ProtocolError, match=r"Pages 1 and 2 of .* are the same") as raised:
        open_world().rows(DAY, split=split, seen=seen)
    assert len(seen) == 3
    assert raised.value.request_id == "r-2"
    assert raised.value.url
    assert "page=2" in raised.value.url
