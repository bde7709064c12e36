"""What comes while an export is made: an answer however it is sent, or already the file."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.client.one_export import CSV, FILE, PATH, fetch

from adanalytics_client import errors

if TYPE_CHECKING:
    from tests.client.conftest import Say, StandIn, World

WORKING = {"status": "processing"}


def typed(kind: str | None) -> dict[str, str]:
    return {} if kind is None else {"Content-Type": kind}


@pytest.mark.parametrize("chunked", [True, False])
@pytest.mark.parametrize(
    "kind",
    [
        None,
        "text/plain",
        "application/octet-stream",
        "application/x-json",
        "text/javascript",
        "text/csv",
    ],
)
@pytest.mark.parametrize("name", ["status_url", "download_url"])
def test_a_status_is_read_however_it_is_sent(
    world: World,
    stand_in: StandIn,
    say: type[Say],
    tmp_path: Path,
    name: str,
    kind: str | None,
    chunked: bool,
) -> None:
    done = {"status": "completed", "download_url": "/f.csv"}
    answers = [say(each, headers=typed(kind), chunked=chunked) for each in (WORKING, WORKING, done)]
    stand_in.says_by_name(
        bulk_export=[say({"status": "pending", name: "/st"}, status=202)],
        st=answers,
        f_csv=[say(FILE, headers=CSV)],
    )
    job = world.call("start_export", "2026-01-01")
    assert world.on(job, "status").word == "processing"
    assert world.on(job, "wait", timeout=600).word == "completed"
    assert world.on(job, "download", tmp_path / "out.csv").read_bytes() == FILE
    assert [asked.path for asked in stand_in.asked] == [PATH, "/st", "/st", "/st", "/f.csv"]


def test_a_packed_status_is_read(world: World, stand_in: StandIn, say: type[Say]) -> None:
    packed = gzip.compress(b"\xef\xbb\xbf \n" + json.dumps(WORKING).encode())
    stand_in.says_by_name(
        bulk_export=[say({"status": "pending", "status_url": "/st"}, status=202)],
        st=[say(packed, headers={"Content-Encoding": "gzip"}, chunked=True)],
    )
    job = world.call("start_export", "2026-01-01")
    assert world.on(job, "status").word == "processing"


def test_a_status_without_a_word_is_not_kept_as_a_file_of_json_lines(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    lines = b'{"event_id": "1"}\n'
    stand_in.says_by_name(
        bulk_export=[say({"id": "1", "status": "pending", "status_url": "/st"}, status=202)],
        st=[
            say({"id": "1", "progress": 40}, chunked=True),
            say({"id": "1", "progress": 80}, headers=typed("application/json")),
            say({"id": "1", "url": "/f.jsonl"}, chunked=True),
        ],
        f_jsonl=[say(lines, headers=typed("application/x-ndjson"))],
    )
    world.call("export", "2026-01-01", to=tmp_path / "out.jsonl", format="jsonl")
    assert (tmp_path / "out.jsonl").read_bytes() == lines


EVENT = {"event_id": "1", "status": "processing", "id": 5, "url": "/wrong"}


@pytest.mark.parametrize(
    ("form", "kind", "body"),
    [
        ("jsonl", None, json.dumps(EVENT).encode()),
        ("jsonl", "application/json", json.dumps(EVENT).encode()),
        ("jsonl", None, b'{"a": 1}\n'),
        ("jsonl", None, b'{"status": "processing"}\n' * 50_000),
        ("jsonl", "application/jsonl", b'{"status": "processing"}'),
        ("json", "application/json", json.dumps([EVENT, EVENT]).encode()),
        ("json", "application/json", json.dumps([{"ts": "b", "id": 1}] * 3).encode()),
        ("json", "application/json", json.dumps([{"ts": "b", "id": 1}] * 60_000).encode()),
        ("json", "text/plain", json.dumps({"data": [EVENT], "status": "ok"}).encode()),
        ("csv", None, FILE * 20),
        ("csv", "text/plain", FILE),
        ("csv.gz", None, gzip.compress(FILE, mtime=0)),
    ],
)
@pytest.mark.parametrize("chunked", [True, False])
def test_a_file_is_a_file_whatever_it_looks_like(
    world: World,
    stand_in: StandIn,
    say: type[Say],
    tmp_path: Path,
    form: str,
    kind: str | None,
    body: bytes,
    chunked: bool,
) -> None:
    stand_in.says_by_name(
        bulk_export=[say({"status": "pending", "download_url": "/f"}, status=202)],
        f=[say(WORKING), say(body, headers=typed(kind), chunked=chunked)],
    )
    job = world.call("start_export", "2026-01-01", format=form)
    assert world.on(job, "wait", timeout=600).done
    assert world.on(job, "download", tmp_path / "out").read_bytes() == body
    assert len(stand_in.asked) == 4


def test_a_file_is_not_read_while_it_is_waited_for(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    """The body of the first answer never ends: whoever reads it whole would fail."""
    stand_in.says_by_name(
        bulk_export=[say({"status": "pending", "download_url": "/f"}, status=202)],
        f=[say(FILE, headers=CSV, chunked=True, cut=100), say(FILE, headers=CSV)],
    )
    assert fetch(world, tmp_path / "out.csv").read_bytes() == FILE
    assert len(stand_in.asked) == 3


LISTED = {"status": "done", "files": [{"url": f"/{each}?{'s' * 500}"} for each in range(2100)]}


@pytest.mark.parametrize("form", ["csv", "jsonl", "json"])
@pytest.mark.parametrize(("kind", "chunked"), [("application/json", False), (None, True)])
def test_a_status_of_more_than_a_mebibyte_is_no_file(
    world: World, stand_in: StandIn, say: type[Say], form: str, kind: str | None, chunked: bool
) -> None:
    """Thousands of signed addresses are as long as that."""
    stand_in.says_by_name(
        bulk_export=[say({"status": "pending", "status_url": "/st"}, status=202)],
        st=[say(LISTED, headers=typed(kind), chunked=chunked)],
    )
    job = world.call("start_export", "2026-01-01", format=form)
    assert len(world.on(job, "wait", timeout=60).files) == 2100


@pytest.mark.parametrize("kind", ["text/plain", "application/json", None])
@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_status_that_is_cut_short_is_asked_for_again(
    world: World,
    stand_in: StandIn,
    say: type[Say],
    tmp_path: Path,
    form: str,
    kind: str | None,
) -> None:
    """Not every way of sending a body tells that its end is missing."""
    cut = say(b'{"status": "processing", "no', headers=typed(kind))
    stand_in.says_by_name(
        bulk_export=[say({"status": "pending", "status_url": "/st"}, status=202)],
        st=[*[cut] * 9, say({"status": "done", "download_url": "/f"})],
        f=[say(b'{"a": 1}\n' if form == "jsonl" else FILE)],
    )
    world.call("export", "2026-01-01", to=tmp_path / "out", format=form)
    assert [asked.path for asked in stand_in.asked[1:]] == [*["/st"] * 10, "/f"]


def test_what_stays_cut_short_is_told_with_its_length(
    world: World, stand_in: StandIn, say: type[Say]
) -> None:
    stand_in.says_by_name(
        bulk_export=[say({"status": "pending", "status_url": "/st"}, status=202)],
        st=[say(b'{"status": "proc', headers=typed("text/plain"))],
    )
    job = world.call("start_export", "2026-01-01")
    with pytest.raises(errors.ProtocolError, match="16 bytes of text/plain came that are not JSON"):
        world.on(job, "status")


LINES = b'{"event_id": "1"}\n{"event_id": "2"}\n'


@pytest.mark.parametrize(
    ("name", "form", "body"),
    [
        ("download_url", "jsonl", LINES),
        ("download_url", "jsonl", LINES * 50_000),
        ("download_url", "json", LINES),
        ("download_url", "csv", FILE),
        ("download_url", "csv", FILE * 200),
        ("status_url", "jsonl", LINES),
        ("status_url", "jsonl", LINES * 50_000),
        ("status_url", "json", b"[" + b'{"event_id": "1"},' * 99_999 + b"{}]"),
        # A few lines of text may as well be a proxy's.
        ("status_url", "csv", FILE * 200),
    ],
)
def test_a_file_that_is_called_json_is_a_file(
    world: World,
    stand_in: StandIn,
    say: type[Say],
    tmp_path: Path,
    name: str,
    form: str,
    body: bytes,
) -> None:
    stand_in.says_by_name(
        bulk_export=[say({"status": "pending", name: "/f"}, status=202)],
        f=[say(WORKING), say(body, headers=typed("application/json"))],
    )
    world.call("export", "2026-01-01", to=tmp_path / "out", format=form)
    assert (tmp_path / "out").read_bytes() == body
    assert len(stand_in.asked) == 4


def test_answers_line_by_line_are_no_file(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    told = b'{"progress": 10}\n{"progress": 40}\n'
    stand_in.says_by_name(
        bulk_export=[say({"status": "pending", "status_url": "/st"}, status=202)],
        st=[say(told, headers=typed("application/json")), say({"status": "done", "url": "/f"})],
        f=[say(LINES)],
    )
    world.call("export", "2026-01-01", to=tmp_path / "out", format="jsonl")
    assert (tmp_path / "out").read_bytes() == LINES
