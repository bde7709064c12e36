"""What a service repeats of the credential is shown nowhere, in both worlds."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest

from adanalytics_client import Observer, errors

if TYPE_CHECKING:
    from tests.client.conftest import OpenWorld, Say, StandIn

KEY = "aak_S3CRET-key"
DATES = {"dates": ["2026-01-15"]}


class Notes(Observer):
    """Keeps all that an observer is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def due(self, info: Any) -> None:
        self.told.append(info)

    request = retry = due


def test_a_request_id_that_echoes_it(
    open_world: OpenWorld, stand_in: StandIn, say: type[Say]
) -> None:
    notes = Notes()
    stand_in.says(say(DATES, headers={"X-Request-Id": f"Bearer {KEY}"}))
    open_world(api_key=KEY, observer=notes).call("dates")
    assert notes.told[-1].request_id == "Bearer ***"


def test_a_redirect_that_echoes_it_in_its_path(
    open_world: OpenWorld,
    stand_in: StandIn,
    say: type[Say],
    caplog: pytest.LogCaptureFixture,
) -> None:
    notes = Notes()
    moved = say(status=307, headers={"Location": f"/{KEY}/dates"})
    stand_in.says(moved, say(status=503), moved, say(DATES))
    with caplog.at_level(logging.DEBUG):
        assert len(open_world(api_key=KEY, observer=notes).call("dates")) == 1
    assert stand_in.asked[-1].target == f"/{KEY}/dates"
    assert "/***/dates" in caplog.text
    assert KEY not in f"{notes.told}{caplog.text}"


def test_a_content_encoding_that_echoes_it(
    open_world: OpenWorld, stand_in: StandIn, say: type[Say]
) -> None:
    stand_in.says(say(DATES, headers={"Content-Encoding": KEY}))
    with pytest.raises(errors.ProtocolError, match=r"\*\*\*") as caught:
        open_world(api_key=KEY).call("dates")
    assert "s3cret" not in str(caught.value).lower()


def test_an_export_that_echoes_it(open_world: OpenWorld, stand_in: StandIn, say: type[Say]) -> None:
    file = {"url": "/f.csv", "name": f"{KEY}.csv"}
    stand_in.says(say({"export_id": KEY, "status": KEY, "files": [file], KEY: 1}))
    job = open_world(api_key=KEY).call("start_export", "2026-01-15")
    assert job.export_id == job.last_status.word == "***"
    assert KEY not in repr(job)
    assert KEY not in repr(job.last_status.files)


def test_a_text_that_cannot_be_encoded(
    open_world: OpenWorld, stand_in: StandIn, say: type[Say]
) -> None:
    """JSON may hold half a surrogate pair; a log or a terminal may not."""
    world = open_world()
    stand_in.says(say({"error": "no \ud800 here"}, status=400))
    with pytest.raises(errors.InvalidRequest) as caught:
        world.call("dates")
    assert r"no \ud800 here" in str(caught.value).encode().decode()
    assert caught.value.reason == r"no \ud800 here"
    stand_in.says(say({"status": "failed", "error": "\ud800"}))
    with pytest.raises(errors.ExportFailed) as failed:
        world.on(world.call("start_export", "2026-01-15"), "wait")
    assert str(failed.value).encode()
