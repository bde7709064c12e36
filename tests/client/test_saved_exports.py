"""Exports that outlive their process, and addresses that expire on the way."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.client.worlds import SyncWorld

from adanalytics_client import AsyncExportJob, ExportJob, errors

if TYPE_CHECKING:
    from tests.client.conftest import Asked, MovedClock, OpenWorld, Say, StandIn, World

    from adanalytics_server.local import LocalServer

FILE = b"a,b\r\n1,2\r\n"
CSV = {"Content-Type": "text/csv", "ETag": '"v1"'}


def again(world: World, job: Any, text: str | None = None) -> Any:
    """The same job, made anew from its text."""
    kind = ExportJob if isinstance(job, ExportJob) else AsyncExportJob
    return kind.from_json(world.client, job.to_json() if text is None else text)


def test_a_job_goes_on_from_its_text(
    open_world: OpenWorld, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    stand_in.says_by_name(
        bulk_export=[say({"status": "queued", "status_url": "/st", "id": "e1", "n": 1.50}, 202)],
        st=[say({"status": "done", "url": "/f.csv", "row_count": 1})],
        f_csv=[say(FILE, headers=CSV)],
    )
    world = open_world()
    job = world.call("start_export", "2026-01-01", "2026-01-31", compression="gzip")
    assert "secret-key" not in job.to_json()
    other = open_world()
    later = again(other, job)
    assert later.last_status == job.last_status
    assert later.last_status.answer["n"] == Decimal("1.50")
    assert later.to_json() == job.to_json()
    assert other.on(later, "wait").row_count == 1
    assert other.on(again(other, later), "download", tmp_path / "out.csv").read_bytes() == FILE


@pytest.mark.parametrize("way", ["text", "pickle"])
def test_a_pause_that_was_asked_for_holds_for_a_job_that_is_gone_on_with(
    world: World, stand_in: StandIn, say: type[Say], clock: MovedClock, way: str
) -> None:
    stand_in.says(
        say({"status": "queued", "status_url": "/st"}, 202, headers={"Retry-After": "120"}),
        say({"status": "done", "url": "/f"}),
    )
    job = world.call("start_export", "2026-01-01")
    later = again(world, pickle.loads(pickle.dumps(job)) if way == "pickle" else job)
    assert later.last_status.told_at == job.last_status.told_at
    clock.now += 50
    assert world.on(later, "wait", timeout=600).done
    assert clock.sleeps == [70.0]


def test_a_text_of_an_earlier_version_knows_no_pause(
    world: World, stand_in: StandIn, say: type[Say]
) -> None:
    queued = {"status": "queued", "status_url": "/st"}
    stand_in.says(say(queued, 202, headers={"Retry-After": "120"}))
    job = world.call("start_export", "2026-01-01")
    said = json.loads(job.to_json())
    for name in ("retry_after", "told_at"):
        del said["status"][name]
    status = again(world, job, json.dumps(said)).last_status
    assert (status.retry_after, status.told_at, status.word) == (None, None, "queued")


@pytest.mark.parametrize(
    "change",
    [
        {"partner": "other"},
        {"base_url": "https://elsewhere.example"},
        {"form": 2},
        {"order": {"start_date": "yesterday"}},
        {"status": {"phase": "dreaming"}},
        {"status": None},
    ],
)
def test_a_text_that_does_not_fit_is_refused(
    world: World, stand_in: StandIn, say: type[Say], change: dict[str, Any]
) -> None:
    stand_in.says(say({"url": "/f"}))
    job = world.call("start_export", "2026-01-01")
    said = json.loads(job.to_json())
    for text in (json.dumps(said | change), "", "{", "[]"):
        with pytest.raises(errors.ConfigurationError, match="saved export"):
            again(world, job, text)
    assert again(world, job, json.dumps(said | {"since_then": 1})).last_status == job.last_status


@pytest.mark.parametrize(
    ("spelled", "same"),
    [
        ("http://STATS.example/v2", True),
        ("http://stats.example:80/v2", True),
        ("https://stats.example/v2", False),
        ("http://stats.example:8080/v2", False),
        ("http://stats.example/V2", False),
        ("http://[", False),
    ],
)
def test_a_service_is_known_however_its_address_is_spelled(
    open_world: OpenWorld, stand_in: StandIn, say: type[Say], spelled: str, *, same: bool
) -> None:
    stand_in.says(say({"url": "/f"}))
    kept = json.loads(open_world().call("start_export", "2026-01-01").to_json())
    world = open_world("http://stats.example/v2")
    kind = ExportJob if isinstance(world, SyncWorld) else AsyncExportJob
    text = json.dumps(kept | {"base_url": spelled})
    if same:
        assert kind.from_json(world.client, text).last_status.files
    else:
        with pytest.raises(errors.ConfigurationError, match="saved export is of partner 'acme'"):
            kind.from_json(world.client, text)


def test_a_pickled_job_leaves_its_client_behind(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    ordered = {"url": "/f.csv", "expires_at": "2026-02-01", "echo": ["secret-key"]}
    stand_in.says_by_name(bulk_export=[say(ordered)], f_csv=[say(FILE, headers=CSV)])
    job = world.call("start_export", "2026-01-01")
    note = pickle.dumps(job)
    assert b"secret-key" not in note
    kept = pickle.loads(note)
    assert type(kept) is type(job)
    assert (kept.order, kept.export_id, kept.last_status) == (job.order, None, job.last_status)
    assert (repr(kept), kept.to_json()) == (repr(job), job.to_json())
    for name, *arguments in (("status",), ("wait",), ("download", tmp_path / "x.csv")):
        with pytest.raises(errors.ConfigurationError, match="from_json"):
            world.on(kept, name, *arguments)
    # A copy within the process keeps its client.
    for one in (again(world, job, kept.to_json()), copy.copy(job), copy.deepcopy(job)):
        assert world.on(one, "download", tmp_path / "x.csv").read_bytes() == FILE
    status = job.last_status
    assert pickle.loads(pickle.dumps(status)) == copy.deepcopy(status) == status
    assert status.answer == {"url": "/f.csv", "expires_at": "2026-02-01", "echo": ["***"]}


def test_half_a_surrogate_pair_in_an_answer_keeps_no_job_from_being_kept(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    ordered = {"url": "/f.csv", "n\ud83d": "\ud83d\\ud83d", "rate": 0.5, "note": "\U0001f600\u00e9"}
    stand_in.says_by_name(bulk_export=[say(ordered)], f_csv=[say(FILE, headers=CSV)])
    job = world.call("start_export", "2026-01-01")
    place = tmp_path / "export.job"
    place.write_text(job.to_json(), encoding="utf-8")
    later = again(world, job, place.read_text(encoding="utf-8"))
    assert later.last_status == pickle.loads(pickle.dumps(job)).last_status == job.last_status
    assert later.last_status.answer["n\ud83d"] == "\ud83d\\ud83d"
    assert later.to_json() == job.to_json()
    assert world.on(later, "download", tmp_path / "x.csv").read_bytes() == FILE


@pytest.mark.parametrize("status", [403, 410])
def test_an_expired_address_is_asked_for_anew(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path, status: int
) -> None:
    """In the middle of the file: what has arrived stays, and the new address gives the rest."""
    rest = {**CSV, "Content-Range": f"bytes 4-{len(FILE) - 1}/{len(FILE)}"}
    stand_in.says_by_name(
        bulk_export=[say({"status": "done", "status_url": "/st", "url": "/old.csv"})],
        st=[say({"status": "done", "url": "/new.csv"})],
        old_csv=[say(FILE, headers=CSV, cut=4), say(status=status)],
        new_csv=[say(FILE[4:], status=206, headers=rest)],
    )
    job = world.call("start_export", "2026-01-01")
    assert world.on(job, "download", tmp_path / "out.csv").read_bytes() == FILE
    assert [asked.path for asked in stand_in.asked[1:]] == [
        "/old.csv",
        "/old.csv",
        "/st",
        "/new.csv",
    ]
    assert stand_in.asked[-1].headers["range"] == "bytes=4-"
    assert job.last_status.files[0].url.endswith("/new.csv")


@pytest.mark.parametrize(
    "refusal",
    [
        {"status": 401, "body": {"error": "link expired"}},
        {"status": 400, "body": b"<Error><Code>ExpiredToken</Code></Error>"},
        {"status": 400, "body": b"<Error><Message>Request has expired</Message></Error>"},
    ],
)
def test_an_address_that_expired_under_another_status_is_asked_for_anew(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path, refusal: dict[str, Any]
) -> None:
    stand_in.says_by_name(
        bulk_export=[say({"status": "done", "status_url": "/st", "url": "/old.csv"})],
        st=[say({"status": "done", "url": "/new.csv"})],
        old_csv=[say(**refusal)],
        new_csv=[say(FILE, headers=CSV)],
    )
    job = world.call("start_export", "2026-01-01")
    assert world.on(job, "download", tmp_path / "out.csv").read_bytes() == FILE


def test_a_refusal_that_asking_anew_does_not_change_is_told(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    same = say({"status": "done", "status_url": "/st", "url": "/f.csv"})
    stand_in.says_by_name(bulk_export=[same], st=[same], f_csv=[say(status=401)])
    with pytest.raises(errors.AuthenticationError):
        world.call("export", "2026-01-01", to=tmp_path / "out.csv")
    stand_in.says_by_name(bulk_export=[same], st=[same], f_csv=[say(status=400)])
    with pytest.raises(errors.InvalidRequest):
        world.call("export", "2026-01-01", to=tmp_path / "out.csv")


def test_the_order_is_repeated_where_that_is_known_to_be_harmless(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    stand_in.says_by_name(
        bulk_export=[
            say({"status": "pending", "id": "e1"}, status=202),
            say({"url": "/old.csv", "id": "e1"}),
            say({"url": "/new.csv", "id": "e1"}),
        ],
        old_csv=[say(status=403)],
        new_csv=[say(FILE, headers=CSV)],
    )
    world.call("export", "2026-01-01", to=tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == FILE


@pytest.mark.parametrize(
    "fresh",
    [
        {"body": {"status": "done", "url": "/old.csv"}},
        {"body": {"status": "expired"}},
        {"body": {"files": ["/a", "/b"]}},
        {"status": 404},
    ],
)
def test_an_address_that_stays_expired_is_typed_and_ends(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path, fresh: dict[str, Any]
) -> None:
    stand_in.says_by_name(
        bulk_export=[say({"status": "done", "status_url": "/st", "url": "/old.csv"})],
        st=[say(**fresh)],
        old_csv=[say(status=403)],
    )
    with pytest.raises(errors.ExportExpired):
        world.call("export", "2026-01-01", to=tmp_path / "out.csv")
    assert len(stand_in.asked) == 3
    assert list(tmp_path.iterdir()) == []


def test_addresses_that_all_expire_at_once_end(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    def script(asked: Asked) -> Say:
        if "csv" in asked.path:
            return say(status=403)
        number = len(stand_in.asked)
        return say({"status": "done", "status_url": "/st", "url": f"/{number}.csv"})

    stand_in.script = script
    with pytest.raises(errors.ExportExpired):
        world.call("export", "2026-01-01", to=tmp_path / "out.csv")
    assert len(stand_in.asked) == 4


def test_the_real_server_gives_a_fresh_address(
    reference: LocalServer, reference_world: World, tmp_path: Path
) -> None:
    path, order = tmp_path / "out.jsonl", {"format": "jsonl"}
    reference_world.on(reference_world.call("start_export", "2026-01-15", **order), "wait")
    reference.faults.add("expired url once on start_export")
    try:
        reference_world.call("export", "2026-01-15", to=path, **order)
        assert [each.struck for each in reference.faults.counts()] == [1]
    finally:
        reference.faults.clear()
    assert len(path.read_bytes().splitlines()) == 1500


CHILD = """
import sys
from adanalytics_client import Client, Observer

class Watch(Observer):
    def bytes(self, info):
        print(info.received, flush=True)

url, key, path = sys.argv[1:]
with Client(url, api_key=key, partner="acme", observer=Watch(), quota_log="memory") as client:
    client.export("2026-01-16", to=path, format="jsonl")
"""


def test_a_killed_download_goes_on_in_the_next_run(
    reference: LocalServer, reference_world: World, tmp_path: Path
) -> None:
    """kill -9 in the middle of the body: what had reached the file is not asked for again."""
    path = tmp_path / "out.jsonl"
    reference.faults.add("slow body 60s once on download")
    command = [sys.executable, "-c", CHILD, reference.url, reference.api_key, str(path)]
    try:
        with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            assert int(child.stdout.readline()) > 0
            child.kill()
    finally:
        reference.faults.clear()
    assert not path.exists()
    kept = (tmp_path / "out.jsonl.part").stat().st_size
    assert kept > 0
    reference.journal.clear()
    reference_world.call("export", "2026-01-16", to=path, format="jsonl")
    assert len(path.read_bytes().splitlines()) == 1500
    (download,) = [each for each in reference.journal.entries() if each.operation == "download"]
    assert (download.status, [each.name for each in tmp_path.iterdir()]) == (206, ["out.jsonl"])
