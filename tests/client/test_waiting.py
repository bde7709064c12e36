"""How long an export is waited for, and how often it is asked for; both worlds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.client.one_export import CSV, FILE

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


HTML = {"Content-Type": "text/html"}


@pytest.mark.parametrize("name", ["status_url", "download_url", "export_id"])
def test_a_page_in_place_of_an_answer_does_not_end_a_wait_that_has_time_left(
    world: World, stand_in: StandIn, say: type[Say], name: str
) -> None:
    answers = [say({"status": "running", name: "/st"}, status=202)]
    answers += [say(b"<html>maintenance</html>", headers=HTML)] * 10
    answers += [say({"status": "done", "export_id": "/st", "url": "/f"})]
    stand_in.says(*answers)
    job = world.call("start_export", "2026-01-01")
    assert world.on(job, "wait", timeout=600).done


def test_a_page_that_stays_is_told_at_the_end_of_the_wait(
    world: World, stand_in: StandIn, say: type[Say], clock: MovedClock
) -> None:
    stand_in.says_by_name(
        bulk_export=[say({"status": "running", "status_url": "/st"}, status=202)],
        st=[say(b"<html>maintenance</html>", headers=HTML)],
    )
    job = world.call("start_export", "2026-01-01")
    begun = clock.now
    with pytest.raises(errors.ProtocolError, match="HTML page came"):
        world.on(job, "wait", timeout=60)
    assert 59 < clock.now - begun < 62
    assert job.last_status.word == "running"


def test_a_pause_that_was_asked_for_is_over_when_its_time_has_passed(
    world: World, stand_in: StandIn, say: type[Say], clock: MovedClock
) -> None:
    stand_in.says_by_name(
        bulk_export=[
            say({"status": "queued", "status_url": "/st"}, 202, headers={"Retry-After": "120"})
        ],
        st=[say({"status": "done", "url": "/f"})],
    )
    job = world.call("start_export", "2026-01-01")
    with pytest.raises(errors.ExportTimeout, match="ask again in 120 s"):
        world.on(job, "wait", timeout=60)
    clock.now += 50
    with pytest.raises(errors.ExportTimeout, match="ask again in 70 s"):
        world.on(job, "wait", timeout=60)
    clock.now += 40
    assert world.on(job, "wait", timeout=60).done
    assert clock.sleeps == [30.0]
    assert len(stand_in.asked) == 2


def test_a_pause_that_was_over_long_ago_is_not_waited_for_again(
    world: World, stand_in: StandIn, say: type[Say], clock: MovedClock
) -> None:
    stand_in.says(
        say({"status": "queued", "status_url": "/st"}, 202, headers={"Retry-After": "120"}),
        say({"status": "done", "url": "/f"}),
    )
    job = world.call("start_export", "2026-01-01")
    clock.now += 600
    assert world.on(job, "wait", timeout=60).done
    assert clock.sleeps == [1.0]


@pytest.mark.parametrize("way", ["wait", "download"])
def test_what_a_wait_learned_is_known_after_its_end(
    world: World, stand_in: StandIn, say: type[Say], clock: MovedClock, tmp_path: Path, way: str
) -> None:
    """The order is not repeated where an answer told the status address, and the text keeps it."""
    stand_in.says_by_name(
        bulk_export=[
            say({"status": "queued"}, 202),
            say({"id": "e1", "status": "queued", "status_url": "/st"}, 202),
        ],
        st=[say({"status": "rendering"})],
    )
    job = world.call("start_export", "2026-01-01")
    arguments = [tmp_path / "out.csv"] if way == "download" else []
    with pytest.raises(errors.ExportTimeout):
        world.on(job, way, *arguments)
    assert (job.last_status.word, job.export_id) == ("rendering", "e1")
    assert f"{stand_in.url}/st" in job.to_json()
    with pytest.raises(errors.ExportTimeout):
        world.on(job, "wait", timeout=10)
    assert [asked.method for asked in stand_in.asked].count("POST") == 2


def test_a_failure_that_a_wait_met_is_known_after_it(
    world: World, stand_in: StandIn, say: type[Say]
) -> None:
    stand_in.says(
        say({"status": "queued", "status_url": "/st"}, 202),
        say({"status": "failed", "error": "disk full"}),
    )
    job = world.call("start_export", "2026-01-01")
    for _ in range(2):
        with pytest.raises(errors.ExportFailed, match="disk full"):
            world.on(job, "wait", timeout=10)
    assert len(stand_in.asked) == 2
    assert job.last_status.reason == "disk full"


@pytest.mark.parametrize("status", [404, 403, 409, 423, 425])
def test_a_file_that_is_refused_while_the_service_is_at_it_is_waited_for(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path, status: int
) -> None:
    stand_in.says_by_name(
        bulk_export=[say({"id": "1", "status": "processing", "download_url": "/f.csv"}, 202)],
        f_csv=[*[say({"error": "not yet"}, status)] * 7, say(FILE, headers=CSV)],
    )
    job = world.call("start_export", "2026-01-01")
    known = world.on(job, "status")
    assert (known.done, known.word, known.export_id) == (False, "processing", "1")
    assert "not yet" in known.reason
    with pytest.raises(errors.ExportTimeout, match=rf"its file is not there \({status}: not yet\)"):
        world.on(job, "wait", timeout=1)
    assert world.on(job, "wait", timeout=600).reason is None
    assert world.on(job, "download", tmp_path / "out.csv").read_bytes() == FILE


@pytest.mark.parametrize(
    ("first", "status"),
    [
        ({"status": "processing", "download_url": "/st"}, 410),
        ({"download_url": "/st"}, 403),
        ({"download_url": "/st"}, 404),
        ({"status": "processing", "status_url": "/st"}, 404),
        ({"status": "processing", "status_url": "/st"}, 410),
    ],
)
def test_an_address_that_is_gone_is_told_as_an_end_of_the_export(
    world: World, stand_in: StandIn, say: type[Say], first: dict[str, Any], status: int
) -> None:
    stand_in.says_by_name(bulk_export=[say({"id": "e7", **first}, 202)], st=[say(status=status)])
    job = world.call("start_export", "2026-01-01")
    with pytest.raises(errors.ExportExpired, match=r"[Ss]tart it again") as caught:
        world.on(job, "wait", timeout=600)
    assert caught.value.export_id == "e7"
    assert len(stand_in.asked) == 2
    if status != 403:
        assert caught.value.url == f"{stand_in.url}/st"
        assert "no export e7 at the address" in str(caught.value)


def test_a_status_address_is_asked_for_the_file_of_what_is_done(
    world: World, stand_in: StandIn, say: type[Say], clock: MovedClock
) -> None:
    """Some services say "done" a moment before they name the file."""
    early = {"status": "done", "status_url": "/st"}
    stand_in.says_by_name(
        bulk_export=[say(early)], st=[say(early), say({**early, "download_url": "/f.csv"})]
    )
    job = world.call("start_export", "2026-01-01")
    with pytest.raises(errors.ProtocolError, match="names no file"):
        world.on(job, "wait", timeout=60)
    assert len(world.on(job, "wait", timeout=60).files) == 1
    assert clock.sleeps == [1.0, 1.0]
    assert [asked.method for asked in stand_in.asked] == ["POST", "GET", "GET"]
