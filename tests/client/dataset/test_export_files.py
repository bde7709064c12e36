"""Files of exports: their formats, and the sections that processes of a sync read."""

import csv
import errno
import gzip
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from datetime import date
from decimal import Decimal
from io import StringIO
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from pytest_httpserver import HTTPServer
from tests.server_answers import answer

from adanalytics_client import Client, ProtocolError
from adanalytics_client._export_files import ExportedFile
from adanalytics_client.dataset import Dataset, DatasetError
from adanalytics_client.dataset.hours import events, sections
from adanalytics_client.dataset.hours.events import EventTables
from adanalytics_client.dataset.hours.sections import PARQUET, Section, beginning_of
from adanalytics_client.dataset.pull import exports
from adanalytics_client.dataset.pull.workers import WorkerPool
from adanalytics_server.local import LocalServer

DAY = "2026-01-15"


@pytest.fixture
def small_sections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports, "SECTION_BYTES", 10_000)
    monkeypatch.setattr(sections, "PARQUET_BYTES", 10_000)


@pytest.fixture(params=["csv", "parquet"])
def file(request: pytest.FixtureRequest, client: Client, tmp_path: Path) -> Path:
    return client.export(DAY, to=tmp_path / f"day.{request.param}")


def read(path: Path, section: Section | None = None, tables: EventTables | None = None) -> pa.Table:
    tables = tables or EventTables()
    read = [*tables.from_file(path, section)]
    return pa.concat_tables([tables.schema.empty_table(), *map(tables.widened, read)])


@pytest.mark.parametrize("count", [7, 1000])
@pytest.mark.usefixtures("small_sections")
def test_sections_hold_every_event_once_in_its_order(file: Path, count: int) -> None:
    if file.suffix == ".parquet":
        pq.write_table(pq.read_table(file), file, row_group_size=50)
    # A section without a line of a column's own knows less of its type.
    whole, tables = read(file), EventTables()
    parts = Section.divide(beginning_of(file), file.stat().st_size, count)
    tables_of_parts = [read(file, part, tables) for part in parts]
    assert pa.concat_tables(map(tables.widened, tables_of_parts)).equals(whole)


@pytest.mark.parametrize(
    ("beginning", "size", "count", "number"),
    [
        (b"even", 3_000, 3, 3),
        (b"even", 3_000, 1, 0),
        (PARQUET, 1_000_000_000, 3, 3),
        (PARQUET, 999_999_999, 3, 0),
        (gzip.compress(b"")[:4], 2_000_000_000, 3, 0),
    ],
)
def test_a_small_parquet_file_and_a_compressed_one_are_read_whole(
    beginning: bytes, size: int, count: int, number: int
) -> None:
    assert len(Section.divide(beginning, size, count)) == number


def test_a_compressed_file_is_unpacked(tmp_path: Path) -> None:
    file = tmp_path / "day.csv"
    file.write_bytes(gzip.compress(b"event_id\n" + b"a\n" * 9))
    assert read(file)["event_id"].to_pylist() == ["a"] * 9


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_csv_file_may_have_any_separator_that_a_download_knows(
    tmp_path: Path, separator: str, pack: Callable[[bytes], bytes]
) -> None:
    file, text = tmp_path / "day.csv", StringIO()
    lines = [["event_id", 'a "b, c; d|e'], ["a", f"{separator}x"], ["b", "1,5;|"]]
    csv.writer(text, delimiter=separator).writerows(lines)
    file.write_bytes(pack(text.getvalue().encode("utf-8-sig")))
    (header, *cells) = lines
    assert read(file).to_pydict() == {
        name: [*column] for name, column in zip(header, zip(*cells, strict=True), strict=True)
    }


def test_text_behind_a_quoted_field_is_found_at_any_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "day.csv"
    file.write_bytes(b"event_id,os\n" + b'1,"a"\n' * 9 + b'2,"a"x\n3,"a"\n')
    for size in range(13, 80):
        monkeypatch.setattr(events, "CSV_BLOCK", size)
        with pytest.raises(ProtocolError, match="follows the end of a quoted field"):
            read(file)


def test_quoted_empty_cells_alone_have_the_type_of_a_documented_field(tmp_path: Path) -> None:
    """A partner without cost has no other cell in that column."""
    names = ["cost", "error_code", "campaign_id", "is_filtered", "received_at", "country", "other"]
    text, tables = StringIO(), EventTables()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows([names, [""] * 7])
    (tmp_path / "day.csv").write_text(text.getvalue())
    texts = {"country": "", "other": ""}
    assert read(tmp_path / "day.csv", tables=tables).to_pylist() == [dict.fromkeys(names) | texts]
    assert not tables.mixed
    tables.from_jsonl(b'{"cost":"0.500000000","error_code":303,"campaign_id":7}\n')
    assert {tables.types[name].base for name in names[:3]} == {"number"}


@pytest.mark.parametrize("lines", [["7", "2.5", "true", "DE"], ["", "", "", ""]], ids=["", "all"])
def test_a_quoted_empty_cell_is_null_but_in_a_column_of_texts(
    tmp_path: Path, lines: list[str]
) -> None:
    """A program that quotes every cell writes null as an empty text."""
    names, text = ["campaign_id", "score", "flag", "country"], StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows([names, lines, [""] * 4])
    (tmp_path / "day.csv").write_text(text.getvalue())
    tables = EventTables()
    tables.from_jsonl(b'{"campaign_id":1,"score":1.5,"flag":false,"country":"US"}\n')
    types = dict(tables.types)
    table = read(tmp_path / "day.csv", tables=tables)
    assert tables.types == types
    assert table.slice(1).to_pylist() == [{**dict.fromkeys(names), "country": ""}]


@pytest.mark.parametrize("texts", [("t", "f"), ("True", "False"), ("TRUE", "FALSE"), ("1", "0")])
def test_a_flag_is_read_as_databases_and_python_write_it(
    tmp_path: Path, texts: tuple[str, str]
) -> None:
    """PostgreSQL's COPY writes t and f, and pandas True and False: events stay filtered."""
    (tmp_path / "day.csv").write_text("event_id,is_filtered\na,{}\nb,{}\nc,\n".format(*texts))
    assert read(tmp_path / "day.csv")["is_filtered"].to_pylist() == [True, False, None]


def test_a_time_of_postgresql_is_a_time(tmp_path: Path) -> None:
    (tmp_path / "day.csv").write_text("event_time\n2026-01-15 03:04:05.6+00\n")
    times = read(tmp_path / "day.csv")["event_time"].cast(pa.string()).to_pylist()
    assert times == ["2026-01-15 03:04:05.600Z"]


@pytest.mark.parametrize("texts", [("t", "f"), ("True", "False"), ("TRUE", "FALSE")])
def test_a_flag_of_unknown_name_agrees_with_its_pages(
    tmp_path: Path, texts: tuple[str, str]
) -> None:
    tables = EventTables()
    tables.from_jsonl(b'{"a":"t","skippable":true}\n')
    (tmp_path / "day.csv").write_text("a,skippable\nt,{}\nf,{}\n".format(*texts))
    rows = read(tmp_path / "day.csv", tables=tables).to_pylist()
    assert rows == [{"a": "t", "skippable": True}, {"a": "f", "skippable": False}]


@pytest.mark.parametrize("first", ["True", "TRUE", "false"])
def test_a_text_that_is_also_a_flag_stays_as_it_was_sent(tmp_path: Path, first: str) -> None:
    """A later value may show that the column is of texts, and the case of a flag is gone then."""
    tables = EventTables()
    (tmp_path / "day.csv").write_text(f"a,note\nb,{first}\n")
    earlier = read(tmp_path / "day.csv", tables=tables)
    (tmp_path / "next.csv").write_text("a,note\nb,Maybe\n")
    read(tmp_path / "next.csv", tables=tables)
    assert tables.widened(earlier)["note"].to_pylist() == [first]


def test_a_number_after_a_flag_stays_as_it_was_sent(tmp_path: Path) -> None:
    tables, texts = EventTables(), ("true", "1", "2")
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.csv").write_text(f"a,note\nb,{text}\n")
    pieces = [read(tmp_path / f"{number}.csv", tables=tables) for number in range(3)]
    columns = [tables.widened(piece)["note"].to_pylist() for piece in pieces]
    assert columns == [[text] for text in texts]


def test_a_parquet_file_fits_as_far_as_it_is_exact(tmp_path: Path) -> None:
    file = tmp_path / "day.parquet"
    held = {
        "event_id": pa.array(["a"]).dictionary_encode(),
        "event_date": [str(date(2026, 1, 15))],
        "event_hour": pa.array([3], pa.int32()),
        "revenue": pa.array(["0.5"]).cast(pa.decimal128(9, 2)),
        "key_values": ['{"slot":"top"}'],
        "unknown": [1.5],
        "late": pa.array([None], pa.null()),
    }
    pq.write_table(pa.table(held), file)
    table = read(file)
    assert [(field.name, str(field.type)) for field in table.schema.remove(4)] == [
        ("event_id", "string"),
        ("event_date", "date32[day]"),
        ("event_hour", "int64"),
        ("revenue", "decimal128(38, 9)"),
        ("unknown", "decimal128(38, 9)"),
        ("late", "string"),
    ]
    (row,) = table.to_pylist()
    assert (row["event_id"], row["event_date"], row["event_hour"]) == ("a", date(2026, 1, 15), 3)
    assert (str(row["revenue"]), row["late"]) == ("0.500000000", None)
    assert (row["key_values"], row["unknown"]) == ([("slot", "top")], Decimal("1.5"))


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("revenue", [0.1, 0.1 + 0.2], [Decimal("0.1"), Decimal("0.30000000000000004")]),
        ("eventId", ["a", "b"], ["a", "b"]),
        ("event_date", ["2026-01-15", "yesterday"], ["2026-01-15", "yesterday"]),
    ],
)
def test_a_parquet_file_of_other_types_keeps_its_values(
    tmp_path: Path, name: str, values: list[object], expected: list[object]
) -> None:
    pq.write_table(pa.table({name: values}), tmp_path / "day.parquet", row_group_size=1)
    table = read(tmp_path / "day.parquet")
    assert table.to_pydict() == {name: expected}


def test_a_csv_file_with_a_column_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "day.csv").write_text("id,country,id\n1,DE,2\n")
    with pytest.raises(ProtocolError, match="it has the column id twice"):
        read(tmp_path / "day.csv")


def test_a_damaged_parquet_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "day.parquet").write_bytes(b"PAR1 and nothing of it")
    with pytest.raises(ProtocolError, match="cannot be read"):
        read(tmp_path / "day.parquet")


def test_the_memory_for_a_file_does_not_grow_with_it(tmp_path: Path) -> None:
    def peak(groups: int) -> int:
        ids = pa.array([f"{number:036}" for number in range(groups * 1_000)])
        pq.write_table(
            pa.table({"event_id": ids}),
            tmp_path / "day.parquet",
            row_group_size=1_000,
            compression="none",
            use_dictionary=False,
        )
        before = pa.default_memory_pool()
        pool = pa.proxy_memory_pool(before)
        pa.set_memory_pool(pool)
        try:
            assert sum(map(len, EventTables().from_file(tmp_path / "day.parquet"))) == len(ids)
        finally:
            pa.set_memory_pool(before)
        return int(pool.max_memory())

    assert peak(60) < 1.5 * peak(6)


def test_processes_write_what_one_process_writes(
    client: Client, tmp_path: Path, small_sections: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An hour on the border of two sections is joined; the last file is read whole."""
    contents = []
    for workers, least in ((1, 10_000), (2, 10_000), (2, 1_000_000)):
        monkeypatch.setattr(sections, "PARQUET_BYTES", least)
        dataset = Dataset(tmp_path / f"{workers}-{least}")
        assert dataset.sync(client, DAY, via="export", workers=workers).failed == []
        files = Path(dataset.place, "data").rglob("*.parquet")
        contents.append({file.parent.name: file.read_bytes() for file in files})
    assert contents[0] == contents[1] == contents[2]


def test_a_line_break_in_quotes_leaves_a_file_to_one_process(
    server: LocalServer,
    client: Client,
    dataset: Dataset,
    tmp_path: Path,
    httpserver: HTTPServer,
    small_sections: None,
) -> None:
    day = client.export(DAY, to=tmp_path / "day.csv").read_text()
    lines = csv.DictReader(day.splitlines())
    text = StringIO()
    out = csv.DictWriter(text, lines.fieldnames or ())
    out.writeheader()
    out.writerows({**line, "domain": "one\ntwo"} for line in lines)
    httpserver.expect_request("/day").respond_with_data(text.getvalue())
    done = {"status": "completed", "row_count": 300, "download_url": httpserver.url_for("/day")}
    server.faults.add(answer("start_export", done))
    report = dataset.sync(client, DAY, via="export", workers=2)
    assert (report.events, report.failed) == (300, [])
    domains = pyarrow.dataset.dataset(tmp_path / "events/data").to_table()["domain"].unique()
    assert domains.to_pylist() == ["one\ntwo"]


def test_an_interrupted_sync_does_not_sort_what_its_processes_left(
    client: Client, tmp_path: Path, small_sections: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sorting a large file in this process would make Ctrl-C wait for it."""

    def interrupted(pool: WorkerPool, *_: object) -> None:
        pool.close()
        raise BrokenProcessPool

    monkeypatch.setattr(WorkerPool, "submit", interrupted)
    monkeypatch.setattr(exports, "sort", lambda *_: pytest.fail("It was sorted."))
    report = Dataset(tmp_path / "events").sync(client, DAY, via="export", workers=2)
    assert [failed.kind for failed in report.failed] == ["TransportError"]


def test_a_disk_that_is_full_of_an_export_is_named(
    client: Client, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    def download(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(ExportedFile, "download", download)
    with pytest.raises(DatasetError, match=rf"{dataset.place}.*: No space left on device"):
        dataset.sync(client, DAY, via="export")
