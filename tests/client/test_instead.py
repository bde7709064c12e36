"""Answers that come at the address of a file with status 200, and files that look like them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from adanalytics_client import Observer, RetryPolicy, WaitStarted, errors

if TYPE_CHECKING:
    from tests.client.conftest import MovedClock, OpenWorld, Say, StandIn, World

FILE = b"a,b\r\n" + b"1,2\r\n" * 2000
CSV = {"Content-Type": "text/csv"}
JSON = {"Content-Type": "application/json"}
S3 = b'<?xml version="1.0"?>\n<Error><Code>SlowDown</Code><Message>Reduce rate</Message></Error>'


class Waits(Observer):
    def __init__(self) -> None:
        self.reasons: list[str] = []

    def wait(self, info: WaitStarted) -> None:
        self.reasons.append(info.reason)


def _json(content: Any) -> bytes:
    return json.dumps(content).encode()


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize(
    ("body", "kind", "told"),
    [
        (_json({"error": "gone"}), "application/json", "'gone'"),
        (_json({"success": False, "message": "busy"}), "application/json", "'busy'"),
        (_json({"status": 500, "error": "Internal Server Error", "path": "/f"}), "", "Internal"),
        (_json({"status": "failed", "errors": [{"message": "full"}]}), "text/csv", "'full'"),
        (b'{\n  "status": "archived",\n  "id": 7\n}\n', "application/octet-stream", "'archived'"),
        (S3, "application/xml", "'SlowDown: Reduce rate'"),
        (b"<html><title>Bad gateway</title></html>", "", "an HTML page that says 'Bad gateway'"),
        (b"Service Unavailable", "text/plain", "'Service Unavailable'"),
        (b"upstream failed, try later.\n", "text/plain", "upstream failed"),
    ],
)
def test_an_answer_in_place_of_a_file_is_an_error_that_says_what_came(
    world: World,
    stand_in: StandIn,
    say: type[Say],
    tmp_path: Path,
    form: str,
    body: bytes,
    kind: str,
    told: str,
) -> None:
    stand_in.says_by_name(
        bulk_export=[say({"status": "done", "download_url": "/f"})],
        f=[say(body, headers={"Content-Type": kind, "ETag": '"1"'})],
    )
    (tmp_path / "out").write_text("old")
    with pytest.raises(errors.DownloadError, match=f"Instead of the {form} file came") as caught:
        world.call("export", "2026-01-01", to=tmp_path / "out", format=form)
    assert told in str(caught.value)
    assert caught.value.part is None
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("out", "old")]


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("early", [b"processing", b'"not ready"'])
def test_a_word_at_the_address_of_a_file_is_waited_for(
    world: World,
    stand_in: StandIn,
    say: type[Say],
    tmp_path: Path,
    clock: MovedClock,
    form: str,
    early: bytes,
) -> None:
    body = {"csv": FILE, "jsonl": b'{"a": 1}\n', "parquet": b"PAR1\x15\x04"}[form]
    stand_in.says_by_name(
        bulk_export=[say({"url": "/f"})], f=[*[say(early, headers=JSON)] * 9, say(body)]
    )
    path = world.call("export", "2026-01-01", to=tmp_path / "out", format=form)
    assert path.read_bytes() == body
    assert len(clock.sleeps) == 9


def test_a_packed_answer_is_looked_into(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    """Whether the service packs its files or only all of its answers."""
    packed = gzip.compress(_json({"error": "gone"}))
    for headers in ({"Content-Encoding": "gzip"}, {"Content-Type": "application/gzip"}):
        stand_in.says_by_name(
            bulk_export=[say({"download_url": "/f"})], f=[say(packed, headers=headers)]
        )
        with pytest.raises(errors.DownloadError, match="JSON that says 'gone'"):
            world.call("export", "2026-01-01", to=tmp_path / "out.csv.gz", compression="gzip")
        assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_announced_is_proven_by_that(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    body = _json({"status": "done"})
    stand_in.says_by_name(
        bulk_export=[say({"download_url": "/f", "size_bytes": len(body)})],
        f=[say(body, headers=JSON)],
    )
    path = world.call("export", "2026-01-01", to=tmp_path / "out", format="jsonl")
    assert path.read_bytes() == body


@pytest.mark.parametrize(
    "early",
    [
        {"body": {"status": "processing"}, "headers": {"ETag": '"1"'}},
        {"body": {"data": {"state": "In-Progress", "message": "soon"}}},
        {"status": 202},
    ],
)
@pytest.mark.parametrize("announced", [{}, {"size_bytes": len(FILE)}])
def test_a_file_that_is_still_being_made_is_waited_for(
    open_world: OpenWorld,
    stand_in: StandIn,
    say: type[Say],
    tmp_path: Path,
    clock: MovedClock,
    early: dict[str, Any],
    announced: dict[str, Any],
) -> None:
    """As long as for an export, and not only as often as a failure is repeated."""
    waits = Waits()
    stand_in.says_by_name(
        bulk_export=[say({"download_url": "/f.csv", **announced})],
        f_csv=[say(**early)] * 5 + [say(FILE, headers=CSV)],
    )
    world = open_world(observer=waits, retry=RetryPolicy(attempts=2))
    path = world.call("export", "2026-01-01", to=tmp_path / "out.csv")
    assert path.read_bytes() == FILE
    assert clock.sleeps == [1.0, 1.5, 2.25, 3.375, 5.0625]
    assert waits.reasons == ["the file is not ready yet"] * 5


@pytest.mark.parametrize("early", [{"body": {"status": "processing"}}, {"status": 202}])
def test_a_file_that_is_never_ready_is_waited_for_no_longer_than_told(
    open_world: OpenWorld,
    stand_in: StandIn,
    say: type[Say],
    tmp_path: Path,
    clock: MovedClock,
    early: dict[str, Any],
) -> None:
    stand_in.says_by_name(bulk_export=[say({"download_url": "/f.csv"})], f_csv=[say(**early)])
    world = open_world(retry=RetryPolicy(attempts=2))
    with pytest.raises(errors.DownloadError, match="wait for the export first"):
        world.call("export", "2026-01-01", to=tmp_path / "out.csv", timeout=60)
    assert sum(clock.sleeps) == 60


@pytest.mark.parametrize("status", [202, 503])
def test_a_wait_that_outlasts_every_bound_is_not_begun(
    world: World,
    stand_in: StandIn,
    say: type[Say],
    tmp_path: Path,
    clock: MovedClock,
    status: int,
) -> None:
    stand_in.says_by_name(
        bulk_export=[say({"download_url": "/f.csv"})],
        f_csv=[say(status=status, headers={"Retry-After": "1000"})],
    )
    with pytest.raises((errors.DownloadError, errors.ServerError)):
        world.call("export", "2026-01-01", to=tmp_path / "out.csv", timeout=60)
    assert clock.sleeps == []


@pytest.mark.parametrize("bound", [{"on_limit": "raise"}, {"max_wait": 60}])
def test_a_limit_of_downloads_is_raised_where_waiting_is_not_wanted(
    open_world: OpenWorld,
    stand_in: StandIn,
    say: type[Say],
    tmp_path: Path,
    clock: MovedClock,
    bound: dict[str, Any],
) -> None:
    stand_in.says_by_name(
        bulk_export=[say({"download_url": "/f.csv"})],
        f_csv=[say(status=429, headers={"Retry-After": "1000"})],
    )
    with pytest.raises(errors.RateLimited):
        open_world(**bound).call("export", "2026-01-01", to=tmp_path / "out.csv")
    assert clock.sleeps == []


def test_a_limit_of_downloads_is_waited_for_and_announced(
    open_world: OpenWorld, stand_in: StandIn, say: type[Say], tmp_path: Path, clock: MovedClock
) -> None:
    waits = Waits()
    stand_in.says_by_name(
        bulk_export=[say({"download_url": "/f.csv"})],
        f_csv=[say(status=429, headers={"Retry-After": "1000"}), say(FILE, headers=CSV)],
    )
    open_world(observer=waits).call("export", "2026-01-01", to=tmp_path / "out.csv")
    assert clock.sleeps == [1000.0]
    assert waits.reasons == ["the service asked to slow down"]
