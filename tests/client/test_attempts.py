"""The loop that asks until an answer is good: its waits, and one deadline for all its repeats."""

import asyncio
import errno
import fcntl
import pickle
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from tests.client.bench import Bench
from tests.client.moved_clock import MovedClock
from tests.client.one_export import CSV, FILE, OneExport
from tests.client.stand_in import Asked, Say, StandIn
from tests.client.variants import OpenVariant, Variant

from adanalytics_client import AsyncExportJob, Client, ExportJob, QuotaPolicy, RetryPolicy, errors
from adanalytics_client._base import locks
from adanalytics_client._base.effects import ResponseHead
from adanalytics_client._exports.transfer import validator_of

DATES = {"dates": ["2026-01-15"]}
DAY = "2026-01-15"


@pytest.mark.parametrize(("timeout", "polls"), [(60, 10), (3600, 70)])
def test_the_pause_of_the_service_is_only_the_shortest(
    bench: Bench, timeout: int, polls: int
) -> None:
    working = Say({"status": "working", "status_url": "/st"}, 202, {"Retry-After": "1"})
    bench.says(working)
    job = bench.call("start_export", DAY)
    with pytest.raises(errors.ExportTimeout):
        bench.on(job, "wait", timeout=timeout)
    assert polls - 3 <= len(bench.asked) - 1 <= polls
    assert max(bench.clock.sleeps) <= 60


def test_a_pause_of_the_service_is_never_cut_short(bench: Bench) -> None:
    working = Say({"status": "working", "status_url": "/st"}, 202, {"Retry-After": "90"})
    bench.says(working, working, Say({"status": "done", "url": "/f.csv"}))
    bench.on(bench.call("start_export", DAY), "wait")
    assert bench.clock.sleeps == [90.0, 90.0]


def test_a_wait_for_quota_postpones_the_deadline(bench: Bench) -> None:
    """Each request here waits an hour for quota, and the budget is ten seconds."""
    bench.says(Say(DATES), Say(status=503), Say(DATES))
    variant = bench.open(
        quota=QuotaPolicy(limit=1, max_wait=10_000), retry=RetryPolicy(attempts=2, budget=10)
    )
    for _ in range(2):
        assert len(variant.call("dates")) == 1
    assert sum(bench.clock.sleeps) > 7000


def test_a_wait_that_the_service_asks_for_postpones_the_deadline(bench: Bench) -> None:
    bench.says(Say(status=429, headers={"Retry-After": "90"}), Say(status=503), Say(DATES))
    variant = bench.open(retry=RetryPolicy(attempts=3, budget=10))
    assert len(variant.call("dates")) == 1
    assert bench.clock.sleeps[0] == 90


def test_a_file_that_waits_for_quota_has_time_left_for_a_retry(export: OneExport) -> None:
    export.says(
        bulk_export=[Say({"download_url": "/api/partners/acme/f.csv"})],
        f_csv=[Say(status=503), Say(FILE, headers=CSV)],
    )
    export.variant = export.open(
        quota=QuotaPolicy(limit=1, max_wait=10_000), retry=RetryPolicy(attempts=2, budget=10)
    )
    assert export.fetch() == FILE
    assert sum(export.clock.sleeps) > 7000


def test_a_file_that_appears_late_has_time_left_for_a_retry(export: OneExport) -> None:
    export.offer(*[Say(status=404)] * 9, Say(status=503), Say(FILE, headers=CSV))
    export.variant = export.open(retry=RetryPolicy(attempts=2, budget=10))
    assert export.fetch() == FILE


@pytest.mark.parametrize(("age", "strong"), [(-1, False), (0, False), (1, True)])
def test_a_date_of_change_is_strong_only_a_second_later(age: int, strong: bool) -> None:
    changed = formatdate(1_800_000_000, usegmt=True)
    sent = formatdate(1_800_000_000 + age, usegmt=True)
    head = ResponseHead(200, {"last-modified": changed, "date": sent})
    assert validator_of(head) == (changed if strong else None)


def test_a_date_to_wait_for_counts_from_the_answer(bench: Bench) -> None:
    dates = {"Date": formatdate(5000, usegmt=True), "Retry-After": formatdate(5040, usegmt=True)}
    bench.says(Say(status=503, headers=dates), Say(DATES))
    bench.call("dates")
    assert bench.clock.sleeps == [40.0]


def test_a_locked_account_is_told_at_once(bench: Bench) -> None:
    bench.says(Say(status=429, headers={"Retry-After": "900"}))
    variant = bench.open(email="ada@example.org", password="correct horse")
    with pytest.raises(errors.RateLimited, match=r"429\), until 20\d\d-.* Try again in 900 s"):
        variant.call("dates")
    assert bench.clock.sleeps == []


def test_a_pause_of_half_a_second_is_not_none(bench: Bench) -> None:
    bench.says(Say(status=429, headers={"Retry-After": "0.5"}))
    variant = bench.open(quota=QuotaPolicy(on_limit="raise"))
    with pytest.raises(errors.RateLimited, match=r"Try again in 1 s"):
        variant.call("dates")


def _two_pages(bench: Bench, clock: MovedClock, down_until: float, status: int = 503) -> None:
    """Answer page 1, then be down until that time, then answer page 2."""

    def script(asked: Asked) -> Say:
        page = int(asked.query["page"])
        if page == 2 and clock.now < down_until:
            return Say(status=status)
        more = {"page": page, "has_more": page == 1, "total": 2}
        return Say({"events": [{"event_id": f"e{page}"}], "pagination": more})

    bench.script = script


@pytest.mark.parametrize("status", [500, 503])
def test_a_pull_with_pages_survives_a_deployment(bench: Bench, status: int) -> None:
    """It tries again soon, and then with the pauses of 30 s that the service publishes."""
    _two_pages(bench, bench.clock, bench.clock.now + 110, status)
    assert len(bench.rows(DAY, split="none")) == 2
    assert bench.clock.sleeps == [0.5, 1, 30, 30, 30, 30]


def test_a_policy_scales_the_pauses_of_a_deployment(bench: Bench) -> None:
    _two_pages(bench, bench.clock, bench.clock.now + 10)
    variant = bench.open(retry=RetryPolicy(attempts=2, longest_wait=4))
    assert len(variant.rows(DAY, split="none")) == 2
    assert bench.clock.sleeps == [0.5, 4, 4, 4]


def test_a_service_that_stays_down_ends_the_pull_with_advice(bench: Bench) -> None:
    started = bench.clock.now
    _two_pages(bench, bench.clock, started + 10_000)
    with pytest.raises(errors.ServerError, match="been down for 120 s") as caught:
        bench.rows(DAY, split="none")
    assert "sync" in caught.value.remedy
    assert 120 <= bench.clock.now - started < 180


def test_a_pull_without_a_page_is_not_patient(bench: Bench) -> None:
    bench.says(Say(status=503))
    with pytest.raises(errors.ServerError):
        bench.rows(DAY, split="none")
    assert len(bench.asked) == 3


def test_an_order_that_never_appeared_is_gone_an_hour_later(bench: Bench) -> None:
    bench.says(
        bulk_export=[Say({"status": "queued", "status_url": "/st"}, 202)], st=[Say(status=404)]
    )
    job = bench.call("start_export", DAY)
    bench.clock.now += 3600
    with pytest.raises(errors.ExportExpired):
        bench.on(job, "wait", timeout=3600)
    assert len(bench.clock.sleeps) == 1


def test_a_file_that_is_not_there_is_told_once(
    export: OneExport, caplog: pytest.LogCaptureFixture
) -> None:
    export.offer(*[Say(status=404)] * 9, Say(FILE, headers=CSV))
    export.fetch()
    assert [each.getMessage()[:26] for each in caplog.records if each.levelname == "WARNING"] == [
        "The file is not ready yet;"
    ]


def test_a_file_system_without_locks_is_told_once(
    export: OneExport, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(_file: Any, _operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    monkeypatch.setattr(locks, "_FOLDERS_WITHOUT_LOCKS", set())
    export.offer(Say(FILE, headers=CSV))
    assert export.fetch() == FILE
    assert [each.name for each in export.folder.iterdir()] == ["out.csv"]
    assert caplog.text.count(f"{export.folder} has no locks") == 1


Silent = Callable[..., "tuple[Variant, list[float]]"]
Work = Callable[[], Any]


SAVED = (
    '{"form": 1, "base_url": "%s", "partner": "acme", "order": {"start_date": "2026-01-01",'
    ' "end_date": "2026-01-01", "format": "csv", "compression": null}, "status": {"phase":'
    ' "working", "status_text": null, "export_id": null, "files": [], "reason": null, "row_count":'
    ' null, "poll_url": "%s/st", "keys": [], "order_repeated": false, "answer": {}}}'
)


def job_of(variant: Variant) -> Any:
    """A job that waits for an export which was ordered elsewhere."""
    base = variant.client.connection.session.config.base.text
    kind = ExportJob if isinstance(variant.client, Client) else AsyncExportJob
    return kind.from_json(variant.client, SAVED % (base, base))


@pytest.fixture
def silent(
    open_variant: OpenVariant, clock: MovedClock, request: pytest.FixtureRequest
) -> Iterator[Silent]:
    """A service that never answers: each try lasts as long as the client lets it."""
    asynchronous = request.node.callspec.params["open_variant"] == "async"
    opened: list[tuple[Variant, Any]] = []

    def open_one(
        *, own: float | None, budget: float, timeout: float | None = None
    ) -> tuple[Variant, list[float]]:
        lasted: list[float] = []

        def wait_out(asked: httpx.Request) -> httpx.Response:
            lasted.append(asked.extensions["timeout"]["read"])
            clock.now += lasted[-1]
            raise httpx.ReadTimeout("nothing came", request=asked)

        transport = httpx.MockTransport(wait_out)
        settings: dict[str, Any] = {"transport": transport, "timeout": own}
        http = httpx.AsyncClient(**settings) if asynchronous else httpx.Client(**settings)
        policy = RetryPolicy(attempts=9, first_wait=1.0, budget=budget)
        opened.append((open_variant(http=http, timeout=timeout, retry=policy), http))
        return opened[-1][0], lasted

    yield open_one
    for variant, http in opened:
        variant.on(http, "aclose" if asynchronous else "close")


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
    variant, seen = silent(own=own, budget=budget)
    with pytest.raises(errors.RequestTimeout):
        variant.call("dates")
    assert seen == lasted
    assert clock.now - began == budget


def test_the_last_wait_of_an_export_is_within_its_timeout(
    silent: Silent, clock: MovedClock
) -> None:
    """Asking for the status may be slow as well; the timeout of the wait holds for all of it."""
    variant, _ = silent(own=60.0, budget=300.0)
    job = job_of(variant)
    began = clock.now
    with pytest.raises(errors.RequestTimeout):
        variant.on(job, "wait", timeout=45)
    assert clock.now - began == 45


TWO_SECONDS = RetryPolicy(budget=2, first_wait=0.1)


def test_no_redirect_is_followed_once_the_budget_is_over(bench: Bench) -> None:
    def slow(asked: Asked) -> Say:
        bench.clock.now += 0.8
        return Say(status=302, headers={"Location": f"{asked.path}a"})

    bench.script = slow
    with pytest.raises(errors.RequestTimeout) as caught:
        bench.open(retry=TWO_SECONDS).call("dates")
    assert "RetryPolicy(budget=2) passed before the request" in str(caught.value)
    assert (len(bench.asked), caught.value.attempts) == (3, 1)


@pytest.mark.parametrize(
    ("login", "sent", "attempts"), [(2.0, ["login"], 0), (0.9, ["login", "dates", "login"], 1)]
)
def test_a_login_counts_and_its_request_is_not_sent_too_late(
    bench: Bench, login: float, sent: list[str], attempts: int
) -> None:
    def slow(asked: Asked) -> Say:
        if asked.path == "/api/auth/login":
            bench.clock.now += login
            return Say({"token": "t1"})
        bench.clock.now += 0.5
        return Say({"error": "Unauthorized"}, status=401)

    bench.script = slow
    variant = bench.open(email="a@b.example", password="pass-word", retry=TWO_SECONDS)
    with pytest.raises(errors.RequestTimeout, match=r"RetryPolicy\(budget=2\) passed") as caught:
        variant.call("dates")
    assert caught.value.attempts == attempts
    assert [asked.path.rpartition("/")[2] for asked in bench.asked] == sent
    assert variant.client.quota.remaining == 1000 - sent.count("dates")


def test_what_is_sent_in_time_has_a_second(bench: Bench) -> None:
    """An answer that comes then is taken, and not thrown away for being a little late."""

    def slow(asked: Asked) -> Say:
        first = len(bench.asked) == 1
        bench.clock.now += 1.9 if first else 0.5
        return Say(status=302, headers={"Location": f"{asked.path}a"}) if first else Say(DATES)

    bench.script = slow
    assert len(bench.open(retry=TWO_SECONDS).call("dates")) == 1


@pytest.mark.parametrize(
    ("own", "budget", "told"),
    [
        (None, 20.0, "within RetryPolicy(budget=20). Try later, or allow more time."),
        (9.0, 9.5, "within timeout=9. RetryPolicy(budget=9.5) leaves no"),
    ],
)
def test_the_setting_that_ended_it_is_told(
    silent: Silent, own: float | None, budget: float, told: str
) -> None:
    variant, _ = silent(own=None, budget=budget, timeout=own)
    with pytest.raises(errors.RequestTimeout) as caught:
        variant.call("dates")
    assert told in str(caught.value)


def test_a_wait_that_the_service_asks_for_is_told(bench: Bench) -> None:
    bench.clock.now = 1_768_478_400.0
    bench.says(Say(status=503, headers={"Retry-After": "30"}))
    with pytest.raises(errors.ServerError) as caught:
        bench.open(retry=TWO_SECONDS).call("dates")
    told = (
        "The service asks to wait 30 s, until 2026-01-15 12:00:30 UTC; "
        "RetryPolicy(budget=2) leaves less."
    )
    assert told in str(caught.value)
    assert pickle.loads(pickle.dumps(caught.value)).args == (caught.value.message,)


def one_amid_another(
    variant: Variant, stand_in: StandIn, outer: Work, inner: Work, held: threading.Event
) -> tuple[object, object]:
    """What comes of work while the login of other work is held, and of that; errors as values."""

    def with_threads() -> tuple[object, object]:
        with ThreadPoolExecutor() as pool:
            begun = pool.submit(outer)
            assert stand_in.reached.wait(20)
            done = pool.submit(inner)
            found = done.exception() or done.result()
            held.set()
            return found, begun.exception() or begun.result()

    async def with_tasks() -> tuple[object, object]:
        begun = asyncio.create_task(outer())
        assert await asyncio.to_thread(stand_in.reached.wait, 20)
        found = await asyncio.gather(inner(), return_exceptions=True)
        held.set()
        return found[0], (await asyncio.gather(begun, return_exceptions=True))[0]

    both = with_threads if isinstance(variant.client, Client) else with_tasks
    done: tuple[object, object] = variant.on(SimpleNamespace(both=both), "both")
    return done


def test_a_wait_does_not_outlast_its_timeout_for_the_login_of_another(bench: Bench) -> None:
    """The login of the other then ends as it would have, and is its own business."""
    held = threading.Event()
    bench.says(login=[Say({"token": "t1"}, gate=held)], dates=[Say(DATES)])
    variant = bench.open(email="a@b.example", password="pass-word")
    job = job_of(variant)
    found, dates = one_amid_another(
        variant, bench.stand_in, variant.client.dates, lambda: job.wait(timeout=0.2), held
    )
    assert isinstance(found, errors.RequestTimeout)
    assert "another call started did not finish within wait(timeout=0.2)" in found.message
    assert isinstance(dates, list)


def test_a_login_that_lacked_time_fails_for_nobody_else(bench: Bench) -> None:
    held = threading.Event()
    bench.says(login=[Say(gate=held), Say({"token": "t1"})], dates=[Say(DATES)])
    variant = bench.open(email="a@b.example", password="pass-word", retry=RetryPolicy(attempts=1))
    job = job_of(variant)
    dates, waited = one_amid_another(
        variant, bench.stand_in, lambda: job.wait(timeout=0.2), variant.client.dates, held
    )
    assert isinstance(dates, list)
    assert isinstance(waited, errors.RequestTimeout)
    assert [asked.path for asked in bench.asked].count("/api/auth/login") == 2
