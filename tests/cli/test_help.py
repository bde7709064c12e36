"""The help, the catalogue of commands, and what a shell completes when Tab is pressed."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from tests.cli.run import run
from tests.programs import run_program

from adanalytics_cli.core.command import Entry
from adanalytics_cli.main import COMMANDS, cli
from adanalytics_cli.server.group import server
from adanalytics_client import __version__


def command_paths(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from command_paths(inner, (*path, name))


@pytest.fixture
def pages() -> dict[str, str]:
    """Each command line that asks for help, and what it shows at 80 columns."""
    return {
        " ".join(("adanalytics", *path, "--help")): run(*path, "--help").stdout
        for path in command_paths(cli)
    }


def test_examples_come_before_options(pages: dict[str, str]) -> None:
    for page in pages.values():
        assert 0 < page.index("Examples:") < page.index("Options:")


def test_every_example_is_a_command_that_exists(pages: dict[str, str]) -> None:
    paths = {" ".join(("adanalytics", *path)) for path in command_paths(cli)}
    for page in pages.values():
        section = page.partition("Examples:\n")[2].partition("\n\n")[0]
        commands = [line for line in section.splitlines() if "adanalytics " in line]
        assert commands
        for line in commands:
            words = line[line.index("adanalytics ") :].split()
            assert any(" ".join(words[:n]) in paths for n in (2, 3, 4)), line


def test_lines_fit_80_columns(pages: dict[str, str]) -> None:
    lines = [line for page in pages.values() for line in page.splitlines()]
    assert not [line for line in lines if len(line) > 80]


def test_sentences_fit_40_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    for command in ("summary", "sync", "serve"):
        page = run(command, "--help").stdout.partition("\n\n")[2]
        # Examples are as they are typed, and the values of a choice are one word.
        prose = [line for line in page.splitlines() if "adanalytics " not in line]
        assert not [line for line in prose if len(line) > 40 and len(line.split()) > 3]
        assert not [line for line in prose if line.endswith("-")]


@pytest.mark.parametrize(
    "words", ["", "server", "server key", "help", "help dates", "help server key create"]
)
def test_a_group_alone_and_help_before_a_command_show_its_help_as_it_is(
    pages: dict[str, str], words: str
) -> None:
    result = run(*words.split())
    page = pages[" ".join(["adanalytics", *words.removeprefix("help").split(), "--help"])]
    shown = (0, page, "") if words.startswith("help") else (2, "", page)
    assert (result.exit_code, result.stdout, result.stderr) == shown


def test_commands_stand_in_groups(pages: dict[str, str]) -> None:
    """The root in its groups, every summary in the same column; a group of few has one heading."""
    blocks = pages["adanalytics --help"].partition("\nData:\n")[2].split("\n\n")[:6]
    headings = [block.partition(":\n")[0] for block in blocks[1:]]
    assert headings == ["Dataset", "Account", "Local server", "Assistant", "Help"]
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("  ")]
    (local,) = [line for line in lines if "," in line.partition("  ")[2][:5]]
    assert local.split(", ")[0].strip() == "demo"
    names = [name for line in lines for name in line[2:].partition("  ")[0].split(", ")]
    assert [name.strip() for name in names] == list(COMMANDS)
    assert {line[13] == " " != line[14] for line in lines if line != local} == {True}
    assert "\nCommands:\n  partner " in pages["adanalytics server --help"]


def test_rare_options_come_last(pages: dict[str, str]) -> None:
    usual, _, rare = pages["adanalytics sync --help"].partition("\nLess common options:\n")
    assert "  --to DIR|URL" in usual
    assert "  --workers N" in rare
    assert "--workers" not in usual.partition("\nOptions:\n")[2]
    assert "Less common" not in pages["adanalytics status --help"]


@pytest.mark.parametrize("word", ["-V", "--version"])
def test_version(word: str) -> None:
    assert run(word).stdout == f"adanalytics {__version__}\n"


def test_every_format_has_its_letter(pages: dict[str, str]) -> None:
    named = [line for page in pages.values() for line in page.splitlines() if " --format" in line]
    assert len(named) >= 6
    assert not [line for line in named if "  -f, --format " not in line]


def test_options_name_their_variables(pages: dict[str, str]) -> None:
    """A variable of the environment stands beside the option that overrides it."""
    page, login = (" ".join(pages[f"adanalytics{of} --help"].split()) for of in ("", " login"))
    for option in ("profile", "base-url", "partner"):
        variable = f"[env: ADANALYTICS_{option.replace('-', '_').upper()}]"
        assert variable in page.partition(f"--{option} ")[2].partition(" --")[0]
    assert "[env: ADANALYTICS_EMAIL]" in login.partition("--email E ")[2].partition(" --")[0]


@pytest.mark.parametrize("name", [*COMMANDS, *(f"server {name}" for name in server.entries)])
def test_an_entry_is_the_command_of_its_name(name: str) -> None:
    group, _, inner = name.partition(" ")
    entry: Entry = server.entries[inner] if inner else COMMANDS[group]
    command = entry.load()
    assert command.name == name.rsplit(maxsplit=1)[-1]


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (["--partnr", "acme", "dates"], "--partner"),
        (["dates", "--partnr", "acme"], "--partner"),
        (["server", "key", "create", "--usr", "ada@example.org"], "--user"),
        (["dates", "--debgu"], "--debug"),
        (["server", "key", "list", "--user", "ada@example.org"], ""),
        (["server", "user", "list", "--role", "admin"], ""),
        (["dates", "-z"], ""),
    ],
)
def test_an_unknown_option(words: list[str], near: str) -> None:
    result = run(*words)
    said = result.stderr.splitlines()[0]
    assert result.exit_code == 2
    assert said.startswith("Error: No such option")
    assert near in said
    assert ("Did you mean" in said) == bool(near)


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
def test_the_script_is_one_the_shell_understands(shell: str) -> None:
    done = run("completion", shell)
    assert "_ADANALYTICS_COMPLETE" in done.stdout
    assert (done.exit_code, done.stderr) == (0, "")
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=done.stdout_bytes, check=True)


def test_fish_shows_descriptions_to_their_end() -> None:
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
