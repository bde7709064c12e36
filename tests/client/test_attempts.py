"""The loop that asks until an answer is good: how long it waits, for what, and for what not."""

import errno
import fcntl
from email.utils import formatdate
from typing import Any

import pytest
from tests.client.moved_clock import MovedClock
from tests.client.one_export import CSV, FILE, OneExport
from tests.client.stand_in import Asked, Say, StandIn
from tests.client.variants import OpenVariant, Variant

from adanalytics_client import QuotaPolicy, RetryPolicy, errors
from adanalytics_client._base import locks
from adanalytics_client._base.effects import ResponseHead
from adanalytics_client._exports.transfer import validator_of

DATES = {"dates": ["2026-01-15"]}
DAY = "2026-01-15"


@pytest.mark.parametrize(("timeout", "polls"), [(60, 10), (3600, 70)])
def test_the_pause_of_the_service_is_only_the_shortest(
    variant: Variant, stand_in: StandIn, clock: MovedClock, timeout: int, polls: int
) -> None:
    working = Say({"status": "working", "status_url": "/st"}, 202, {"Retry-After": "1"})
    stand_in.says(working)
    job = variant.call("start_export", DAY)
    with pytest.raises(errors.ExportTimeout):
        variant.on(job, "wait", timeout=timeout)
    assert polls - 3 <= len(stand_in.asked) - 1 <= polls
    assert max(clock.sleeps) <= 60


def test_a_pause_of_the_service_is_never_cut_short(
    variant: Variant, stand_in: StandIn, clock: MovedClock
) -> None:
    working = Say({"status": "working", "status_url": "/st"}, 202, {"Retry-After": "90"})
    stand_in.says(working, working, Say({"status": "done", "url": "/f.csv"}))
    variant.on(variant.call("start_export", DAY), "wait")
    assert clock.sleeps == [90.0, 90.0]


def test_a_wait_for_quota_postpones_the_deadline(
    open_variant: OpenVariant, stand_in: StandIn, clock: MovedClock
) -> None:
    """Each request here waits an hour for quota, and the budget is ten seconds."""
    stand_in.says(Say(DATES), Say(status=503), Say(DATES))
    variant = open_variant(
        quota=QuotaPolicy(limit=1, max_wait=10_000), retry=RetryPolicy(attempts=2, budget=10)
    )
    for _ in range(2):
        assert len(variant.call("dates")) == 1
    assert sum(clock.sleeps) > 7000


def test_a_wait_that_the_service_asks_for_postpones_the_deadline(
    open_variant: OpenVariant, stand_in: StandIn, clock: MovedClock
) -> None:
    stand_in.says(Say(status=429, headers={"Retry-After": "90"}), Say(status=503), Say(DATES))
    variant = open_variant(retry=RetryPolicy(attempts=3, budget=10))
    assert len(variant.call("dates")) == 1
    assert clock.sleeps[0] == 90


def test_a_file_that_waits_for_quota_has_time_left_for_a_retry(
    export: OneExport, clock: MovedClock
) -> None:
    export.says(
        bulk_export=[Say({"download_url": "/api/partners/acme/f.csv"})],
        f_csv=[Say(status=503), Say(FILE, headers=CSV)],
    )
    export.variant = export.open_variant(
        quota=QuotaPolicy(limit=1, max_wait=10_000), retry=RetryPolicy(attempts=2, budget=10)
    )
    assert export.fetch() == FILE
    assert sum(clock.sleeps) > 7000


def test_a_file_that_appears_late_has_time_left_for_a_retry(export: OneExport) -> None:
    export.offer(*[Say(status=404)] * 9, Say(status=503), Say(FILE, headers=CSV))
    export.variant = export.open_variant(retry=RetryPolicy(attempts=2, budget=10))
    assert export.fetch() == FILE


@pytest.mark.parametrize(("age", "strong"), [(-1, False), (0, False), (1, True)])
def test_a_date_of_change_is_strong_only_a_second_later(age: int, strong: bool) -> None:
    changed = formatdate(1_800_000_000, usegmt=True)
    sent = formatdate(1_800_000_000 + age, usegmt=True)
    head = ResponseHead(200, {"last-modified": changed, "date": sent})
    assert validator_of(head) == (changed if strong else None)


def test_a_date_to_wait_for_counts_from_the_answer(
    variant: Variant, stand_in: StandIn, clock: MovedClock
) -> None:
    dates = {"Date": formatdate(5000, usegmt=True), "Retry-After": formatdate(5040, usegmt=True)}
    stand_in.says(Say(status=503, headers=dates), Say(DATES))
    variant.call("dates")
    assert clock.sleeps == [40.0]


def test_a_locked_account_is_told_at_once(
    open_variant: OpenVariant, stand_in: StandIn, clock: MovedClock
) -> None:
    stand_in.says(Say(status=429, headers={"Retry-After": "900"}))
    variant = open_variant(email="ada@example.org", password="correct horse")
    with pytest.raises(errors.RateLimited, match=r"429\), until 20\d\d-.* Try again in 900 s"):
        variant.call("dates")
    assert clock.sleeps == []


def test_a_pause_of_half_a_second_is_not_none(open_variant: OpenVariant, stand_in: StandIn) -> None:
    stand_in.says(Say(status=429, headers={"Retry-After": "0.5"}))
    variant = open_variant(quota=QuotaPolicy(on_limit="raise"))
    with pytest.raises(errors.RateLimited, match=r"Try again in 1 s"):
        variant.call("dates")


def _two_pages(stand_in: StandIn, clock: MovedClock, down_until: float, status: int = 503) -> None:
    """Answer page 1, then be down until that time, then answer page 2."""

    def script(asked: Asked) -> Say:
        page = int(asked.query["page"])
        if page == 2 and clock.now < down_until:
            return Say(status=status)
        more = {"page": page, "has_more": page == 1, "total": 2}
        return Say({"events": [{"event_id": f"e{page}"}], "pagination": more})

    stand_in.script = script


@pytest.mark.parametrize("status", [500, 503])
def test_a_pull_with_pages_survives_a_deployment(
    variant: Variant, stand_in: StandIn, clock: MovedClock, status: int
) -> None:
    """It tries again soon, and then with the pauses of 30 s that the service publishes."""
    _two_pages(stand_in, clock, clock.now + 110, status)
    assert len(variant.rows(DAY, split="none")) == 2
    assert clock.sleeps == [0.5, 1, 30, 30, 30, 30]


def test_a_policy_scales_the_pauses_of_a_deployment(
    open_variant: OpenVariant, stand_in: StandIn, clock: MovedClock
) -> None:
    _two_pages(stand_in, clock, clock.now + 10)
    variant = open_variant(retry=RetryPolicy(attempts=2, longest_wait=4))
    assert len(variant.rows(DAY, split="none")) == 2
    assert clock.sleeps == [0.5, 4, 4, 4]


def test_a_service_that_stays_down_ends_the_pull_with_advice(
    variant: Variant, stand_in: StandIn, clock: MovedClock
) -> None:
    started = clock.now
    _two_pages(stand_in, clock, started + 10_000)
    with pytest.raises(errors.ServerError, match="been down for 120 s") as caught:
        variant.rows(DAY, split="none")
    assert "sync" in caught.value.remedy
    assert 120 <= clock.now - started < 180


def test_a_pull_without_a_page_is_not_patient(
    variant: Variant, stand_in: StandIn, clock: MovedClock
) -> None:
    stand_in.says(Say(status=503))
    with pytest.raises(errors.ServerError):
        variant.rows(DAY, split="none")
    assert len(stand_in.asked) == 3


def test_an_order_that_never_appeared_is_gone_an_hour_later(
    variant: Variant, stand_in: StandIn, clock: MovedClock
) -> None:
    stand_in.says_by_name(
        bulk_export=[Say({"status": "queued", "status_url": "/st"}, 202)], st=[Say(status=404)]
    )
    job = variant.call("start_export", DAY)
    clock.now += 3600
    with pytest.raises(errors.ExportExpired):
        variant.on(job, "wait", timeout=3600)
    assert len(clock.sleeps) == 1


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
