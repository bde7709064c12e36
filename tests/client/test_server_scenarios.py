"""All that the reference server does, right or wrong, through both clients alike."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.client.test_golden import DIALECTS as RECORDED
from tests.client.variants import Variant

from adanalytics_client import AsyncClient, Client, QuotaPolicy, RetryPolicy, errors
from adanalytics_client.testing import MovableClock
from adanalytics_server.faults import EFFECTS, SHAPES, Fault, dialect_of, parse_fault
from adanalytics_server.local import LocalServer, Sample

FIRST, LAST = "2026-01-15", "2026-01-16"


def test_a_summary_is_the_arithmetic_over_its_events(reference_variant: Variant) -> None:
    events = [each for each in reference_variant.events(FIRST, LAST) if not each.is_filtered]
    total = reference_variant.call("summary", FIRST, LAST).rows[0]
    assert total.revenue == sum((each.revenue for each in events), Decimal(0))
    assert total.impressions == sum(each.event_type == "impression" for each in events)
    assert str(total.ecpm) == f"{total.revenue * 1000 / total.impressions:.6f}"
    grouped = reference_variant.call("summary", FIRST, LAST, group_by="campaign")
    assert grouped.totals == total
    assert sum(row.clicks for row in grouped.rows) == total.clicks
    assert grouped.currency == "USD"


def test_a_csv_of_events_is_the_bulk_export_byte_for_byte(
    reference_variant: Variant, tmp_path: Path
) -> None:
    query = reference_variant.client.events(FIRST, LAST)
    assert reference_variant.on(query, "write", tmp_path / "events.csv") == 3000
    reference_variant.call("export", FIRST, LAST, to=tmp_path / "export.csv", timeout=60)
    assert (tmp_path / "events.csv").read_bytes() == (tmp_path / "export.csv").read_bytes()


def test_a_model_gives_back_what_was_sent(reference_variant: Variant) -> None:
    rows = reference_variant.rows(FIRST, hour=12)
    events = reference_variant.events(FIRST, hour=12)
    assert [event.model_dump(mode="json") for event in events] == rows
    assert len(rows) > 0


def test_a_login_works_like_a_key(reference: LocalServer) -> None:
    with Client(
        reference.url, email=reference.email, password=reference.password, partner="acme"
    ) as client:
        assert len(client.dates()) == 2
    with (
        Client(reference.url, email=reference.email, password="wrong", partner="acme") as client,
        pytest.raises(errors.AuthenticationError),
    ):
        client.dates()


def test_errors_of_the_real_server(reference: LocalServer) -> None:
    with (
        Client(reference.url, api_key="aak_wrong", partner="acme") as client,
        pytest.raises(errors.AuthenticationError, match="Unauthorized") as caught,
    ):
        client.dates()
    assert caught.value.request_id
    with (
        Client(reference.url, api_key=reference.api_key, partner="nobody") as client,
        pytest.raises(errors.NotFound),
    ):
        client.dates()


def test_the_quota_follows_the_server() -> None:
    with (
        LocalServer(dialect="rate-headers") as server,
        Client(
            server.url, api_key=server.api_key, partner="acme", quota=QuotaPolicy(limit=9000)
        ) as client,
    ):
        client.dates()
        first = client.quota.remaining
        client.dates()
        assert first is not None
        assert first < 5000
        assert client.quota.remaining == first - 1


ENDLESS = """
import time

def test_endless(tmp_path):
    from adanalytics_server.local import LocalServer

    with LocalServer():
        open("ready", "w").close()
        time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_run_of_tests_that_is_ended_leaves_no_server(tmp_path: Path, number: int) -> None:
    (tmp_path / "test_endless.py").write_text(ENDLESS)
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "--rootdir=.", "-c/dev/null"]
    environment = os.environ | {
        "TMPDIR": str(tmp_path),
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # schemathesis alone takes a second
    }
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL
    ) as running:
        try:
            while not (tmp_path / "ready").exists():
                assert running.poll() is None
                time.sleep(0.1)
            assert [*tmp_path.glob("adanalytics-*")]
            running.send_signal(number)
            assert running.wait(timeout=60) == pytest.ExitCode.INTERRUPTED
        finally:
            running.kill()
    assert [*tmp_path.glob("adanalytics-*")] == []


SAMPLE = Sample(days=2, events_per_day=60, seed=7)
PATIENT = RetryPolicy(attempts=3)
# A moved clock passes a minute in some ten questions, in which a busy machine makes no export.
LONG = 3600.0
# Nothing is made of a stuck export, however long one waits: ten questions are enough.
SHORT = 60.0

Outcome = Any
Told = list[tuple[str | None, dict[str, str], int | None]]


def options(server: LocalServer, clock: MovableClock) -> dict[str, Any]:
    return {
        "api_key": server.api_key,
        "partner": server.partner,
        "quota": QuotaPolicy(limit=None, log="memory"),
        "retry": PATIENT,
        "clock": clock,
    }


def shown(rows: list[Any]) -> list[str]:
    return [row["event_id"] for row in rows]


def scenario(
    server: LocalServer, clock: MovableClock, folder: Path, waiting: float
) -> dict[str, Outcome]:
    """What each thing that one can ask for gives, or the type of its error."""
    with Client(server.url, **options(server, clock)) as client:
        paged: dict[str, Any] = {"split": "daily", "per_page": 25, "concurrency": 1}
        return {
            "dates": _tried(client.dates),
            "rows": _tried(lambda: shown(list(client.events(FIRST, LAST, **paged).rows()))),
            "models": _tried(lambda: shown(list(client.events(FIRST, hour=12)))),
            "summary": _tried(lambda: client.summary(FIRST, LAST, group_by="day").rows),
            "export": _tried(
                lambda: client.export(
                    FIRST, LAST, to=folder / "x.csv", timeout=waiting
                ).read_bytes()
            ),
        }


async def scenario_async(
    server: LocalServer, clock: MovableClock, folder: Path, waiting: float
) -> dict[str, Outcome]:
    """The same through `AsyncClient`."""
    async with AsyncClient(server.url, **options(server, clock)) as client:
        paged: dict[str, Any] = {"split": "daily", "per_page": 25, "concurrency": 1}

        async def rows() -> list[str]:
            return shown([row async for row in client.events(FIRST, LAST, **paged).rows()])

        async def models() -> list[str]:
            return shown([event async for event in client.events(FIRST, hour=12)])

        async def summary() -> list[Any]:
            return (await client.summary(FIRST, LAST, group_by="day")).rows

        async def export() -> bytes:
            return (
                await client.export(FIRST, LAST, to=folder / "x.csv", timeout=waiting)
            ).read_bytes()

        return {
            "dates": await _tried_async(client.dates),
            "rows": await _tried_async(rows),
            "models": await _tried_async(models),
            "summary": await _tried_async(summary),
            "export": await _tried_async(export),
        }


def _tried(work: Any) -> Outcome:
    try:
        return work()
    except errors.AdAnalyticsError as error:
        return type(error)


async def _tried_async(work: Any) -> Outcome:
    try:
        return await work()
    except errors.AdAnalyticsError as error:
        return type(error)


def both(
    server: LocalServer, clock: MovableClock, folder: Path, *, timeout: float = LONG
) -> tuple[dict[str, Outcome], Told]:
    """Run the scenario in both variants, see that they agree, and give what came and was asked."""
    found: list[tuple[dict[str, Outcome], Told]] = []
    for variant in ("sync", "async"):
        server.reset()
        place = folder / variant
        place.mkdir()
        if variant == "sync":
            came = scenario(server, clock, place, timeout)
        else:
            came = asyncio.run(scenario_async(server, clock, place, timeout))
        found.append((came, _told(server)))
    assert found[0] == found[1]
    return found[0]


def _told(server: LocalServer) -> Told:
    """What was asked, without what depends on the pace of the worker that makes exports."""
    told = [
        (entry.operation, dict(entry.query), entry.status) for entry in server.journal.entries()
    ]
    return [each for each in told if each[0] not in {"export_status", "download"}]


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    """What the server gives when nothing is in the way."""
    clock = MovableClock()
    with LocalServer(sample=SAMPLE, export_inline_max=50, clock=clock.of_server) as server:
        came, told = both(server, clock, tmp_path_factory.mktemp("right"))
    assert len(set(came["rows"])) == 120
    assert came["export"].count(b"\r\n") == 121
    # Three pages a day, one of the hour, and two counts: of the export, and of the days, because
    # both state the same total.
    assert len([each for each in told if each[0] == "events"]) == 9
    return came


# Of an export that is known by its id only, the journal has other requests.
@pytest.mark.parametrize("dialect", sorted({*SHAPES} - {*RECORDED, "export-job"}))
def test_every_shape_that_has_no_golden_run(
    dialect: str, right: dict[str, Outcome], tmp_path: Path
) -> None:
    clock = MovableClock()
    with LocalServer(
        sample=SAMPLE, dialect=dialect, export_inline_max=50, clock=clock.of_server
    ) as server:
        came, told = both(server, clock, tmp_path)
    assert came == right
    # Without a total the one page of the hour might be the first of several, which is one page
    # more; the hour has a count of its own, and those of the days and of the export look for two
    # places each.
    silent = "total" not in dialect_of(dialect).metadata
    assert len([each for each in told if each[0] == "events"]) == (15 if silent else 9)


# What becomes of the scenario; what is not named is as it should be.
EVENTS = ("rows", "models")
# A count that drifts with the pages is another one than the events of the export's file.
DRIFTED = (errors.ProtocolError, errors.DownloadError)
Errors = type[Exception] | tuple[type[Exception], ...] | None
FAULTS: list[tuple[str, tuple[str, ...], Errors]] = [
    ("503 once per request on GET", (), None),
    ("503 once on start_export", ("export",), errors.ServerError),
    ("429 retry-after 5 once per hour", (), None),
    ("500 on events", EVENTS, errors.ServerError),
    ("400 on events", EVENTS, errors.InvalidRequest),
    ("latency 5ms on events", (), None),
    ("slow body 20ms on events", (), None),
    ("reset once per request on GET", (), None),
    ("reset on events", EVENTS, errors.TransportError),
    ("empty reply once per request on GET", (), None),
    ("empty reply on events", EVENTS, errors.TransportError),
    ("truncated body once per request on GET", (), None),
    ("truncated body on events", EVENTS, errors.TransportError),
    ("truncated gzip once per request on GET", (), None),
    ("truncated gzip on events", EVENTS, errors.TransportError),
    ("bad json once per request on events", (), None),
    ("bad json on events", EVENTS, errors.ProtocolError),
    ("wrong content type on events", (), None),
    ("html page once per request on GET", (), None),
    ("html page on events", EVENTS, errors.ProtocolError),
    ("page drift 3", (*EVENTS, "export"), DRIFTED),
    ("page drift 3 once on events after 1", ("rows",), None),
    ("204 once on events after 1", (), None),
    ("stuck export", ("export",), errors.ExportTimeout),
    ("failed export", ("export",), errors.ExportFailed),
    ("expired url", ("export",), errors.ExportExpired),
]


@pytest.fixture(scope="module")
def faulty() -> Iterator[tuple[LocalServer, MovableClock]]:
    clock = MovableClock()
    with LocalServer(sample=SAMPLE, export_inline_max=50, clock=clock.of_server) as server:
        yield server, clock


@pytest.mark.parametrize(("text", "touched", "error"), FAULTS, ids=[each[0] for each in FAULTS])
def test_every_fault(
    faulty: tuple[LocalServer, MovableClock],
    right: dict[str, Outcome],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    touched: tuple[str, ...],
    error: Errors,
) -> None:
    server, clock = faulty
    reset = server.reset

    def reset_and_arm() -> None:
        reset()
        server.faults.add(text)

    monkeypatch.setattr(server, "reset", reset_and_arm)
    came, _ = both(server, clock, tmp_path, timeout=SHORT if text == "stuck export" else LONG)
    assert any(each.struck for each in server.faults.counts())
    for name, outcome in came.items():
        if name not in touched:
            assert outcome == right[name], name
        elif error is not None:
            assert issubclass(outcome, error), name
        else:
            # What was missing comes at the end of its slice.
            assert outcome != right[name]
            assert sorted(outcome) == sorted(right[name])


def test_no_effect_is_forgotten() -> None:
    faults: list[Fault] = [parse_fault(text) for text, _, _ in FAULTS]
    assert {each.effect for each in faults} == set(EFFECTS)
