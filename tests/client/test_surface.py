"""What users and type checkers see: equal variants, a cheap import, data that travel."""

import copy
import inspect
import json
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import pytest
from tests.client.public_names import HOMES, PUBLIC

import adanalytics_client as package
from adanalytics_client import (
    AsyncClient,
    AsyncEventQuery,
    AsyncExportJob,
    Client,
    ConfigurationError,
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
    models,
)
from adanalytics_client._json.fields import EVENT_KINDS, SUMMARY_KINDS, Kind
from adanalytics_client.dlt import events as dlt_events
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
from adanalytics_client.testing import reference_client
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

REFERENCE = "".join(
    page.read_text() for page in (Path(__file__).parents[2] / "docs/reference").glob("*.md")
)
VARIANTS = [(Client, AsyncClient), (EventQuery, AsyncEventQuery), (ExportJob, AsyncExportJob)]
PURE = [
    "_base.dates",
    "_base.effects",
    "_base.observer",
    "_base.secrets",
    "_base.urls",
    "_call.attempts",
    "_call.config",
    "_call.credentials",
    "_call.exchange",
    "_call.failures",
    "_call.requests",
    "_call.retry",
    "_call.session",
    "_events.auto",
    "_events.check",
    "_events.comparison",
    "_events.counts",
    "_events.dedupe",
    "_events.fanout",
    "_events.omissions",
    "_events.order",
    "_events.page",
    "_events.plan",
    "_events.reader",
    "_events.repeats",
    "_events.resume",
    "_events.paging",
    "_events.query",
    "_events.slice",
    "_events.typed",
    "_exports.answer",
    "_exports.checks",
    "_exports.download",
    "_exports.names",
    "_exports.part",
    "_exports.order",
    "_exports.saved",
    "_exports.status",
    "_exports.transfer",
    "_exports.wait",
    "_json.columns",
    "_json.exact",
    "_json.fields",
    "_json.raw",
    "_json.rows",
    "_lists.dates",
    "_lists.pages",
    "_lists.rows",
    "_lists.summary",
    "_outputs.arrow.batches",
    "_outputs.arrow.lines",
    "_outputs.arrow.schema",
    "_outputs.arrow.values",
    "_quota.headers",
    "errors",
    "tables",
]


def public(kind: type) -> dict[str, Any]:
    names = [name for name in dir(kind) if not name.startswith("_")]
    return {name: inspect.getattr_static(kind, name) for name in names}


def shape(function: Any) -> list[tuple[str, Any, Any]]:
    """Names, kinds and defaults; annotations as text without what must differ."""
    found = inspect.signature(function).parameters.values()
    return [(each.name, each.kind, each.default) for each in found]


@pytest.mark.parametrize(("ordinary", "asynchronous"), VARIANTS)
def test_variants_have_the_same_names_and_arguments(ordinary: type, asynchronous: type) -> None:
    # asyncio programs close by that name (contextlib.aclosing); `close` does the same.
    assert public(ordinary).keys() == public(asynchronous).keys() - {"aclose"}
    assert shape(ordinary) == shape(asynchronous)
    for name, member in public(ordinary).items():
        twin = public(asynchronous)[name]
        if isinstance(member, property):
            assert isinstance(twin, property), name
        else:
            unbound = [getattr(each, "__func__", each) for each in (member, twin)]
            assert shape(unbound[0]) == shape(unbound[1]), name


@pytest.mark.parametrize(("ordinary", "asynchronous"), VARIANTS)
def test_annotations_differ_only_in_the_variant(ordinary: type, asynchronous: type) -> None:
    for name, member in public(ordinary).items():
        if inspect.isfunction(member):
            ours, theirs = (
                {
                    key: str(value).replace("Async", "")
                    for key, value in each.__annotations__.items()
                }
                for each in (member, public(asynchronous)[name])
            )
            assert _plain(ours) == _plain(theirs), name


def _plain(annotations: dict[str, str]) -> dict[str, str]:
    variants = ("aclient", "client"), ("aevents", "events"), ("ajobs", "jobs")
    plain: dict[str, str] = {}
    for name, text in annotations.items():
        for theirs, ours in variants:
            plain[name] = plain.get(name, text).replace(f".{theirs}.", f".{ours}.")
        # Only an ordinary generator names what it returns at its end.
        plain[name] = plain[name].replace(", None, None]", ", None]")
    return plain


def run(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_the_core_does_no_io() -> None:
    """Neither an HTTP library nor threads, loops or clocks are imported by the core itself."""
    code = f"""
import ast, importlib, sys
sys.modules["httpx"] = sys.modules["httpcore"] = None
banned = {{"httpx", "asyncio", "threading", "time", "concurrent", "queue", "socket"}}
for name in {PURE!r}:
    module = importlib.import_module("adanalytics_client." + name)
    for node in ast.walk(ast.parse(open(module.__file__).read())):
        names = [each.name for each in getattr(node, "names", [])]
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else names
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            assert not banned & {{each.partition(".")[0] for each in names}}, (name, names)
"""
    run(code)


def test_imports_are_late() -> None:
    """Models are imported by who makes some, and what orders and reads by who does that."""
    code = """
import sys
def lack(*names):
    assert not {*names} & sys.modules.keys(), {*names} & sys.modules.keys()
import adanalytics_client
lack("httpx", "pydantic", "asyncio", "json")
from adanalytics_client import AsyncClient, Client
late = ("_events", "_exports", "_outputs", "models", "dataset")
lack("msgspec", "pydantic", "pyarrow", *(f"adanalytics_client.{name}" for name in late))
Client("http://x.example", api_key="k", partner="p").events("2026-01-15")
lack("pydantic")
import adanalytics_client.dataset
lack("pyarrow")
"""
    run(code)


CHECKS: dict[Kind, Any] = {
    Kind.TEXT: models.Text,
    Kind.ID: models.Whole,
    Kind.FLAG: models.Flag,
    Kind.AMOUNT: models.Amount,
    Kind.TIME: models.Text,
    Kind.DATE: models.Day,
    Kind.PAIRS: models.Pairs,
}


@pytest.mark.parametrize(
    ("model", "kinds", "whole"),
    [(Event, EVENT_KINDS, models.Whole), (SummaryRow, SUMMARY_KINDS, models.Count)],
)
def test_the_fields_of_a_model_are_those_of_the_table(
    model: type[Event | SummaryRow], kinds: Mapping[str, Kind], whole: Any
) -> None:
    """Editors show only what stands in a class; a pull of raw events does without pydantic."""
    fields = {name: (each.annotation, *each.metadata) for name, each in model.model_fields.items()}
    checks_by_kind = CHECKS | {Kind.WHOLE: whole}
    checks: dict[str, Any] = {name: checks_by_kind[kind] for name, kind in kinds.items()}
    table = {name: (each.__origin__, *each.__metadata__) for name, each in checks.items()}
    assert [*fields.items()] == [*table.items()]


def test_every_public_name_is_there() -> None:
    assert None not in PUBLIC.values()
    with pytest.raises(AttributeError, match="Nothing"):
        package.Nothing  # noqa: B018  # looking is the test


def test_dir_lists_the_public_names() -> None:
    assert dir(package) == sorted(package.__all__)


def test_every_public_name_is_in_the_reference() -> None:
    entries = re.findall(r"^::: (\S+)$", REFERENCE, re.MULTILINE)
    assert len(entries) == len({*entries})
    places = {f"{home}.{name}" for name, home in HOMES.items()}
    assert places - {*entries} == {"adanalytics_client.__version__"}


@pytest.mark.parametrize("name", sorted(PUBLIC.keys() - {"__version__"}))
def test_a_public_name_has_one_home(name: str) -> None:
    """Tracebacks and pickles name the module from which users import a class."""
    thing = PUBLIC[name]
    if inspect.isclass(thing) and thing is not Any:
        assert (thing.__module__, thing.__qualname__) == (HOMES[name], name)
        assert pickle.loads(pickle.dumps(thing)) is thing
    else:
        assert thing is Any or get_origin(thing) in {Literal, Mapping, UnionType, Union}


def test_no_public_type_is_of_the_http_library() -> None:
    for thing in PUBLIC.values():
        for member in vars(thing).values() if inspect.isclass(thing) else ():
            assert "httpx" not in str(getattr(member, "__annotations__", ""))


def test_every_type_of_a_public_field_is_public() -> None:
    """Else nobody could name what a field is compared with."""
    kinds = [each for each in PUBLIC.values() if inspect.isclass(each)]
    hints = [vars(each).get("__annotations__", {}) for each in kinds]
    found = {part for each in hints for hint in each.values() for part in _parts(hint)}
    ours = {each for each in found if each.__module__.startswith(package.__name__)}
    assert len(ours) > 4
    assert {each.__name__ for each in ours} <= PUBLIC.keys()


def _parts(hint: Any) -> set[type]:
    inner = {part for each in get_args(hint) for part in _parts(each)}
    return inner | {hint} if inspect.isclass(hint) else inner


def test_plans_policies_and_models_pickle() -> None:
    with Client("http://x.example", api_key="k", partner="acme") as client:
        query = client.events("2026-01-01", "2026-01-31")
        plan = query.plan
        quota = client.quota
    assert (
        str(plan) == "2026-01-01..2026-01-31, hourly: at least 744 requests of up to 10000 events"
    )
    assert repr(query) == f"EventQuery({plan})"
    assert plan.slices[25].start == date(2026, 1, 2)
    event = Event.model_validate({"revenue": "1.5", "new": {"a": 1}})
    for thing in (plan, quota, RetryPolicy(attempts=2), event, Summary(rows=[])):
        assert pickle.loads(pickle.dumps(thing)) == thing


def test_the_testing_helper_names_the_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "adanalytics_server", None)
    with pytest.raises(ConfigurationError, match="The reference server needs") as caught:
        reference_client().__enter__()
    assert "adanalytics[server]" in str(caught.value)


def test_the_dlt_resource_names_the_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dlt", None)
    with (
        Client("https://stats.example", api_key="aak_x", partner="acme") as client,
        pytest.raises(ConfigurationError, match=r"This needs dlt\.") as caught,
    ):
        dlt_events(client)
    assert "adanalytics[dlt]" in str(caught.value)


@pytest.mark.parametrize("late", [timedelta(hours=-1), "3h", 3, None])
def test_the_dlt_resource_refuses_what_is_no_duration(late: Any) -> None:
    with (
        Client("https://stats.example", api_key="aak_x", partner="acme") as client,
        pytest.raises(ConfigurationError, match=r"^late=.* is not valid") as caught,
    ):
        dlt_events(client, late=late)
    assert caught.value.remedy == "Pass a duration of at least 0, such as timedelta(hours=3)."


@pytest.mark.parametrize("client", [None, Client, AsyncClient])
def test_the_dlt_resource_refuses_what_is_no_client(client: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"^client=.* is not valid") as caught:
        dlt_events(client)
    assert caught.value.remedy == "Pass a Client, such as Client.from_env()."


NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)
A_DAY = Slice(date(2026, 1, 15), date(2026, 1, 15), None)
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
    "Page": lambda: Page(A_DAY, 1, [{"revenue": Decimal("0.10")}], last=True),
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
    "Slice": lambda: A_DAY,
    "DateRange": lambda: DateRange(A_DAY.start, A_DAY.end, "day"),
    "Summary": lambda: Summary.model_validate({"rows": [TOMORROW], "totals": TOMORROW, "new": 1}),
    "SummaryRow": lambda: SummaryRow.model_validate(TOMORROW),
    "TextPage": lambda: TextPage(A_DAY, 1, b"{}\n", 1, last=True),
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
