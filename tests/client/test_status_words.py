"""Status addresses that answer a word, a value or nothing at all; both worlds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.client.one_export import CSV, FILE, fetch

from adanalytics_client import errors

if TYPE_CHECKING:
    from tests.client.conftest import MovedClock, Say, StandIn, World

DONE = {"status": "done", "download_url": "/f.csv"}


@pytest.mark.parametrize("kind", ["", "text/plain", "application/json"])
@pytest.mark.parametrize(
    "body",
    [b"", b"\n", b"null", b"false", b"{}", b"[]", b"processing", b'"not ready"', b"7", b"Busy."],
)
def test_no_word_and_no_value_ends_a_wait(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path, kind: str, body: bytes
) -> None:
    early = say(body, headers={"Content-Type": kind})
    stand_in.says_by_name(
        bulk_export=[say({"status_url": "/st"}, status=202)],
        st=[early, early, early, say(DONE)],
        f_csv=[say(FILE, headers=CSV)],
    )
    assert fetch(world, tmp_path / "out.csv").read_bytes() == FILE
    assert [asked.path for asked in stand_in.asked[1:]] == [*["/st"] * 4, "/f.csv"]


def test_an_empty_file_that_is_called_one_is_one(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    page = say(b"", headers={"Content-Type": "text/html"})
    stand_in.says_by_name(
        bulk_export=[say({"status_url": "/st"}, status=202)], st=[page, say(b"", headers=CSV)]
    )
    assert fetch(world, tmp_path / "out.csv").read_bytes() == b""


@pytest.mark.parametrize("early", [{"status": 204}, {"body": b"null"}, {"body": {}}])
@pytest.mark.parametrize("name", ["status_url", "download_url"])
def test_an_answer_that_says_nothing_leaves_what_is_known(
    world: World,
    stand_in: StandIn,
    say: type[Say],
    clock: MovedClock,
    early: dict[str, Any],
    name: str,
) -> None:
    stand_in.says_by_name(
        bulk_export=[say({"id": "e1", "status": "queued", name: "/st"}, status=202)],
        st=[say(**early, headers={"Retry-After": "30"}), say(**early), say(DONE)],
    )
    job = world.call("start_export", "2026-01-01")
    status = world.on(job, "status")
    assert (status.done, status.word, status.export_id) == (False, "queued", "e1")
    with pytest.raises(errors.ExportTimeout, match="last status is 'queued'; the service says"):
        world.on(job, "wait", timeout=20)
    assert world.on(job, "wait", timeout=60).done
    assert clock.sleeps == [30.0, 1.5]


@pytest.mark.parametrize(
    ("early", "last", "kind"),
    [
        (b"processing", b"done", "text/plain"),
        (b'"IN_PROGRESS"', b'"COMPLETED"', "application/json"),
        (b"Still at it", b"Ready\n", ""),
        (b"false", b"true", "application/json"),
    ],
)
def test_a_bare_word_is_the_status_of_a_file_named_before(
    world: World,
    stand_in: StandIn,
    say: type[Say],
    tmp_path: Path,
    early: bytes,
    last: bytes,
    kind: str,
) -> None:
    answers = [say(each, headers={"Content-Type": kind}) for each in (early, early, last)]
    stand_in.says_by_name(
        bulk_export=[say({"status_url": "/st", "download_url": "/f.csv"}, status=202)],
        st=answers,
        f_csv=[say(FILE, headers=CSV)],
    )
    assert fetch(world, tmp_path / "out.csv").read_bytes() == FILE
    assert len(stand_in.asked) == 5


def test_a_bare_word_may_be_the_end_and_is_redacted(
    world: World, stand_in: StandIn, say: type[Say]
) -> None:
    stand_in.says_by_name(
        bulk_export=[say({"status_url": "/st"}, status=202)],
        st=[say(b"waiting for secret-key"), say(b"failed")],
    )
    job = world.call("start_export", "2026-01-01")
    assert world.on(job, "status").word == "waiting for ***"
    with pytest.raises(errors.ExportFailed, match="its status is 'failed'"):
        world.on(job, "wait", timeout=60)


def test_an_empty_file_is_waited_for_at_its_own_address_only(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    """An export without events may be empty; a status is not."""
    stand_in.says_by_name(
        bulk_export=[say({"download_url": "/f.csv"}, status=202)],
        f_csv=[say(status=204), say(), say(b"", headers=CSV)],
    )
    assert fetch(world, tmp_path / "out.csv").read_bytes() == b""
    assert [asked.path for asked in stand_in.asked[1:]] == ["/f.csv"] * 4
