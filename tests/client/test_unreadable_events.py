"""Events that show only when they are read that they are no JSON, or that an output cannot hold."""

from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.client.stand_in import Say, StandIn
from tests.client.variants import Variant

from adanalytics_client import Event, ProtocolError, SeenEvents

DAY = "2026-01-15"
DEEP = '{"event_id":"a","x":' + '{"k":1.5,"n":' * 400 + "1" + "}" * 400 + "}"
WRITTEN = ("x.csv", "x.parquet", "x.arrow")


def page(*events: str) -> bytes:
    text = ",".join(events).encode()
    return b'{"events":[%b],"total":%d,"has_more":false}' % (text, len(events))


def many(bad: int, text: str, count: int = 600) -> bytes:
    events = [f'{{"event_id":"e{number}","n":1}}' for number in range(count)]
    return page(*events[: bad - 1], text, *events[bad:])


def written(variant: Variant, path: Path, **options: Any) -> Any:
    query = variant.client.events(DAY, hour=3, check="none")
    return variant.on(query, "write", path, **options)


@pytest.mark.parametrize("number", [1, 402, 600])
@pytest.mark.parametrize(
    "value", ["tru", '1 "m":2', "0.1.2", '"\x01"', "1,,", "NaN", r'"\ud800"', "01", "[1"]
)
def test_nothing_is_taken_of_a_page_with_an_event_that_is_not_json(
    variant: Variant, stand_in: StandIn, tmp_path: Path, number: int, value: str
) -> None:
    body = many(number, f'{{"event_id":"bad","n":{value}}}')
    stand_in.says(Say(body, headers={"X-Request-Id": "r-17"}))
    query, handed = variant.client.events(DAY, hour=3), list[Any]()
    ways: list[Callable[[], Any]] = [
        partial(written, variant, tmp_path / "x.jsonl"),
        partial(written, variant, tmp_path / "x.parquet"),
        lambda: variant.on(variant.client.events(DAY, hour=3), "to_arrow"),
        lambda: variant.all_of(noted(query.rows(), handed)),
        lambda: variant.all_of(noted(query, handed)),
        lambda: variant.all_of(noted(query.text_pages(), handed)),
    ]
    for way in ways:
        with pytest.raises(ProtocolError, match=r"char \d+|NaN|surrogate") as no:
            way()
        assert no.value.request_id == "r-17"
        assert no.value.url is not None
        assert "/events?start_date=" in no.value.url
    assert handed == list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", ["NaN", "-Infinity", r'"\ud800"'])
def test_a_value_that_is_no_json_is_requested_once(
    variant: Variant, stand_in: StandIn, value: str
) -> None:
    stand_in.says(Say(page(f'{{"n":{value}}}')))
    with pytest.raises(ProtocolError) as caught:
        variant.rows(DAY, hour=3)
    assert (caught.value.remedy, caught.value.attempts) == ("Report it to the service.", 1)
    assert caught.value.unreadable
    assert len(stand_in.asked) == 1


def noted(events: Any, handed: list[Any]) -> Any:
    """The same iterator, which also notes what it handed on."""

    async def as_tasks() -> AsyncIterator[Any]:
        async for each in events:
            handed.append(each)
            yield each

    def as_threads() -> Iterator[Any]:
        for each in events:
            handed.append(each)
            yield each

    return as_tasks() if hasattr(events, "__aiter__") else as_threads()


def test_a_number_that_python_cannot_hold_is_named(
    variant: Variant, stand_in: StandIn, tmp_path: Path
) -> None:
    """JSON has it, so the text as it was sent can be kept."""
    stand_in.says(Say(many(402, '{"event_id":"large","n":1e99999999999999999999}')))
    assert written(variant, tmp_path / "x.jsonl") == 600
    ways: list[Callable[[], Any]] = [
        lambda: variant.rows(DAY, hour=3),
        lambda: variant.events(DAY, hour=3),
        lambda: variant.pages(DAY, hour=3),
        lambda: variant.rows(DAY, hour=3, seen=SeenEvents()),
        lambda: variant.on(variant.client.events(DAY, hour=3), "to_arrow"),
        *(partial(written, variant, tmp_path / name) for name in WRITTEN),
    ]
    for way in ways:
        with pytest.raises(ProtocolError, match=f"Event 402 of page 1 of {DAY} hour 3") as caught:
            way()
        assert caught.value.url
    assert [each.name for each in tmp_path.iterdir()] == ["x.jsonl"]


def test_events_nested_too_deeply_for_an_output(
    variant: Variant, stand_in: StandIn, tmp_path: Path
) -> None:
    stand_in.says(Say(page(DEEP)))
    assert len(variant.rows(DAY, hour=3)) == 1
    assert isinstance(variant.events(DAY, hour=3)[0], Event)
    assert written(variant, tmp_path / "x.jsonl") == 1
    for name, columns in [*((each, None) for each in WRITTEN), ("y.jsonl", ["x"])]:
        with pytest.raises(ProtocolError, match=r"page 1 of .* is nested too deeply") as caught:
            written(variant, tmp_path / name, columns=columns)
        assert caught.value.url
    assert [each.name for each in tmp_path.iterdir()] == ["x.jsonl"]
