"""A server that responds as the service of a file: its own names, places, words and types."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import msgspec
import pytest
from tests.client.test_service_profile import FULL
from tests.server.speaking import API, DAY, ORDER

from adanalytics_client import Client, ServiceProfile
from adanalytics_server.dialect import Dialect
from adanalytics_server.faults import DialectError, dialect_of, service_choice
from adanalytics_server.faults.service_file import Column, read_service, service_names, service_path
from adanalytics_server.local import LocalServer, Sample

OTHER = """
rows_key = "report.hits"
zone = "+05:30"
time_field = "at"
[fields]
revenue = "rev"
event_id = "key"
[pages]
total = "header X-Total"
page = "report.paging.number"
more = "report.paging.isLast"
next = "links.next"
first = 0
most = 40
empty = "404"
past_end = "200 null"
[pages.heeds]
hour = false
[summary]
rows_key = "totals"
[summary.columns]
none = ["impressions", "rev", "spots", "imps"]
day = ["tag", "impressions", "rev", "spots"]
campaign = ["campaign", "label", "impressions", "rev"]
[summary.sums]
impressions = "impressions"
rev = "rev"
[export]
wait = "state"
columns = ["at", "rev", "note"]
[export.names]
id = "job.id"
status = "job.state"
file = "job.file.url"
rows = "job.rows"
[export.words]
pending = "Queued"
processing = "Running"
completed = "Done"
[headers]
request_id = "x-trace"
limit = ["x-quota-limit", "x-quota-remaining"]
[columns.key]
type = "integer"
role = "id"
longest = 100
[columns.trace]
type = "text"
role = "id"
longest = 100
[columns.at]
type = "text"
role = "time"
longest = 100
form = "YYYY/MM/DD hh:mm:ss"
[columns.sent]
type = "number"
role = "time"
longest = 100
form = "epoch seconds"
[columns.impressions]
type = "integer"
role = "flag"
[columns.rev]
type = "number"
role = "money"
longest = 10
form = "4 digits"
[columns.country]
type = "text"
nulls = "some"
longest = 100
[columns.note]
type = "mixed"
nulls = "some"
longest = 10
[columns.nothing]
type = "null"
nulls = "always"
[columns.campaignId]
type = "text"
role = "id"
nulls = "some"
longest = 100
form = "uuid"
[columns.os]
type = "mixed"
nulls = "some"
longest = 10
[columns.tags]
type = "list"
longest = 100
[columns.isFiltered]
type = "integer"
role = "flag"
"""
KINDS: dict[str, tuple[type, ...]] = {
    "text": (str,),
    "integer": (int,),
    "number": (Decimal,),
    "flag": (bool,),
    "object": (dict,),
    "list": (list,),
    "mixed": (int, str),
}
PUBLISHED = {"start_date": "2026-01-15", "end_date": "2026-01-16"}


@contextmanager
def serving(
    service: str | Path | None,
    sample: Sample | None = Sample(events_per_day=100),  # noqa: B008  # frozen
) -> Iterator[tuple[LocalServer, httpx.Client]]:
    with (
        LocalServer(sample=sample, service=service) as server,
        httpx.Client(
            base_url=server.url + API, headers={"Authorization": f"Bearer {server.api_key}"}
        ) as http,
    ):
        yield server, http


def exact(text: str) -> Any:
    return json.loads(text, parse_float=Decimal)


def place(body: Any, path: str) -> Any:
    for name in () if path == "$" else path.split("."):
        body = body[name]
    return body


@pytest.fixture
def other(tmp_path: Path) -> Path:
    path = tmp_path / "other.toml"
    path.write_text(OTHER)
    return path


def check_column(name: str, column: Column, values: list[Any]) -> None:
    """The values are of the type, the length, the form and the nulls of the column."""
    some = [value for value in values if value is not None]
    nulls = "never" if len(some) == len(values) else "some" if some else "always"
    assert nulls == column.nulls, name
    if not some:
        return
    assert {type(value) for value in some} <= {*KINDS[column.type]}, name
    longest = max(
        len(
            value
            if isinstance(value, str)
            else json.dumps(value, default=float, separators=(",", ":"))
        )
        for value in some
    )
    if column.role != "money":
        assert column.longest // 10 < longest <= column.longest, name
    if digits := re.match(r"(\d+) digits", column.form):
        assert {len(str(value).partition(".")[2]) for value in some} == {int(digits[1])}, name
    elif column.form == "uuid":
        assert all(str(UUID(value)) == value for value in some)
    elif column.form and not column.form.startswith("epoch"):
        pattern = re.sub("[YMDhmsf]", r"\\d", re.escape(column.form))
        assert all(re.fullmatch(pattern, value) for value in some)


@pytest.mark.parametrize("name", service_names())
def test_a_client_reads_all_events_of_each_service_in_the_package(name: str) -> None:
    file = read_service(name)
    assert file.pages
    assert file.summary
    events = 1_100 if file.pages.most else 400
    with serving(name, Sample(events_per_day=events)) as (server, http):
        days = {**DAY, "end_date": "2026-01-16", "start_date": "2026-01-14"}
        rows = place(
            exact(http.get("/events", params={**days, "per_page": 5000}).text), file.rows_key or ""
        )
        assert len(rows) == (file.pages.most or events)
        for column, known in file.columns.items():
            check_column(column, known, [row[column] for row in rows])
        assert list(rows[0]) == list(file.columns)
        for grouping, columns in file.summary.columns.items():
            query = {} if grouping == "none" else {"group_by": grouping}
            body = http.get("/summary", params={**DAY, **query}).json()
            for row in place(body, file.summary.rows_key or ""):
                assert tuple(row) == columns
        profile = ServiceProfile.read(service_path(name))
        with Client(server.url, api_key=server.api_key, partner="acme", service=profile) as client:
            assert sum(1 for _ in client.events("2026-01-14", "2026-01-16").rows()) == events


def test_a_file_of_the_client_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "service.toml"
    path.write_text(FULL.to_toml())
    file = msgspec.to_builtins(read_service(path))
    assert file.pop("version") == 1
    assert file == msgspec.to_builtins(FULL)
    for name in service_names():
        file = msgspec.to_builtins(read_service(name))
        del file["version"]
        assert file == msgspec.to_builtins(ServiceProfile.read(service_path(name)))


def test_rows_and_page_numbers_are_where_the_file_has_them(other: Path) -> None:
    file = read_service(other)
    with serving(other) as (_, http):
        response = http.get("/events", params={**PUBLISHED, "per_page": 60, "page": 0})
        body = exact(response.text)
        rows = body["report"].pop("hits")
        assert body == {
            "report": {"paging": {"number": 0, "isLast": False}},
            "links": {"next": str(response.url.copy_set_param("page", 1))},
        }
        assert response.headers["x-total"] == "100"
        assert response.headers["x-quota-remaining"] == "999"
        assert re.fullmatch("[0-9a-f]{32}", response.headers["x-trace"])
        assert "x-request-id" not in response.headers
        assert len(rows) == 40
        last = http.get("/events", params={**PUBLISHED, "per_page": 60, "page": 2})
        assert last.json()["report"]["paging"]["isLast"]
        rows += exact(http.get("/events", params={**PUBLISHED, "page": 1}).text)["report"]["hits"]
        rows += exact(last.text)["report"]["hits"]
        one = http.get("/events", params={**PUBLISHED, "hour": 3, "per_page": 60, "page": 2})
        assert one.json()["report"]["hits"] == last.json()["report"]["hits"]
        after = http.get("/events", params={**PUBLISHED, "page": 9})
        assert after.json() == {"report": {"hits": None}}
        days = {"start_date": "2026-03-01", "end_date": "2026-03-01"}
        assert http.get("/events", params=days).status_code == 404
    assert [len({row[name] for row in rows}) for name in ("key", "trace")] == [100, 100]
    for name, column in file.columns.items():
        check_column(name, column, [row[name] for row in rows])
    for name in ("note", "os"):
        assert {type(row[name]) for row in rows} == {int, str, type(None)}
    assert 1 < len({row["campaignId"] for row in rows}) < 15
    assert {row["impressions"] for row in rows} == {0, 1}


def test_days_are_those_of_the_zone_of_the_file(other: Path) -> None:
    with serving(other) as (_, http):
        assert http.get("/dates").json() == {"dates": ["2026-01-15", "2026-01-16"]}
        for day in ("2026-01-15", "2026-01-16"):
            days = {"start_date": day, "end_date": day}
            rows = http.get("/events", params=days).json()["report"]["hits"]
            assert {row["at"][:10] for row in rows} == {day.replace("-", "/")}
            order = http.post("/bulk-export", json={**days, "format": "csv"}).json()["job"]
            http.get(f"/bulk-export/{order['id']}")
            job = http.get(f"/bulk-export/{order['id']}").json()["job"]
            assert str(job["rows"]) == http.get("/events", params=days).headers["x-total"]
            assert 0 < job["rows"] < 100


def test_a_summary_adds_up_the_rows_that_are_served(other: Path) -> None:
    with serving(other, Sample(events_per_day=400, seed=5)) as (_, http):
        rows: list[Any] = []
        for page in range(10):
            body = http.get("/events", params={**PUBLISHED, "page": page})
            rows += exact(body.text)["report"]["hits"]
        real = [row for row in rows if not row["isFiltered"]]
        assert len(real) < len(rows) == 400
        (total,) = exact(http.get("/summary", params=PUBLISHED).text)["totals"]
        assert list(total) == ["impressions", "rev", "spots", "imps"]
        assert total["impressions"] == sum(row["impressions"] for row in real) > 0
        assert total["rev"] == sum(row["rev"] for row in real)
        days = exact(http.get("/summary", params={**PUBLISHED, "group_by": "day"}).text)["totals"]
        assert [row["tag"] for row in days] == ["2026-01-15", "2026-01-16"]
        assert sum(row["impressions"] for row in days) == total["impressions"]
        query = {**PUBLISHED, "group_by": "campaign"}
        groups = exact(http.get("/summary", params=query).text)["totals"]
        assert sum(row["rev"] for row in groups) == total["rev"]
        assert (groups[0]["campaign"], groups[0]["label"]) == (1001, "Spring Sale")


def test_an_export_is_waited_for_as_the_file_says(other: Path) -> None:
    with serving(other) as (_, http):
        states: list[Any] = []
        for _ in range(2):
            order = http.post("/bulk-export", json={**ORDER, **PUBLISHED})
            job = order.json()["job"]
            assert (order.status_code, job["state"], job["rows"]) == (202, "Queued", None)
            states = [http.get(f"/bulk-export/{job['id']}").json()["job"] for _ in range(3)]
            assert [state["state"] for state in states] == ["Running", "Done", "Done"]
            assert ["file" in state for state in states] == [False, True, True]
        lines = httpx.get(states[1]["file"]["url"]).text.splitlines()
        assert lines[0] == "at,rev,note"
        assert len(lines) == 101 == states[1]["rows"] + 1


@pytest.mark.parametrize(
    ("wait", "words"), [("order", ["a", "c", "a"]), ("file", ["a", "a", "a"]), ("none", ["c"] * 3)]
)
def test_an_order_may_be_repeated_or_its_file_awaited(
    tmp_path: Path, wait: str, words: list[str]
) -> None:
    path = tmp_path / "service.toml"
    path.write_text(
        f"[export]\nwait = '{wait}'\n[export.names]\nstatus = 'status'\nfile = 'header Location'\n"
        "[export.words]\npending = 'a'\ncompleted = 'c'\n"
    )
    with serving(path) as (_, http):
        orders = [http.post("/bulk-export", json=ORDER) for _ in range(3)]
        assert [order.json()["status"] for order in orders] == words
        links = ["location" in order.headers for order in orders]
        assert links == [wait == "file" or word == "c" for word in words]
        link = next(order.headers["location"] for order in orders if "location" in order.headers)
        statuses = [httpx.get(link).status_code for _ in range(2)]
    assert statuses == ([202, 200] if wait == "file" else [200, 200])


def test_a_profile_without_columns_leaves_the_rows_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "service.toml"
    path.write_text("rows_key = 'hits'\n[summary]\nrows_key = 'currency'\n[pages]\npage = 'page'\n")
    with serving(path) as (_, http), serving(None) as (_, plain):
        rows = http.get("/events", params=DAY).json()
        expected = plain.get("/events", params=DAY).json()
        assert rows["hits"] == expected["data"]
        assert rows["page"] == expected["meta"]["page"]
        assert len(http.get("/summary", params=DAY).json()["currency"]) == 1


def test_a_file_is_a_choice_beside_dialects(other: Path) -> None:
    service = service_choice(other)
    dialect = dialect_of("rate-sliding,says-warnings,lists-paged", service)
    assert (dialect.envelope, dialect.rows_of_lists, dialect.is_sliding) == ("report.hits", 5, True)
    assert dialect_of("reference", service_choice("published")).envelope == Dialect().envelope
    for name in ("modern", "envelope-items", "times-epoch", "hour-ignored", "empty-null"):
        with pytest.raises(DialectError, match=f"'{name}' contradicts the service file"):
            dialect_of(name, service)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("version = 2", "version 2; this adanalytics knows version 1"),
        ("rows_keys = 'a'", "unknown field `rows_keys`"),
        ("[pages]\ntotals = 'a'", "unknown field `totals` - at `$.pages`"),
        ("[columns.a]\ntype = 'texts'", "'texts' - at `$.columns[...]"),
        ("[pages]\nfirst = 2", "pages.first is 2"),
        ("[pages]\nmost = 0", "pages.most is 0"),
        ("[pages]\nempty = '200 none'", "pages.empty is '200 none'"),
        ("[pages.heeds]\npages = true", "unknown key 'pages'"),
        ("[pages]\ntotal = 'data.total'", "'data' leaves no room for 'data.total'"),
        ("rows_key = '$'\n[pages]\ntotal = 'total'", "'$' leaves no room for 'total'"),
        ("[export.names]\nid = 'a'\nfile = 'a.b'", "'a' leaves no room for 'a.b'"),
        ("[export]\nwait = 'long'", "'long' - at `$.export.wait`"),
        ("zone = 'Mars'", "zone 'Mars'"),
        ("= 1", "Cannot read"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "service.toml"
    path.write_text(text)
    with pytest.raises(DialectError) as caught:
        LocalServer(service=path)
    assert str(path) in str(caught.value)
    assert words in str(caught.value)


def test_a_missing_file_names_those_of_the_package(tmp_path: Path) -> None:
    with pytest.raises(DialectError, match=r"doctor --probe .* bare, camel, capped, classic"):
        LocalServer(service=tmp_path / "none.toml")


def test_the_reference_page_has_every_file_of_the_package() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "test-controls.md").read_text()
    for name in service_names():
        subject = service_path(name).read_text().splitlines()[0]
        assert f"| `{name}` | {subject[len('# A service with ') : -1]} |" in page
