"""Each example runs against a real server: a program as one of its own, a notebook in here."""

import ast
import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from runpy import run_path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.dataset
import pytest
from tests.client.raw_events import event_batch
from tests.programs import run_program

from adanalytics_client import Client, RetryPolicy
from adanalytics_client.dataset import Dataset
from adanalytics_client.dlt import events as dlt_events
from adanalytics_client.tables import event_schema
from adanalytics_client.testing import reference_client
from adanalytics_server.local import LocalServer, Sample

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
NOTEBOOK = "two_days.ipynb"
NIGHTLY = EXAMPLES / "nightly"
ARGUMENTS = {
    "pull_a_day.py": (["2026-01-15", "day.jsonl"], "300 events in day.jsonl; 975 requests left"),
    "reconcile.py": (["2026-01-15"], "2026-01-15: events and summary agree"),
    "hours_of_a_week_async.py": ([], "\n23  "),
}
WITH_OTHER_TOOLS = {
    *("airflow_dag.py", "airflow_tasks_dag.py", "dagster_assets.py"),
    *("dlt_pipeline.py", "spark_job.py"),
}
# Airflow needs an older fastapi than the server is tested with.
AIRFLOW = ROOT / ".venv-airflow" / "bin"

COLUMNS = ["event_id", "event_date", "event_hour", "revenue"]
# A new day. The first amount has 18 digits, which no float has, and the second only one.
NEW_DAY = [
    {
        "event_time": f"2026-01-17T{hour}:00:00Z",
        "event_type": "impression",
        "supply_tag_id": 1,
        "revenue": revenue,
    }
    for hour, revenue in (("05", "999999999.999999999"), ("20", "0.000000001"))
]

Rows = list[tuple[Any, ...]]


@pytest.fixture(scope="module")
def running() -> Iterator[LocalServer]:
    with LocalServer(sample=Sample(days=2, events_per_day=300, seed=3)) as server:
        yield server


@pytest.fixture
def server(running: LocalServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalServer:
    """A server as new; programs find it in their environment and start in a folder of the test."""
    running.reset()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ADANALYTICS_BASE_URL", running.url)
    monkeypatch.setenv("ADANALYTICS_API_KEY", running.api_key)
    monkeypatch.setenv("ADANALYTICS_PARTNER", running.partner)
    return running


def run(*command: str | Path) -> str:
    """The output of a program that succeeds."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def load(server: LocalServer, *events: dict[str, Any]) -> None:
    """Replace the hours of these events on the server."""
    Path("load.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    about = ("--partner", server.partner, "--data", server.settings.data, "--replace-hours")
    run(sys.executable, "-m", "adanalytics_cli", "server", "load", "load.jsonl", *about)


def served(server: LocalServer) -> Rows:
    """All events of the service, by our own client; the journal forgets them."""
    with Client.from_env() as client:
        days = client.dates()
        table = client.events(days[0], days[-1], split="none").to_arrow(columns=COLUMNS)
    server.journal.clear()
    return sorted(zip(*table.to_pydict().values(), strict=True))


def requested(server: LocalServer) -> Counter[str]:
    """The requests since the last look: `dates`, or an hour such as `2026-01-15T03`."""
    found: Counter[str] = Counter()
    for entry in server.journal.entries():
        query = dict(entry.query)
        hour = f"{query['start_date']}T{query['hour']:>02}" if "hour" in query else None
        found[hour or entry.path.rpartition("/")[2]] += 1
    server.journal.clear()
    return found


def dates_and_hours(first: str, count: int) -> Counter[str]:
    """One request for the dates, and one for each of the hours from `first` on."""
    start = datetime.fromisoformat(first)
    hours = (start + timedelta(hours=number) for number in range(count))
    return Counter(["dates", *(f"{hour:%Y-%m-%dT%H}" for hour in hours)])


def test_every_example_is_run_here() -> None:
    files = {path.name for path in EXAMPLES.glob("[!.]*.*")}
    # The words that the image serves with are tried in tests/cli/test_serve.py.
    needs_containers = {"compose.yaml"}
    assert files == {*ARGUMENTS, *WITH_OTHER_TOOLS, NOTEBOOK} | needs_containers


def test_the_containers_find_the_copy_beside_their_file_and_its_extra() -> None:
    compose = (EXAMPLES / "compose.yaml").read_text()
    copy = re.search(r'- "(\S+):/adanalytics:ro"', compose)
    assert copy
    project = tomllib.loads((EXAMPLES / copy[1] / "pyproject.toml").read_text())["project"]
    extra = re.search(r"pip install '/adanalytics\[(\w+)\]'", compose)
    assert extra
    assert extra[1] in project["optional-dependencies"]


@pytest.mark.parametrize("name", ARGUMENTS)
@pytest.mark.usefixtures("server")
def test_an_example_does_what_it_says(name: str) -> None:
    arguments, expected = ARGUMENTS[name]
    assert expected in run(sys.executable, EXAMPLES / name, *arguments)


@pytest.mark.skipif(not find_spec("dlt"), reason="make test-examples installs dlt")
def test_dlt_requests_only_the_hours_since_the_last_run(
    server: LocalServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DLT_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("RUNTIME__DLTHUB_TELEMETRY", "false")
    example = (sys.executable, EXAMPLES / "dlt_pipeline.py", "warehouse.duckdb")
    run(*example)
    assert requested(server) == dates_and_hours("2026-01-15T00", 48)
    assert in_warehouse() == served(server)

    with Client.from_env() as client:
        _, *others = client.events("2026-01-16", hour=22).rows()
    # An hour before the last one loses an event, and there is a new day.
    load(server, *others, *NEW_DAY)
    expected = served(server)
    run(*example)
    # 2026-01-16T23 was the last hour with events. Late events may reach three hours before it.
    # Before the new day's first event, its first hour without one costs the count of the day.
    assert requested(server) == dates_and_hours("2026-01-16T20", 28) + Counter(["events"])
    assert in_warehouse() == expected


@pytest.mark.skipif(not find_spec("dlt"), reason="make test-examples installs dlt")
def test_a_run_of_dlt_that_fails_loses_no_hour(
    server: LocalServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import dlt
    from dlt.pipeline.exceptions import PipelineStepFailed

    monkeypatch.setenv("DLT_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("RUNTIME__DLTHUB_TELEMETRY", "false")
    file = dlt.destinations.duckdb("warehouse.duckdb")
    pipeline = dlt.pipeline("broken", destination=file, dataset_name="adanalytics")
    with Client.from_env(retry=RetryPolicy(attempts=1)) as client:
        server.faults.add("500 once after 30 on events")
        with pytest.raises(PipelineStepFailed, match="500"):
            pipeline.run(dlt_events(client))
        pipeline.run(dlt_events(client, late=timedelta()))
        assert in_warehouse() == served(server)
        # The last hour with events is still requested: it may not have been over.
        pipeline.run(dlt_events(client, late=timedelta()))
        assert requested(server) == dates_and_hours("2026-01-16T23", 1)


class PulledHour(NamedTuple):
    """A query whose events are a table."""

    table: pa.Table

    def to_arrow(self, **_options: Any) -> pa.Table:
        return self.table


class TableClient(Client):
    """A client of a service with one day, whose hours with events are tables."""

    def __init__(self) -> None:
        super().__init__("https://stats.example", api_key="aak_x", partner="acme")
        self.hours: dict[int, pa.Table] = {}

    def dates(self) -> list[date]:
        return [date(2026, 1, 15)]

    def events(self, *_days: Any, hour: int | None = None, **_options: Any) -> Any:
        return PulledHour(self.hours.get(hour or 0, event_schema().empty_table()))


def events_of(hour: int, *ids: str) -> pa.Table:
    """Events of an hour that have an id and nothing else."""
    about = {"event_date": "2026-01-15", "event_hour": hour}
    batch = event_batch([{"event_id": id_, **about} for id_ in ids])
    tables = [event_schema().empty_table(), pa.Table.from_batches([batch])]
    return pa.concat_tables(tables, promote_options="default")


@pytest.fixture
def warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A pipeline into a database of the test."""
    dlt = pytest.importorskip("dlt", reason="make test-examples installs dlt")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DLT_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("RUNTIME__DLTHUB_TELEMETRY", "false")
    file = dlt.destinations.duckdb("warehouse.duckdb")
    return dlt.pipeline("hours", destination=file, dataset_name="adanalytics")


def from_warehouse(columns: str) -> Rows:
    """Columns of all events in order of the first one, or one row of totals."""
    with duckdb.connect("warehouse.duckdb") as base:
        return base.execute(f"SELECT {columns} FROM adanalytics.events ORDER BY 1").fetchall()


@pytest.mark.parametrize(
    "service",
    [
        {"dialect": "reference"},
        {"dialect": "fields-camel"},
        {"dialect": "fields-counters"},
        {"service": "counters"},
    ],
)
def test_dlt_loads_the_fields_of_any_service(warehouse: Any, service: dict[str, Any]) -> None:
    with reference_client(events_per_day=50, **service) as client:
        sent = client.events("2026-01-15").to_arrow()
        warehouse.run(dlt_events(client))
        # The same hours again replace their rows.
        warehouse.run(dlt_events(client, late=timedelta(days=2)))
    expected = (sent.num_rows, sum(sent["revenue"].to_pylist()))
    assert from_warehouse("count(*), sum(revenue)") == [expected]
    columns = warehouse.default_schema.get_table_columns("events").keys()
    ours = {"_adanalytics_hour", "_adanalytics_empty"}
    assert len(columns - ours) == len(sent.column_names)


def test_dlt_loads_values_of_several_types_under_one_name(warehouse: Any) -> None:
    client = TableClient()
    half = pa.array([Decimal("0.5")], pa.decimal128(18, 9))
    client.hours = {
        1: pa.table({"id": ["a"], "score": [1], "flag": [True], "note": pa.nulls(1, pa.string())}),
        2: pa.table({"id": ["b"], "score": half, "flag": [7], "note": [7]}),
    }
    warehouse.run(dlt_events(client))
    client.hours[3] = pa.table({"id": [3], "score": ["007"], "note": half})
    client.hours[4] = pa.table({"id": ["d"], "score": pa.array([Decimal(4)], half.type)})
    warehouse.run(dlt_events(client))
    columns = ("id", "score", "score__v_decimal", "score__v_text", "flag", "flag__v_bigint")
    assert from_warehouse(", ".join((*columns, "note", "note__v_decimal"))) == [
        ("3", None, None, "007", None, None, None, Decimal("0.5")),
        ("a", 1, None, None, True, None, None, None),
        ("b", None, Decimal("0.5"), None, None, 7, 7, None),
        ("d", 4, None, None, None, None, None, None),
    ]


def test_limited_runs_of_dlt_advance_while_they_look_for_late_events(warehouse: Any) -> None:
    client = TableClient()
    client.hours = {hour: events_of(hour, f"{hour}") for hour in range(5)}
    for hours in (2, 4, 5, 5):
        warehouse.run(dlt_events(client).add_limit(2))
        assert from_warehouse("event_id") == [(f"{hour}",) for hour in range(hours)]
    client.hours |= {3: events_of(3, "3", "3 late"), 5: events_of(5, "5")}
    warehouse.run(dlt_events(client).add_limit(1))
    expected = ["0", "1", "2", "3", "3 late", "4", "5"]
    assert from_warehouse("event_id") == [(id_,) for id_ in expected]


def test_dlt_deletes_the_rows_of_an_hour_that_became_empty(warehouse: Any) -> None:
    client = TableClient()
    client.hours = {hour: events_of(hour, f"{hour}") for hour in range(3)}
    warehouse.run(dlt_events(client))
    del client.hours[1]
    warehouse.run(dlt_events(client))
    assert from_warehouse("event_id") == [("0",), ("2",)]
    client.hours[1] = events_of(1, "1 again")
    warehouse.run(dlt_events(client))
    assert from_warehouse("event_id") == [("0",), ("1 again",), ("2",)]


def in_warehouse() -> Rows:
    with duckdb.connect("warehouse.duckdb", read_only=True) as base:
        rows = base.execute(f"SELECT {', '.join(COLUMNS)} FROM adanalytics.events").fetchall()
    return sorted(rows)


def rows_in(folder: str) -> pa.Table:
    """The rows of a dataset in the order of their ids."""
    return (
        pyarrow.dataset.dataset(f"{folder}/data", partitioning="hive")
        .to_table()
        .sort_by("event_id")
    )


@pytest.fixture
def synced(server: LocalServer) -> pa.Table:
    """The rows that a plain sync brings; the server has then seen nothing."""
    with Client.from_env() as client:
        Dataset("plain").sync(client, "2026-01-15", "2026-01-16", via="pages")
    server.reset()
    return rows_in("plain")


@pytest.mark.skipif(not find_spec("dagster"), reason="make test-examples installs Dagster")
def test_dagster_keeps_a_dataset_and_fails_while_hours_are_missing(
    server: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    import dagster

    monkeypatch.setenv("EVENTS_DATASET", "events")
    names = run_path(str(EXAMPLES / "dagster_assets.py"))
    assert names["definitions"].resolve_schedule_def("nightly").cron_schedule == "30 2 * * *"
    server.faults.add("500 on events")
    # Called as a function, because a run waits an hour before its retry.
    with pytest.raises(dagster.Failure, match="48 hours are missing"):
        names["events"]()
    server.faults.clear()
    done = dagster.materialize([names["events"]])
    assert done.asset_materializations_for_node("events")[0].metadata["events"].value == 600
    events = pyarrow.dataset.dataset("events/data", partitioning="hive")
    table = events.to_table(columns=COLUMNS)
    assert sorted(zip(*table.to_pydict().values(), strict=True)) == served(server)


@pytest.fixture
def airflow(server: LocalServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of Airflow with the examples and their connection; the dataset is in `events`."""
    if not (AIRFLOW / "airflow").exists():
        pytest.skip("make test-examples installs Airflow")
    connection = {
        "conn_type": "http",
        "host": server.url,
        "password": server.api_key,
        "extra": {"partner": server.partner, "dataset": str(tmp_path / "events")},
    }
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path))
    monkeypatch.setenv("AIRFLOW__CORE__LOAD_EXAMPLES", "false")
    monkeypatch.setenv("AIRFLOW_CONN_ADANALYTICS", json.dumps(connection))
    dags = tmp_path / "dags"
    dags.mkdir()
    for example in EXAMPLES.glob("airflow_*.py"):
        shutil.copy(example, dags)
    return tmp_path


def test_airflow_keeps_a_dataset(airflow: Path, server: LocalServer) -> None:
    run(AIRFLOW / "airflow", "db", "migrate")
    shown = run(AIRFLOW / "airflow", "dags", "test", "adanalytics")
    assert "Returned value was: 600" in shown
    events = pyarrow.dataset.dataset("events/data", partitioning="hive")
    table = events.to_table(columns=COLUMNS)
    assert sorted(zip(*table.to_pydict().values(), strict=True)) == served(server)
    assert server.api_key not in shown


def test_workers_of_airflow_bring_what_a_sync_brings_and_get_no_credential(
    airflow: Path, server: LocalServer, synced: pa.Table
) -> None:
    run(AIRFLOW / "airflow", "db", "migrate")
    shown = run(AIRFLOW / "airflow", "dags", "test", "adanalytics_tasks")
    assert shown.count("running task") == 4
    assert rows_in("events").equals(synced)
    passed_on = (airflow / "airflow.db").read_bytes()
    assert b"signature=" in passed_on
    assert server.api_key.encode() not in passed_on
    assert server.api_key not in shown
    assert "signature=" not in shown


@pytest.mark.parametrize(
    ("task", "error"),
    [
        (
            "airflow_dag.adanalytics().get_task('sync').execute({})",
            "RuntimeError: 48 hours are missing.",
        ),
        (
            "airflow_tasks_dag.adanalytics_tasks().get_task('commit').python_callable(None, [])",
            "RuntimeError: The plan failed.",
        ),
    ],
    ids=["sync", "commit"],
)
def test_an_airflow_task_fails_while_hours_are_missing(
    task: str, error: str, airflow: Path, server: LocalServer
) -> None:
    server.faults.add("500 on events")
    done = run_program(
        [AIRFLOW / "python", "-c", f"import airflow_dag, airflow_tasks_dag; {task}"],
        cwd=airflow / "dags",
        timeout=120,
    )
    assert error in done.stderr


def shown_by(code: str, names: dict[str, Any]) -> dict[str, str]:
    """Run a cell and give what a notebook shows of its last line."""
    *lines, last = ast.parse(code).body
    assert isinstance(last, ast.Expr)
    exec(compile(ast.Module(lines, []), NOTEBOOK, "exec"), names)
    value = eval(compile(ast.Expression(last.value), NOTEBOOK, "eval"), names)
    if value is None:
        return {}
    html = {"text/html": value._repr_html_()} if hasattr(value, "_repr_html_") else {}
    return {"text/plain": repr(value), **html}


def test_the_notebook_shows_what_is_stored_in_it() -> None:
    """Its display of progress aside, which appears in a notebook only."""
    names: dict[str, Any] = {}
    for cell in json.loads((EXAMPLES / NOTEBOOK).read_text())["cells"]:
        if cell["cell_type"] == "code":
            results = [each for each in cell["outputs"] if each["output_type"] == "execute_result"]
            stored = {
                name: "".join(text) for each in results for name, text in each["data"].items()
            }
            assert shown_by("".join(cell["source"]), names) == stored


@pytest.fixture
def home(server: LocalServer, tmp_path: Path) -> Path:
    """A home as the page about nightly runs sets it up; the service has an event of yesterday."""
    yesterday = datetime.now(UTC) - timedelta(days=1)
    load(server, {**NEW_DAY[0], "event_time": f"{yesterday:%Y-%m-%d}T05:00:00Z"})
    bin_folder = tmp_path / "adanalytics" / "bin"
    bin_folder.mkdir(parents=True)
    (bin_folder / "adanalytics").symlink_to(Path(sys.executable).with_name("adanalytics"))
    settings = (NIGHTLY / "nightly.env").read_text()
    for example, real in (
        ("https://stats.example", server.url),
        ("=acme", f"={server.partner}"),
        ("aak_replace_me", server.api_key),
    ):
        assert example in settings
        settings = settings.replace(example, real)
    file = tmp_path / ".config" / "adanalytics" / "nightly.env"
    file.parent.mkdir(parents=True)
    file.write_text(settings)
    return tmp_path


def as_cron(line: str, home: Path) -> "subprocess.CompletedProcess[str]":
    """Run a line with the shell, the environment and the folder that cron gives it."""
    given = {"HOME": str(home), "LOGNAME": "ada", "SHELL": "/bin/sh", "PATH": "/usr/bin:/bin"}
    return run_program(["/bin/sh", "-c", line], env=given, cwd=home, timeout=120)


def test_the_line_for_cron_runs_as_it_is_written(home: Path) -> None:
    page = (ROOT / "docs/how-to/nightly-sync.md").read_text()
    (line,) = (
        each.partition("*  ")[2]
        for each in (NIGHTLY / "crontab").read_text().splitlines()
        if each[:1].isdigit()
    )
    assert line in page
    done = as_cron(line, home)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert len([*(home / "events" / "data").rglob("*.parquet")]) == 1
    # What cron would mail.
    file = home / ".config/adanalytics/nightly.env"
    file.write_text(file.read_text().replace("aak_", "aak_x"))
    done = as_cron(line, home)
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr in page


def test_the_units_for_systemd_run_as_they_are_written(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unit = (NIGHTLY / "adanalytics-sync.service").read_text().replace("%h", str(home))
    (line,) = (each[10:] for each in unit.splitlines() if each.startswith("ExecStart="))
    (file,) = (each[16:] for each in unit.splitlines() if each.startswith("EnvironmentFile="))
    settings = [each for each in Path(file).read_text().splitlines() if each[:1] != "#"]
    done = as_cron(f"env {' '.join(settings)} {line}", home)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("1 event in 24 hours")
    if systemd := shutil.which("systemd-analyze"):
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(home))
        assert run(systemd, "--user", "verify", *NIGHTLY.glob("*.[st]*")) == ""
