"""A finished export whose answer says that something is missing; both worlds."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest

from adanalytics_client import Observer, PartialAnswer, errors

if TYPE_CHECKING:
    from tests.client.conftest import OpenWorld, Say, StandIn, World

LISTED = {"status": "completed", "status_url": "/st"}
GOOD = {"url": "/f.csv", "status": "completed"}


class Heard(Observer):
    def __init__(self) -> None:
        self.told: list[PartialAnswer] = []

    def partial(self, info: PartialAnswer) -> None:
        self.told.append(info)


@pytest.mark.parametrize(
    "beside",
    [
        {"error": "shard 3 timed out for secret-key"},
        {"errors": [{"message": "shard 3 timed out for secret-key"}]},
        {"data": {"error": {"message": "shard 3 timed out for secret-key"}}},
        {"files": [{"url": "/f.csv", "error": "shard 3 timed out for secret-key"}]},
    ],
)
def test_an_error_beside_the_file_is_told(
    open_world: OpenWorld,
    stand_in: StandIn,
    say: type[Say],
    caplog: pytest.LogCaptureFixture,
    beside: dict[str, Any],
) -> None:
    stand_in.says(
        say({"status": "queued", "status_url": "/st"}, 202),
        say(
            {"status": "completed", "download_url": "/f.csv", **beside},
            headers={"X-Request-Id": "r1"},
        ),
    )
    observer = Heard()
    world = open_world(observer=observer)
    with caplog.at_level(logging.WARNING, "adanalytics_client"):
        job = world.call("start_export", "2026-01-01")
        status = world.on(job, "wait", timeout=60)
        world.on(job, "wait", timeout=60)
    assert status.done
    assert status.reason == "shard 3 timed out for ***"
    (told,) = observer.told
    assert (told.reason, told.request_id) == ("shard 3 timed out for ***", "r1")
    assert told.url == f"{stand_in.url}/st"
    assert [each.getMessage() for each in caplog.records] == [str(told)]


@pytest.mark.parametrize("nothing", [{"error": None, "errors": []}, {"error": "none"}, {}])
def test_no_error_beside_the_file_is_not_told(
    open_world: OpenWorld, stand_in: StandIn, say: type[Say], nothing: dict[str, Any]
) -> None:
    stand_in.says(say({"status": "completed", "files": [GOOD], "message": "hello", **nothing}))
    observer = Heard()
    job = open_world(observer=observer).call("start_export", "2026-01-01")
    assert (job.last_status.done, job.last_status.reason, observer.told) == (True, None, [])


@pytest.mark.parametrize(
    ("failed", "told"),
    [
        ({"url": "/g.csv", "status": "failed"}, "the status of one of its files is 'failed'"),
        ({"url": "/g.csv", "name": "g", "state": "ERROR"}, "the status of its file 'g' is 'ERROR'"),
        ({"url": None, "status": "failed", "error": "disk full"}, "failed: disk full"),
        ({"files": [{"url": "/g.csv", "status": "failed"}]}, "one of its files is 'failed'"),
    ],
)
def test_a_file_that_failed_fails_the_export(
    world: World, stand_in: StandIn, say: type[Say], failed: dict[str, Any], told: str
) -> None:
    stand_in.says(say({**LISTED, "files": [GOOD, failed]}))
    job = world.call("start_export", "2026-01-01")
    with pytest.raises(errors.ExportFailed, match=told):
        world.on(job, "wait", timeout=60)
    assert len(stand_in.asked) == 1


def test_a_file_that_is_not_done_is_waited_for(
    world: World, stand_in: StandIn, say: type[Say]
) -> None:
    stand_in.says(say({**LISTED, "files": [GOOD, {"url": "/g.csv", "ready": False}]}))
    job = world.call("start_export", "2026-01-01")
    with pytest.raises(errors.ExportTimeout, match="one of its files is not done"):
        world.on(job, "wait", timeout=2)


@pytest.mark.parametrize("late", [{"url": "/g.csv"}, {"url": None}])
def test_a_file_that_is_still_being_made_is_waited_for(
    world: World, stand_in: StandIn, say: type[Say], late: dict[str, Any]
) -> None:
    early = {**LISTED, "files": [GOOD, {**late, "status": "processing"}]}
    stand_in.says_by_name(
        bulk_export=[say(early)],
        st=[*[say(early)] * 4, say({**LISTED, "files": [GOOD, {"url": "/g.csv"}]})],
    )
    job = world.call("start_export", "2026-01-01")
    with pytest.raises(errors.ExportTimeout, match="status of one of its files is 'processing'"):
        world.on(job, "wait", timeout=2)
    assert [each.name for each in world.on(job, "wait", timeout=60).files] == [None, None]


def test_a_word_that_nobody_knows_is_none_against_a_file(
    world: World, stand_in: StandIn, say: type[Say]
) -> None:
    stand_in.says(say({**LISTED, "files": [{"url": "/f.csv", "status": "archived"}]}))
    assert world.call("start_export", "2026-01-01").last_status.done
