"""Who gets the credential, from which profile, and that clients share one login."""

import asyncio
import json
import logging
import threading
import traceback
from contextlib import aclosing
from typing import Any

import httpx
import pytest
from tests.client.bench import Bench
from tests.client.stand_in import Asked, Say, Script, StandIn
from tests.client.variants import BOTH_LIBRARIES, OpenVariant, Variant

from adanalytics_client import AsyncClient, Client, Observer, QuotaPolicy, RetryPolicy, errors

DATES = {"dates": ["2026-01-15"]}
LOGIN: dict[str, Any] = {"email": "a@b.example", "password": "pass-word-1"}


def service(*, good: str, logins: list[str]) -> Script:
    """A service that takes only the token `good`, and issues what `logins` lists."""

    def script(asked: Asked) -> Say:
        if asked.path == "/api/auth/login":
            if not logins:
                return Say({"error": "Unauthorized"}, status=401)
            return Say({"token": logins.pop(0), "user": {"id": "1"}})
        if asked.headers.get("authorization") == f"Bearer {good}":
            return Say(DATES)
        return Say({"error": "Unauthorized"}, status=401)

    return script


def paths(stand_in: StandIn) -> list[str]:
    return [asked.path.rpartition("/")[2] for asked in stand_in.asked]


@BOTH_LIBRARIES
def test_a_login_happens_when_first_needed_and_once(bench: Bench) -> None:
    bench.script = service(good="t1", logins=["t1"])
    variant = bench.open(**LOGIN)
    variant.call("dates")
    variant.call("dates")
    assert paths(bench.stand_in) == ["login", "dates", "dates"]
    assert json.loads(bench.asked[0].body) == LOGIN
    assert "authorization" not in bench.asked[0].headers


def test_the_token_of_a_login_can_be_kept(bench: Bench) -> None:
    bench.script = service(good="t1", logins=["t1"])
    variant = bench.open(**LOGIN)
    assert variant.call("log_in") == "t1"
    variant.call("dates")
    assert variant.call("log_in") == "t1"
    assert paths(bench.stand_in) == ["login", "dates"]
    assert bench.open(token="t1").call("dates")


def test_only_an_account_logs_in(bench: Bench) -> None:
    with pytest.raises(errors.ConfigurationError, match="email= and password="):
        bench.call("log_in")
    assert bench.asked == []


def test_any_number_of_refusals_share_one_login(bench: Bench) -> None:
    bench.script = service(good="t2", logins=["t1", "t2"])
    results = bench.open(**LOGIN).together(*["dates"] * 8)
    assert all(len(result) == 1 for result in results)
    assert paths(bench.stand_in).count("login") == 2
    assert paths(bench.stand_in).count("dates") <= 16


def test_a_wrong_password_is_tried_once_for_all(bench: Bench) -> None:
    bench.script = service(good="t1", logins=[])
    results = bench.open(**LOGIN).together(*["dates"] * 8)
    assert all(isinstance(result, errors.AuthenticationError) for result in results)
    assert 1 <= paths(bench.stand_in).count("login") < 8
    assert "dates" not in paths(bench.stand_in)


@pytest.mark.parametrize(
    ("status", "kind", "option"),
    [
        *((status, errors.AuthenticationError, "password") for status in (400, 401, 403, 422)),
        (404, errors.NotFound, "base_url"),
    ],
)
def test_a_login_may_be_refused_with_another_status(
    bench: Bench, status: int, kind: type[errors.StatusError], option: str
) -> None:
    bench.says(Say({"error": "Invalid email or password"}, status=status))
    with pytest.raises(kind, match="Invalid email or password") as caught:
        bench.open(**LOGIN).call("dates")
    assert caught.value.remedy.option == option
    assert paths(bench.stand_in) == ["login"]


def test_a_token_that_is_refused_again_is_an_error(bench: Bench) -> None:
    bench.script = service(good="never", logins=["t1", "t2", "t3"])
    with pytest.raises(errors.AuthenticationError, match="Check the e-mail and password"):
        bench.open(**LOGIN).call("dates")
    assert paths(bench.stand_in) == ["login", "dates", "login", "dates"]


@BOTH_LIBRARIES
def test_a_login_is_repeated_when_the_service_stumbles(bench: Bench) -> None:
    bench.says(Say(status=503), Say({"token": "t1"}), Say(DATES))
    assert len(bench.open(**LOGIN).call("dates")) == 1


@pytest.mark.parametrize("body", [{}, {"token": 5}, {"token": "a\nb"}, [], {"tok": "s3cr3t"}])
def test_a_login_without_a_usable_token_is_a_protocol_error(bench: Bench, body: Any) -> None:
    bench.says(Say(body))
    with pytest.raises(errors.ProtocolError, match="token") as caught:
        bench.open(**LOGIN).call("dates")
    # It may hold a token under another name.
    assert caught.value.body == ""


def test_a_given_token_is_sent_and_not_replaced(bench: Bench) -> None:
    bench.says(Say({"error": "Unauthorized"}, status=401))
    with pytest.raises(errors.AuthenticationError, match="Log in again"):
        bench.open(token="tok").call("dates")
    assert [asked.headers["authorization"] for asked in bench.asked] == ["Bearer tok"]


@BOTH_LIBRARIES
def test_a_redirect_on_the_same_origin_keeps_the_credential(bench: Bench) -> None:
    bench.says(Say(status=307, headers={"Location": "/elsewhere"}), Say(DATES))
    assert len(bench.call("dates")) == 1
    assert bench.asked[1].target == "/elsewhere"
    assert bench.asked[1].headers["authorization"] == "Bearer secret-key"


@BOTH_LIBRARIES
def test_a_redirect_to_another_origin_loses_the_credential_for_good(
    bench: Bench, other_origin: StandIn
) -> None:
    away = {"Location": f"{other_origin.url}/x"}
    back = {"Location": f"{bench.url}/back"}
    bench.says(Say(status=302, headers=away), Say(DATES))
    other_origin.says(Say(status=302, headers=back))
    assert len(bench.call("dates")) == 1
    assert "authorization" not in other_origin.asked[0].headers
    assert "authorization" not in bench.asked[1].headers


@pytest.mark.parametrize("user", ["user:pass@", "user@", "a%40b:@"])
def test_a_user_in_a_redirect_is_not_used(bench: Bench, other_origin: StandIn, user: str) -> None:
    """Neither in place of the credential nor beside it; the rest of the address stays as it is."""
    at_home = bench.url.replace("//", f"//{user}") + "/back?a=%7e@b"
    away = other_origin.url.replace("http://", f"//{user}") + "/x@y"
    bench.says(
        Say(status=302, headers={"Location": at_home}), Say(status=302, headers={"Location": away})
    )
    other_origin.says(Say(DATES))
    assert len(bench.call("dates")) == 1
    assert bench.asked[1].headers["authorization"] == "Bearer secret-key"
    assert "authorization" not in other_origin.asked[0].headers
    assert [bench.asked[1].target, other_origin.asked[0].target] == ["/back?a=%7e@b", "/x@y"]


def test_a_user_in_a_status_address_is_not_used_in_place_of_the_credential(bench: Bench) -> None:
    poll = bench.url.replace("//", "//user:pass@") + "/job"
    bench.says(
        bulk_export=[Say({"status": "working", "status_url": poll}, status=202)],
        job=[Say({"status": "done", "url": "/f"})],
    )
    job = bench.call("start_export", "2026-01-15")
    bench.on(job, "wait")
    assert bench.asked[-1].headers["authorization"] == "Bearer secret-key"


@pytest.mark.parametrize("status", [401, 403])
def test_a_service_that_has_moved_is_told(bench: Bench, other_origin: StandIn, status: int) -> None:
    bench.says(Say(status=301, headers={"Location": f"{other_origin.url}/x"}))
    other_origin.says(Say({"error": "No"}, status=status))
    with pytest.raises(errors.StatusError, match="set base_url to its new address") as caught:
        bench.call("dates")
    assert "partner" not in caught.value.message


def test_a_login_is_never_redirected_to_another_origin(bench: Bench, other_origin: StandIn) -> None:
    bench.says(Say(status=307, headers={"Location": f"{other_origin.url}/login"}))
    with pytest.raises(errors.ProtocolError, match="set base_url to it"):
        bench.open(**LOGIN).call("dates")
    assert other_origin.asked == []


@pytest.mark.parametrize("location", ["/loop", "ftp://x/y"])
def test_a_redirect_to_nowhere_is_an_error(bench: Bench, location: str) -> None:
    bench.says(Say(status=302, headers={"Location": location}))
    with pytest.raises(errors.ProtocolError, match="redirect"):
        bench.call("dates")


@pytest.mark.parametrize(
    ("suffix", "partner", "path"),
    [
        ("", "acme", "/api/partners/acme/ad-analytics/dates"),
        ("/", "acme", "/api/partners/acme/ad-analytics/dates"),
        ("/v2/x/", "acme", "/v2/x/api/partners/acme/ad-analytics/dates"),
        ("", "a/b ü?#%", "/api/partners/a%2Fb%20%C3%BC%3F%23%25/ad-analytics/dates"),
    ],
)
def test_addresses_are_joined_and_quoted(
    bench: Bench, suffix: str, partner: str, path: str
) -> None:
    bench.says(Say(DATES))
    bench.open(bench.url + suffix, partner=partner).call("dates")
    assert bench.asked[0].target == path


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "There is no credential"),
        ({"api_key": "a", "token": "b"}, "one of"),
        ({"email": "a@b.example"}, "both"),
        ({"api_key": "line\nbreak-secret"}, "api_key contains"),
        ({"api_key": "k", "base_url": "stats.example"}, "http or https"),
        ({"api_key": "k", "base_url": "https://u:hidden@x.example"}, "user or password"),
        ({"api_key": "k", "base_url": "https://x.example/?a=b"}, "no query or fragment"),
        (
            {"api_key": "k", "timeout": 0},
            "timeout=0 is not valid. Pass a number of seconds above 0",
        ),
        ({"api_key": "k", "timeout": "5"}, "timeout='5'"),
        ({"api_key": "k", "quota": 9}, "Pass a QuotaPolicy"),
        ({"api_key": "k", "retry": 3}, "Pass a RetryPolicy"),
        ({"api_key": "k", "partner": 5}, "partner is not a str"),
        ({"api_key": b"hidden"}, "api_key is not a str"),
        (
            {"api_key": "k", "observer": Observer},
            "observer=Observer is not valid. Pass an instance",
        ),
        ({"api_key": "k", "observer": print}, "observer=print is not valid. Pass an instance"),
    ],
)
def test_wrong_settings_are_told_without_the_secret(options: dict[str, Any], message: str) -> None:
    base_url = options.pop("base_url", "https://stats.example")
    with pytest.raises(errors.ConfigurationError, match=message) as caught:
        Client(base_url, **options)
    assert isinstance(caught.value, ValueError)
    assert "hidden" not in str(caught.value)
    assert "break-secret" not in str(caught.value)


def test_from_env_reads_what_is_documented() -> None:
    variables = {
        "ADANALYTICS_BASE_URL": "https://stats.example/x/",
        "ADANALYTICS_API_KEY": "key-1",
        "ADANALYTICS_PARTNER": "acme",
    }
    with Client.from_env(variables) as client:
        assert repr(client) == "Client('https://stats.example/x', partner='acme')"
    with pytest.raises(errors.ConfigurationError, match="ADANALYTICS_BASE_URL"):
        Client.from_env({})


@pytest.mark.parametrize("partner", [None, "", ".", ".."])
def test_a_partner_that_cannot_be_is_told(open_variant: OpenVariant, partner: str | None) -> None:
    with pytest.raises(errors.ConfigurationError, match="partner"):
        open_variant(partner=partner).call("dates")


@BOTH_LIBRARIES
def test_no_secret_reaches_a_log_a_repr_or_a_traceback(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    signed = {
        "Location": f"{bench.url}/f.csv?X-Signature=sig-secret",
        "Set-Cookie": "sid=cook",
    }
    bench.says(
        Say({"token": "tok-secret", "note": LOGIN["password"]}),
        Say(status=302, headers=signed),
        Say({"error": "tok-secret pass-word-1"}, status=400),
    )
    caplog.set_level(logging.DEBUG)
    variant = bench.open(**LOGIN)
    with pytest.raises(errors.InvalidRequest) as caught:
        variant.call("dates")
    shown = [each.getMessage() + repr(each.__dict__) for each in caplog.records]
    shown += [repr(variant.client), repr(caught.value), repr(vars(caught.value))]
    shown += traceback.format_exception(caught.value)
    assert len(caplog.records) > 2
    for secret in ("tok-secret", "pass-word-1", "sig-secret", "sid=cook"):
        assert not any(secret in each for each in shown), secret
    assert bench.asked[2].target == "/f.csv?X-Signature=sig-secret"


def test_other_users_of_httpx_keep_their_log_lines(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.says(Say(DATES))
    bench.call("dates")
    caplog.set_level(logging.INFO)
    httpx.get(f"{bench.url}/mine?q=1", trust_env=False)
    assert any("/mine?q=1" in message for message in caplog.messages)


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


def test_a_client_for_another_partner_shares_the_quota_and_the_login(bench: Bench) -> None:
    bench.says(login=[Say({"token": "t-1"})], dates=[Say(DATES)])
    north = bench.open(email="jo@x.example", password="pw-secret", quota=QuotaPolicy(limit=5))
    south = sharing(north, "for_partner", " south ")
    assert "partner='south'" in repr(south.client)
    for variant in (north, south, south):
        variant.call("dates")
    paths = [asked.path for asked in bench.asked]
    assert [path.split("/")[3] for path in paths] == ["login", "acme", "south", "south"]
    assert north.client.quota == south.client.quota
    assert north.client.quota.remaining == 2


def test_options_change_only_the_new_client(bench: Bench) -> None:
    bench.says(Say(DATES), Say(DATES), Say(status=503), Say(DATES))
    observer = Count()
    variant = bench.open(quota=QuotaPolicy(limit=5))
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
    assert bench.clock.sleeps == [0.5]


def test_a_timeout_of_its_own(bench: Bench) -> None:
    gate = threading.Event()
    bench.says(Say(DATES, gate=gate), Say(DATES))
    variant = bench.open(timeout=30.0)
    hasty = sharing(variant, "with_options", timeout=0.05, retry=RetryPolicy(attempts=1))
    with pytest.raises(errors.RequestTimeout, match=r"timeout=0\.05"):
        hasty.call("dates")
    gate.set()
    variant.call("dates")


def test_only_the_client_that_made_the_connections_closes_them(bench: Bench) -> None:
    bench.says(Say(DATES))
    variant = bench.open()
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
