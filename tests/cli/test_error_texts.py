"""Every error as it is read: `error_texts.txt` is what a terminal would show.

`UPDATE_ERROR_TEXTS=1 pytest THIS_FILE` writes the answers below the command lines anew; a line that
begins with `$` is a command, and a new one is all that it takes to add an error.
"""

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.run import Run
from tests.golden import check

from adanalytics_client._base.clock import SystemClock
from adanalytics_server.local import LocalServer

_ERROR = re.compile(r'(?m)^(Error: |\{"error": )')
TEXTS = Path(__file__).with_name("error_texts.txt")
# What two runs do not have in common, and what stands for it.
_VARYING = (
    (re.compile(r"127\.0\.0\.1:\d{2,5}"), "127.0.0.1:PORT"),
    (re.compile(r"\b[0-9a-f]{32}\b"), "REQUEST-ID"),
    (re.compile(r"exports/[0-9a-f-]{36}"), "exports/ID"),
    (re.compile(r"\d{8}T\d{6}Z|(20\d\d-\d\d-\d\d )?\d\d:\d\d:\d\d UTC"), "MOMENT"),
    # click before 8.3 says it otherwise.
    (re.compile(r"No such option: (--[a-z-]+)"), r"No such option '\1'."),
    (re.compile(r"Did you mean (--[a-z-]+)\?"), r"Did you mean '\1'?"),
    (re.compile(r"/\S*/(?=config/|state/)"), "HOME/"),
)


@pytest.fixture
def place(
    run: Run, service: LocalServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[LocalServer]:
    """The folder that the texts speak of, and a service whose faults go at the end."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(SystemClock, "sleeping", lambda _self, _until: ())
    Path("file").touch()
    Path("folder").mkdir()
    Path("others").mkdir()
    Path("others/thesis.txt").touch()
    assert run("sync", "2026-01-15", "--to", "events").exit_code == 0
    shutil.copytree("events", "broken")
    assert run("sync", "2026-01-15", "--to", "cut", "--partition", "hour").exit_code == 0
    Path("cut/data/date=2026-01-15/hour=13/part-0.parquet").write_bytes(b"PAR1")
    Path("cut/data/date=2026-01-15/hour=14/part-0.parquet").unlink()
    Path("cut/data/date=2026-01-15/notes.txt").touch()
    Path("cut/_adanalytics/manifest/2026-01-14.json").write_text("{}")
    assert run("server", "partner", "add", "acme", "--data", "data").exit_code == 0
    Path("broken/_adanalytics/dataset.json").write_text("{}")
    Path("export.job").write_text("{}")
    assert run("export", "2026-01-15", "--no-wait", "--job", "JOB").exit_code == 0
    Path("BAD").write_bytes(b"\xff{")
    Path("latin.sql").write_bytes("SELECT 'ü'".encode("latin-1"))
    Path("empty.sql").write_text(" -- nothing\n")
    Path("theirs.csv").write_text("Demand Tag,Imps\nOne,1\n")
    yield service
    service.faults.clear()


def answer(command: str, run: Run, place: LocalServer) -> str:
    """What a command line shows, and the exit status."""
    words = shlex.split(command)
    program = words.index("adanalytics")
    settings = dict(word.split("=", 1) for word in words[:program])
    stdin = ""
    if "<<<" in words:
        stdin = words.pop() + "\n"
        words.pop()
    place.faults.clear()
    if fault := settings.pop("FAULT", ""):
        place.faults.add(fault)
    done = run(*words[program + 1 :], env=settings, stdin=stdin)
    assert not _ERROR.search(done.stdout), command
    text = f"{done.stdout}{done.stderr}".rstrip("\n")
    for varying, constant in _VARYING:
        text = varying.sub(constant, text)
    return f"{text}\n[{int(done.exit_code)}]\n"


def test_the_texts_of_errors(run: Run, place: LocalServer) -> None:
    written = TEXTS.read_text()
    before = {*Path().iterdir()}
    blocks = re.split(r"(?m)^(?=\$ |# )", written)
    shown = "".join(
        f"{line}\n{answer(line[2:], run, place)}\n" if line.startswith("$ ") else block
        for block in blocks
        for line in [block.partition("\n")[0]]
    )
    check(TEXTS, shown, "UPDATE_ERROR_TEXTS")
    # Nothing is left of what was refused, and of a file that broke off its part.
    begun = {"fresh", "new", "day.csv.part", "day.csv.part.json"}
    assert {each.name for each in {*Path().iterdir()} - before} == begun
    assert [*Path("../state").rglob("logins.json")] == []


def test_every_error_is_one_or_two_lines_and_nothing_succeeds() -> None:
    for block in re.findall(r"(?ms)^\$ (.*?)\n\n", TEXTS.read_text()):
        command, *said, status = block.splitlines()
        assert re.fullmatch(r"\[[1-7]\]", status), command
        errors = [line for line in said if line.startswith(("Error: ", '{"error": '))]
        assert len(errors) == 1, command
        # Below the error of a query, its SQL is shown in a line of its own, and the place in one.
        shown = 2 * sum(line.startswith("LINE ") for line in said)
        assert len(said) - said.index(errors[0]) <= 2 + shown, command
