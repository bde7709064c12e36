"""What people do with the packages, on Windows or on a stand-in for it.

The programs run in a process of their own, because the stand-in takes away what POSIX has.
"""

import os
import sys
from pathlib import Path

import pytest
from tests.programs import run_program

TESTS = Path(__file__).parent
BEGIN = """
import sys
if sys.platform != "win32":
    from stand_in_for_windows import install
    install()
import os
from datetime import date
from pathlib import Path
from adanalytics_client import AsyncClient, Client, errors
from adanalytics_client.dataset import Dataset, DatasetInUse
from adanalytics_server.local import LocalServer, Sample

day = "2026-01-15"
sample = Sample(start=date(2026, 1, 15), days=2, events_per_day=60)
"""
PULLS = """
import asyncio
with LocalServer(sample=sample) as server:
    options = {"api_key": server.api_key, "partner": server.partner}
    with Client(server.url, **options) as client:
        for name in ("day.jsonl", "day.jsonl.gz", "day.csv", "day.parquet"):
            for _ in range(2):
                assert client.events(day, split="daily").write(name) == 60
        assert Path("day.jsonl").read_bytes().count(b"\\n") == 60
        used = 1000 - client.quota.remaining
        assert len(client.summary(day, day).rows) == 1

    async def pull():
        async with AsyncClient(server.url, **options) as client:
            assert used < 1000 - client.quota.remaining
            return [row async for row in client.events(day, split="daily").rows()]

    assert len(asyncio.run(pull())) == 60
"""
EXPORTS = """
with LocalServer(sample=sample) as server:
    with Client(server.url, api_key=server.api_key, partner=server.partner) as client:
        job = client.start_export(day)
        job.wait()
        server.faults.add("truncated body always on download")
        try:
            job.download("day.csv")
        except errors.DownloadError:
            pass
        assert [each.name for each in Path().glob("day.csv*")] != ["day.csv"]
        server.faults.clear()
        for _ in range(2):
            job.download("day.csv")
        assert Path("day.csv").read_text().count("\\n") == 61
        assert [each.name for each in Path().glob("day.csv*")] == ["day.csv"]
    server.reset()
"""
DATASETS = """
from adanalytics_client.dataset import dataset as module
with LocalServer(sample=sample) as server:
    with Client(server.url, api_key=server.api_key, partner=server.partner) as client:
        for via, format in (("pages", "parquet"), ("export", "jsonl")):
            dataset = Dataset(format, format=format)
            assert dataset.sync(client, day, via=via).events == 60
            assert dataset.sync(client, day).events == 0
            assert dataset.sync(client, day, via=via, repull=1).events == 60
            assert dataset.verify(client, until=day).is_whole
            with module.open_store(format).lock():
                try:
                    dataset.sync(client, day)
                except DatasetInUse:
                    continue
            raise AssertionError
"""
COMMANDS = """
from click.testing import CliRunner
from adanalytics_cli.main import cli
import adanalytics_cli.__main__

def run(words, *, stdin=None):
    done = CliRunner().invoke(cli, words.split(), input=stdin, prog_name="adanalytics")
    assert done.exit_code == 0, (words, done.output)
    return done.stdout

with LocalServer(sample=sample) as server:
    os.environ["ADANALYTICS_BASE_URL"] = server.url
    os.environ["ADANALYTICS_PARTNER"] = server.partner
    for _ in range(2):
        run("login --api-key-stdin --store file", stdin=server.api_key + "\\n")
    assert "api key" in run("status").lower()
    run(f"events {day} -o day.csv")
    run(f"export {day} -o export.csv")
    run(f"summary {day} -o summary.csv")
    run(f"sync {day} --to events")
    run("verify events --until 2026-01-15")
    run("doctor")
    run("logout")
"""
# As many bytes as fit are sorted in memory, and the rest in a file.
LOADS = """
from adanalytics_cli.main import cli
from adanalytics_server.loading import load
from click.testing import CliRunner

load.load_file.__kwdefaults__["most_bytes"] = 5_000
Path("log.csv").write_text("event_time,event_type,supply_tag_id\\n" + "".join(
    f"2026-01-15T{hour:02}:00:00Z,click,{n}\\n" for n in range(20) for hour in range(24)
))
for words in ("partner add acme --name Acme --currency USD", "load log.csv --partner acme"):
    done = CliRunner().invoke(cli, ["server", *words.split(), "--data", "data"])
    assert done.exit_code == 0, done.output
assert "480" in done.output, done.output
"""
PROGRAMS = {
    "pulls": PULLS,
    "exports": EXPORTS,
    "datasets": DATASETS,
    "commands": COMMANDS,
    "loads": LOADS,
}


@pytest.mark.skipif(
    sys.platform != "win32" and not Path("/proc/self/fd").is_dir(),
    reason="needs the list of open files",
)
def test_on_windows(tmp_path: Path) -> None:
    environment = {
        key: text for key, text in os.environ.items() if not key.startswith(("XDG_", "ADANAL"))
    }
    environment |= {"HOME": str(tmp_path), "PYTHONPATH": str(TESTS), "PYTHONWARNINGS": "error"}
    programs = []
    for name, program in PROGRAMS.items():
        (tmp_path / name).mkdir()
        programs.append(f"os.chdir({str(tmp_path / name)!r})\n{program}")
    done = run_program(
        [sys.executable, "-c", BEGIN + "".join(programs)],
        cwd=tmp_path,
        env=environment,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-3000:]
