"""The pages about tables run, and the tables hold what the service has."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.test_docs import DELTA_PAGE, ICEBERG_PAGE, code_of

from adanalytics_server.local import LocalServer

# Hour 3 of the first day is restated, then emptied.
DELTA = """
from datetime import date

import pyarrow
from deltalake import QueryBuilder

def held():
    query = QueryBuilder().register("events", DeltaTable("events"))
    return pyarrow.table(query.execute("SELECT * FROM events").read_all())

def rows_of(table):
    rows = table.select(expected.column_names).to_pylist()
    return sorted(rows, key=lambda row: row["event_id"])

with Client.from_env() as client:
    expected = client.events("2026-01-15", "2026-01-16").to_arrow()
assert rows_of(held()) == rows_of(expected)
for name in ("event_date", "event_hour", "revenue"):
    assert held().schema.field(name).type == expected.schema.field(name).type, name
assert revenue == sum(expected["revenue"].to_pylist())

hour = expected.filter([day == date(2026, 1, 15) and hour == 3 for day, hour in zip(
    expected["event_date"].to_pylist(), expected["event_hour"].to_pylist())])
for restated in (hour.slice(1), hour.slice(0, 0)):
    replace_hour(restated, "2026-01-15", 3)
    assert held().num_rows == expected.num_rows - hour.num_rows + restated.num_rows
assert DeltaTable("events").version() == 49
"""


# A file is replaced, as a sync does with that of a restated hour.
ICEBERG = """
import pyarrow.parquet

def rows_of(table):
    rows = table.select(expected.column_names).to_pylist()
    return sorted(rows, key=lambda row: row["event_id"])

with Client.from_env() as client:
    expected = client.events("2026-01-15", "2026-01-16").to_arrow()
assert rows_of(table.scan().to_arrow()) == rows_of(expected)

restated = files_of("events")[3]
hour = pyarrow.parquet.read_table(restated, partitioning=None)
pyarrow.parquet.write_table(hour.slice(1), restated)
list_files(table)
listed = catalog.load_table("ads.events").scan()
assert listed.count() == listed.to_arrow().num_rows == 599
hours = listed.filter("event_date = '2026-01-15' AND event_hour = 3")
assert hours.to_arrow().num_rows == hour.num_rows - 1 > 0
"""


@pytest.mark.parametrize(
    ("package", "page", "compared"),
    [("deltalake", DELTA_PAGE, DELTA), ("pyiceberg", ICEBERG_PAGE, ICEBERG)],
)
def test_a_page_writes_a_table_of_the_events(
    package: str, page: Path, compared: str, server: LocalServer, tmp_path: Path
) -> None:
    if not find_spec(package):
        pytest.skip(f"make test-spark installs {package}")
    program = tmp_path / "program.py"
    program.write_text("\n".join([*code_of(page, tests=False), compared]))
    done = subprocess.run(
        [sys.executable, program],
        cwd=tmp_path,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
