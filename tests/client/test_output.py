"""Events as files, pipes and streams: whole or not there, also after a kill; nothing is lost."""

import csv
import gzip
import io
import json
import os
import signal
import subprocess
import sys
import threading
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.client.bench import Bench
from tests.client.stand_in import Asked, Say, StandIn
from tests.client.variants import Variant

from adanalytics_client import Client, Event, ProtocolError, SeenEvents, errors
from adanalytics_client._base.formats import FORMATS

DAY = "2026-01-15"


def write(variant: Variant, to: Any, **options: Any) -> int:
    written: int = variant.on(
        variant.client.events(DAY, split="none", per_page=5, check="none"), "write", to, **options
    )
    return written


def pages(*found: str) -> list[Say]:
    """Pages from JSON texts, so that a test decides every byte."""
    last, total = len(found) - 1, sum(len(json.loads(f"[{text}]")) for text in found)
    return [
        Say(
            b'{"events": [%b], "total": %d, "has_more": %b}'
            % (text.encode(), total, b"true" if at < last else b"false")
        )
        for at, text in enumerate(found)
    ]


def test_jsonl_keeps_the_texts_of_the_service(bench: Bench, tmp_path: Path) -> None:
    bench.says(*pages('{"b":1.50, "a":1e-7},{"x":"\\u00e9\\n"}', '{ "n":\n[null ,{}]\r\n}'))
    path = tmp_path / "out.jsonl"
    assert write(bench.variant, path) == 3
    assert path.read_bytes() == b'{"b":1.50, "a":1e-7}\n{"x":"\\u00e9\\n"}\n{ "n": [null ,{}]  }\n'


def test_csv_follows_rfc_4180(bench: Bench, tmp_path: Path) -> None:
    text = '{"a": null, "b": true, "c": "x,\\"y\\"\\r\\nz", "d": 0.000000010'
    text += ', "e": {"z": "1", "y": 2.50}}'
    bench.says(*pages(text))
    path = tmp_path / "out.csv"
    assert write(bench.variant, path) == 1
    assert path.read_bytes() == (
        b'a,b,c,d,e\r\n,true,"x,""y""\r\nz",0.000000010,"{""y"":2.50,""z"":""1""}"\r\n'
    )


@pytest.mark.parametrize(("name", "read"), [("x.csv", bytes), ("x.csv.gz", gzip.decompress)])
def test_columns_that_come_late_are_not_lost(
    bench: Bench, tmp_path: Path, name: str, read: Callable[[bytes], bytes]
) -> None:
    bench.says(*pages('{"a": "1,\\r\\n"},{"b": 2}', '{"a": 3, "c": "x"}', '{"d": "", "a": null}'))
    path = tmp_path / name
    assert write(bench.variant, path) == 4
    found = list(csv.DictReader(io.StringIO(read(path.read_bytes()).decode(), newline="")))
    assert [list(row.values()) for row in found] == [
        ["1,\r\n", "", "", ""],
        ["", "2", "", ""],
        ["3", "", "x", ""],
        ["", "", "", ""],
    ]
    assert list(found[0]) == ["a", "b", "c", "d"]
    assert [*tmp_path.iterdir()] == [path]


def test_a_stream_cannot_take_late_columns_and_says_so(bench: Bench) -> None:
    bench.says(*pages('{"a": 1}', '{"b": 2}'))
    with pytest.raises(errors.ProtocolError, match="Column b first appears"):
        write(bench.variant, io.BytesIO(), format="csv")


def test_no_events_leave_a_file_with_the_known_header(bench: Bench, tmp_path: Path) -> None:
    bench.says(*pages(""))
    assert write(bench.variant, tmp_path / "out.csv") == 0
    assert write(bench.variant, tmp_path / "out.jsonl") == 0
    assert (tmp_path / "out.csv").read_text().strip().split(",") == list(Event.model_fields)
    assert (tmp_path / "out.jsonl").read_bytes() == b""


class Pieces(io.RawIOBase):
    """A raw stream that takes a few bytes at a time, as pipes and sockets may."""

    def __init__(self) -> None:
        self._taken = b""
        self.room: int | None = None

    def writable(self) -> bool:
        return True

    def getvalue(self) -> bytes:
        return self._taken

    def write(self, piece: Any) -> int | None:
        taken = bytes(piece)[: 3 if self.room is None else self.room]
        self.room = None if self.room is None else self.room - len(taken)
        self._taken += taken
        return len(taken) or None


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_a_stream_gets_every_byte_and_stays_open(bench: Bench, form: str) -> None:
    wanted = {"jsonl": b'{"a":1}\n{"a":2}\n', "csv": b"a\r\n1\r\n2\r\n"}
    for stream in (Pieces(), io.BytesIO()):
        bench.says(*pages('{"a":1},{"a":2}'))
        assert write(bench.variant, stream, format=form) == 2
        assert not stream.closed
        assert stream.getvalue() == wanted[form]


class Careful(io.BytesIO):
    """A stream that does with its pieces what only bytes can do."""

    def write(self, piece: bytes) -> int:  # type: ignore[override]  # only bytes are written here
        return super().write(piece.removesuffix(b""))


def test_a_stream_is_given_bytes(reference_variant: Variant) -> None:
    stream = Careful()
    query = reference_variant.client.events(DAY, split="daily", per_page=400)
    assert reference_variant.on(query, "write", stream, format="jsonl") == 1_500
    pages = reference_variant.all_of(query.text_pages())
    assert stream.getvalue() == b"".join(page.jsonl for page in pages)


def test_an_unbuffered_stream_that_is_full_is_an_error(bench: Bench) -> None:
    bench.says(*pages('{"a":1},{"a":2}'))
    stream = Pieces()
    stream.room = 5
    with pytest.raises(BlockingIOError):
        write(bench.variant, stream, format="jsonl")


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz"])
def test_a_failure_leaves_the_old_file_and_nothing_else(
    bench: Bench, tmp_path: Path, name: str
) -> None:
    bench.says(*pages('{"a":1}', '{"a":2}')[:1], Say(status=400))
    path = tmp_path / name
    path.write_text("old")
    with pytest.raises(errors.InvalidRequest):
        write(bench.variant, path)
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [(name, "old")]


def test_max_events_holds_for_files(bench: Bench, tmp_path: Path) -> None:
    bench.says(*pages('{"a":1},{"a":2},{"a":3}'))
    query = bench.client.events(DAY, split="none", max_events=2)
    assert bench.on(query, "write", tmp_path / "out.jsonl") == 2
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("out", f"^out has no suffix: events are written as {', '.join(FORMATS)}"),
        ("out.xlsx.gz", r"^out.xlsx.gz ends in \.xlsx: events are .*pass format="),
        ("out.parquet.gz", "Leave .gz out"),
    ],
)
def test_an_unknown_format_is_told_before_anything_is_sent(
    bench: Bench, tmp_path: Path, name: str, message: str
) -> None:
    with pytest.raises(errors.ConfigurationError, match=message):
        write(bench.open(), tmp_path / name)
    with pytest.raises(errors.ConfigurationError, match=r"^format='xml': events are"):
        write(bench.open(), tmp_path / "out.csv", format="xml")
    with pytest.raises(errors.ConfigurationError, match=r"^format=None: .*[Pp]ass"):
        write(bench.open(), io.BytesIO())
    with pytest.raises(errors.ConfigurationError, match="is a folder"):
        write(bench.open(), tmp_path, format="csv")
    for neither in (5, None, b"out.csv"):
        with pytest.raises(errors.ConfigurationError, match="Pass a path"):
            write(bench.open(), neither)
    with pytest.raises(errors.ConfigurationError, match="writing bytes"):
        write(bench.open(), io.StringIO(), format="csv")
    assert bench.asked == []
    assert list(tmp_path.iterdir()) == []


def test_gzip_is_one_complete_member_and_the_same_bytes_each_time(
    bench: Bench, tmp_path: Path
) -> None:
    packed = []
    for name in ("a.jsonl.gz", "b.jsonl.gz"):
        bench.says(*pages('{"a":1.50},{"a":2}', '{"a":"é"}'))
        assert write(bench.variant, tmp_path / name) == 3
        packed.append((tmp_path / name).read_bytes())
    assert packed[0] == packed[1]
    unpacker = zlib.decompressobj(31)
    assert unpacker.decompress(packed[0]) == '{"a":1.50}\n{"a":2}\n{"a":"é"}\n'.encode()
    assert (unpacker.eof, unpacker.unused_data) == (True, b"")
    assert packed[0][3:8] == bytes(5), "neither name nor time"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("x.jsonl", b'{"cost":null,"b":1.50}\n{"cost":null,"b":null}\n'),
        ("x.csv", b"cost,b\r\n,1.50\r\n,\r\n"),
    ],
)
def test_chosen_columns(bench: Bench, tmp_path: Path, name: str, expected: bytes) -> None:
    bench.says(*pages('{"a": 1, "b": 1.50}', '{"a": 2, "late": 3}'))
    assert write(bench.variant, tmp_path / name, columns=["cost", "b"]) == 2
    assert (tmp_path / name).read_bytes() == expected


@pytest.mark.parametrize("name", ["x.jsonl", "x.csv", "x.parquet", "x.arrow", "x.csv.gz"])
def test_a_chosen_column_that_nobody_knows(bench: Bench, tmp_path: Path, name: str) -> None:
    """It is told after the first page where it is almost a known one, else at the end."""
    for column, told, requests in (
        ("revenu", "so far has 'revenu'. Did you mean 'revenue'", 1),
        ("late", "no event of this pull has 'late'. Choose from event_id, .*, key_values, a", 2),
    ):
        bench.says(*pages('{"a": 1}', '{"a": 2}'))
        bench.asked.clear()
        with pytest.raises(errors.ConfigurationError, match=told):
            write(bench.variant, tmp_path / name, columns=["a", column])
        assert list(tmp_path.iterdir()) == []
        assert len(bench.asked) >= requests


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("x.jsonl", b'{"late":null,"a":1}\n{"late":null,"a":2}\n{"late":[1],"a":null}\n'),
        ("x.csv", b"late,a\r\n,1\r\n,2\r\n[1],\r\n"),
    ],
)
def test_a_chosen_column_that_comes_late(
    bench: Bench, tmp_path: Path, name: str, expected: bytes
) -> None:
    found = pages('{"a": 1}', '{"a": 2}', '{"late": [1]}')
    bench.says(*found)
    write(bench.variant, tmp_path / name, columns=["late", "a"])
    assert (tmp_path / name).read_bytes() == expected
    bench.says(*found)
    query = bench.client.events(DAY, split="none", check="none")
    table = bench.on(query, "to_arrow", columns=["late"])
    assert table["late"].to_pylist() == [None, None, "[1]"]


def test_batches_with_a_column_that_never_comes(bench: Bench) -> None:
    bench.says(*pages('{"a": 1}', '{"a": 2}'))
    query = bench.client.events(DAY, split="none", per_page=5, check="none")
    with pytest.raises(errors.ConfigurationError, match="of this pull has 'late'"):
        bench.all_of(query.to_arrow_batches(columns=["late"]))
    bench.says(*pages('{"a": 1}', '{"a": 2}'))
    with pytest.raises(errors.ConfigurationError, match="of this pull has 'late'"):
        bench.on(query, "to_arrow", columns=["late"])


@pytest.mark.parametrize("wrong", ["revenue", b"revenue", 5, ["revenue", 5]])
def test_columns_that_are_no_list_of_names_are_told_before_anything_is_sent(
    bench: Bench, tmp_path: Path, wrong: Any
) -> None:
    for name in ("x.jsonl", "x.csv", "x.parquet"):
        with pytest.raises(errors.ConfigurationError, match=r"columns=.* Pass a list of names"):
            write(bench.variant, tmp_path / name, columns=wrong)
    for way in ("to_arrow", "to_pandas", "to_polars"):
        with pytest.raises(errors.ConfigurationError, match=r"columns=.* Pass a list of names"):
            bench.on(bench.client.events("2026-01-15"), way, columns=wrong)
    assert bench.asked == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["x.jsonl", "x.csv", "x.parquet", "x.arrow"])
def test_columns_of_any_kind_are_read_once(bench: Bench, tmp_path: Path, name: str) -> None:
    def written(columns: Any) -> bytes:
        bench.says(*pages('{"os": "x", "domain": "y"}', '{"os": "z"}'))
        assert write(bench.variant, tmp_path / name, columns=columns) == 2
        return (tmp_path / name).read_bytes()

    expected = written(["domain", "os"])
    for some in (iter(["domain", "os"]), {"domain": 1, "os": 2}.keys(), ("domain", "os", "os")):
        assert written(some) == expected


def test_columns_of_a_table_may_come_from_a_generator(bench: Bench) -> None:
    for way in ("to_arrow", "to_pandas", "to_polars"):
        bench.says(*pages('{"os": "x", "domain": "y"}'))
        query = bench.client.events(DAY, split="none")
        table = bench.on(query, way, columns=(each for each in ("domain", "os")))
        assert list(getattr(table, "column_names", table.columns)) == ["domain", "os"]


@pytest.mark.parametrize("none", [[], (), iter(())])
def test_no_column_at_all_is_told_before_anything_is_sent(
    bench: Bench, tmp_path: Path, none: Any
) -> None:
    for name in ("x.jsonl", "x.csv", "x.parquet"):
        with pytest.raises(errors.ConfigurationError, match="columns is empty"):
            write(bench.variant, tmp_path / name, columns=none)
    with pytest.raises(errors.ConfigurationError, match="or pass None for all"):
        bench.on(bench.client.events(DAY), "to_arrow", columns=none)
    assert bench.asked == []


@pytest.mark.parametrize("form", FORMATS)
def test_streams_that_take_nothing_are_told_before_anything_is_sent(
    bench: Bench, tmp_path: Path, form: str
) -> None:
    closed, path = io.BytesIO(), tmp_path / "there"
    closed.close()
    path.write_bytes(b"as it was")
    with path.open("rb") as reading, path.open("r+") as text:
        for wrong, told in ((closed, "closed"), (reading, "writing bytes"), (text, "writing")):
            with pytest.raises(errors.ConfigurationError, match=told):
                write(bench.variant, wrong, format=form)
    with pytest.raises(errors.ConfigurationError, match="path is empty"):
        write(bench.variant, "", format=form)
    assert (bench.asked, path.read_bytes()) == ([], b"as it was")


def test_links_devices_and_permissions_stay(bench: Bench, tmp_path: Path) -> None:
    bench.says(*pages('{"a":1}'))
    (tmp_path / "real").touch(0o640)
    (tmp_path / "link.jsonl").symlink_to("real")
    write(bench.variant, tmp_path / "link.jsonl")
    assert (tmp_path / "link.jsonl").is_symlink()
    assert (tmp_path / "real").read_bytes() == b'{"a":1}\n'
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o640
    assert write(bench.variant, os.devnull, format="jsonl") == 1
    assert Path(os.devnull).is_char_device()


def test_the_longest_name_that_the_system_takes_is_taken(bench: Bench, tmp_path: Path) -> None:
    bench.says(*pages('{"a":1}'))
    path = tmp_path / ("ü" * 124 + "x.jsonl")
    assert len(path.name.encode()) == 255
    write(bench.variant, path)
    assert path.read_bytes() == b'{"a":1}\n'
    assert list(tmp_path.iterdir()) == [path]


def test_text_is_written_without_libraries_of_tables(stand_in: StandIn, tmp_path: Path) -> None:
    stand_in.says(*pages('{"event_id": "e", "revenue": "1.5"}'))
    code = (
        "import sys; from adanalytics_client import Client\n"
        "with Client(sys.argv[1], api_key='k', partner='acme') as client:\n"
        "    for path in sys.argv[2:]:\n"
        "        assert client.events('2026-01-15', split='none').write(path) == 1\n"
        "print(*sorted({'pyarrow', 'pandas', 'polars', 'pydantic'} & {*sys.modules}))"
    )
    files = [str(tmp_path / name) for name in ("x.jsonl", "x.csv")]
    command = [sys.executable, "-c", code, stand_in.url, *files]
    environment = os.environ | {"ADANALYTICS_STATE_DIR": str(tmp_path / "state")}
    found = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    assert found.stdout == "\n"


def test_no_zero_has_an_exponent(bench: Bench, tmp_path: Path) -> None:
    text = '{"event_id": "e", "revenue": 0E-9, "cost": "0E-9", "x": {"y": 0E-12}, "z": -0.0E-20}'
    for columns in (None, ["revenue", "x", "z"]):
        bench.says(*pages(text))
        assert write(bench.variant, tmp_path / "x.csv", columns=columns) == 1
        text_written = (tmp_path / "x.csv").read_bytes().decode()
        (row,) = csv.DictReader(io.StringIO(text_written, newline=""))
        assert (row["revenue"], row["x"]) == ("0.000000000", '{"y":0.000000000000}')
        assert row["z"] == "-0.000000000000000000000"
    bench.says(*pages(text))
    assert write(bench.variant, tmp_path / "x.jsonl", columns=["revenue", "x"]) == 1
    line = (tmp_path / "x.jsonl").read_text()
    assert line == '{"revenue":0.000000000,"x":{"y":0.000000000000}}\n'


PROGRAM = """
import sys
from adanalytics_client import Client
with Client(sys.argv[1], api_key="k", partner="acme") as client:
    client.events("2026-01-15", split="none", per_page=1).write(sys.argv[2])
"""


@pytest.mark.parametrize("name", ["x.jsonl.gz", "x.csv", "x.parquet"])
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_the_old_file_stays(
    stand_in: StandIn, tmp_path: Path, name: str, how: signal.Signals
) -> None:
    gate, second = threading.Event(), threading.Event()

    def script(asked: Asked) -> Say:
        if asked.query["page"] == "1":
            return Say({"events": [{"event_id": "e"}], "has_more": True})
        second.set()
        return Say({"events": []}, gate=gate)

    stand_in.script = script
    path = tmp_path / name
    path.write_text("old")
    command = [sys.executable, "-c", PROGRAM, stand_in.url, str(path)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        assert second.wait(30)
        process.send_signal(how)
        assert process.wait(30) != 0
    gate.set()
    assert path.read_text() == "old"
    if how is signal.SIGKILL:
        # The next run removes the part that this one could not.
        with Client(stand_in.url, api_key="k", partner="acme") as client:
            client.events("2026-01-15", split="none", per_page=1).write(path)
    assert [each.name for each in tmp_path.iterdir()] == [name]


ROW = b'{"event_id":"a"}'


@pytest.fixture
def day(stand_in: StandIn) -> StandIn:
    stand_in.says(Say(b'{"events": [%b], "total": 1}' % ROW))
    return stand_in


def write_day(variant: Variant, to: Any, **options: Any) -> Any:
    return variant.on(variant.client.events(DAY, split="none"), "write", to, **options)


def test_a_pipe_waits_for_its_reader(variant: Variant, day: StandIn, tmp_path: Path) -> None:
    path, read = tmp_path / "pipe", list[bytes]()
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()))
    reader.start()
    assert write_day(variant, path, format="jsonl") == 1
    reader.join()
    assert read == [ROW + b"\n"]


class OnlyWrites:
    def __init__(self) -> None:
        self.pieces: list[Any] = []

    def write(self, piece: Any) -> int:
        self.pieces.append(piece)
        return len(piece)


@pytest.mark.parametrize("form", FORMATS)
def test_of_a_stream_only_writing_is_asked_for(variant: Variant, day: StandIn, form: str) -> None:
    stream, whole = OnlyWrites(), io.BytesIO()
    assert write_day(variant, stream, format=form) == 1
    assert {type(each) for each in stream.pieces} == {bytes}
    write_day(variant, whole, format=form)
    assert b"".join(stream.pieces) == whole.getvalue()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("file.csv/", "so it names a folder. Name a file"),
        ("new.csv/", "so it names a folder. Name a file"),
        ("x.gz", "x.gz has no suffix in front of .gz: events are written as"),
        ("x.tsv.gz", "x.tsv.gz ends in .tsv: events are written as"),
        ("x.tsv", "x.tsv ends in .tsv: events are written as"),
    ],
)
def test_names_that_cannot_be_a_file(
    variant: Variant, day: StandIn, tmp_path: Path, name: str, message: str
) -> None:
    (tmp_path / "file.csv").write_bytes(b"old")
    with pytest.raises(errors.ConfigurationError, match=message):
        write_day(variant, f"{tmp_path}/{name}")
    assert day.asked == []
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file.csv"]


def test_a_name_that_is_too_long_costs_no_request(
    variant: Variant, day: StandIn, tmp_path: Path
) -> None:
    with pytest.raises(OSError, match="File name too long"):
        write_day(variant, tmp_path / ("x" * 252 + ".csv"))
    assert day.asked == []


def test_events_without_a_field_have_one_header(bench: Bench, tmp_path: Path) -> None:
    rows = [[{}, {}], [{}], [{"odd": 1}]]
    bench.script = lambda asked: Say(
        {"events": rows[int(asked.query["page"]) - 1], "has_more": asked.query["page"] != "3"}
    )
    assert write_day(bench.variant, tmp_path / "x.csv") == 4
    header, *lines = (tmp_path / "x.csv").read_text().splitlines()
    assert header.startswith("event_id,event_time,")
    assert header.endswith(",key_values,odd")
    assert [line.strip(",") for line in lines] == ["", "", "", "1"]
    assert {line.count(",") for line in lines} == {header.count(",")}


DEEP = '{"event_id":"a","x":' + '{"k":1.5,"n":' * 400 + "1" + "}" * 400 + "}"
WRITTEN = ("x.csv", "x.parquet", "x.arrow")


def page(*events: str) -> bytes:
    text = ",".join(events).encode()
    return b'{"events":[%b],"total":%d,"has_more":false}' % (text, len(events))


def many(bad: int, text: str, count: int = 600) -> bytes:
    events = [f'{{"event_id":"e{number}","n":1}}' for number in range(count)]
    return page(*events[: bad - 1], text, *events[bad:])


def written(variant: Variant, path: Path, **options: Any) -> Any:
    query = variant.client.events(DAY, hour=3, check="none")
    return variant.on(query, "write", path, **options)


@pytest.mark.parametrize("number", [1, 402, 600])
@pytest.mark.parametrize(
    "value", ["tru", '1 "m":2', "0.1.2", '"\x01"', "1,,", "NaN", r'"\ud800"', "01", "[1"]
)
def test_nothing_is_taken_of_a_page_with_an_event_that_is_not_json(
    bench: Bench, tmp_path: Path, number: int, value: str
) -> None:
    body = many(number, f'{{"event_id":"bad","n":{value}}}')
    bench.says(Say(body, headers={"X-Request-Id": "r-17"}))
    query, handed = bench.client.events(DAY, hour=3), list[Any]()
    ways: list[Callable[[], Any]] = [
        partial(written, bench.variant, tmp_path / "x.jsonl"),
        partial(written, bench.variant, tmp_path / "x.parquet"),
        lambda: bench.on(bench.client.events(DAY, hour=3), "to_arrow"),
        lambda: bench.all_of(noted(query.rows(), handed)),
        lambda: bench.all_of(noted(query, handed)),
        lambda: bench.all_of(noted(query.text_pages(), handed)),
    ]
    for way in ways:
        with pytest.raises(ProtocolError, match=r"char \d+|NaN|surrogate") as no:
            way()
        assert no.value.request_id == "r-17"
        assert no.value.url is not None
        assert "/events?start_date=" in no.value.url
    assert handed == list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", ["NaN", "-Infinity", r'"\ud800"'])
def test_a_value_that_is_no_json_is_requested_once(bench: Bench, value: str) -> None:
    bench.says(Say(page(f'{{"n":{value}}}')))
    with pytest.raises(ProtocolError) as caught:
        bench.rows(DAY, hour=3)
    assert (caught.value.remedy, caught.value.attempts) == ("Report it to the service.", 1)
    assert caught.value.unreadable
    assert len(bench.asked) == 1


def noted(events: Any, handed: list[Any]) -> Any:
    """The same iterator, which also notes what it handed on."""

    async def as_tasks() -> AsyncIterator[Any]:
        async for each in events:
            handed.append(each)
            yield each

    def as_threads() -> Iterator[Any]:
        for each in events:
            handed.append(each)
            yield each

    return as_tasks() if hasattr(events, "__aiter__") else as_threads()


def test_a_number_that_python_cannot_hold_is_named(bench: Bench, tmp_path: Path) -> None:
    """JSON has it, so the text as it was sent can be kept."""
    bench.says(Say(many(402, '{"event_id":"large","n":1e99999999999999999999}')))
    assert written(bench.variant, tmp_path / "x.jsonl") == 600
    ways: list[Callable[[], Any]] = [
        lambda: bench.rows(DAY, hour=3),
        lambda: bench.events(DAY, hour=3),
        lambda: bench.pages(DAY, hour=3),
        lambda: bench.rows(DAY, hour=3, seen=SeenEvents()),
        lambda: bench.on(bench.client.events(DAY, hour=3), "to_arrow"),
        *(partial(written, bench.variant, tmp_path / name) for name in WRITTEN),
    ]
    for way in ways:
        with pytest.raises(ProtocolError, match=f"Event 402 of page 1 of {DAY} hour 3") as caught:
            way()
        assert caught.value.url
    assert [each.name for each in tmp_path.iterdir()] == ["x.jsonl"]


def test_events_nested_too_deeply_for_an_output(bench: Bench, tmp_path: Path) -> None:
    bench.says(Say(page(DEEP)))
    assert len(bench.rows(DAY, hour=3)) == 1
    assert isinstance(bench.events(DAY, hour=3)[0], Event)
    assert written(bench.variant, tmp_path / "x.jsonl") == 1
    for name, columns in [*((each, None) for each in WRITTEN), ("y.jsonl", ["x"])]:
        with pytest.raises(ProtocolError, match=r"page 1 of .* is nested too deeply") as caught:
            written(bench.variant, tmp_path / name, columns=columns)
        assert caught.value.url
    assert [each.name for each in tmp_path.iterdir()] == ["x.jsonl"]
