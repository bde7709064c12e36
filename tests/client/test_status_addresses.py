"""Whether the credential goes to the address of a status and to where that leads; both worlds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.client.one_export import CSV, FILE, fetch

from adanalytics_client import errors

if TYPE_CHECKING:
    from tests.client.conftest import Asked, Say, StandIn, World


@pytest.mark.parametrize(
    ("name", "refusal", "kept"),
    [("download_url", 401, [True, False, True]), ("url", 400, [True, True, False])],
)
def test_an_address_at_home_is_asked_both_ways(
    world: World,
    stand_in: StandIn,
    say: type[Say],
    name: str,
    refusal: int,
    kept: list[bool],
) -> None:
    """Which address wants the credential and which refuses it cannot be known beforehand."""

    def script(asked: Asked) -> Say:
        if asked.method == "POST":
            return say({"status": "pending", name: "/f.csv"}, status=202)
        wanted = "authorization" in asked.headers
        return say({"status": "running"}) if wanted == (refusal == 401) else say(status=refusal)

    stand_in.script = script
    job = world.call("start_export", "2026-01-01")
    assert world.on(job, "status").word == "running"
    assert ["authorization" in asked.headers for asked in stand_in.asked] == kept


@pytest.mark.parametrize("status", [302, 303, 307])
@pytest.mark.parametrize("name", ["status_url", "url", "download_url"])
def test_an_address_that_wants_the_credential_may_lead_to_one_that_refuses_it(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path, name: str, status: int
) -> None:
    """Once it is done, a job may redirect to its file, which is signed and on the same origin."""
    states = [say({"status": "running"}), say(status=status, headers={"Location": "/f.csv?sig=1"})]

    def script(asked: Asked) -> Say:
        with_it = "authorization" in asked.headers
        if asked.method == "POST":
            return say({"status": "pending", name: "/jobs/1"}, status=202)
        if asked.path == "/f.csv":
            return say(status=400) if with_it else say(FILE, headers=CSV)
        if not with_it:
            return say(status=401)
        return states.pop(0) if len(states) > 1 else states[0]

    stand_in.script = script
    assert fetch(world, tmp_path / "out.csv").read_bytes() == FILE


@pytest.mark.parametrize(("with_it", "kind"), [(400, "InvalidRequest"), (403, "PermissionDenied")])
def test_a_redirect_of_a_status_that_helps_in_no_way_is_an_error(
    world: World, stand_in: StandIn, say: type[Say], with_it: int, kind: str
) -> None:
    def script(asked: Asked) -> Say:
        if asked.method == "POST":
            return say({"status": "pending", "status_url": "/jobs/1"}, status=202)
        if asked.path == "/jobs/1":
            return say(status=302, headers={"Location": "/f.csv"})
        return say(status=with_it)

    stand_in.script = script
    job = world.call("start_export", "2026-01-01")
    with pytest.raises(getattr(errors, kind)):
        world.on(job, "status")
    assert len(stand_in.asked) <= 5
