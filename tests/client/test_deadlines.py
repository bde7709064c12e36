"""One deadline for a request with all its repeats, whatever the timeouts of its steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from adanalytics_client import AsyncExportJob, Client, ExportJob, RetryPolicy, errors

if TYPE_CHECKING:
    from tests.client.conftest import MovedClock, OpenWorld, World

Silent = Callable[..., "tuple[World, list[float]]"]


@pytest.fixture
def silent(
    open_world: OpenWorld, clock: MovedClock, request: pytest.FixtureRequest
) -> Iterator[Silent]:
    """A service that never answers: each try lasts as long as the client lets it."""
    asynchronous = request.node.callspec.params["open_world"] == "async"
    lent: list[tuple[World, Any]] = []

    def open_one(*, own: float | None, budget: float) -> tuple[World, list[float]]:
        lasted: list[float] = []

        def wait_out(asked: httpx.Request) -> httpx.Response:
            lasted.append(asked.extensions["timeout"]["read"])
            clock.now += lasted[-1]
            raise httpx.ReadTimeout("nothing came", request=asked)

        transport = httpx.MockTransport(wait_out)
        settings: dict[str, Any] = {"transport": transport, "timeout": own}
        http = httpx.AsyncClient(**settings) if asynchronous else httpx.Client(**settings)
        policy = RetryPolicy(attempts=9, first_wait=1.0, budget=budget)
        lent.append((open_world(http=http, timeout=None, retry=policy), http))
        return lent[-1][0], lasted

    yield open_one
    for world, http in lent:
        world.on(http, "aclose" if asynchronous else "close")


@pytest.mark.parametrize(
    ("own", "budget", "lasted"),
    [
        (60.0, 100.0, [60.0, 39.0]),
        (60.0, 20.0, [20.0]),
        (None, 30.0, [30.0]),
        (10.0, 40.0, [10.0, 10.0, 10.0, 3.0]),
    ],
)
def test_timeouts_do_not_multiply(
    silent: Silent, clock: MovedClock, own: float | None, budget: float, lasted: list[float]
) -> None:
    began = clock.now
    world, seen = silent(own=own, budget=budget)
    with pytest.raises(errors.RequestTimeout):
        world.call("dates")
    assert seen == lasted
    assert clock.now - began == budget


def test_the_last_wait_of_an_export_is_within_its_timeout(
    silent: Silent, clock: MovedClock
) -> None:
    """Asking for the status may be slow as well; the timeout of the wait holds for all of it."""
    world, _ = silent(own=60.0, budget=300.0)
    saved = (
        '{"form": 1, "base_url": "%s", "partner": "acme", "order": {"start_date": "2026-01-01",'
        ' "end_date": "2026-01-01", "format": "csv", "compression": null}, "status": {"phase":'
        ' "working", "word": null, "export_id": null, "files": [], "reason": null, "row_count":'
        ' null, "poll_url": "%s/st", "keys": [], "repeats": false, "answer": {}}}'
    )
    base = world.client._session.config.base.text
    kind = ExportJob if isinstance(world.client, Client) else AsyncExportJob
    job = kind.from_json(world.client, saved % (base, base))
    began = clock.now
    with pytest.raises(errors.RequestTimeout):
        world.on(job, "wait", timeout=45)
    assert clock.now - began == 45
