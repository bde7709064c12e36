"""Orders on the driver: what a plan that fails keeps for the next one, and what its log says."""

import logging
import os
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from tests.spark.in_process import FIRST, SECOND, as_spark_passes, asked

from adanalytics_client import ExportExpired, ExportFailed, ExportTimeout, ServerError, WaitStarted
from adanalytics_client._base.clock import SystemClock
from adanalytics_client.spark import AdAnalyticsDataSource
from adanalytics_client.spark.orders import WaitLog
from adanalytics_server.local import LocalServer, Sample


@pytest.fixture(scope="module")
def slow_server() -> Iterator[LocalServer]:
    """Two days, whose exports a worker makes after the answer to their order."""
    sample = Sample(start=FIRST, days=2, events_per_day=300, seed=7)
    with LocalServer(sample=sample, export_inline_max=0) as running:
        yield running


@pytest.fixture(autouse=True)
def service(
    slow_server: LocalServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[LocalServer]:
    monkeypatch.setenv("ADANALYTICS_BASE_URL", slow_server.url)
    monkeypatch.setenv("ADANALYTICS_API_KEY", slow_server.api_key)
    monkeypatch.setenv("ADANALYTICS_PARTNER", slow_server.partner)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    # A wait takes no time.
    monkeypatch.setattr(SystemClock, "sleeping", lambda *_: 0.0)
    yield slow_server
    slow_server.reset()


def plan(**options: object) -> int:
    """Plan a read of both days, and return the number of its partitions."""
    source = AdAnalyticsDataSource(as_spark_passes({"start": FIRST, "end": SECOND} | options))
    return len(source.reader(source.schema()).partitions())


def orders_of(service: LocalServer) -> int:
    orders = asked(service).count("start_export")
    service.journal.clear()
    return orders


def test_a_damaged_order_is_ordered_anew(service: LocalServer, tmp_path: Path) -> None:
    with pytest.raises(ExportTimeout):
        plan(timeout=0)
    kept = list((tmp_path / "adanalytics/orders").iterdir())
    assert len(kept) == orders_of(service) == 2
    for each in kept:
        each.write_bytes(b"\xff\xfe")
    assert plan() == 2
    assert orders_of(service) == 2


@pytest.mark.parametrize(
    ("fault", "options", "error", "anew"),
    [
        ("failed export once", {}, ExportFailed, 1),
        ("failed export", {}, ExportFailed, 2),
        ("latency 1ms", {"timeout": 0}, ExportTimeout, 0),
        ("503 on export_status", {"timeout": 1}, ServerError, 0),
    ],
    ids=["one failed", "all failed", "slow", "an outage"],
)
def test_a_plan_repeats_only_the_orders_that_failed(
    service: LocalServer, fault: str, options: dict[str, object], error: type[Exception], anew: int
) -> None:
    service.faults.add(fault)
    with pytest.raises(error) as caught:
        plan(**options)
    assert caught.value.__notes__ == [f"While exporting {FIRST}."]
    assert orders_of(service) == 2
    service.faults.clear()
    assert plan() == 2
    assert orders_of(service) == anew


def test_a_kept_order_that_is_lost_is_ordered_anew_by_the_next_plan(service: LocalServer) -> None:
    with pytest.raises(ExportTimeout):
        plan(timeout=0)
    service.faults.add("410 on export_status once")
    with pytest.raises(ExportExpired):
        plan()
    service.journal.clear()
    assert plan() == 2
    assert orders_of(service) == 1


def test_a_plan_after_one_that_succeeded_orders_anew(service: LocalServer, tmp_path: Path) -> None:
    for _ in range(2):
        assert plan() == 2
        assert orders_of(service) == 2
    assert [*tmp_path.glob("adanalytics/orders/*")] == []


def test_an_old_order_is_not_taken_up(service: LocalServer, tmp_path: Path) -> None:
    with pytest.raises(ExportTimeout):
        plan(timeout=0)
    for path in tmp_path.glob("adanalytics/orders/*.json"):
        assert path.stat().st_mode & 0o077 == 0
        made = path.stat().st_mtime - 3600 - 3600 - 1
        os.utime(path, (made, made))
    service.journal.clear()
    assert plan() == 2
    assert orders_of(service) == 2


@pytest.mark.parametrize("home", [True, False])
def test_a_plan_without_a_place_for_its_orders_is_made(
    service: LocalServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, home: bool
) -> None:
    def unknown() -> Path:
        raise RuntimeError

    (tmp_path / "adanalytics").mkdir()
    (tmp_path / "adanalytics/orders").write_text("")
    if not home:
        monkeypatch.delenv("XDG_STATE_HOME")
        monkeypatch.setattr(Path, "home", unknown)
    assert plan() == 2


def test_long_waits_are_in_the_log_of_the_driver(caplog: pytest.LogCaptureFixture) -> None:
    seconds = iter([100.0, 134.0])
    waits = WaitLog(lambda: next(seconds))
    waits.begin(date(2026, 1, 15))
    for reason, pause in [
        ("export processing", 3.4),
        ("export processing", 7.6),
        ("the quota is used up", 60.0),
    ]:
        waits.wait(WaitStarted(reason, pause, datetime(2026, 1, 15, tzinfo=UTC)))
    assert caplog.record_tuples == [
        (
            "adanalytics_client",
            logging.WARNING,
            "Export of 2026-01-15 processing on the server, 0:34 so far",
        )
    ]
