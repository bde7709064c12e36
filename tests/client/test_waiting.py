"""How long an export is waited for, and how often it is asked for; both worlds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from adanalytics_client import errors

if TYPE_CHECKING:
    from tests.client.conftest import MovedClock, OpenWorld, Say, StandIn, World


def test_a_deadline_names_the_last_word(world: World, stand_in: StandIn, say: type[Say]) -> None:
    stand_in.says(say({"status": "baking", "status_url": "/st"}, status=202))
    job = world.call("start_export", "2026-01-01")
    with pytest.raises(errors.ExportTimeout, match="'baking'"):
        world.on(job, "wait", timeout=60)


def test_a_wait_of_nothing_is_not_a_busy_loop(
    world: World, stand_in: StandIn, say: type[Say], clock: MovedClock
) -> None:
    stand_in.says(say({"status": "pending"}, status=202, headers={"Retry-After": "0"}))
    job = world.call("start_export", "2026-01-01")
    with pytest.raises(errors.ExportTimeout):
        world.on(job, "wait", timeout=6)
    assert clock.sleeps == [1.0, 1.5, 2.25, 1.25]


def test_a_wait_beyond_the_deadline_is_not_begun(
    world: World, stand_in: StandIn, say: type[Say], clock: MovedClock
) -> None:
    stand_in.says(say({"status": "pending"}, status=202, headers={"Retry-After": "90"}))
    job = world.call("start_export", "2026-01-01")
    with pytest.raises(errors.ExportTimeout, match="ask again in 90 s"):
        world.on(job, "wait", timeout=60)
    assert clock.sleeps == []


def test_a_used_up_quota_does_not_outlast_the_deadline(
    open_world: OpenWorld, stand_in: StandIn, say: type[Say], clock: MovedClock
) -> None:
    stand_in.says(say({"status": "pending"}, status=202))
    world = open_world(limit=1)
    job = world.call("start_export", "2026-01-01")
    with pytest.raises(errors.QuotaExceeded):
        world.on(job, "wait", timeout=60)
    assert sum(clock.sleeps) <= 60


@pytest.mark.parametrize("timeout", [-1, float("nan"), "5", None])
def test_a_wrong_deadline_is_told(
    world: World, stand_in: StandIn, say: type[Say], timeout: Any
) -> None:
    stand_in.says(say({"url": "/f"}))
    job = world.call("start_export", "2026-01-01")
    with pytest.raises(errors.ConfigurationError, match="timeout="):
        world.on(job, "wait", timeout=timeout)


@pytest.mark.parametrize("outage", [{"status": 503}, {"hang_up": True}])
@pytest.mark.parametrize("name", ["status_url", "download_url", "export_id"])
def test_an_outage_does_not_end_a_wait_that_has_time_left(
    world: World, stand_in: StandIn, say: type[Say], name: str, outage: dict[str, Any]
) -> None:
    answers = [say({"status": "running", name: "/st"}, status=202)]
    answers += [say(**outage)] * 10
    answers += [say({"status": "done", "export_id": "/st", "url": "/f"})]
    stand_in.says(*answers)
    job = world.call("start_export", "2026-01-01")
    assert world.on(job, "wait", timeout=600).done


def test_an_outage_that_lasts_is_told_at_the_end_of_the_wait(
    world: World, stand_in: StandIn, say: type[Say], clock: MovedClock
) -> None:
    stand_in.says_by_name(
        bulk_export=[say({"status": "running", "status_url": "/st"}, status=202)],
        st=[say({"error": "deploying"}, status=503)],
    )
    job = world.call("start_export", "2026-01-01")
    with pytest.raises(errors.ServerError, match=r"\(503: deploying\)"):
        world.on(job, "wait", timeout=60)
    assert sum(clock.sleeps) <= 61
