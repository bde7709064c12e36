"""Requests leased from the driver program, in one process, in several, and in killed ones.

The journal of the reference server is the witness.
"""

from __future__ import annotations

import json
import logging
import os
import random
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from tests.client.told_time import HOUR, TOLD, Worker, most_in_an_hour, run_all

from adanalytics_client import Client, errors
from adanalytics_client._quota import Sent
from adanalytics_client.spark.quota import QuotaServer, quota_token, with_leases
from adanalytics_client.testing import MovableClock
from adanalytics_server.local import LocalServer, Sample

Lease = Callable[..., Client]

IMPORTS = """
import sys
from adanalytics_client import Client, RetryPolicy, errors
from adanalytics_client.spark.quota import with_leases
"""

PAGES = """
address, read, most = sys.argv[1:]
client = with_leases(Client.from_env(), address, read_id=read, max_requests=int(most))
try:
    for page in client.events("2026-01-15", per_page=1, concurrency=1).pages():
        print("page", flush=True)
except errors.QuotaExceeded as error:
    print(error, flush=True)
"""

HOURS = """
url, address, requests = sys.argv[1:]
told = Told()
told.begin()
client = Client.from_env(base_url=url, max_wait=1e9, retry=RetryPolicy(budget=1e9), clock=told)
client = with_leases(client, address, read_id="all", max_requests=1000)
for _ in range(int(requests)):
    client.dates()
"""


@pytest.fixture(scope="module")
def running() -> Iterator[LocalServer]:
    with LocalServer(sample=Sample(events_per_day=200)) as server:
        yield server


@pytest.fixture
def service(running: LocalServer) -> LocalServer:
    """A service with one day of 200 events, and nobody has asked it anything."""
    running.reset()
    return running


@pytest.fixture
def opened() -> Iterator[list[Client | QuotaServer]]:
    found: list[Client | QuotaServer] = []
    yield found
    for each in reversed(found):
        each.close()


@pytest.fixture
def serve(service: LocalServer, opened: list[Client | QuotaServer]) -> Callable[..., QuotaServer]:
    """Start a quota server for the service."""

    def started(**options: Any) -> QuotaServer:
        server = QuotaServer(Client.from_env(environment_of(service), **options))
        opened.append(server)
        return server

    return started


@pytest.fixture
def lease(service: LocalServer, opened: list[Client | QuotaServer]) -> Lease:
    """Open a client of a task."""

    def leased(server: QuotaServer, read: str = "r", most: int = 100, **options: Any) -> Client:
        client = Client.from_env(environment_of(service), **options)
        opened.append(client)
        return with_leases(client, server.address, read_id=read, max_requests=most)

    return leased


def environment_of(service: LocalServer) -> dict[str, str]:
    names = {"BASE_URL": service.url, "API_KEY": service.api_key, "PARTNER": service.partner}
    return {f"ADANALYTICS_{name}": value for name, value in names.items()}


def started(program: str, service: LocalServer, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", program, *map(str, arguments)]
    pipe = subprocess.PIPE
    environment = {**os.environ, **environment_of(service)}
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment)


def call(server: QuotaServer, path: str, body: str, **headers: str) -> tuple[int, dict[str, Any]]:
    connection = HTTPConnection(server.address)
    connection.request("POST", path, body, headers)
    response = connection.getresponse()
    try:
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def bearer(client: Client) -> dict[str, str]:
    return {"Authorization": f"Bearer {quota_token(client._session.config).reveal()}"}


def test_processes_send_what_their_read_may_send_and_no_more(
    service: LocalServer, serve: Callable[..., QuotaServer]
) -> None:
    server = serve()
    processes = [started(IMPORTS + PAGES, service, server.address, "one", 50) for _ in range(3)]
    said = [process.communicate() for process in processes]
    assert [error for _, error in said] == [""] * 3
    advice = "needs more. Raise maxRequests, or read fewer hours."
    for output, _ in said:
        assert output.endswith(f"maxRequests=50: this read has sent 50 requests and {advice}\n")
    assert len(service.journal.entries()) == 50


def test_reads_are_counted_apart(
    service: LocalServer, serve: Callable[..., QuotaServer], lease: Lease
) -> None:
    server = serve()
    for read in ("one", "other"):
        client = lease(server, read, 1)
        client.dates()
        with pytest.raises(errors.QuotaExceeded, match="maxRequests=1: ") as caught:
            client.dates()
        assert caught.value.resumes_at is None
    assert len(service.journal.entries()) == 2
    assert lease(server).quota.remaining == 998


def test_killed_tasks_and_their_repetitions_stay_within_what_the_read_may_send(
    service: LocalServer, serve: Callable[..., QuotaServer]
) -> None:
    server, chance, kills = serve(), random.Random(7), 4
    for _ in range(kills):
        with started(IMPORTS + PAGES, service, server.address, "one", 100) as process:
            assert process.stdout is not None
            for _ in range(chance.randrange(1, 10)):
                assert process.stdout.readline() == "page\n"
            process.kill()
    with started(IMPORTS + PAGES, service, server.address, "one", 100) as process:
        assert process.stdout is not None
        assert process.stdout.read().endswith("read fewer hours.\n")
    # Each killed process may have been granted a request that it did not send.
    assert 100 - kills <= len(service.journal.entries()) <= 100


def test_processes_never_pass_the_limit_in_any_hour(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "driver"))
    with LocalServer(rate_limit=7) as service:
        clock = MovableClock.of(service)
        environment = environment_of(service)
        program = IMPORTS + TOLD + HOURS
        with QuotaServer(Client.from_env(environment, limit=7, clock=clock)) as server:
            command = [sys.executable, "-c", program, service.url, server.address, "12"]
            state = {"XDG_STATE_HOME": str(tmp_path / "executors")}
            workers = [Worker.start(command, environment | state) for _ in range(3)]
            assert run_all(workers, service.clock) == [0, 0, 0]
        entries = service.journal.entries()
    assert [each.status for each in entries] == [200] * 36
    moments = [each.at for each in entries]
    assert moments[-1] - moments[0] >= 4 * HOUR
    assert most_in_an_hour(moments) <= 7
    assert (tmp_path / "driver").exists()
    assert not (tmp_path / "executors").exists()


def test_the_program_and_its_tasks_share_a_limit(
    service: LocalServer, serve: Callable[..., QuotaServer], lease: Lease
) -> None:
    server = serve(limit=10, reserve=2)
    with Client.from_env(environment_of(service), limit=10) as program:
        program.dates()
        client = lease(server)
        assert client.quota.remaining == 7
        client.dates()
        assert program.quota.remaining == 8


@pytest.mark.parametrize("option", ["with_options", "for_partner"])
def test_clients_made_from_a_leased_one_lease_too(
    service: LocalServer, serve: Callable[..., QuotaServer], lease: Lease, option: str
) -> None:
    client = lease(serve(), most=1)
    made = client.with_options(reserve=5) if option == "with_options" else client.for_partner("b")
    client.dates()
    with pytest.raises(errors.QuotaExceeded):
        made.dates()
    assert len(service.journal.entries()) == 1


def test_a_task_waits_until_the_hour_is_over(
    service: LocalServer, serve: Callable[..., QuotaServer], lease: Lease
) -> None:
    clock = MovableClock.of(service)
    client = lease(serve(limit=1, clock=clock), clock=clock)
    client.dates()
    before = clock.now
    client.dates()
    assert clock.now - before == timedelta(hours=1)


def test_a_task_that_may_not_wait_says_when_to_go_on(
    service: LocalServer, serve: Callable[..., QuotaServer], lease: Lease
) -> None:
    service.clock.freeze(1_800_000_000_000)
    clock = MovableClock.of(service)
    client = lease(serve(limit=1, clock=clock), clock=clock, on_limit="raise")
    client.dates()
    resuming = r"^Quota used up; resuming at 09:00:00 UTC \(in 60 min\)\.$"
    with pytest.raises(errors.QuotaExceeded, match=resuming) as caught:
        client.dates()
    assert caught.value.resumes_at == datetime(2027, 1, 15, 9, tzinfo=UTC)
    assert client.quota.resumes_at == datetime(2027, 1, 15, 9, tzinfo=UTC)
    assert len(service.journal.entries()) == 1


def test_a_wait_is_news_in_each_task(
    service: LocalServer, serve: Callable[..., QuotaServer], lease: Lease
) -> None:
    clock = MovableClock.of(service)
    server = serve(limit=1, clock=clock)
    first, second = lease(server, clock=clock), lease(server, clock=clock)
    first.dates()
    for client in (first, second):
        leave = client._session.quota.take()
        assert not isinstance(leave, Sent)
        assert leave.news
        assert not leave.asked


def test_an_unanswered_request_counts_for_an_hour_and_five_minutes(
    service: LocalServer, serve: Callable[..., QuotaServer], lease: Lease
) -> None:
    clock = MovableClock.of(service)
    client = lease(serve(limit=2, clock=clock), clock=clock)
    assert isinstance(client._session.quota.take(), Sent)
    client.dates()
    assert client.quota.remaining == 0
    clock.advance(3600)
    assert client.quota.remaining == 1
    clock.advance(300)
    assert client.quota.remaining == 2


@pytest.mark.parametrize("dialect", ["reference", "rate-delta", "rate-epoch"])
def test_what_the_service_states_counts_for_all_tasks(dialect: str) -> None:
    with LocalServer(rate_limit=5, dialect=dialect) as service:
        environment = environment_of(service)
        with (
            Client.from_env(environment) as client,
            QuotaServer(Client.from_env(environment, limit=1000)) as server,
        ):
            for read in ("one", "other"):
                with_leases(client, server.address, read_id=read, max_requests=9).dates()
            leased = with_leases(client, server.address, read_id="another", max_requests=9)
            assert leased.quota.remaining == 3


def test_a_429_holds_all_tasks(
    service: LocalServer, serve: Callable[..., QuotaServer], lease: Lease
) -> None:
    clock = MovableClock.of(service)
    service.faults.add("429 retry-after 120 once")
    server = serve(clock=clock)
    with pytest.raises(errors.RateLimited):
        lease(server, clock=clock, on_limit="raise").dates()
    with pytest.raises(errors.QuotaExceeded, match=r"^The service asked to slow down") as caught:
        lease(server, clock=clock, on_limit="raise").dates()
    assert caught.value.resumes_at == clock.now + timedelta(seconds=120)


@pytest.mark.parametrize("change", ["ADANALYTICS_API_KEY", "ADANALYTICS_BASE_URL"])
def test_another_credential_or_service_gets_nothing(
    service: LocalServer, serve: Callable[..., QuotaServer], change: str
) -> None:
    server = serve(limit=1)
    other = environment_of(service) | {change: "https://other.example"}
    with Client.from_env(other) as client:
        leased = with_leases(client, server.address, read_id="one", max_requests=9)
        with pytest.raises(errors.ConfigurationError, match="refused the credential") as caught:
            leased.dates()
    assert server.address in str(caught.value)
    assert service.journal.entries() == []
    with Client.from_env(environment_of(service), limit=1) as client:
        assert client.quota.remaining == 1


def test_a_login_is_a_credential_too(service: LocalServer) -> None:
    environment = environment_of(service) | {
        "ADANALYTICS_API_KEY": "",
        "ADANALYTICS_EMAIL": service.email,
        "ADANALYTICS_PASSWORD": service.password,
    }
    with (
        QuotaServer(Client.from_env(environment)) as server,
        Client.from_env(environment) as client,
    ):
        with_leases(client, server.address, read_id="one", max_requests=9).dates()
        wrong = Client.from_env(environment | {"ADANALYTICS_PASSWORD": "wrong-password"})
        with wrong, pytest.raises(errors.ConfigurationError, match="refused the credential"):
            with_leases(wrong, server.address, read_id="one", max_requests=9).quota  # noqa: B018


def test_a_closed_server_leases_nothing(
    service: LocalServer, serve: Callable[..., QuotaServer], lease: Lease
) -> None:
    server = serve()
    client = lease(server)
    client.dates()
    server.close()
    with pytest.raises(errors.TransportError) as caught:
        client.dates()
    assert str(caught.value) == (
        f"The quota server at {server.address} gave no answer (Connection refused). No request is "
        "sent without it. The QuotaServer in the driver program must be open, and executors must "
        "reach this address."
    )
    with pytest.raises(errors.TransportError):
        client.quota  # noqa: B018  # reading it asks the server
    assert len(service.journal.entries()) == 1


def test_a_page_is_not_lost_when_the_server_closes_meanwhile(
    service: LocalServer, serve: Callable[..., QuotaServer], lease: Lease
) -> None:
    server = serve()
    quota = lease(server)._session.quota
    sent = quota.take()
    assert isinstance(sent, Sent)
    server.close()
    quota.settle(sent, None)


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.1:x", "", "127.0.0.1:99999"])
def test_a_wrong_address_is_an_error(service: LocalServer, address: str) -> None:
    with Client.from_env(environment_of(service)) as client:
        leased = with_leases(client, address, read_id="one", max_requests=9)
        with pytest.raises(errors.TransportError, match=r"^The quota server at "):
            leased.dates()
    assert service.journal.entries() == []


def test_another_server_at_the_address_is_an_error(service: LocalServer) -> None:
    with Client.from_env(environment_of(service)) as client:
        leased = with_leases(
            client, service.url.removeprefix("http://"), read_id="one", max_requests=9
        )
        with pytest.raises(errors.TransportError, match=r"\(status 404: "):
            leased.dates()


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/take", "", 400),
        ("/take", "{", 400),
        ("/take", "[]", 400),
        ("/take", "{}", 400),
        ("/take", '{"read": 1, "most": 1}', 400),
        ("/take", f'{{"read": "{"x" * 65}", "most": 1}}', 400),
        ("/take", '{"read": "one", "most": 0}', 400),
        ("/settle", '{"number": 1e3, "stated": {}}', 400),
        ("/settle", f'{{"number": {2**63}, "stated": {{}}}}', 400),
        ("/settle", '{"number": 1, "stated": {"ratelimit": 1}}', 400),
        ("/hold", '{"seconds": NaN}', 400),
        ("/hold", '{"seconds": -1}', 400),
        ("/elsewhere", "{}", 404),
    ],
)
def test_a_malformed_call_changes_nothing(
    serve: Callable[..., QuotaServer], lease: Lease, path: str, body: str, status: int
) -> None:
    server = serve()
    client = lease(server)
    found, answer = call(server, path, body, **bearer(client))
    assert found == status
    assert answer["error"]
    assert client.quota.remaining == 1000
    assert client.quota.resumes_at is None


@pytest.mark.parametrize(("length", "status"), [("65537", 413), ("-1", 413), ("many", 400)])
def test_a_body_of_a_wrong_length_is_not_read(
    serve: Callable[..., QuotaServer], lease: Lease, length: str, status: int
) -> None:
    server = serve()
    headers = {"Content-Length": length, **bearer(lease(server))}
    found, answer = call(server, "/take", "", **headers)
    assert found == status
    assert answer["error"]


@pytest.mark.parametrize("given", ["", "Bearer", "Bearer wrong", "Basic b25l", "Bearer \xe9"])
def test_a_call_without_the_token_gets_nothing(
    serve: Callable[..., QuotaServer], lease: Lease, given: str
) -> None:
    server = serve()
    facts = json.dumps({"read": "one", "most": 1})
    assert call(server, "/take", facts, Authorization=given) == (401, {"error": "Unauthorized"})
    assert lease(server).quota.remaining == 1000


def test_the_token_and_the_key_are_shown_nowhere(
    service: LocalServer,
    serve: Callable[..., QuotaServer],
    lease: Lease,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    server = serve()
    client = lease(server)
    client.dates()
    quota = client._session.quota
    shown = [repr(server), repr(quota), repr(vars(quota)), repr(vars(server))]
    shown.append(repr(vars(server._server)))
    server.close()
    other = environment_of(service) | {"ADANALYTICS_API_KEY": "another-key"}
    with Client.from_env(other) as stranger, serve() as again:
        strange = with_leases(stranger, again.address, read_id="one", max_requests=1)
        for each in (client, strange):
            with pytest.raises(errors.AdAnalyticsError) as caught:
                each.dates()
            assert caught.value.__context__ is None
            told = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
            frames = [each for each in told.stack if each.filename != __file__]
            shown += [f"{frame.name} {frame.locals}" for frame in frames]
        secrets = [quota_token(each._session.config).reveal() for each in (client, stranger)]
    said = "\n".join([*shown, caplog.text, *capfd.readouterr()])
    assert "_ask {" in said
    for secret in (*secrets, service.api_key, "another-key"):
        assert len(secret) > 8
        assert secret not in said
