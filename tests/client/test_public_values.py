"""Every public class: data travels, whatever the service adds tomorrow; what is bound says so.

A class that is added to the package and belongs to neither group fails the first test.
"""

import copy
import inspect
import json
import pickle
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.client.public_names import PUBLIC

import adanalytics_client as package
from adanalytics_client import (
    AsyncClient,
    AsyncEventQuery,
    AsyncExportJob,
    Client,
    Event,
    EventQuery,
    ExportFile,
    ExportJob,
    ExportOrder,
    ExportPhase,
    ExportStatus,
    Observer,
    Page,
    Period,
    QuotaPolicy,
    QuotaState,
    RetryPolicy,
    SeenEvents,
    ServiceProfile,
    Summary,
    SummaryRow,
    TextPage,
    errors,
)
from adanalytics_client.observers import (
    BytesReceived,
    BytesWritten,
    HoursVerified,
    HourWritten,
    PageDrift,
    PageReceived,
    PartialAnswer,
    PullPlanned,
    RequestDue,
    RequestSent,
    RetryPlanned,
    WaitStarted,
)
from adanalytics_client.types import (
    Clock,
    ColumnProfile,
    DateRange,
    ExportProfile,
    HeaderProfile,
    PageProfile,
    Slice,
    SummaryProfile,
)

NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)
DAY = Slice(date(2026, 1, 15), date(2026, 1, 15), None)
# A row of tomorrow: new fields, new words in known ones, other types, names of pydantic's own.
TOMORROW: dict[str, Any] = {
    "event_id": "e1",
    "event_type": "hologram",
    "device_type": 7,
    "revenue": "0.004500000",
    "cost": {"amount": "1"},
    "campaign_id": "campaign-9",
    "key_values": {"a": 1},
    "attention": {"seconds": [1, 2]},
    "copy": "a field named like a method",
    "model_version": 3,
}


def _bound() -> tuple[Client, AsyncClient]:
    options: dict[str, Any] = {
        "api_key": "secret-key",
        "partner": "acme",
        "quota": QuotaPolicy(log="memory"),
    }
    return Client("http://x.example", **options), AsyncClient("http://x.example", **options)


def _plan() -> Any:
    return _bound()[0].events("2026-01-01", "2026-01-31").plan


VALUES: dict[str, Callable[[], Any]] = {
    "BytesReceived": lambda: BytesReceived(5, None),
    "BytesWritten": lambda: BytesWritten(5),
    "Event": lambda: Event.model_validate(TOMORROW),
    "ExportFile": lambda: ExportFile("https://x.example/a?sig=1", "a.csv", 5, "0" * 64),
    "ExportOrder": lambda: ExportOrder(NOON.date(), NOON.date(), "csv", "gzip"),
    "ExportPhase": lambda: ExportPhase.FAILED,
    "ExportStatus": lambda: ExportStatus(
        ExportPhase.WORKING, "dreaming", files=(ExportFile("u"),), answer={"new": Decimal("0.10")}
    ),
    "FieldProblem": lambda: errors.FieldProblem("hour", "should be at most 23"),
    "HoursVerified": lambda: HoursVerified(1, 24, deep=True),
    "HourWritten": lambda: HourWritten("2026-01-15T13", 250),
    "Page": lambda: Page(DAY, 1, [{"revenue": Decimal("0.10")}], last=True),
    "PageDrift": lambda: PageDrift("2026-01-15", 2, 3, 17, 20, last=True),
    "PageReceived": lambda: PageReceived("2026-01-15", 1, 5),
    "PartialAnswer": lambda: PartialAnswer("https://stats.example/dates", "slow", "r-1"),
    "Period": lambda: Period(NOON.date(), NOON.date()),
    "Plan": _plan,
    "PullPlanned": lambda: PullPlanned(24, 24, None),
    "QuotaPolicy": lambda: QuotaPolicy(reserve=200, log=Path("quota")),
    "QuotaState": lambda: QuotaState(1000, 999, NOON),
    "Remedy": lambda: errors.Remedy("Wait.", code="wait", option="max_wait"),
    "RequestDue": lambda: RequestDue("GET", "https://x.example/a"),
    "RequestSent": lambda: RequestSent("GET", "https://x.example/a", None, 0.5, None, 1, "timeout"),
    "Response": lambda: package.Response(200, {"a": "b"}, {"c": Decimal("0.10")}, "r-1"),
    "RetryPlanned": lambda: RetryPlanned("https://x.example/a", 1, 0.5, "why"),
    "RetryPolicy": lambda: RetryPolicy(attempts=2),
    "SeenEvents": lambda: SeenEvents(["a", "b"], most=5),
    "ColumnProfile": lambda: ColumnProfile("text", "time", "some", 100, "YYYY-MM-DD hh:mm"),
    "ExportProfile": lambda: ExportProfile({"file": "url"}, {"completed": "done"}, "state"),
    "HeaderProfile": lambda: HeaderProfile("x-request-id", ("ratelimit",)),
    "PageProfile": lambda: PageProfile("meta.total", heeds={"hour": True}),
    "SummaryProfile": lambda: SummaryProfile("data", {"none": ("n",)}, {"n": "event_type"}),
    "ServiceProfile": lambda: ServiceProfile("hits", fields={"revenue": "rev"}, time_field="t"),
    "Slice": lambda: DAY,
    "DateRange": lambda: DateRange(DAY.start, DAY.end, "day"),
    "Summary": lambda: Summary.model_validate({"rows": [TOMORROW], "totals": TOMORROW, "new": 1}),
    "SummaryRow": lambda: SummaryRow.model_validate(TOMORROW),
    "TextPage": lambda: TextPage(DAY, 1, b"{}\n", 1, last=True),
    "WaitStarted": lambda: WaitStarted("why", 0.5, NOON),
}
# Bound to a client and its credential, or code of the user's own.
BOUND: set[type[Any]] = {
    Client,
    AsyncClient,
    EventQuery,
    AsyncEventQuery,
    ExportJob,
    AsyncExportJob,
}
CODE: set[type[Any]] = {Observer, Clock}
ERRORS: set[type[Any]] = {
    each
    for each in PUBLIC.values()
    if inspect.isclass(each) and issubclass(each, errors.AdAnalyticsError)
}


def test_every_public_class_is_looked_at() -> None:
    aliases = {"Json"}
    public = {name for name, thing in PUBLIC.items() if inspect.isclass(thing)} - aliases
    others = {each.__name__ for group in (BOUND, CODE, ERRORS) for each in group}
    assert public == VALUES.keys() | others


def _ways(thing: Any) -> list[Any]:
    return [pickle.loads(pickle.dumps(thing)), copy.copy(thing), copy.deepcopy(thing)]


@pytest.mark.parametrize("name", VALUES)
def test_values_are_pickled_and_copied(name: str) -> None:
    thing = VALUES[name]()
    assert type(thing).__name__ == name
    assert _ways(thing) == [thing] * 3


@pytest.mark.parametrize("kind", sorted(ERRORS, key=repr))
def test_errors_are_pickled_and_copied_with_all_they_know(kind: type[Any]) -> None:
    known = list(inspect.signature(kind).parameters)
    assert {"message", "remedy", "request_id", "attempts", "url", "body"} <= set(known)
    told = {name: f"{name} it had" for name in known} | {"attempts": 3}
    told["remedy"] = errors.Remedy("remedy it had", code="zone", option="zone", value="UTC")
    error = kind(told.pop("message"), **told)
    assert vars(error) == {"message": "message it had", **told}
    assert str(error) == (
        "message it had remedy it had (request id request_id it had, 3 attempts, url it had)"
    )
    for again in _ways(error):
        assert type(again) is kind
        assert (str(again), vars(again)) == (str(error), vars(error))
        copied = again.remedy
        assert (copied.code, copied.option, copied.value) == ("zone", "zone", "UTC")


def test_what_is_bound_to_a_client_is_not_pickled() -> None:
    """Neither by accident: the credential would lie in a file."""
    client, other = _bound()
    for thing in (client, other, client.events("2026-01-15"), other.events("2026-01-15")):
        # Which of the two it is depends on the version of pydantic.
        with pytest.raises((TypeError, AttributeError), match="pickle"):
            pickle.dumps(thing)


@pytest.mark.parametrize("kind", [Event, SummaryRow])
def test_a_row_of_tomorrow_comes_back_as_it_was(kind: type[Event | SummaryRow]) -> None:
    row = kind.model_validate(TOMORROW)
    assert row.model_dump(mode="json", exclude_unset=True) == TOMORROW
    assert json.loads(row.model_dump_json(exclude_unset=True)) == TOMORROW
    assert kind.model_validate(row.model_dump()) == row
    assert {name: row[name] for name in ("copy", "attention", "event_type", "campaign_id")} == {
        name: TOMORROW[name] for name in ("copy", "attention", "event_type", "campaign_id")
    }
    assert row["revenue"] == Decimal("0.004500000")


def test_a_summary_of_tomorrow_comes_back_as_it_was() -> None:
    sent = {"rows": [TOMORROW, {}], "totals": TOMORROW, "currency": 5, "confidence": "0.9"}
    summary = Summary.model_validate(sent)
    assert summary.model_dump(mode="json", exclude_unset=True) == sent
    assert summary["confidence"] == "0.9"
    assert (summary[0], summary[-1], summary[:1]) == (*summary.rows, summary.rows[:1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("2026-02-30", "2026-03-01", "csv"), "start='2026-02-30' is not a day"),
        (("2026-01-15", None, "csv"), "end=None is not a day"),
        (("2026-01-15", "2026-01-14", "csv"), "end 2026-01-14 is before start 2026-01-15"),
        (("2026-01-15", "2026-01-15", ""), "format is empty"),
        (("2026-01-15", "2026-01-15", 5), "format is not a str"),
        (("2026-01-15", "2026-01-15", "csv", 5), "compression is not a str"),
    ],
)
def test_an_order_of_an_export_checks_its_arguments(arguments: Any, message: str) -> None:
    with pytest.raises(errors.ConfigurationError, match=message):
        ExportOrder(*arguments)


def test_an_order_takes_days_of_any_form() -> None:
    order = ExportOrder(NOON, "2026-01-16", "csv")  # type: ignore[arg-type]  # neither is a date
    assert (order.start, order.end) == (date(2026, 1, 15), date(2026, 1, 16))
