"""The lists beside events, which may be cut, or answer another request."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from tests.client.bench import Bench
from tests.client.stand_in import Asked, Say

from adanalytics_client import ProtocolError, ServiceProfile

FIRST, LAST = date(2026, 1, 1), date(2026, 1, 31)
DAYS = [str(FIRST + timedelta(at)) for at in range(31)]


def serve(bench: Bench, answer: Callable[[int, dict[str, str]], Say]) -> None:
    def script(asked: Asked) -> Say:
        return answer(int(asked.query.get("page", "1")), asked.query)

    bench.script = script


def test_dates_that_may_be_cut_are_read_on(bench: Bench) -> None:
    serve(bench, lambda page, _: Say({"dates": DAYS[(page - 1) * 10 : page * 10]}))
    assert [*map(str, bench.call("dates"))] == DAYS
    assert len(bench.asked) == 4
    # A service without pages of this list returns the same one.
    serve(bench, lambda *_: Say({"dates": DAYS[:10]}))
    assert [*map(str, bench.call("dates"))] == DAYS[:10]
    assert len(bench.asked) == 6


@pytest.mark.parametrize("size", [7, 10, 12])
@pytest.mark.parametrize("beside", [{}, {"page": 1}, {"per_page": 1}])
def test_a_total_of_one_page_is_no_total(bench: Bench, size: int, beside: dict[str, int]) -> None:
    meta = {name: size if name == "per_page" else value for name, value in beside.items()}

    def answer(page: int, _: dict[str, str]) -> Say:
        rows = [{"campaign_id": at, "clicks": 1} for at in range(24)][(page - 1) * size :][:size]
        return Say({"data": rows, "meta": {**meta, "total": len(rows)}})

    serve(bench, answer)
    with pytest.raises(ProtocolError, match=f"counts {size} records, but {min(2 * size, 24)}"):
        bench.call("summary", FIRST, LAST, group_by="campaign")


def test_a_total_below_the_stated_size_is_the_end(bench: Bench) -> None:
    rows = [{"campaign_id": at, "clicks": 1} for at in range(7)]
    serve(bench, lambda *_: Say({"data": rows, "meta": {"total": 7, "per_page": 1000}}))
    assert len(bench.call("summary", FIRST, LAST, group_by="campaign").rows) == 7
    assert len(bench.asked) == 1


def test_days_of_a_full_page_are_read_on_and_come_once(bench: Bench) -> None:
    """Also if the pages overlap."""

    def answer(page: int, _: dict[str, str]) -> Say:
        return Say({"dates": DAYS[(page - 1) * 6 :][:7], "limit": 7})

    serve(bench, answer)
    assert [*map(str, bench.call("dates"))] == DAYS


@pytest.mark.parametrize(
    ("beside", "error"),
    [
        ({"rowCount": 24}, "the service counts 24 records|the same"),
        ({"sum_other_doc_count": 300}, "sum_other_doc_count: 300"),
        ({"meta": {"row_count": "24"}}, "the service counts 24 records|the same"),
    ],
)
def test_groups_that_are_counted_but_not_sent_are_missed(
    bench: Bench, beside: dict[str, Any], error: str
) -> None:
    rows = [{"campaign_id": at, "clicks": 1} for at in range(7)]
    serve(bench, lambda *_: Say({"data": rows, **beside}))
    with pytest.raises(ProtocolError, match=error):
        bench.call("summary", FIRST, LAST, group_by="campaign")


def test_a_full_page_without_another_is_said(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """The service ignores the number of a page, so that the groups are all cannot be known."""
    rows = [{"campaign_id": at, "clicks": 1} for at in range(7)]
    serve(bench, lambda *_: Say({"data": rows, "limit": 7}))
    assert len(bench.call("summary", FIRST, LAST, group_by="campaign").rows) == 7
    assert [text for text in caplog.messages if "others may be missing" in text]
    caplog.clear()
    serve(bench, lambda *_: Say({"data": rows, "limit": 7, "total": 7}))
    assert len(bench.call("summary", FIRST, LAST, group_by="campaign").rows) == 7
    assert caplog.messages == []


@pytest.mark.parametrize(("clicks", "messages"), [(7, 0), (8, 1), (6, 0)])
def test_totals_above_the_rows_are_said(
    bench: Bench, caplog: pytest.LogCaptureFixture, clicks: int, messages: int
) -> None:
    rows = [{"campaign_id": at, "clicks": 1, "requests": None} for at in range(7)]
    meta = {"total": 7, "per_page": 1_000, "totals": {"clicks": clicks, "requests": 9}}
    serve(bench, lambda *_: Say({"data": rows, "meta": meta}))
    assert len(bench.call("summary", FIRST, LAST, group_by="campaign").rows) == 7
    said = [text for text in caplog.messages if "7 clicks, but its totals have 8" in text]
    assert (len(said), len(caplog.messages)) == (messages, messages)


def test_figures_that_are_texts_are_said(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    row = {"clicks": "12", "revenue": "1.5", "ctr": "15%", "requests": "", "os": "7,5"}
    rows = [{"campaign_id": 7, **row}, {"campaign_id": 8, **row, "clicks": "1,234"}]
    serve(bench, lambda *_: Say({"data": rows}))
    summary = bench.call("summary", FIRST, LAST, group_by="campaign")
    assert [row.clicks for row in summary.rows] == [12, "1,234"]
    (text,) = caplog.messages
    assert text.endswith("nothing adds them up: clicks '1,234'.")


@pytest.mark.parametrize("totals", [[{"clicks": 8}], [1, 2], "8 clicks", 8, True])
def test_totals_of_another_shape_are_kept_as_sent(bench: Bench, totals: Any) -> None:
    bench.says(Say({"data": [{"campaign_id": 7, "clicks": 7}], "totals": totals}))
    summary = bench.on(bench.client, "summary", "2026-01-15", group_by="campaign")
    assert summary.totals == totals
    assert summary["totals"] == totals


@pytest.mark.parametrize("row", [{"impr": 5}, {"impr": 5, "views": 3}, {"clicks": 1, "views": 3}])
def test_the_same_row_without_groups_is_no_group(bench: Bench, row: dict[str, int]) -> None:
    serve(bench, lambda *_: Say({"data": [row], "meta": {"total": 1}}))
    with pytest.raises(ProtocolError, match="the rows without groups"):
        bench.call("summary", FIRST, group_by="campaign")
    serve(
        bench,
        lambda _, query: Say({"data": [{**row, **({"c": 7} if "group_by" in query else {})}]}),
    )
    assert len(bench.call("summary", FIRST, group_by="campaign").rows) == 1


@pytest.mark.parametrize(
    ("cell", "is_right"),
    [
        ({"dt": "2026-01-15"}, True),
        ({"dt": "20260115"}, True),
        ({"dt": "15.01.2026"}, True),
        ({"dt": "01/15/2026"}, True),
        ({"dt": 1_768_435_200}, True),
        ({"dt": "15 Jan"}, True),
        ({"date": "(other)"}, True),
        ({"dt": "2025-12-01"}, False),
        ({"dt": "20251201"}, False),
        ({"dt": "12/01/2025"}, False),
        ({"dt": 1_764_547_200}, False),
        ({"date": 20251201}, False),
        ({"views": 3}, False),
    ],
)
def test_a_row_of_a_day_is_of_a_day_of_the_range(
    bench: Bench, cell: dict[str, Any], is_right: bool
) -> None:
    rows = [{**cell, "impr": 5, "currency": "EUR"}, {**cell, "impr": 6, "currency": "USD"}]
    total = [{"impr": 11}] if is_right else rows

    def answer(_: int, query: dict[str, str]) -> Say:
        found = rows if "group_by" in query else total
        return Say({"data": found, "meta": {"total": len(found)}})

    serve(bench, answer)
    if is_right:
        assert len(bench.call("summary", FIRST, LAST, group_by="day").rows) == 2
    else:
        with pytest.raises(ProtocolError, match=r"The summary has (a row of|the rows without)"):
            bench.call("summary", FIRST, LAST, group_by="day")


@pytest.mark.parametrize(
    ("group_by", "one", "other", "problem"),
    [
        ("day", {"date": "2026-01-15"}, {"date": "2026-01-15"}, "two rows of 2026-01-15"),
        ("day", {"dt": 20260115}, {"dt": 1_768_435_200}, "two rows of 2026-01-15"),
        ("day", {"day": "2026-01-15T00:00Z"}, {"day": "2026-01-15T12:00Z"}, "two rows of 2026-01"),
        ("day", {"date": "2026-01-15"}, {"date": "2026-01-16"}, ""),
        ("day", {"date": "(other)"}, {"date": "(other)"}, ""),
        ("campaign", {"campaign_id": 7}, {"campaign_id": 7}, "two rows of campaign_id 7"),
        (
            "campaign",
            {"campaign_id": "c-7", "campaign_name": "a"},
            {"campaign_id": "c-7", "campaign_name": "a"},
            'two rows of campaign_id "c-7"',
        ),
        (
            "campaign",
            {"campaign_id": 7, "campaign_name": "a"},
            {"campaign_id": 7, "campaign_name": "b"},
            "",
        ),
        (
            "campaign",
            {"campaign_id": None, "campaign_name": "a"},
            {"campaign_id": None, "campaign_name": "b"},
            "",
        ),
        ("demand_tag", {"demandTagId": 7}, {"demandTagId": 7}, "two rows of demandTagId 7"),
        ("demand_tag", {"demand_tag_id": 7}, {"demand_tag_id": 8}, ""),
    ],
)
@pytest.mark.parametrize("per_page", [1, 2])
def test_a_group_has_one_row(
    bench: Bench,
    group_by: str,
    one: dict[str, Any],
    other: dict[str, Any],
    problem: str,
    per_page: int,
) -> None:
    rows = [{**one, "impressions": 5}, {**other, "impressions": 6}]

    def answer(number: int, query: dict[str, str]) -> Say:
        found = rows[(number - 1) * per_page : number * per_page]
        found = found if "group_by" in query else [{"impressions": 11}]
        meta = {"total": 2, "per_page": per_page} if "group_by" in query else {}
        return Say({"data": found, "meta": meta})

    serve(bench, answer)
    if not problem:
        assert len(bench.call("summary", FIRST, LAST, group_by=group_by).rows) == 2
        return
    with pytest.raises(ProtocolError, match=f"The summary has {problem}"):
        bench.call("summary", FIRST, LAST, group_by=group_by)


@pytest.mark.parametrize(
    ("stated", "is_right"),
    [
        ({"from": "2026-01-01", "to": "2026-01-31"}, True),
        ({"from": "2026-01-01T00:00:00Z", "to": "2026-02-01T00:00:00Z"}, True),
        ({"from": 0, "to": 31}, True),
        ({"from": "2025-12-01", "to": "2025-12-31"}, False),
        ({"since": "2026-01-01", "until": "2026-01-15"}, False),
    ],
)
@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_summary_that_states_its_days_states_those_of_the_request(
    bench: Bench, stated: dict[str, Any], is_right: bool, at: int
) -> None:
    row = {"impr": 5}
    answers = [
        {"data": [row], "period": stated},
        {"data": [row], "meta": {"total": 1, "date_range": stated}},
        {"data": [{**row, **stated}]},
    ]
    serve(bench, lambda *_: Say(answers[at]))
    if is_right:
        assert len(bench.call("summary", FIRST, LAST).rows) == 1
    else:
        with pytest.raises(ProtocolError, match="but the request was for 2026-01-01 to 2026-01-31"):
            bench.call("summary", FIRST, LAST)


@pytest.mark.parametrize(
    ("group_by", "rows", "groups"),
    [
        ("day", [{"date": "2026-01-15"}, {"date": "Total"}], 1),
        ("day", [{"date": "2026-01-15"}, {"date": None}], 1),
        ("day", [{"day": "2026-01-15"}, {"day": "2026-01-16"}, {}], 2),
        ("day", [{"dt": "20260115"}, {"dt": "20260116"}, {"dt": "TOTAL"}], 2),
        ("campaign", [{"campaign_id": None, "campaign_name": "Total"}, {"campaign_id": 7}], 1),
        ("campaign", [{"campaign": "A"}, {"campaign": "B"}, {"campaign": "Grand total"}], 2),
        ("campaign", [{"campaign_id": 7}, {"campaign_id": 8}, {"campaign_id": None}], 3),
        (
            "campaign",
            [{"campaign_id": 7}, {"campaign_id": None}, {"campaign_id": None, "name": "Total"}],
            2,
        ),
        # Half the events may well have no campaign.
        ("campaign", [{"campaign_id": 7}, {"campaign_id": None}], 2),
        ("campaign", [{"campaign_id": 7}, {"campaign_id": 8}, {"campaign_id": 9}], 3),
    ],
)
@pytest.mark.parametrize("per_page", [2, 10])
@pytest.mark.parametrize("as_text", [False, True])
def test_a_row_with_the_sums_of_all_others_is_no_group(
    bench: Bench,
    caplog: pytest.LogCaptureFixture,
    group_by: str,
    rows: list[dict[str, Any]],
    groups: int,
    per_page: int,
    as_text: bool,
) -> None:
    is_total = groups < len(rows)
    at_total = 0 if rows[0].get("campaign_name") else len(rows) - 1
    counts = [5 + at for at in range(len(rows) - 1)]
    counts.insert(at_total, sum(counts))
    records = [
        {**row, "clicks": str(count) if as_text else count, "revenue": f"{count}.05", "ctr": 0.5}
        for row, count in zip(rows, counts, strict=True)
    ]
    # The decimals of the sums, too.
    records[at_total]["revenue"] = f"{counts[at_total]}.{5 * (len(rows) - 1):02}"

    def answer(number: int, query: dict[str, str]) -> Say:
        part = records[(number - 1) * per_page : number * per_page]
        meta = {"total": groups if per_page == 10 else len(records)}
        return Say({"data": part, "meta": meta})

    serve(bench, answer)
    summary = bench.call("summary", FIRST, LAST, group_by=group_by)
    assert len(summary.rows) == groups
    assert len([text for text in caplog.messages if "sums of all others" in text]) == is_total
    if is_total:
        assert summary.totals.clicks == sum(row.clicks for row in summary.rows)
    else:
        assert summary.totals is None


@pytest.mark.parametrize(
    ("cells", "days"),
    [
        (["15.01.2026", "16.01.2026"], ["2026-01-15", "2026-01-16"]),
        ([20260115, "20260116"], ["2026-01-15", "2026-01-16"]),
        (["1/15/2026", "1/2/2026"], ["2026-01-15", "2026-01-02"]),
        (["2026/01/15", "2026-01-16T00:00:00Z"], ["2026-01-15", "2026-01-16"]),
        # If one is not clear, none is changed: a moment in another zone, and a week.
        (["2026-01-15T23:00:00Z", "01/02/2026"], ["2026-01-15T23:00:00Z", "01/02/2026"]),
        (["15.01.2026", "2026-W03"], ["15.01.2026", "2026-W03"]),
    ],
)
def test_a_day_in_another_spelling_is_a_day(
    bench: Bench, cells: list[Any], days: list[str]
) -> None:
    serve(bench, lambda *_: Say({"data": [{"day": cell, "clicks": 1} for cell in cells]}))
    summary = bench.call("summary", FIRST, LAST, group_by="day")
    assert [str(row.date) for row in summary.rows] == days
    serve(bench, lambda *_: Say({"data": [{"day": "01/02/2026", "clicks": 1}]}))
    (row,) = bench.call("summary", "2026", group_by="day").rows
    assert row.date == "01/02/2026"


@pytest.mark.parametrize(
    ("zone", "cell"),
    [("America/New_York", "0001-01-01T00:00:00Z"), ("Asia/Tokyo", "9999-12-31T23:59:59Z")],
)
def test_a_day_at_the_end_of_the_calendar_is_of_another_range(
    bench: Bench, zone: str, cell: str
) -> None:
    serve(bench, lambda *_: Say({"data": [{"day": cell, "clicks": 1}]}))
    with pytest.raises(ProtocolError, match="but the request was for its days"):
        bench.open(service=ServiceProfile(zone=zone)).call("summary", FIRST, LAST, group_by="day")


@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "+05:30"])
def test_a_day_may_be_a_midnight_of_the_zone(bench: Bench, zone: str, as_text: bool) -> None:
    """Its text in UTC begins with another day."""
    service = ServiceProfile(zone=zone)
    moments = [datetime(2026, 1, day, tzinfo=service.tzinfo()).astimezone(UTC) for day in (1, 31)]
    cells = [
        moment.strftime("%Y-%m-%dT%H:%M:%SZ") if as_text else int(moment.timestamp()) * 1000
        for moment in moments
    ]
    rows = [{"day": cell, "clicks": 1} for cell in cells]
    period = {"from": moments[0].isoformat(), "to": moments[1].isoformat()}
    serve(bench, lambda *_: Say({"data": rows, "period": period}))
    variant = bench.open(service=service)
    summary = variant.call("summary", FIRST, LAST, group_by="day")
    assert [row.date for row in summary.rows] == [FIRST, LAST]
