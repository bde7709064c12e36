"""Own data, in this process and over HTTP, as a tester who knows only the pages adds it."""

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from adanalytics_client import Client, PermissionDenied, QuotaPolicy
from adanalytics_server.control.controls import ControlError
from adanalytics_server.local import LocalServer, RemoteServer, Sample, event
from adanalytics_server.remote import ControlledServer

DAY = "2026-03-01"


@pytest.fixture(scope="module", params=["local", "remote"])
def shared(request: pytest.FixtureRequest) -> Iterator[ControlledServer]:
    with ExitStack() as stack:
        server: ControlledServer = stack.enter_context(LocalServer(faults=["503 once on login"]))
        if request.param == "remote":
            server = stack.enter_context(RemoteServer(server.url))
        yield server


@pytest.fixture
def server(shared: ControlledServer) -> ControlledServer:
    shared.reset()
    return shared


def client(server: ControlledServer, **given: Any) -> Client:
    options = {"api_key": server.api_key, "partner": server.partner, **given}
    return Client(server.url, quota=QuotaPolicy(log="memory"), **options)


def test_late_events_have_two_times(server: ControlledServer) -> None:
    assert (
        server.add_events([event(event_time=f"{DAY}T23:59:00Z", received_at="2026-03-03 00:00Z")])
        == 1
    )
    with client(server) as partner:
        (late,) = partner.events(DAY)
    assert late.received is not None
    assert late.time is not None
    assert late.received - late.time == timedelta(days=1, minutes=1)


def test_an_hour_is_restated_and_the_others_stay(server: ControlledServer) -> None:
    moments = [datetime(2026, 3, 1, hour, tzinfo=UTC) for hour in (9, 10, 10)]
    server.add_events([event(event_time=each, revenue=Decimal("0.1")) for each in moments])
    server.add_events([event(event_time=moments[-1], revenue=3)], replace_hours=True)
    with client(server) as partner:
        assert [each.revenue for each in partner.events(DAY)] == [Decimal("0.1"), 3]
        assert sum(row.revenue or 0 for row in partner.summary(DAY).rows) == Decimal("3.1")


def test_campaigns_may_be_missing_and_amounts_negative(server: ControlledServer) -> None:
    noon = {"event_time": f"{DAY}T12:00:00Z"}
    server.add_events(
        [
            event(**noon, campaign_id=7, campaign_name="Spring", revenue="1", cost="0.25"),
            event(**noon, campaign_id=7, revenue="-0.000000001", cost=None),
            event(**noon, campaign_id=None, revenue="-2"),
        ]
    )
    with client(server) as partner:
        first, last = partner.summary(DAY, group_by="campaign").rows
    assert (first.campaign_name, first.revenue) == ("Spring", Decimal("0.999999999"))
    assert (first.cost, last.campaign_id, last.revenue) == (Decimal("0.25"), None, Decimal(-2))


def test_one_of_two_partners_is_forbidden(server: ControlledServer) -> None:
    server.faults.clear()
    server.add_partner("south", currency="EUR")
    server.add_user("ada@example.org", partners=["south"])
    server.add_user("root@example.org", role="admin", password="another one")
    server.add_events([event()], partner="south")
    ada = {"api_key": None, "email": "ada@example.org", "password": server.password}
    with client(server, **ada, partner="south") as partner:
        assert partner.summary("2026-01-15").currency == "EUR"
    with client(server, **ada) as partner, pytest.raises(PermissionDenied):
        partner.dates()
    root = {**ada, "email": "root@example.org", "password": "another one"}
    with client(server, **root) as partner:
        assert partner.dates() == []


def test_what_a_client_read_can_be_added_changed(server: ControlledServer) -> None:
    server.add_events([event(event_time=f"{DAY}T12:00:00Z", key_values={"a": "b"})])
    with client(server) as partner:
        (read,) = partner.events(DAY)
        again = read.model_copy(update={"event_id": event()["event_id"], "revenue": Decimal(5)})
        assert server.add_events([read, again]) == 1
        assert [each.key_values for each in partner.events(DAY)] == [{"a": "b"}] * 2


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"campaing_id": 7}, "events:2: campaing_id: unknown field; known: event_id, "),
        ({"country": "de"}, "events:2: country: 'de' is not two upper-case letters"),
        ({"currency": "EUR"}, "events:2: currency: 'EUR' contradicts this partner"),
        ({"revenue": 1e-12}, "events:2: revenue: '1e-12' has more than 9 digits"),
        ({"revenue": float("nan")}, "events:2: invalid JSON (NaN is not allowed)"),
        ({"event_time": None}, "events:2: event_time: an event needs a value; nothing was loaded"),
        ({"supply_tag_id": ""}, "events:2: supply_tag_id: an event needs a value"),
    ],
)
def test_a_wrong_event_is_named_and_none_is_stored(
    server: ControlledServer, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(ControlError) as caught:
        server.add_events([event(), event(**fields)])
    assert str(caught.value).startswith(message)
    with client(server) as partner:
        assert partner.dates() == []


@pytest.mark.parametrize("replace_hours", [False, True])
def test_no_events_are_none(server: ControlledServer, replace_hours: bool) -> None:
    server.add_events([event()])
    assert server.add_events([], replace_hours=replace_hours) == 0
    with client(server) as partner:
        assert len(partner.dates()) == 1


@pytest.mark.parametrize("forgotten", [{"event_type": "click"}, "click", Sample()])
def test_events_are_a_list_of_them(server: ControlledServer, forgotten: Any) -> None:
    given: Any = [forgotten] if isinstance(forgotten, Sample) else forgotten
    with pytest.raises(TypeError, match="takes a list of events, each a mapping or a model, not "):
        server.add_events(given)


@pytest.mark.parametrize(
    ("method", "given", "message"),
    [
        ("add_partner", {"partner": "acme"}, "Partner 'acme' already exists"),
        ("add_partner", {"partner": "x", "currency": "euro"}, "not an ISO 4217 code"),
        ("add_user", {"email": "a@b.c", "partners": ["nowhere"]}, "Unknown partner 'nowhere'"),
        (
            "add_user",
            {"email": "a@b.c", "role": "boss"},
            "role should be 'admin', 'analyst' or 'viewer'",
        ),
        ("add_events", {"events": [{}], "partner": "nowhere"}, "Unknown partner 'nowhere'"),
    ],
)
def test_what_cannot_be_added_says_why(
    server: ControlledServer, method: str, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(ControlError, match=message):
        getattr(server, method)(**given)


def test_what_was_kept_survives_a_reset(server: ControlledServer) -> None:
    server.faults.clear()
    server.add_events([event(event_time=f"{DAY}T12:00:00Z")])
    server.keep()
    server.add_events([event(event_time="2026-03-02T12:00:00Z")])
    with client(server) as partner:
        assert len(partner.dates()) == 2
        server.reset()
        assert len(partner.dates()) == 1


def test_a_remote_server_finds_and_leaves_what_was_there() -> None:
    with LocalServer(sample=Sample(days=2, events_per_day=20)) as elsewhere:
        for _ in range(2):
            with RemoteServer(elsewhere.url) as server, client(server) as partner:
                assert len(partner.dates()) == 2
                server.add_events([event(event_time=f"{DAY}T12:00:00Z")])
                server.keep()
            with client(elsewhere) as partner:
                assert len(partner.dates()) == 2


def test_a_remote_server_is_driven_like_a_local_one() -> None:
    with (
        LocalServer(rate_limit=7) as elsewhere,
        RemoteServer(elsewhere.url, partner="south", sample=Sample(events_per_day=5)) as server,
    ):
        assert (server.rate_limit, server.api_key not in repr(server)) == (7, True)
        server.clock.freeze(datetime(2026, 3, 1, tzinfo=UTC))
        server.clock.advance(60)
        states = [server.clock.is_frozen]
        assert server.clock.now == elsewhere.clock.now == datetime(2026, 3, 1, 0, 1, tzinfo=UTC)
        server.clock.set(datetime(2026, 3, 2, tzinfo=UTC))
        server.clock.run()
        assert [*states, server.clock.is_frozen] == [True, False]
        server.faults.add("503 once on events")
        with client(server) as partner:
            assert len(list(partner.events("2026-01-15", split="daily"))) == 5
        (count,) = server.faults.counts()
        assert (count.fault.status, count.matched, count.struck) == (503, 2, 1)
        assert [entry.fault for entry in server.journal.entries()] == ["503", None]
        server.journal.clear()
        server.faults.clear()
        assert (server.journal.entries(), server.faults.counts()) == ([], [])
    with pytest.raises(ControlError, match="is not running"):
        server.reset()
