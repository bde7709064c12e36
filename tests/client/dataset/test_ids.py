"""A repeat has an id and the content of an earlier event; nothing else is one."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pyarrow as pa
import pytest

from adanalytics_client._json.fields import FieldNames
from adanalytics_client.dataset.hours import ids
from adanalytics_client.dataset.hours.ids import Ids

NIL = "00000000-0000-0000-0000-000000000000"


def count(*tables: list[dict[str, Any]], names: FieldNames | None = None) -> tuple[int, int, int]:
    """Return the repeats, the events without an id, and how often the events were read again."""
    events, reads = [pa.Table.from_pylist(rows) for rows in tables], 0

    def read() -> Iterator[pa.Table]:
        nonlocal reads
        reads += 1
        yield from events

    with closing(Ids(names)) as found:
        for table in events:
            found.add(table)
        return found.repeated(read, found.shared()), found.without, reads


def test_ids_that_differ_are_not_read_twice() -> None:
    assert count([{"event_id": "a"}], [{"event_id": "b"}]) == (0, 0, 0)


def test_an_id_with_other_content_is_no_repeat() -> None:
    one, other = {"event_id": "a", "n": 1}, {"event_id": "a", "n": 2}
    assert count([one, other], [one, {"event_id": "b", "n": 1}]) == (1, 0, 1)


def test_a_field_without_a_value_may_be_missing_from_a_table() -> None:
    row = {"event_id": "a", "n": 1}
    assert count([row], [{**row, "more": None}], [{**row, "more": 2}]) == (1, 0, 1)


@pytest.mark.parametrize("value", ["", NIL, None])
def test_events_without_an_id_are_never_repeats(value: str | None) -> None:
    assert count([{"event_id": value, "n": 1}] * 3 + [{"event_id": "a", "n": 1}]) == (0, 3, 0)
    assert count([{"n": 1}] * 3) == (0, 3, 0)


def test_other_names_of_the_id() -> None:
    assert count([{"eventId": 7}] * 2) == (1, 0, 1)
    assert count([{"key": 7}] * 2, names=FieldNames({"event_id": "key"})) == (1, 0, 1)


@pytest.mark.parametrize("most", [1, 4, 1_000])
def test_repeats_are_counted_beyond_what_is_held(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ids, "IDS_HELD", most)
    rows = [{"event_id": str(number % 10), "n": number % 20} for number in range(40)]
    assert count(rows[:25], rows[25:]) == (20, 0, 1)
