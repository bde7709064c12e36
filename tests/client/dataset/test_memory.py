"""Memory that writing and comparing an hour takes, whatever the number of its events."""

import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest

from adanalytics_client import Client
from adanalytics_client._base.choices import PartFormat
from adanalytics_client.dataset import Dataset, Hour, verify
from adanalytics_client.dataset.hours import files, ids, sort
from adanalytics_client.dataset.hours.events import EventTables
from adanalytics_client.dataset.hours.files import HourReader
from adanalytics_client.dataset.records.layout import hours_of
from adanalytics_client.dataset.records.manifest import LAYOUT_OF, Identity
from adanalytics_client.dataset.storage.local import open_store
from adanalytics_server.local import LocalServer, Sample

HOUR = Hour(date(2026, 1, 15), 13)
SOME, MANY = 3, 10
"""Tables of 1,000 events; the larger hour may take a tenth more memory."""


def events(tables: EventTables, count: int, *, repeated: int = 0) -> Iterator[pa.Table]:
    """Yield tables of 1,000 events, the first `repeated` of each with the same ids."""
    rows = "".join(
        f'{{"event_id":"{0 if row < repeated else "TABLE"}-{row}","event_date":"2026-01-15",'
        '"event_hour":13,"event_type":"click","is_filtered":false,"key_values":{}}\n'
        for row in range(1_000)
    )
    for table in range(count):
        yield tables.from_jsonl(rows.replace("TABLE", str(table)).encode())


def peak_of(write: Callable[[int], None], count: int) -> int:
    """Return the most bytes that Python and Arrow held while this many tables were written."""
    before = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(before)
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        write(count)
        return int(tracemalloc.get_traced_memory()[1] + pool.max_memory())
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(before)


def assert_no_growth(write: Callable[[int], None]) -> None:
    """Compare the least of three peaks each: other threads of the process may add to one."""
    write(1)
    most = 1.1 * min(peak_of(write, SOME) for _ in range(3))
    assert any(peak_of(write, MANY) < most for _ in range(3))


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let 1,000 events be as much as a million."""
    monkeypatch.setattr(ids, "IDS_HELD", 1_000)
    monkeypatch.setattr(ids, "_HASHES_READ", 100)
    monkeypatch.setattr(files, "ROWS_PER_GROUP", 1_000)
    monkeypatch.setattr(sort, "BYTES_HELD", 100_000)


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_writing_an_hour_takes_the_memory_of_some_events(tmp_path: Path, form: PartFormat) -> None:
    identity = Identity("acme", "http://localhost", form)

    def write(count: int) -> None:
        tables = EventTables()
        held = sort.HourPartition(tmp_path, only=HOUR)
        for table in events(tables, count):
            held.add(table)
        pair = HOUR, held.pop(HOUR)
        (written,) = files.write_file([pair], tmp_path, identity, HOUR.start, tables)
        assert (written.record.rows, written.record.repeated) == (count * 1_000, 0)

    assert_no_growth(write)


def test_writing_a_day_takes_the_memory_of_some_events(tmp_path: Path) -> None:
    store, tables = open_store(str(tmp_path)), EventTables()
    identity = Identity("acme", "", "parquet", layout=LAYOUT_OF["day"])

    def write(count: int) -> None:
        hours = [*hours_of(HOUR.day)][:3]
        pairs = [(hour, events(tables, count)) for hour in hours]
        made = files.write_file(pairs, tmp_path, identity, HOUR.start, tables)
        assert {written.shared for written in made} == {made[0].shared} != {None}
        with closing(HourReader(store.open, "parquet")) as reader:
            parts = ((of.hour, reader.read(of.file or "", of.hour, tables)) for of in made)
            assert files.write_day(tmp_path / "day.parquet", parts, tables) == made[0].shared

    assert_no_growth(write)


def test_a_sync_does_not_import_pandas(server: LocalServer, tmp_path: Path) -> None:
    """It takes 40 MB and half a second; some functions of Arrow import it, if it is installed."""
    code = """
import sys
from adanalytics_client import Client
from adanalytics_client.dataset import Dataset
with Client(sys.argv[1], api_key=sys.argv[2], partner="acme") as client:
    for via, form in (("pages", "parquet"), ("export", "jsonl")):
        Dataset(f"{sys.argv[3]}/{via}", format=form).sync(client, via=via)
sys.exit("pandas" in sys.modules)
"""
    server.reset()
    line = [sys.executable, "-c", code, server.url, server.api_key, str(tmp_path)]
    assert subprocess.run(line, check=False).returncode == 0


def test_repeated_ids_are_counted_in_groups(tmp_path: Path) -> None:
    tables = EventTables()
    repeated = events(tables, 8, repeated=5)
    (written,) = files.write_file(
        [(HOUR, repeated)], tmp_path, Identity("acme", "", "parquet"), HOUR.start, tables
    )
    assert (written.record.rows, written.record.repeated) == (8_000, 7 * 5)


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_a_deep_look_compares_few_events_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: PartFormat
) -> None:
    compared: list[int] = []
    original = verify.Verification._sorted

    def watched(
        self: verify.Verification, side: Iterator[pa.Table], tables: EventTables
    ) -> pa.Table:
        table = original(self, side, tables)
        compared.append(table.num_rows)
        return table

    monkeypatch.setattr(verify, "EVENTS_COMPARED", 10)
    monkeypatch.setattr(verify.Verification, "_sorted", watched)
    with (
        LocalServer(sample=Sample(events_per_day=1_000), rate_limit=0) as server,
        Client(server.url, api_key=server.api_key, partner="acme") as client,
    ):
        dataset = Dataset(tmp_path / "events", format=form)
        dataset.sync(client)
        assert dataset.verify(client, deep=True).is_whole
    assert (sum(compared), max(compared) < 30) == (2 * 1_000, True)
