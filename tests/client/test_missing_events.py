"""Answers without a body: events that they hide are requested again, or the pull is an error."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from adanalytics_client import SeenEvents
from adanalytics_client._json.columns import count_events
from adanalytics_client.errors import AuthenticationError, ProtocolError

if TYPE_CHECKING:
    from tests.client.conftest import Asked, Say, StandIn, Variant

FIRST = date(2026, 1, 15)
DAYS = (FIRST, FIRST + timedelta(days=1))
SPLITS = ("hourly", "daily", "none")


@dataclass
class Service:
    """A service whose hours have one event each, and that answers some queries without a body.

    Attributes:
        say: the class of answers.
        hidden: for each start of a query, such as `2026-01-15 3`, how often it has no body.
        empty: the hours of each day that have no events, answered without a body.
        counts: what the summary counts: `right`, `none`, `foreign`, `no rows`, or `more` than
            there are.
        totals: whether pages state their total.
        status: of an answer without a body.
    """

    say: type[Say]
    hidden: Counter[str] = field(default_factory=Counter)
    empty: frozenset[int] = frozenset()
    counts: str = "right"
    totals: bool = True
    status: int = 204
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def ids(self, start: date, end: date, hour: int | None = None) -> list[str]:
        days = [start + timedelta(each) for each in range((end - start).days + 1)]
        hours = [at for at in range(24) if at not in self.empty and hour in {None, at}]
        return [f"{day} {at}" for day in days for at in hours]

    def __call__(self, asked: Asked) -> Say:
        name, query = asked.path.rpartition("/")[2], asked.query
        self.asked.append((name, query))
        start, end = (date.fromisoformat(query[f"{each}_date"]) for each in ("start", "end"))
        if name == "summary":
            return self._summary(start, end)
        key = " ".join([str(start), *([query["hour"]] if "hour" in query else [])])
        ids = self.ids(start, end, int(query["hour"]) if "hour" in query else None)
        if self.hidden[key] or not ids:
            self.hidden[key] -= bool(self.hidden[key])
            return self.say(status=self.status)
        size = int(query["per_page"])
        rows = [{"event_id": each} for each in ids[int(query["page"]) * size - size :][:size]]
        says = {"total": len(ids)} if self.totals else {"has_more": rows[-1]["event_id"] != ids[-1]}
        return self.say({"events": rows, **says})

    def _summary(self, start: date, end: date) -> Say:
        if self.counts == "none":
            return self.say({"error": "Not Found"}, status=404)
        rows: list[dict[str, object]] = [
            {"date": str(day), "clicks": len(self.ids(day, day)) + (self.counts == "more")}
            for day in (start + timedelta(each) for each in range((end - start).days + 1))
        ]
        if self.counts in {"foreign", "no rows"}:
            rows = [{"sum": 3}] * (self.counts == "foreign")
        return self.say({"summary": rows})

    def summaries(self) -> list[tuple[str, str, str]]:
        """The days of each summary that was requested, and its grouping."""
        return [
            (query["start_date"], query["end_date"], query["group_by"])
            for name, query in self.asked
            if name == "summary"
        ]


@pytest.fixture
def service(stand_in: StandIn, say: type[Say]) -> Service:
    stand_in.script = service = Service(say)
    return service


def ids(rows: list[dict[str, Any]]) -> list[str]:
    return [row["event_id"] for row in rows]


def key(split: str) -> str:
    """A query of the split in the middle of the range."""
    return {"hourly": f"{DAYS[1]} 13", "daily": f"{DAYS[1]}", "none": f"{FIRST}"}[split]


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("status", [204, 200])
def test_events_behind_an_answer_without_a_body_are_requested_again(
    variant: Variant, service: Service, caplog: pytest.LogCaptureFixture, split: str, status: int
) -> None:
    service.hidden[key(split)], service.status = 2, status
    rows = variant.rows(*DAYS, split=split)
    assert Counter(ids(rows)) == Counter(service.ids(*DAYS))
    days = (str(DAYS[0] if split == "none" else DAYS[1]), str(DAYS[1]), "day")
    assert service.summaries() == [days]
    assert [text.partition(" again")[0] for text in caplog.messages] == [
        f"Requesting {DAYS[1] if split != 'none' else f'{DAYS[0]}..{DAYS[1]}'}"
        + (" hour 13" if split == "hourly" else "")
    ]


@pytest.mark.parametrize("split", SPLITS)
def test_events_that_stay_behind_it_are_an_error(
    variant: Variant, service: Service, tmp_path: Path, split: str
) -> None:
    service.hidden[key(split)] = 99
    query = variant.client.events(*DAYS, split=split)
    words = "The summary counts 24 events on 2026-01-1[56], but (0|23) arrived"
    with pytest.raises(ProtocolError, match=words) as caught:
        variant.on(query, "write", tmp_path / "days.jsonl")
    assert 'on_drift="warn"' in str(caught.value)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ProtocolError, match=words):
        variant.on(query, "to_arrow")
    assert len(service.summaries()) == 2


@pytest.mark.parametrize("split", SPLITS)
def test_on_drift_warn_takes_what_arrived(variant: Variant, service: Service, split: str) -> None:
    service.hidden[key(split)] = 99
    rows = variant.rows(*DAYS, split=split, on_drift="warn")
    assert len(rows) == {"hourly": 47, "daily": 24, "none": 0}[split]
    assert service.summaries() == []


def test_hours_without_events_cost_one_summary(
    variant: Variant, service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    service.empty = frozenset(range(7))
    assert ids(variant.rows(*DAYS, concurrency=1)) == service.ids(*DAYS)
    assert service.summaries() == [(str(DAYS[0]), str(DAYS[1]), "day")]
    assert len(service.asked) == 48 + 14 + 1
    assert caplog.messages == []


@pytest.mark.parametrize("counts", ["none", "foreign", "no rows"])
def test_a_summary_without_counts_is_a_warning(
    variant: Variant, service: Service, caplog: pytest.LogCaptureFixture, counts: str
) -> None:
    service.empty, service.counts = frozenset(range(7)), counts
    assert len(variant.rows(*DAYS)) == 34
    assert len(service.summaries()) == 1
    assert caplog.messages == [
        f"The answer to {FIRST} hour 0 had no body, and no summary tells whether it has events."
    ]


def test_a_refused_credential_is_no_missing_summary(variant: Variant, service: Service) -> None:
    def script(asked: Asked) -> Say:
        if asked.path.endswith("summary"):
            return service.say({"error": "Unauthorized"}, status=401)
        return service.say(status=204)

    service.hidden[f"{FIRST}"] = 99
    variant.rows(FIRST, hour=3)
    service.asked.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Service, "__call__", lambda _, asked: script(asked))
        with pytest.raises(AuthenticationError):
            variant.rows(FIRST, split="none")


def test_no_summary_counts_one_hour(
    variant: Variant, service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    service.empty = frozenset({3})
    assert variant.rows(*DAYS, hour=3) == []
    assert service.summaries() == []
    assert len(caplog.messages) == 1


def test_a_pull_that_has_enough_events_is_not_checked(variant: Variant, service: Service) -> None:
    service.hidden[f"{FIRST} 0"] = 99
    assert ids(variant.rows(FIRST, max_events=5)) == service.ids(*DAYS)[1:6]
    assert service.summaries() == []


@pytest.mark.parametrize("split", SPLITS)
def test_a_resumed_pull_checks_all_its_runs(variant: Variant, service: Service, split: str) -> None:
    """Also the queries that an earlier run made, and their days."""
    service.hidden[f"{FIRST} 2" if split == "hourly" else f"{FIRST}"] = 2
    service.empty = frozenset({20})
    pages = variant.pages(*DAYS, split=split, per_page=8, on_drift="warn")
    for at in range(0, len(pages), 9 if split == "hourly" else 1):
        service.asked.clear()
        rest = variant.pages(*DAYS, split=split, per_page=8, resume=pages[at].token)
        found = [each for one in (*pages[: at + 1], *rest) for each in ids(one.rows)]
        assert Counter(found) == Counter(service.ids(*DAYS))
        assert len(service.summaries()) == 1
        assert len(pages[at].token) < 900


def open_auto(service: Service, **options: Any) -> dict[str, Any]:
    """An auto pull of two days that is divided into hours: 23 events are more than 20 pages."""
    service.asked.clear()
    return {"split": "auto", "per_page": 1, **options}


def test_auto_asks_again_for_what_its_first_answer_counted(
    variant: Variant, service: Service
) -> None:
    service.hidden[f"{DAYS[1]} 13"] = 2
    rows = variant.rows(*DAYS, **open_auto(service))
    assert Counter(ids(rows)) == Counter(service.ids(*DAYS))
    # Two days are divided by one summary, and their total needs no second one.
    assert len(service.summaries()) == 1


@pytest.mark.parametrize("counts", ["right", "none"])
def test_auto_accepts_no_less_than_its_first_answer_counted(
    variant: Variant, service: Service, tmp_path: Path, counts: str
) -> None:
    service.hidden[f"{DAYS[1]} 13"], service.counts = 99, counts
    query = variant.client.events(*DAYS, **open_auto(service))
    with pytest.raises(ProtocolError, match="first answer counts 48 events, but 47 arrived"):
        variant.on(query, "write", tmp_path / "days.jsonl")
    assert list(tmp_path.iterdir()) == []
    assert len(variant.rows(*DAYS, **open_auto(service, on_drift="warn"))) == 47


def test_auto_without_a_total_asks_the_summary(variant: Variant, service: Service) -> None:
    service.hidden[f"{DAYS[1]} 13"], service.totals = 99, False
    with pytest.raises(ProtocolError, match="counts 24 events on 2026-01-16, but 23 arrived"):
        variant.rows(*DAYS, **open_auto(service))
    service.hidden.clear()
    assert len(variant.rows(*DAYS, **open_auto(service))) == 48


def test_auto_resumed_still_knows_the_total(variant: Variant, service: Service) -> None:
    pages = variant.pages(*DAYS, **open_auto(service))
    for page in pages[:-1:9]:
        service.hidden[f"{DAYS[1]} 23"] = 99
        with pytest.raises(ProtocolError, match="first answer counts 48 events, but 47 arrived"):
            variant.rows(*DAYS, **open_auto(service, resume=page.token))
        service.hidden[f"{DAYS[1]} 23"] = 0
        assert variant.rows(*DAYS, **open_auto(service, resume=page.token))


def test_only_some_days_of_an_auto_pull_have_no_total(variant: Variant, service: Service) -> None:
    """The first answer also counts the events of the days between them."""
    last = FIRST + timedelta(days=2)
    query = variant.client.events(FIRST, last, **open_auto(service)).only_days([FIRST, last])
    assert len(variant.all_of(query.rows())) == 48


def test_events_that_seen_left_out_have_arrived(variant: Variant, service: Service) -> None:
    service.empty = frozenset({3})
    seen = SeenEvents(service.ids(*DAYS)[:9])
    for options in ({}, open_auto(service)):
        assert len(variant.rows(*DAYS, seen=seen, **options)) == 46 - 9
        seen = SeenEvents(service.ids(*DAYS)[:9])


def test_a_negative_count_hides_no_other_events() -> None:
    assert count_events({"impressions": 3, "clicks": -1}) == 3
