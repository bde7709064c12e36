"""Bulk exports in the shapes that the documented part leaves open; both worlds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.client.one_export import CSV, FILE, PATH, fetch

from adanalytics_client import errors

if TYPE_CHECKING:
    from tests.client.conftest import MovedClock, Say, StandIn, World


@pytest.mark.parametrize(
    "body",
    [
        {"download_url": "/f.csv"},
        {"data": {"fileUrl": "/f.csv", "url": "/wrong"}},
        {"status": "success", "data": {"state": "FINISHED", "url": "/f.csv"}},
        {"status": "Ready", "location": "/f.csv"},
        {"files": [{"url": "/f.csv", "name": "x.csv"}]},
        {"urls": ["/f.csv"]},
        {"link": "/f.csv", "export_id": 7},
        {"signed_urls": ["/f.csv"], "url": "/wrong"},
        ["/f.csv"],
        [{"href": "/f.csv"}],
        {"url": "mailto:a@b.example", "files": [{"link": "http://[", "url": "/f.csv"}]},
    ],
)
def test_a_file_in_the_first_answer(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path, body: Any
) -> None:
    stand_in.says_by_name(bulk_export=[say(body)], f_csv=[say(FILE, headers=CSV)])
    assert fetch(world, tmp_path / "out.csv").read_bytes() == FILE
    assert [asked.path for asked in stand_in.asked] == [PATH, "/f.csv"]
    assert json.loads(stand_in.asked[0].body) == {
        "start_date": "2026-01-01",
        "end_date": "2026-01-31",
        "format": "csv",
    }
    assert [each.name for each in tmp_path.iterdir()] == ["out.csv"]


def test_a_status_address_is_asked_until_done(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path, clock: MovedClock
) -> None:
    working = {"status": "Queued", "status_url": "/st", "url": "/st"}
    stand_in.says_by_name(
        bulk_export=[say(working, status=202, headers={"Retry-After": "9"})],
        st=[say({"status": "in_progress"}), say({"status": "COMPLETE", "url": "/f.csv"})],
        f_csv=[say(FILE, headers=CSV)],
    )
    assert fetch(world, tmp_path / "out.csv").read_bytes() == FILE
    assert clock.sleeps == [9.0, 1.5]
    assert stand_in.asked[1].headers["authorization"] == "Bearer secret-key"


def test_a_location_header_is_asked_until_the_file_is_there(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    stand_in.says_by_name(
        bulk_export=[say(status=202, headers={"Location": "/f.csv"})],
        f_csv=[say(status=202), say(FILE, headers=CSV)],
    )
    assert fetch(world, tmp_path / "out.csv").read_bytes() == FILE


def test_the_order_is_repeated_when_nothing_else_can_be_asked(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    stand_in.says_by_name(
        bulk_export=[say({"status": "pending"}, status=202), say({"result_url": "/f.csv"})],
        f_csv=[say(FILE, headers=CSV)],
    )
    assert fetch(world, tmp_path / "out.csv").read_bytes() == FILE


def test_a_file_address_is_asked_until_ready_without_fetching_twice(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    stand_in.says_by_name(
        bulk_export=[say({"status": "weird", "download_url": "/f.csv"}, status=202)],
        f_csv=[say(status=202, headers={"Retry-After": "3"}), say(FILE, headers=CSV)],
    )
    assert fetch(world, tmp_path / "out.csv").read_bytes() == FILE
    assert [asked.path for asked in stand_in.asked] == [PATH] + ["/f.csv"] * 3
    assert not any("authorization" in asked.headers for asked in stand_in.asked[1:])


@pytest.mark.parametrize("name", ["files", "urls", "download_urls"])
def test_several_files_are_never_taken_for_one_by_the_first_that_is_there(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path, name: str
) -> None:
    """One address may be asked whether its file is there; of several, more may be to come."""
    early = {"status": "chunking", name: ["/f.csv", "/g.csv"]}
    whole = {"status": "done", name: ["/f.csv", "/g.csv", "/h.csv"]}
    stand_in.says_by_name(
        bulk_export=[say(early), say(early), say(whole)],
        **{f"{each}_csv": [say(FILE, headers=CSV)] for each in "fgh"},
    )
    job = world.call("start_export", "2026-01-01")
    with pytest.raises(errors.ExportTimeout, match="chunking"):
        world.on(job, "wait", timeout=0)
    world.on(job, "download", tmp_path)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["f.csv", "g.csv", "h.csv"]
    assert [asked.path for asked in stand_in.asked[:3]] == [PATH] * 3


def test_failure_carries_the_services_reason(
    world: World, stand_in: StandIn, say: type[Say]
) -> None:
    stand_in.says(say({"status": "FAILED", "error": "disk full", "export_id": "x1"}))
    job = world.call("start_export", "2026-01-01")
    with pytest.raises(errors.ExportFailed, match="disk full") as caught:
        world.on(job, "wait", timeout=60)
    assert (caught.value.export_id, caught.value.status) == ("x1", "FAILED")


def test_done_without_a_file_names_the_keys(
    world: World, stand_in: StandIn, say: type[Say]
) -> None:
    stand_in.says(say({"status": "done", "thing": 1}))
    job = world.call("start_export", "2026-01-01")
    with pytest.raises(errors.ProtocolError, match=r"status, thing.* last_status\.answer of"):
        world.on(job, "wait")
    assert job.last_status.answer["thing"] == 1


def test_an_order_that_may_have_arrived_is_not_repeated(
    world: World, stand_in: StandIn, say: type[Say]
) -> None:
    stand_in.says(say(hang_up=True))
    with pytest.raises(errors.TransportError):
        world.call("start_export", "2026-01-01")
    assert len(stand_in.asked) == 1


def test_an_order_that_was_refused_for_its_rate_is_repeated(
    world: World, stand_in: StandIn, say: type[Say]
) -> None:
    stand_in.says(say(status=429, headers={"Retry-After": "2"}), say({"url": "/f"}))
    assert world.call("start_export", "2026-01-01").last_status.done


def test_a_failure_that_echoes_the_credential_is_redacted(
    world: World, stand_in: StandIn, say: type[Say]
) -> None:
    stand_in.says(say({"status": "failed", "error": "no secret-key", "secret-key": 1}))
    job = world.call("start_export", "2026-01-01")
    with pytest.raises(errors.ExportFailed, match=r"no \*\*\*\. Start it again"):
        world.on(job, "wait", timeout=60)
    assert "secret-key" not in repr(job.last_status) + repr(job.last_status.keys)


def test_a_status_that_echoes_the_credential_is_redacted(
    world: World, stand_in: StandIn, say: type[Say]
) -> None:
    stand_in.says(say({"status": "waiting for secret-key"}, status=202))
    job = world.call("start_export", "2026-01-01")
    with pytest.raises(errors.ExportTimeout) as caught:
        world.on(job, "wait", timeout=60)
    assert "secret-key" not in str(caught.value) + str(caught.value.status)


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "application/x-ndjson"},
        {"Content-Type": "application/json", "Content-Disposition": "attachment; filename=f"},
        {"Content-Type": "text/plain"},
        {},
    ],
)
def test_a_file_of_json_lines_is_not_taken_for_a_status(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path, headers: dict[str, str]
) -> None:
    lines = b'{"status": "pending"}\n{"status": "pending"}\n'
    stand_in.says_by_name(
        bulk_export=[say({"status": "pending", "download_url": "/f.jsonl"}, status=202)],
        f_jsonl=[say(status=202), say(lines, headers=headers)],
    )
    assert fetch(world, tmp_path / "out.jsonl").read_bytes() == lines


@pytest.mark.parametrize("kind", [None, "text/plain; charset=utf-8", "application/problem+json"])
def test_a_status_counts_whatever_its_media_type(
    world: World, stand_in: StandIn, say: type[Say], kind: str | None
) -> None:
    headers = {"Content-Type": kind} if kind else {}
    stand_in.says_by_name(
        bulk_export=[say({"status": "pending", "status_url": "/st"}, status=202)],
        st=[say({"status": "running"}, headers=headers)],
    )
    job = world.call("start_export", "2026-01-01")
    assert world.on(job, "status").word == "running"


@pytest.mark.parametrize("wrong", [{"timeout": -1}, {"to": 5}, {"format": ""}, {"format": 5}])
def test_a_wrong_argument_of_export_is_told_before_anything_is_sent(
    world: World, stand_in: StandIn, tmp_path: Path, wrong: dict[str, Any]
) -> None:
    (name,) = wrong
    with pytest.raises(errors.ConfigurationError, match=name):
        world.call("export", "2026-01-01", **{"to": tmp_path / "x.csv", **wrong})
    assert stand_in.asked == []
