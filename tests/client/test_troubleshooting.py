"""Each error on the page about troubleshooting is one that users see."""

import asyncio
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from itertools import permutations
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from tests.client.wire import Wire, served_with, sized

from adanalytics_cli.main import cli
from adanalytics_client import (
    AdAnalyticsError,
    AsyncClient,
    Client,
    Observer,
    QuotaPolicy,
    RateLimited,
)
from adanalytics_client.dataset import Dataset
from adanalytics_client.observers import RequestDue
from adanalytics_server.local import LocalServer

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/troubleshoot.md").read_text()
TITLES = re.findall(r"^### (.+)$", PAGE, re.MULTILINE)
COMMAND_LINE = (ROOT / "tests/cli/error_texts.txt").read_text().splitlines()


def fits(title: str, text: str) -> bool:
    """An ellipsis in a title stands for any text."""
    return re.search(re.escape(title).replace("…", ".+"), text) is not None


def plain_http(client: Client) -> None:
    Client(client.base_url.replace("http", "https"), api_key="k", partner="acme").dates()


def no_quota(client: Client) -> None:
    client = client.with_options(reserve=999, on_limit="raise")
    for _ in range(2):
        client.dates()


def no_time_stated(client: Client) -> None:
    with httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(429))) as http:
        refused = Client(
            client.base_url,
            api_key="k",
            partner="acme",
            quota=QuotaPolicy(on_limit="raise"),
            http=http,
        )
        with suppress(RateLimited):
            refused.dates()
        refused.dates()


def wrong_token(client: Client) -> None:
    list(client.events("2026-01-15", resume="abc"))


def missing_extra(client: Client) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "polars", None)
        client.events("2026-01-15").to_polars()


def missing_extra_of_a_command(client: Client) -> None:
    settings = {"BASE_URL": client.base_url, "API_KEY": "k", "PARTNER": "acme"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "xlsxwriter", None)
        done = CliRunner().invoke(
            cli,
            ["dates", "-o", "days.xlsx"],
            env={f"ADANALYTICS_{name}": value for name, value in settings.items()},
        )
    raise AdAnalyticsError(done.stderr)


def two_loops(client: Client) -> None:
    other = AsyncClient(client.base_url, token=client.log_in(), partner="acme")
    with asyncio.Runner() as runner:
        runner.run(other.dates())
        try:
            asyncio.run(other.dates())
        finally:
            runner.run(other.aclose())


def two_syncs(client: Client) -> None:
    Dataset("events").sync(client, "2026-01-15")

    class Second(Observer):
        def due(self, _info: RequestDue) -> None:
            Dataset("events").sync(client)

    Dataset("events").sync(client.with_options(observer=Second()))


DAY, NEXT_DAY = "2026-01-15", "2026-01-16"
Parameters = dict[str, str]


def page(*ids: str, **meta: Any) -> dict[str, Any]:
    return {"data": [{"event_id": each, "event_time": f"{DAY}T03:00:00Z"} for each in ids], **meta}


def bare_page(*numbers: int, **meta: Any) -> dict[str, Any]:
    """Events without an id and a time."""
    return {"data": [{"number": number} for number in numbers], **meta}


def is_count(query: Parameters) -> bool:
    return query["per_page"] == "1"


def mocked(
    events: Callable[[Parameters], Any] = lambda _: page(total=0),
    *,
    lists: Any = None,
    limit: int = 1000,
) -> Client:
    """A client of a service that gives these pages of events, and this for any other path."""

    def answer(request: httpx.Request) -> httpx.Response:
        is_events = request.url.path.endswith("/events")
        body = events(dict(request.url.params)) if is_events else lists
        return httpx.Response(204) if body is None else httpx.Response(200, json=body)

    http = httpx.Client(transport=httpx.MockTransport(answer))
    return Client(
        "http://service.example",
        api_key="k",
        partner="acme",
        http=http,
        quota=QuotaPolicy(limit=limit, log="memory"),
    )


def pull(client: Client, end: str = DAY, **options: Any) -> None:
    """Pull in one query, unless the options say otherwise."""
    list(client.events(DAY, end, **({"split": "none"} | options)).rows())


def same_pages(_: Client) -> None:
    pull(mocked(lambda _: page("a")))


def pages_in_turn(_: Client) -> None:
    orders = [*permutations("abc")]
    pull(mocked(lambda query: page(*orders[int(query["page"])])))


def two_statements(_: Client) -> None:
    pull(mocked(lambda _: page("a", has_more=False, total_pages=2)))


def partial_answer(_: Client) -> None:
    pull(mocked(lambda _: page("a", success=False)))


def low_total(_: Client) -> None:
    pull(mocked(lambda _: page("a", "b", total=1)))


def events_without_ids(_: Client) -> None:
    pull(mocked(lambda query: bare_page(*([1] if query["page"] == "1" else []), total=3)))


def high_count(_: Client) -> None:
    def events(query: Parameters) -> Any:
        if is_count(query):
            return page("a", total=2)
        return page("a", total=1) if query["page"] == "1" else page()

    pull(mocked(events), check="always")


def changed_events(_: Client) -> None:
    ids = iter("ab")

    def events(query: Parameters) -> Any:
        return page("a", total=2) if is_count(query) else page(next(ids), total=1)

    pull(mocked(events), check="always")


def endless_pages(_: Client) -> None:
    pull(mocked(lambda query: page(query["page"]), limit=3))


def one_day_for_all(_: Client) -> None:
    events = [{"event_id": "a"}, {"event_id": "b"}]
    pull(mocked(lambda _: {"data": events, "total": 2}), split="daily", end=NEXT_DAY)


def ignored_hour(_: Client) -> None:
    pull(mocked(lambda _: bare_page(1, total=1)), hour=3)


def no_events_of_a_listed_day(_: Client) -> None:
    pull(mocked(lists={"dates": [DAY]}))


def days_left_out(_: Client) -> None:
    def events(query: Parameters) -> Any:
        event = {"event_id": "a", "event_time": f"{query['start_date']}T03:00:00Z"}
        return {"data": [event], "total": 1}

    pull(mocked(events, lists={"days": [DAY]}), end=NEXT_DAY, check="always")


def short_list(_: Client) -> None:
    mocked(lists={"dates": [DAY], "total": 5}).dates()


def error_for_dates(_: Client) -> None:
    mocked(lists={"error": "The database is down", "dates": []}).dates()


def no_dates(_: Client) -> None:
    mocked(lists={"days": [DAY]}).dates()


def wrong_date(_: Client) -> None:
    mocked(lists={"dates": ["15.01.2026"]}).dates()


def other_days(_: Client) -> None:
    row = {"date": NEXT_DAY, "impressions": 1}
    mocked(lists={"data": [row], "meta": {"total": 1}}).summary(DAY, group_by="day")


def no_body(_: Client) -> None:
    mocked().summary(DAY)


# What shows the errors that no command line of `error_texts.txt` meets.
OTHERS: dict[str, Callable[[Client], None]] = {
    "… does not speak https.": plain_http,
    "Quota used up; resuming at …": no_quota,
    "The service refused a request; asking again at …": no_time_stated,
    "resume: this is not a resume token of this version.": wrong_token,
    "This needs …": missing_extra,
    "… needs the '…' extra, which is not installed.": missing_extra_of_a_command,
    "The client was used in another event loop or process, which holds its connections.": two_loops,
    "Another process works on …": two_syncs,
    "The service counts … on …, but … arrived": high_count,
    "The service counts … in …, but … arrived.": low_total,
    "The service counts … in …, but … arrived; it is not known which are missing.": (
        events_without_ids
    ),
    "The events of … changed while they were pulled.": changed_events,
    "Pages … and … of … are the same: …": same_pages,
    "Pages … to … of … contain no new events: the service repeats its pages.": pages_in_turn,
    "Page … of … states …, so it is not known whether another page follows.": two_statements,
    "… has more than … pages and states no total, so its end is not in sight.": endless_pages,
    "… and … have the same events, as if the service ignored a parameter, or a cache did.": (
        one_day_for_all
    ),
    "The service counts … in …, as many as in hour … and in hour …: it ignores the hour.": (
        ignored_hour
    ),
    "No events arrived of …, but the service lists … as a day with data.": (
        no_events_of_a_listed_day
    ),
    "No events arrived of …, but the service has other events of … if that is divided there.": (
        days_left_out
    ),
    "The response holds data, and says that they are not all: …": partial_answer,
    "The list cannot be read as a whole: …": short_list,
    "The answer contains an error instead of dates: …": error_for_dates,
    '…, not {"dates": ["YYYY-MM-DD", ...]}.': no_dates,
    "The list of dates has an invalid entry: …": wrong_date,
    "The summary has …, but the request was for …": other_days,
    "The answer has no body (204) instead of an object.": no_body,
}
CERTIFICATE = "The certificate of … is not trusted: …"


def test_the_page_has_errors_of_the_command_line_and_a_few_others() -> None:
    others = [title for title in TITLES if not any(fits(title, line) for line in COMMAND_LINE)]
    assert sorted(others) == sorted([*OTHERS, CERTIFICATE])


@pytest.mark.parametrize("title", OTHERS)
def test_an_error_of_the_page(
    title: str, reference: LocalServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with (
        Client(
            reference.url, email=reference.email, password=reference.password, partner="acme"
        ) as client,
        pytest.raises(AdAnalyticsError) as caught,
    ):
        OTHERS[title](client)
    assert fits(title, str(caught.value))


def test_the_certificate_of_the_page(wire: Callable[..., Wire], certificate: Path) -> None:
    server = wire([sized(b"")], context=served_with(certificate))
    with (
        Client(server.url, api_key="k", partner="acme") as client,
        pytest.raises(AdAnalyticsError) as caught,
    ):
        client.dates()
    assert fits(CERTIFICATE, str(caught.value))
