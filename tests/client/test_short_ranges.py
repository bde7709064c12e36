"""A service may shorten a range without a word, and count so: what it left out is an error."""

import io
import json
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from pytest_httpserver import HTTPServer
from tests.client.dataset.service_of_rows import ServiceOfRows

from adanalytics_client import DownloadError, ProtocolError

START, END = "2026-01-01", "2026-01-21"
DAYS = [f"2026-01-{day:02}" for day in range(1, 22)]
Export = Callable[[Sequence[str]], bytes]


def table_of(texts: Sequence[str]) -> pa.Table:
    return pa.Table.from_pylist([json.loads(text) for text in texts])


def to_csv(texts: Sequence[str]) -> bytes:
    options = pyarrow.csv.WriteOptions(quoting_style="none")
    pyarrow.csv.write_csv(table_of(texts), file := io.BytesIO(), options)
    return file.getvalue()


def to_quoted_csv(texts: Sequence[str]) -> bytes:
    pyarrow.csv.write_csv(table_of(texts), file := io.BytesIO())
    return file.getvalue().replace(b"\n", b"\r\n")


def to_lines(texts: Sequence[str]) -> bytes:
    return "".join(f"{text}\n" for text in texts).encode()


def to_parquet(texts: Sequence[str]) -> bytes:
    table = table_of(texts)
    times = [name for name in table.column_names if name.endswith("_time")]
    for name in times:
        moments = pa.compute.cast(table[name], pa.timestamp("us", "UTC"))
        table = table.set_column(table.column_names.index(name), name, moments)
    pq.write_table(table, file := io.BytesIO())
    return file.getvalue()


FORMS = {"csv": to_csv, "csv in quotes": to_quoted_csv, "jsonl": to_lines, "parquet": to_parquet}
FIELDS = {"event_date": "{}", "event_time": "{}T05:00:00Z", "eventTime": "{}T05:00:00Z"}


@pytest.fixture
def service(httpserver: HTTPServer) -> ServiceOfRows:
    return ServiceOfRows(httpserver)


def fill(service: ServiceOfRows, field: str, days: Sequence[str] = DAYS) -> None:
    text = FIELDS.get(field, "{}")
    for day in days:
        service.rows[day, 5] = [json.dumps({field: text.format(day), "event_id": day})]


def export(service: ServiceOfRows, folder: Path, form: str, make: Export | None = None) -> Path:
    service.export = make or FORMS[form]
    service.asked.clear()
    with service.client() as client:
        name = form.partition(" ")[0]
        return client.export(START, END, to=folder / f"export.{name}", format=name)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("most", [7, -7, 1, 19])
@pytest.mark.parametrize("field", [*FIELDS, "unknown"])
def test_days_that_are_left_out_are_an_error(
    service: ServiceOfRows, tmp_path: Path, form: str, most: int, field: str
) -> None:
    fill(service, field)
    service.most = most
    with pytest.raises(DownloadError, match=r"no events of 2026-01-.*Order fewer days at a time"):
        export(service, tmp_path, form)
    assert not [*tmp_path.glob("export*")]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("field", FIELDS)
def test_days_that_the_file_shows_cost_no_request(
    service: ServiceOfRows, tmp_path: Path, form: str, field: str
) -> None:
    fill(service, field)
    export(service, tmp_path, form)
    assert service.asked == ["export", "events"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("field", "requests"), [("event_date", 1), ("unknown", 3)])
def test_days_without_data_are_no_error(
    service: ServiceOfRows, tmp_path: Path, form: str, field: str, requests: int
) -> None:
    fill(service, field, DAYS[2:-2])
    export(service, tmp_path, form)
    assert service.asked[2:] == ["dates", "events", "events"][:requests]


@pytest.mark.parametrize("highest", [1, 4])
def test_totals_that_are_too_low_leave_out_no_day(
    service: ServiceOfRows, tmp_path: Path, highest: int
) -> None:
    fill(service, "unknown")
    service.highest = highest
    export(service, tmp_path, "csv")
    assert [*tmp_path.glob("export*")]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_file_in_any_order_is_whole(service: ServiceOfRows, tmp_path: Path, form: str) -> None:
    fill(service, "event_date")
    make = FORMS[form]
    export(service, tmp_path, form, lambda texts: make([*texts[9:], *texts[:9]]))
    assert service.asked[2:] == ["dates", "events", "events"]


def test_an_empty_file_of_a_day_with_data_is_an_error(
    service: ServiceOfRows, tmp_path: Path
) -> None:
    fill(service, "event_date", ["2026-01-15"])
    service.most = 1
    with pytest.raises(DownloadError, match="no events of 2026-01-15, but the service lists"):
        export(service, tmp_path, "csv", lambda _: b"event_id,event_date\n")


def test_of_events_the_first_day_that_is_left_out_is_named(service: ServiceOfRows) -> None:
    for number in range(1, 32):
        day = f"2026-01-{number:02}"
        for hour in (3, 9, 20):
            service.rows[day, hour] = [json.dumps({"event_time": f"{day}T{hour:02}:00:00Z"})]
    service.most = 22
    with service.client() as client, pytest.raises(ProtocolError, match="arrived of 2026-01-23,"):
        client.events(START, "2026-01-31", split="none").to_arrow()


def test_a_last_day_that_does_not_belong_to_any_range_is_an_error(
    service: ServiceOfRows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_end(first: str, last: str, hour: str | None = None) -> list[str]:
        return of_days(first, f"{date.fromisoformat(last) - timedelta(1)}", hour)

    fill(service, "unknown")
    of_days = service._of_days
    monkeypatch.setattr(service, "_of_days", without_end)
    with pytest.raises(DownloadError, match="no events of 2026-01-21, but the service lists"):
        export(service, tmp_path, "csv")
