"""Clients of the environment, and clients that share connections, login and quota."""

import asyncio
import threading
from contextlib import aclosing
from typing import Any

import pytest
from tests.client.moved_clock import MovedClock
from tests.client.stand_in import Say, StandIn
from tests.client.variants import OpenVariant, Variant

from adanalytics_client import AsyncClient, Client, Observer, QuotaPolicy, RetryPolicy, errors

DATES = {"dates": ["2026-01-15"]}
KINDS = [Client, AsyncClient]


class Count(Observer):
    """Counts the requests."""

    def __init__(self) -> None:
        self.due_count = 0
        self.send_count = 0

    def due(self, _info: object) -> None:
        self.due_count += 1

    def send(self, _info: object) -> None:
        self.send_count += 1


def sharing(variant: Variant, name: str, *args: object, **options: object) -> Variant:
    """The same variant on a client that shares with its own."""
    other = type(variant).__new__(type(variant))
    other.__dict__.update(variant.__dict__)
    other.client = getattr(variant.client, name)(*args, **options)
    return other


def test_a_client_for_another_partner_shares_the_quota_and_the_login(
    open_variant: OpenVariant, stand_in: StandIn
) -> None:
    stand_in.says_by_name(login=[Say({"token": "t-1"})], dates=[Say(DATES)])
    north = open_variant(email="jo@x.example", password="pw-secret", quota=QuotaPolicy(limit=5))
    south = sharing(north, "for_partner", " south ")
    assert "partner='south'" in repr(south.client)
    for variant in (north, south, south):
        variant.call("dates")
    paths = [asked.path for asked in stand_in.asked]
    assert [path.split("/")[3] for path in paths] == ["login", "acme", "south", "south"]
    assert north.client.quota == south.client.quota
    assert north.client.quota.remaining == 2


def test_options_change_only_the_new_client(
    open_variant: OpenVariant, stand_in: StandIn, clock: MovedClock
) -> None:
    stand_in.says(Say(DATES), Say(DATES), Say(status=503), Say(DATES))
    observer = Count()
    variant = open_variant(quota=QuotaPolicy(limit=5))
    other = sharing(
        variant,
        "with_options",
        reserve=3,
        on_limit="raise",
        observer=observer,
        retry=RetryPolicy(attempts=1),
        max_wait=1.0,
    )
    assert (variant.client.quota.remaining, other.client.quota.remaining) == (5, 2)
    variant.call("dates")
    other.call("dates")
    with pytest.raises(errors.QuotaExceeded):
        other.call("dates")
    assert (observer.due_count, observer.send_count) == (2, 1)
    variant.call("dates")
    assert observer.due_count == 2
    assert clock.sleeps == [0.5]


def test_a_timeout_of_its_own(open_variant: OpenVariant, stand_in: StandIn) -> None:
    gate = threading.Event()
    stand_in.says(Say(DATES, gate=gate), Say(DATES))
    variant = open_variant(timeout=30.0)
    hasty = sharing(variant, "with_options", timeout=0.05, retry=RetryPolicy(attempts=1))
    with pytest.raises(errors.RequestTimeout, match=r"timeout=0\.05"):
        hasty.call("dates")
    gate.set()
    variant.call("dates")


def test_only_the_client_that_made_the_connections_closes_them(
    open_variant: OpenVariant, stand_in: StandIn
) -> None:
    stand_in.says(Say(DATES))
    variant = open_variant()
    other = sharing(sharing(variant, "with_options", reserve=1), "for_partner", "south")
    other.call("dates")
    other.call("close")
    variant.call("dates")
    other.call("dates")
    variant.call("close")
    with pytest.raises(errors.ConfigurationError, match="closed"):
        other.call("dates")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reserve": 1000}, "reserve=1000 is not valid. Pass less than limit=1000."),
        ({"timeout": 0}, "timeout=0"),
        ({"on_limit": "stop"}, "on_limit='stop'"),
        ({"max_wait": -1}, "max_wait=-1"),
        ({"retry": 3}, "retry=3"),
        ({"observer": Observer}, "observer=Observer"),
    ],
)
def test_a_wrong_option_is_named(variant: Variant, options: dict[str, Any], message: str) -> None:
    with pytest.raises(errors.ConfigurationError, match=message):
        variant.client.with_options(**options)


ENVIRONMENT = {
    "ADANALYTICS_BASE_URL": "http://env.example",
    "ADANALYTICS_PARTNER": "acme",
    "ADANALYTICS_EMAIL": "jo@x.example",
    "ADANALYTICS_PASSWORD": "pw-secret",
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_keyword_wins_over_the_environment(kind: type[Client]) -> None:
    client = kind.from_env(ENVIRONMENT, base_url="http://other.example", partner="south")
    assert repr(client) == f"{kind.__name__}('http://other.example', partner='south')"
    limited = kind.from_env(ENVIRONMENT, quota=QuotaPolicy(limit=7, reserve=2, log="memory"))
    assert limited.quota.remaining == 5
    with pytest.raises(errors.ConfigurationError, match="max_wait=-1"):
        kind.from_env(ENVIRONMENT, quota=QuotaPolicy(max_wait=-1))
    with pytest.raises(errors.ConfigurationError, match=r"limit=0.* or None for no limit"):
        kind.from_env(ENVIRONMENT, quota=QuotaPolicy(limit=0))


@pytest.mark.parametrize(
    ("environment", "given", "sent"),
    [
        ({"ADANALYTICS_API_KEY": "key-env"}, {}, "key-env"),
        ({"ADANALYTICS_API_KEY": "key-env"}, {"api_key": "key-given"}, "key-given"),
        ({}, {"token": "token-given"}, "token-given"),
        ({}, {}, "jo@x.example:pw-secret"),
        ({}, {"password": "pw-given"}, "jo@x.example:pw-given"),
        ({"ADANALYTICS_API_KEY": "key-env"}, {"email": "al@x.example"}, "al@x.example:pw-secret"),
    ],
)
def test_which_credential_counts(
    stand_in: StandIn, environment: dict[str, str], given: dict[str, Any], sent: str
) -> None:
    stand_in.script = lambda asked: Say({"token": asked.body.decode(), "dates": []})
    with Client.from_env({**ENVIRONMENT, **environment}, base_url=stand_in.url, **given) as client:
        if ":" in sent:
            with pytest.raises(errors.ProtocolError):
                client.dates()
            email, _, password = sent.partition(":")
            assert stand_in.asked[0].body.decode() == (
                f'{{"email": "{email}", "password": "{password}"}}'
            )
        else:
            client.dates()
            assert stand_in.asked[0].headers["authorization"] == f"Bearer {sent}"


def test_aclose_closes(stand_in: StandIn) -> None:
    stand_in.says(Say(DATES))

    async def used_and_closed() -> None:
        async with aclosing(AsyncClient(stand_in.url, api_key="k", partner="acme")) as client:
            await client.dates()
        with pytest.raises(errors.ConfigurationError, match="closed"):
            await client.dates()

    asyncio.run(used_and_closed())
