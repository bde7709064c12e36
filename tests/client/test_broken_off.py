"""A download that breaks off in the middle, after which the service fails in some other way."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest
from tests.client.one_export import CSV, FILE

from adanalytics_client import errors

if TYPE_CHECKING:
    from pathlib import Path

    from tests.client.conftest import Asked, OpenWorld, Say, StandIn, World

KEEPING = {**CSV, "ETag": '"v1"'}


def _breaks_off(
    stand_in: StandIn, say: type[Say], then: dict[str, Any], headers: dict[str, str]
) -> None:
    stand_in.says_by_name(
        bulk_export=[say({"id": "e1", "url": "/f.csv?sig=s3cret"})],
        f_csv=[say(FILE, headers=headers, cut=100), say(**then)],
    )


ENDS: list[tuple[dict[str, Any], type[errors.AdAnalyticsError], str]] = [
    ({"status": 503, "body": {"error": "busy"}}, errors.ServerError, "failed (503: busy)"),
    ({"status": 404}, errors.NotFound, "not found (404)"),
    ({"status": 429, "headers": {"Retry-After": "9999"}}, errors.RateLimited, "limits the rate"),
]


@pytest.mark.parametrize(("then", "kind", "told"), ENDS)
def test_what_is_kept_is_told_whatever_ended_the_download(
    open_world: OpenWorld,
    stand_in: StandIn,
    say: type[Say],
    tmp_path: Path,
    then: dict[str, Any],
    kind: type[errors.AdAnalyticsError],
    told: str,
) -> None:
    _breaks_off(stand_in, say, then, KEEPING)
    part = tmp_path / "out.csv.part"
    with pytest.raises(errors.DownloadError) as caught:
        open_world().call("export", "2026-01-01", to=tmp_path / "out.csv")
    error = caught.value
    assert (error.part, part.stat().st_size) == (str(part), 100)
    assert isinstance(error.__cause__, kind)
    assert "broke off after 100 bytes" in str(error)
    assert told in str(error)
    assert f"kept in {part}, and the same call goes on from there" in str(error)
    assert "s3cret" not in str(error)
    # Nothing arrives this time, and what is there stays.
    with pytest.raises(errors.DownloadError) as caught:
        open_world().call("export", "2026-01-01", to=tmp_path / "out.csv")
    assert (caught.value.part, part.stat().st_size) == (str(part), 100)


@pytest.mark.parametrize("ending", ["hangs", "is gone"])
def test_a_service_that_does_not_answer_any_more(
    open_world: OpenWorld,
    stand_in: StandIn,
    other_origin: StandIn,
    say: type[Say],
    tmp_path: Path,
    ending: str,
) -> None:
    stand_in.says(say({"id": "e1", "url": f"{other_origin.url}/f.csv"}))
    gate = threading.Event()
    waits = [say(FILE, headers=KEEPING, cut=100)]

    def script(_: Asked) -> Say:
        if waits:
            return waits.pop()
        return say(FILE, gate=gate) if ending == "hangs" else say(hang_up=True)

    other_origin.script = script
    try:
        with pytest.raises(errors.DownloadError) as caught:
            open_world(timeout=0.2).call("export", "2026-01-01", to=tmp_path / "out.csv")
    finally:
        gate.set()
    assert caught.value.part == str(tmp_path / "out.csv.part")


def test_an_error_that_the_caller_asked_for_stays_itself(
    open_world: OpenWorld, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    _breaks_off(stand_in, say, ENDS[2][0], KEEPING)
    with pytest.raises(errors.RateLimited) as caught:
        open_world(on_limit="raise").call("export", "2026-01-01", to=tmp_path / "out.csv")
    assert caught.value.retry_after == 9999
    assert (tmp_path / "out.csv.part").stat().st_size == 100


@pytest.mark.parametrize(("then", "kind", "told"), ENDS)
def test_where_nothing_is_kept_the_error_is_the_services(
    world: World,
    stand_in: StandIn,
    say: type[Say],
    tmp_path: Path,
    then: dict[str, Any],
    kind: type[errors.AdAnalyticsError],
    told: str,
) -> None:
    _breaks_off(stand_in, say, then, {"Content-Type": "text/csv"})
    with pytest.raises(kind) as caught:
        world.call("export", "2026-01-01", to=tmp_path / "out.csv")
    assert told in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_whole_is_kept_when_the_next_one_fails(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    stand_in.says_by_name(
        bulk_export=[say({"id": "e1", "files": ["/a.csv", "/b.csv"]})],
        a_csv=[say(FILE, headers=KEEPING)],
        b_csv=[say(status=503)],
    )
    with pytest.raises(errors.DownloadError, match="after 10005 bytes") as caught:
        world.call("export", "2026-01-01", to=tmp_path)
    assert caught.value.part == str(tmp_path / "a.csv.part")
