"""What the help of every command has in common; its words are kept by the reference page."""

from collections.abc import Iterator

import click
import pytest
from tests.cli.run import Run

from adanalytics_cli.main import COMMANDS, cli
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
def pages(run: Run) -> dict[str, str]:
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


def test_sentences_fit_40_columns(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
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
    run: Run, pages: dict[str, str], words: str
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
def test_version(run: Run, word: str) -> None:
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
