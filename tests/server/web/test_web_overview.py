"""The overview and its drawings: coverage, figures, exports, quotas of the readable partners."""

import csv
from collections.abc import Callable
from datetime import date
from itertools import pairwise
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.server.records import make_record
from tests.server.web.page import Page

from adanalytics_server import admin
from adanalytics_server.clock import MILLISECONDS_PER_HOUR, Clock
from adanalytics_server.local import LocalServer
from adanalytics_server.storage.events import Record
from adanalytics_server.storage.ingest import ingest
from adanalytics_server.storage.money import text_from_nanos
from adanalytics_server.storage.store import PartnerStore
from adanalytics_server.web.coverage import DayCoverage, read_coverage
from adanalytics_server.web.drawings import (
    CALENDAR_ROW,
    CHART_HEIGHT,
    COLUMN,
    bar_chart,
    month_labels,
    round_up,
    year_grid,
)
from adanalytics_server.web.format import exact_amount, hour_list

API = "/api/partners/acme/ad-analytics"
HOUR = 3_600_000
PASSWORD = "a good password"
NOTHING = "\N{EN DASH}"
AddRecords = Callable[[list[Record]], None]
SignIn = Callable[..., httpx.Client]


def at(day: str, hour: int) -> int:
    return (date.fromisoformat(day) - date(1970, 1, 1)).days * 24 * HOUR + hour * HOUR


@pytest.fixture
def some_days(add_records: AddRecords) -> None:
    """Two hours of New Year's Eve, a gap of an hour, then two days of January."""
    times = [at("2025-12-31", 21), at("2025-12-31", 23)]
    times += [at("2026-01-01", hour) for hour in range(24) for _ in range(hour + 1)]
    times += [at("2026-01-02", 0), at("2026-01-02", 5)]
    records = [make_record(time, number) for number, time in enumerate(times)]
    records.append(make_record(at("2026-01-02", 5), 9_000, is_filtered=True))
    records.append(make_record(at("2026-01-02", 5), 9_001, event_type="click", revenue=1))
    add_records(records)


def tiles(page: Any) -> dict[str, str]:
    return {
        tile.children[0].text: " ".join(tile.children[1].text.split())
        for tile in page.all("div")
        if tile.attributes.get("class", "").split()[:1] == ["tile"]
    }


@pytest.mark.usefixtures("some_days")
def test_the_newest_month_is_shown_and_the_others_can_be_chosen(web: httpx.Client) -> None:
    page = Page(web.get("/"))
    options = page.one("select", id="month").children
    assert [option["value"] for option in options] == ["2026-01", "2025-12"]
    assert "selected" in options[0].attributes
    assert [link["href"] for link in page.one("nav", **{"class": "steps"}).children] == [
        "/?partner=acme&month=2025-12"
    ]
    before = Page(web.get("/?partner=acme&month=2025-12"))
    assert tiles(before)["Events"] == "2"
    assert tiles(before)["Gaps"] == "1 hour"


@pytest.mark.usefixtures("some_days")
def test_figures_are_those_of_the_api(web: httpx.Client, server: LocalServer) -> None:
    page = Page(web.get("/"))
    summary = httpx.get(
        f"{server.url}{API}/summary",
        params={"start_date": "2026-01-01", "end_date": "2026-01-31", "group_by": "day"},
        headers={"Authorization": f"Bearer {server.api_key}"},
    ).json()
    assert tiles(page) == {
        "Events": "304",
        "Impressions": "302",
        "Revenue": "USD 0.7550",
        "eCPM": "USD 2.50",
        "Hours with data": "26 of 744",
        "Gaps": "4 hours",
    }
    assert summary["meta"]["totals"]["revenue"] == "0.755000001"
    assert page.one("tfoot").children[0].children[6].text == "0.755000001"
    rows = [[cell.text for cell in row.children] for row in page.all("tbody")[0].children]
    assert len(rows) == 31
    assert rows[0] == ["2026-01-01", "300", "24", NOTHING, "300", "0", "0.750000000", "2.500000"]
    assert rows[1] == ["2026-01-02", "4", "2", "01 to 04", "2", "1", "0.005000001", "2.500000"]
    assert rows[2] == ["2026-01-03", "0", "0", NOTHING, "0", "0", "0.000000000", NOTHING]
    assert [row["revenue"] for row in summary["data"]] == ["0.750000000", "0.005000001"]


@pytest.mark.usefixtures("some_days")
def test_the_heatmap_has_a_square_an_hour_darker_with_more_events(web: httpx.Client) -> None:
    page = Page(web.get("/"))
    squares = {square.text: square["class"] for square in page.squares("hours-drawing")}
    assert len(squares) == 31 * 24
    assert squares["2026-01-01 00:00: 1 event"] == "level-1"
    assert squares["2026-01-01 23:00: 24 events"] == "level-5"
    assert squares["2026-01-02 04:00: gap, no data"] == "gap"
    assert squares["2026-01-02 05:00: 3 events"] == "level-1"
    assert squares["2026-01-02 06:00: 0 events"] == "level-0"
    days = {square.text: square["class"] for square in page.squares("calendar-drawing")}
    assert len(days) == 365
    assert days["2026-01-01: 24 of 24 hours, 300 events"] == "level-5"
    assert days["2026-01-02: 2 of 24 hours, 4 events"] == "level-1"
    assert days["2026-01-03: 0 of 24 hours, 0 events"] == "level-0"


@pytest.mark.usefixtures("some_days")
def test_the_bars_say_what_they_are(web: httpx.Client) -> None:
    page = Page(web.get("/"))
    impressions, revenue = page.all("svg", **{"class": "plot"})
    titles = [child.text for child in impressions.children if child.tag == "g"]
    assert titles[:3] == [
        "2026-01-01: 300 impressions",
        "2026-01-02: 2 impressions",
        "2026-01-03: 0 impressions",
    ]
    amounts = [child.text for child in revenue.children if child.tag == "g"]
    assert amounts[:2] == ["2026-01-01: USD 0.7500", "2026-01-02: USD 0.0050"]


def test_an_empty_partner_says_how_to_begin(web: httpx.Client, server: LocalServer) -> None:
    page = web.get("/")
    assert "No data yet" in page.text
    assert "adanalytics server generate --partner acme" in page.text
    admin.add_partner(server.settings.data, "a b&", name="Odd", currency="EUR")
    assert "--partner &#39;a b&amp;&#39; --" in web.get("/", params={"partner": "a b&"}).text


def test_a_month_without_data_is_empty(web: httpx.Client, add_records: AddRecords) -> None:
    add_records([make_record(at("2026-01-01", 0), 1)])
    for month in ("2024-02", "0001-01", "9999-12"):
        page = Page(web.get("/", params={"month": month}))
        assert page.answer.status_code == 200
        assert tiles(page)["Events"] == "0"
        assert tiles(page)["eCPM"] == NOTHING


@pytest.mark.parametrize("month", ["2026", "2026-1", "2026-13", "0000-01", "2026-01-01", "٢٠٢٦-01"])
def test_a_month_that_is_none_is_refused(web: httpx.Client, month: str) -> None:
    answer = web.get("/", params={"month": month})
    assert (answer.status_code, "YYYY-MM" in answer.text) == (400, True)


def test_partners_are_chosen_among_ones_own(server: LocalServer, sign_in: SignIn) -> None:
    data = server.settings.data
    for partner in ("globex", "initech"):
        admin.add_partner(data, partner, name=partner.title(), currency="EUR")
    admin.add_user(
        data, "p@example.com", password=PASSWORD, role="analyst", partners=("acme", "globex")
    )
    everything = Page(sign_in().get("/")).one("select", id="partner").children
    assert [option["value"] for option in everything] == ["acme", "globex", "initech"]
    client = sign_in("p@example.com", PASSWORD)
    page = Page(client.get("/?partner=globex"))
    assert page.one("h1").text == "Globex"
    options = page.one("select", id="partner").children
    assert [option["value"] for option in options] == ["acme", "globex"]
    answers = [client.get("/", params={"partner": name}) for name in ("initech", "nowhere")]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].text == answers[1].text


def test_quotas_are_for_admins(server: LocalServer, sign_in: SignIn) -> None:
    admin.add_user(
        server.settings.data, "p@example.com", password=PASSWORD, role="analyst", partners=("acme",)
    )
    headings = [
        [heading.text for heading in Page(client.get("/")).all("h2")]
        for client in (sign_in(), sign_in("p@example.com", PASSWORD))
    ]
    assert ["Request quota" in texts for texts in headings] == [True, False]


def test_a_quota_is_looked_at_and_not_used(
    server: LocalServer, web: httpx.Client, clock: Clock
) -> None:
    headers = {"Authorization": f"Bearer {server.api_key}"}
    for _ in range(3):
        httpx.get(f"{server.url}{API}/dates", headers=headers)
    clock.advance(seconds=3600 - 90)
    for _ in range(2):
        text = Page(web.get("/")).one("ul", **{"class": "quotas"}).text
        assert "3 of 1,000 used" in text
        assert "997 left; more in 2 min" in text
    clock.advance(seconds=90)
    assert "0 of 1,000 used" in Page(web.get("/")).one("ul", **{"class": "quotas"}).text


def test_a_server_without_limit_says_so() -> None:
    with LocalServer(rate_limit=0) as server, httpx.Client(base_url=server.url) as client:
        client.post("/login", data={"email": server.email, "password": server.password})
        assert "no request limit" in client.get("/").text


@pytest.mark.usefixtures("some_days")
def test_exports_are_listed_with_their_state_and_file(
    server: LocalServer, web: httpx.Client, clock: Clock
) -> None:
    headers = {"Authorization": f"Bearer {server.api_key}"}
    order = {"start_date": "2026-01-01", "end_date": "2026-01-02", "format": "csv"}
    job = httpx.post(f"{server.url}{API}/bulk-export", json=order, headers=headers).json()
    page = Page(web.get("/"))
    row = page.all("tbody")[1].children[0]
    texts = [" ".join(cell.text.split()) for cell in row.children]
    assert texts[1:4] == ["2026-01-01 to 2026-01-02", "csv", "304"]
    assert texts[5] == "completed"
    link = next(link for link in page.all("a") if link.text.startswith("Download"))
    assert link["href"].startswith(f"/exports/{job['export_id']}?")
    assert web.get(link["href"]).content == httpx.get(job["download_url"]).content
    clock.advance(seconds=86_400)
    page = Page(web.get("/"))
    assert "expired" in page.all("tbody")[1].text
    assert not [link for link in page.all("a") if link.text.startswith("Download")]


def test_another_partners_exports_are_not_listed(server: LocalServer, web: httpx.Client) -> None:
    headers = {"Authorization": f"Bearer {server.api_key}"}
    order = {"start_date": "2026-01-01", "end_date": "2026-01-02", "format": "csv"}
    httpx.post(f"{server.url}{API}/bulk-export", json=order, headers=headers)
    admin.add_partner(server.settings.data, "globex", name="Globex", currency="EUR")
    assert "completed" in web.get("/?partner=acme").text
    assert "completed" not in web.get("/?partner=globex").text


@pytest.mark.usefixtures("some_days")
def test_the_month_that_is_shown_is_a_file_too(web: httpx.Client) -> None:
    shown = Page(web.get("/?month=2026-01"))
    address = next(link["href"] for link in shown.all("a") if link.text == "Save as CSV")
    answer = web.get(address)
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"] == 'attachment; filename="days-2026-01.csv"'
    days = list(csv.DictReader(answer.text.splitlines()))
    assert len(days) == 31
    assert (days[0]["day"], days[0]["events"], days[0]["hours"]) == ("2026-01-01", "300", "24")
    assert (days[1]["missing_hours"], days[1]["clicks"], days[1]["currency"]) == ("4", "1", "USD")
    assert web.get("/month.csv?month=2025-11").text.count("\n") == 31


@given(st.lists(st.integers(-(10**18), 10**18), min_size=1, max_size=31))
def test_bars_stay_inside_and_keep_their_order(values: list[int]) -> None:
    chart = bar_chart(values, [str(value) for value in values], tick_text=str)
    assert 0 <= chart.zero <= CHART_HEIGHT
    for value, bar in zip(values, chart.bars, strict=True):
        assert -1 <= bar.y <= CHART_HEIGHT
        assert bar.y + bar.height <= CHART_HEIGHT + 1
        assert (bar.height == 0) == (value == 0)
        assert bar.title == str(value)
        end = bar.y + bar.height if value < 0 else bar.y
        assert (end > chart.zero) == (value < 0) or end == chart.zero
    heights = [
        bar.height
        for _, bar in sorted(
            zip(map(abs, values), chart.bars, strict=True), key=lambda pair: pair[0]
        )
    ]
    assert all(after >= before - 1 for before, after in pairwise(heights))


def test_an_axis_is_marked_at_its_ends_and_at_zero() -> None:
    def marks(values: list[int]) -> list[tuple[int, str]]:
        chart = bar_chart(values, [""] * len(values), tick_text=str)
        return [(tick.y, tick.text) for tick in chart.ticks]

    assert marks([0, 3]) == [(0, "4"), (80, "2"), (160, "0")]
    assert marks([6, -2]) == [(0, "6"), (120, "0"), (160, "-2")]
    assert marks([-5]) == [(0, "0"), (160, "-6")]
    assert marks([0]) == [(0, "2"), (80, "1"), (160, "0")]


@given(st.integers(1, 10**30))
def test_a_round_end_is_not_below_nor_far_above(value: int) -> None:
    assert value <= round_up(value) <= 2 * value


@settings(max_examples=30)
@given(st.integers(1, 9999))
def test_a_year_has_a_square_a_day_and_a_label_a_month(year: int) -> None:
    first = date(year, 1, 1)
    numbers = range(first.toordinal(), date(year, 12, 31).toordinal() + 1)
    days = [DayCoverage(date.fromordinal(number), (0,) * 24, ()) for number in numbers]
    grid = year_grid(days)
    assert len(grid.squares) == (date(year, 12, 31) - first).days + 1
    assert len({(square.x, square.y) for square in grid.squares}) == len(grid.squares)
    for number, square in enumerate(grid.squares):
        assert square.y // CALENDAR_ROW == (first.weekday() + number) % 7
    assert max(square.x for square in grid.squares) == grid.width - COLUMN
    labels = month_labels(days)
    assert len(labels) in {53, 54}
    assert [label.month for label in labels if label] == list(range(1, 13))


def test_a_gap_lies_between_hours_with_data_also_of_other_years(store: PartnerStore) -> None:
    new_year = 1_767_225_600_000  # 2026-01-01T00:00:00Z
    times = [new_year - 2 * MILLISECONDS_PER_HOUR, new_year + 3 * MILLISECONDS_PER_HOUR]
    ingest(store, [make_record(time, number) for number, time in enumerate(times)])
    assert read_coverage(store, 2025)[-1].gaps == (23,)
    assert read_coverage(store, 2025)[-2].gaps == ()
    assert read_coverage(store, 2026)[0].gaps == (0, 1, 2)
    assert read_coverage(store, 2026)[0].covered == 1
    assert read_coverage(store, 2024)[0].gaps == ()


@given(st.integers(-(10**27), 10**27))
def test_an_exact_amount_loses_nothing(nanos: int) -> None:
    text = text_from_nanos(nanos)
    assert exact_amount(text).replace(",", "") == text


@given(st.sets(st.integers(0, 23)))
def test_a_list_of_hours_names_each_of_them(hours: set[int]) -> None:
    named: set[int] = set()
    for part in filter(None, hour_list(sorted(hours)).split(", ")):
        first, _, last = part.partition(" to ")
        named |= set(range(int(first), int(last or first) + 1))
    assert named == hours
