"""Events that show only when they are read that they are no JSON, or that an output cannot hold."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from adanalytics_client import Event, ProtocolError, SeenEvents

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.client.conftest import Say, StandIn, World

DAY = "2026-01-15"
HALF = r'{"event_id":"a","na\ud800me":1}'
DEEP = '{"event_id":"a","x":' + '{"k":1.5,"n":' * 400 + "1" + "}" * 400 + "}"
WRITTEN = ("x.csv", "x.parquet", "x.arrow")


def page(*events: str) -> bytes:
    return b'{"events":[%b],"has_more":false}' % ",".join(events).encode()


def many(bad: int, text: str, count: int = 600) -> bytes:
    events = [f'{{"event_id":"e{number}","n":1}}' for number in range(count)]
    return page(*events[: bad - 1], text, *events[bad:])


@pytest.mark.parametrize("bad", [5, 402])
def test_an_event_that_is_not_json_is_named(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path, bad: int
) -> None:
    body = many(bad, '{"event_id":"bad","n":01}')
    stand_in.says(say(body, headers={"X-Request-Id": "r-17"}))
    ways: list[Callable[[], Any]] = [
        lambda: world.rows(DAY, hour=3),
        lambda: world.events(DAY, hour=3),
        lambda: world.pages(DAY, hour=3),
        lambda: world.rows(DAY, hour=3, seen=SeenEvents()),
        lambda: world.on(world.client.events(DAY, hour=3), "to_arrow"),
        *(partial(written, world, tmp_path / name) for name in WRITTEN),
    ]
    for way in ways:
        with pytest.raises(ProtocolError, match=f"Event {bad} of page 1 of {DAY} hour 3") as caught:
            way()
        assert "column 2" in caught.value.message
        assert caught.value.request_id == "r-17"
        assert caught.value.url is not None
        assert "/events?start_date=" in caught.value.url
    assert list(tmp_path.iterdir()) == []


def test_a_token_of_events_that_are_not_json(
    world: World, stand_in: StandIn, say: type[Say]
) -> None:
    body = many(590, '{"event_id":"bad","n":01}').replace(b'"has_more":false', b'"has_more":true')
    stand_in.says(say(body))
    with pytest.raises(ProtocolError, match="Event 590 of page 1 of"):
        world.all_of(world.client.events(DAY, hour=3).text_pages())


def written(world: World, path: Path, **options: Any) -> Any:
    return world.on(world.client.events(DAY, hour=3), "write", path, **options)


def test_half_a_surrogate_pair_in_a_name(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    stand_in.says(say(page('{"event_id":"b"}', HALF)))
    assert world.rows(DAY, hour=3)[1]["na\ud800me"] == 1
    assert written(world, tmp_path / "x.jsonl") == 2
    assert written(world, tmp_path / "x.csv") == 2
    with pytest.raises(ProtocolError, match=r"Event 2 of page 1 .* has 'na\\ud800me'") as caught:
        world.events(DAY, hour=3)
    assert caught.value.url
    for name in WRITTEN[1:]:
        with pytest.raises(ProtocolError, match=r"holds '\\ud800', which is no character") as other:
            written(world, tmp_path / name)
        assert other.value.url
        str(other.value).encode()


def test_errors_about_half_a_surrogate_pair_can_be_printed(
    world: World, stand_in: StandIn, say: type[Say]
) -> None:
    stand_in.says(say(page(r'{"event_id":"a","key_values":{"\ud800":"1"}}')))
    with pytest.raises(ProtocolError, match=r'key_values of event a is {"\\ud800":"1"}') as caught:
        world.on(world.client.events(DAY, hour=3), "to_arrow")
    str(caught.value).encode()
    stand_in.says(say(rb'{"na\ud800me":1}'))
    with pytest.raises(ProtocolError, match=r"Keys seen: na\\ud800me") as other:
        world.rows(DAY)
    str(other.value).encode()


def test_events_nested_too_deeply_for_an_output(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    stand_in.says(say(page(DEEP)))
    assert len(world.rows(DAY, hour=3)) == 1
    assert isinstance(world.events(DAY, hour=3)[0], Event)
    assert written(world, tmp_path / "x.jsonl") == 1
    for name, columns in [*((each, None) for each in WRITTEN), ("y.jsonl", ["x"])]:
        with pytest.raises(ProtocolError, match=r"page 1 of .* is nested too deeply") as caught:
            written(world, tmp_path / name, columns=columns)
        assert caught.value.url
    assert [each.name for each in tmp_path.iterdir()] == ["x.jsonl"]
