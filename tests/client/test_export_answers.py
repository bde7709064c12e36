"""Answers about an export that are easily taken for another: envelopes, errors, and half lists."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.client.one_export import CSV, FILE, fetch

from adanalytics_client import errors

if TYPE_CHECKING:
    from tests.client.conftest import Say, StandIn, World


@pytest.mark.parametrize(
    "first",
    [
        {"status": 201, "headers": {"Location": "/st"}},
        {"body": {"status": "success", "data": {"state": "processing", "url": "/st"}}},
        {"body": {"status": "success", "data": {"job_status": "queued", "status_url": "/st"}}},
        {"body": {"status": "OK", "state": "processing", "status_url": "/st"}},
        {"body": {"data": {"status": "success"}, "state": "processing", "url": "/st"}},
    ],
)
def test_an_address_of_a_job_is_not_taken_for_its_file(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path, first: dict[str, Any]
) -> None:
    done = {"status": "success", "data": {"status": "success", "download_url": "/f.csv"}}
    stand_in.says_by_name(
        bulk_export=[say(**first)],
        st=[say({"status": "processing"}), say(done)],
        f_csv=[say(FILE, headers=CSV)],
    )
    assert fetch(world, tmp_path / "out.csv").read_bytes() == FILE
    assert [asked.path for asked in stand_in.asked[1:]] == ["/st", "/st", "/f.csv"]


@pytest.mark.parametrize(
    "early",
    [
        {"name": "operations/1", "done": False},
        {"ready": False},
        {"data": {"isComplete": False}},
        {"status": "success", "data": {"id": 1, "finished": False}},
        {"done": False, "download_url": "/f.csv", "status_url": "/st"},
    ],
)
def test_what_says_that_it_is_not_done_is_waited_for(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path, early: dict[str, Any]
) -> None:
    done = {"name": "operations/1", "done": True, "ready": True, "download_url": "/f.csv"}
    stand_in.says_by_name(
        bulk_export=[say({"status_url": "/st", **early})],
        st=[say(early), say(done)],
        f_csv=[say(FILE, headers=CSV)],
    )
    assert fetch(world, tmp_path / "out.csv").read_bytes() == FILE
    assert [asked.path for asked in stand_in.asked[1:]] == ["/st", "/st", "/f.csv"]


def test_a_word_of_the_export_counts_more_than_what_is_denied(
    world: World, stand_in: StandIn, say: type[Say]
) -> None:
    stand_in.says(say({"status": "completed", "available": False, "download_url": "/f.csv"}))
    assert world.call("start_export", "2026-01-01").last_status.done


def test_an_address_of_nothing_but_the_file_is_found_out(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    stand_in.says_by_name(
        bulk_export=[say(status=201, headers={"Location": "/f.csv"})],
        f_csv=[say(FILE, headers=CSV)],
    )
    assert fetch(world, tmp_path / "out.csv").read_bytes() == FILE


@pytest.mark.parametrize(
    "answer",
    [
        {"files": [{"url": "/f.csv"}, {"url": None, "error": "lost"}]},
        {"files": [{"url": "/f.csv"}, {"path": "/g.csv"}]},
        {"download_urls": ["/f.csv", None]},
        {"download_url": "/f.csv", "files": [{"url": "/f.csv"}, {"url": None}]},
        [{"url": "/f.csv"}, {"path": "/g.csv"}],
    ],
)
def test_a_file_without_an_address_is_an_error_and_not_left_out(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path, answer: Any
) -> None:
    stand_in.says_by_name(
        bulk_export=[say(answer, headers={"X-Request-Id": "r1"})], f_csv=[say(FILE, headers=CSV)]
    )
    with pytest.raises(errors.ProtocolError, match="2 files, but 1 of them") as caught:
        fetch(world, tmp_path / "out.csv")
    assert caught.value.request_id == "r1"
    assert caught.value.url is not None
    assert list(tmp_path.iterdir()) == []


def test_files_may_get_their_addresses_one_after_the_other(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    early = {"status": "running", "status_url": "/st", "files": [{"url": "/f.csv"}, {"url": None}]}
    whole = {"status": "done", "files": [{"url": "/f.csv"}, {"url": "/g.csv"}]}
    stand_in.says_by_name(
        bulk_export=[say(early)],
        st=[say(whole)],
        f_csv=[say(FILE, headers=CSV)],
        g_csv=[say(FILE, headers=CSV)],
    )
    job = world.call("start_export", "2026-01-01")
    world.on(job, "download", tmp_path)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["f.csv", "g.csv"]


@pytest.mark.parametrize("listed", ["/f.csv", "/f.csv?sig=2"])
def test_a_list_that_holds_the_one_address_beside_it_is_taken(
    world: World, stand_in: StandIn, say: type[Say], listed: str
) -> None:
    stand_in.says(say({"download_url": "/f.csv", "files": [{"url": listed}, {"url": "/g.csv"}]}))
    job = world.call("start_export", "2026-01-01")
    assert len(job.last_status.files) == 2
    stand_in.says(say({"download_url": "/all.zip", "files": [{"url": "/f"}, {"url": "/g"}]}))
    job = world.call("start_export", "2026-01-01")
    assert [each.url for each in job.last_status.files] == [f"{stand_in.url}/all.zip"]


def test_a_repeated_order_that_starts_another_export_ends_the_wait(
    world: World, stand_in: StandIn, say: type[Say]
) -> None:
    stand_in.script = lambda _: say(
        {"export_id": len(stand_in.asked), "status": "queued"}, status=202
    )
    job = world.call("start_export", "2026-01-01")
    with pytest.raises(errors.ProtocolError, match=r"another export \(2 beside 1\)"):
        world.on(job, "wait", timeout=600)
    assert len(stand_in.asked) == 2


def test_a_repeated_order_that_is_done_at_once_is_good_whatever_its_id(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    stand_in.says_by_name(
        bulk_export=[
            say({"id": 1, "status": "queued"}, status=202),
            say({"id": 2, "status": "done", "url": "/f.csv"}),
        ],
        f_csv=[say(FILE, headers=CSV)],
    )
    assert fetch(world, tmp_path / "out.csv").read_bytes() == FILE


@pytest.mark.parametrize(
    "answer",
    [
        {"success": False, "message": "disk full"},
        {"ok": False, "error": {"code": 7, "message": "disk full"}},
        {"error": "disk full"},
        {"errors": [{"message": "disk full"}]},
        {"data": {"error": "disk full"}},
    ],
)
def test_an_error_in_the_dress_of_a_success_gives_the_services_reason(
    world: World, stand_in: StandIn, say: type[Say], answer: Any
) -> None:
    stand_in.says(say(answer, headers={"X-Request-Id": "r1"}))
    with pytest.raises(errors.ExportFailed, match="refused the export: disk full") as caught:
        world.call("start_export", "2026-01-01")
    assert caught.value.request_id == "r1"
    assert caught.value.url is not None
    assert len(stand_in.asked) == 1


@pytest.mark.parametrize(
    "beside",
    [
        {"errors": ["disk full"]},
        {"errors": [{"code": 7, "message": "disk full"}]},
        {"failure": {"reason": "disk full"}},
        {"status_message": "disk full"},
        {"error": None, "detail": "disk full"},
    ],
)
@pytest.mark.parametrize("word", ["failed", "cancelled", "Canceled", "ABORTED"])
def test_an_end_without_a_file_carries_its_reason(
    world: World, stand_in: StandIn, say: type[Say], word: str, beside: Any
) -> None:
    stand_in.says(say({"status": word, "status_url": "/st", **beside}))
    job = world.call("start_export", "2026-01-01")
    with pytest.raises(errors.ExportFailed, match="disk full"):
        world.on(job, "wait", timeout=600)
    assert len(stand_in.asked) == 1


def test_an_end_without_a_reason_names_its_word(
    world: World, stand_in: StandIn, say: type[Say]
) -> None:
    stand_in.says(say({"status": "cancelled"}))
    job = world.call("start_export", "2026-01-01")
    with pytest.raises(errors.ExportFailed, match="its status is 'cancelled'"):
        world.on(job, "wait", timeout=600)
    stand_in.says(say({"status": "expired", "message": "kept for a day."}))
    job = world.call("start_export", "2026-01-01")
    with pytest.raises(errors.ExportExpired, match=r"expired: kept for a day\. Start it again"):
        world.on(job, "wait", timeout=600)
