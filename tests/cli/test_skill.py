"""`adanalytics skill`: the file that it installs, and every command line in it."""

import re
import shlex
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
from tests.cli.run import run

from adanalytics_cli.core.errors import ExitCode
from adanalytics_cli.main import COMMANDS
from adanalytics_server.local import LocalServer


@pytest.fixture
def skill() -> str:
    """The text."""
    result = run("skill")
    assert result.exit_code == 0
    return result.stdout


def test_every_command_line_runs(
    skill: str, service: LocalServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    blocks = re.findall(r"^```console\n(.*?)^```$", skill, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    assert len(lines) > 12
    for line in lines:
        program, *words = shlex.split(line)
        result = run(*words)
        assert program == "adanalytics"
        assert result.exit_code == 0, f"{line}: {result.stderr}"
        assert result.stdout or result.stderr, line


def test_what_it_says_of_prices_is_so(skill: str, service: LocalServer) -> None:
    prices = {"dates -f json": 1, "summary": 1, "plan": 1}
    for words, price in prices.items():
        (row,) = re.findall(rf"`adanalytics {words}` \| (\d)", skill)
        service.journal.clear()
        days = [] if words.startswith("dates") else ["2026-01-15"]
        assert run(*words.split(), *days).exit_code == 0
        assert int(row) == price == len(service.journal.entries())


def test_it_names_commands_and_exit_statuses_that_exist(skill: str) -> None:
    named = set(re.findall(r"`adanalytics ([a-z]+)", skill))
    assert len(named) > 7
    assert named <= COMMANDS.keys()
    statuses = {int(number) for number in re.findall(r"^\| (\d) \|", skill, re.MULTILINE)}
    assert statuses == {code for code in ExitCode if code < ExitCode.INTERRUPTED}


def test_it_is_a_skill_as_assistants_expect_them(skill: str, folder: Path) -> None:
    """https://agentskills.io/specification: the folder has the name, the texts have limits."""
    assert run("skill", "--install", str(folder / "skills")).exit_code == 0
    (path,) = folder.rglob("SKILL.md")
    assert path.read_text("utf-8") == skill
    head = dict(line.split(": ", 1) for line in skill.split("---\n")[1].splitlines())
    assert (head["name"], path.parent.name) == ("adanalytics",) * 2
    assert len(head["description"]) <= 1024
    assert len(skill.splitlines()) < 120


def test_a_file_that_differs_is_never_replaced(folder: Path) -> None:
    path = folder / "adanalytics" / "SKILL.md"
    assert run("skill", "--install", str(folder)).exit_code == 0
    assert "is up to date" in run("skill", "--install", str(folder)).stderr
    path.write_text("edited")
    result = run("skill", "--install", str(folder))
    assert result.exit_code == 1
    assert f"rm -- {path}" in result.stderr
    assert path.read_text() == "edited"


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
@pytest.mark.parametrize("name", ["a b", "it's", "-dash"])
def test_the_remedy_removes_the_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(folder)
    path = folder / name / "adanalytics" / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text("edited")
    result = run("skill", f"--install={name}")
    remedy = result.stderr.splitlines()[-1].partition("again: ")[2]
    subprocess.run(["bash", "-c", remedy], check=True)
    assert not path.exists()


@pytest.mark.parametrize("name", ["file", "folder"])
def test_a_place_that_cannot_hold_it(folder: Path, name: str) -> None:
    if name == "file":
        folder.joinpath("adanalytics").touch()
    else:
        folder.joinpath("adanalytics", "SKILL.md").mkdir(parents=True)
    result = run("skill", "--install", str(folder))
    assert result.exit_code == 1
    assert str(folder) in result.stderr
    assert stat.S_ISREG(folder.joinpath("adanalytics").stat().st_mode) == (name == "file")
