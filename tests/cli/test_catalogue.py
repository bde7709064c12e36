"""The catalogue of commands, and names that are not in it."""

import pytest
from tests.cli.run import Run

from adanalytics_cli.core.command import Entry
from adanalytics_cli.main import COMMANDS
from adanalytics_cli.server.group import server


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
def test_an_unknown_option(run: Run, words: list[str], near: str) -> None:
    result = run(*words)
    said = result.stderr.splitlines()[0]
    assert result.exit_code == 2
    assert said.startswith("Error: No such option")
    assert near in said
    assert ("Did you mean" in said) == bool(near)
