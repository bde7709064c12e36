"""The completions that a shell gets when Tab is pressed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.cli.run import Run
from tests.programs import run_program

from adanalytics_cli.main import COMMANDS, cli


def asks(line: str) -> dict[str, str]:
    """How the script for bash asks what is offered at the end of `line`."""
    words = line.split(" ")
    return {
        "_ADANALYTICS_COMPLETE": "bash_complete",
        "COMP_WORDS": "\n".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }


def offered(line: str) -> list[str]:
    """Kind and word of what is offered at the end of `line`."""
    done = CliRunner().invoke(cli, [], prog_name="adanalytics", env=asks(line))
    assert (done.exit_code, done.stderr) == (0, "")
    return done.stdout.splitlines()


def complete(line: str) -> list[str]:
    """The words offered at the end of `line`."""
    return [each.partition(",")[2] for each in offered(line)]


def test_commands_options_and_choices(tmp_path: Path) -> None:
    settings = tmp_path / "config" / "adanalytics"
    settings.mkdir(parents=True)
    (settings / "config.toml").write_text(
        '[profile.night]\npartner = "acme"\n[profile.noon]\n'
        '[profile.day]\npartner = "acme,globex"\n'
    )
    assert complete("adanalytics ") == list(COMMANDS)
    assert complete("adanalytics server us") == ["user"]
    assert complete("adanalytics events --sp") == ["--split"]
    assert complete("adanalytics summary 2026-01 -g ca") == ["campaign"]
    assert complete("adanalytics --profile n") == ["night", "noon"]
    # From the settings file: no service is configured here.
    assert complete("adanalytics summary --partner ") == ["acme", "globex"]
    assert complete("adanalytics summary --partner acme,g") == ["acme,globex"]
    assert complete("adanalytics events --columns revenue,dev") == ["revenue,device_type"]
    assert complete("adanalytics summary 2026-01 --sort ec") == ["ecpm"]
    assert complete("adanalytics events this") == ["this-month"]
    assert complete("adanalytics help serve") == ["serve", "server"]
    assert complete("adanalytics help server k") == ["key"]
    assert complete("adanalytics events --q") == ["--quiet"]
    assert complete("adanalytics events --max") == ["--max-wait"]


def test_the_program_answers_a_shell() -> None:
    command = [sys.executable, "-m", "adanalytics_cli"]
    line = "adanalytics server us"
    done = subprocess.run(command, env=os.environ | asks(line), capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"plain,user\n", b"")


@pytest.mark.parametrize(
    "line",
    ["events today -o ", "sync --to ", "verify ", "export --job ", "server load ", "serve --data "],
)
def test_the_shell_offers_its_own_files_where_one_is_named(line: str) -> None:
    assert offered(f"adanalytics {line}") in (["file,"], ["dir,"])


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one_the_shell_understands(run: Run, shell: str) -> None:
    done = run("completion", shell)
    assert "_ADANALYTICS_COMPLETE" in done.stdout
    assert (done.exit_code, done.stderr) == (0, "")
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=done.stdout_bytes, check=True)


def test_fish_shows_descriptions_to_their_end(run: Run) -> None:
    """Each offer is a kind, a comma, and whatever follows, which may have commas of its own."""
    script = run("completion", "fish").stdout
    assert '--max 1 "," $completion' in script
    if not shutil.which("fish"):
        pytest.skip("fish is not installed; its script was only read")
    asked = script.replace(" adanalytics)", f" {sys.executable} -m adanalytics_cli)")
    done = run_program(
        ["fish", "--no-config", "-c", f"{asked}\ncomplete --do-complete 'adanalytics doc'"],
        check=True,
    )
    assert done.stdout == ("doctor\tCheck the settings, this machine and the service.\n")
