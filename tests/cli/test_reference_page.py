"""The reference page shows the help as it is; `UPDATE_REFERENCE=1 pytest THIS_FILE` renews it."""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import click
from click.testing import Result

from adanalytics_cli.core.errors import ExitCode
from adanalytics_cli.main import cli

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "command-line.md"
MARK = "<!-- generated from here -->\n"


def commands(group: click.Group, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Walk the tree of commands in the order of the help."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield (*path, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


def test_the_page_shows_the_help_of_every_command(run: Callable[..., Result]) -> None:
    written, _, shown = PAGE.read_text().partition(MARK)
    generated = ""
    for path in [(), *commands(cli, ())]:
        title = " ".join(("adanalytics", *path))
        generated += f"\n### {title}\n\n```text\n{run(*path, '--help').stdout}```\n"
    if os.environ.get("UPDATE_REFERENCE"):
        PAGE.write_text(written + MARK + generated)
        shown = generated
    assert shown == generated


def test_the_page_lists_every_exit_code() -> None:
    listed = re.findall(r"^\| (\d+) \|", PAGE.read_text(), re.MULTILINE)
    assert [int(code) for code in listed] == [code.value for code in ExitCode]
