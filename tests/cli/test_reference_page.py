"""The reference page shows the options of all commands; those of several are stated once.

`UPDATE_REFERENCE=1 pytest THIS_FILE` renews the page.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

import click
from tests.golden import check

from adanalytics_cli.core.command import ExampleCommand
from adanalytics_cli.core.errors import ExitCode
from adanalytics_cli.main import cli

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "command-line.md"
MARK = "<!-- generated from here -->\n"


def commands(group: click.Group, path: str) -> Iterator[tuple[ExampleCommand, click.Context]]:
    """Walk the commands, without the groups, in the order of the help."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")
        elif isinstance(command, ExampleCommand):
            settings = command.context_settings
            yield command, command.context_class(command, info_name=f"{path} {name}", **settings)


def records(command: click.Command, context: click.Context) -> list[tuple[str, str]]:
    """Return the names of the options that the help shows, each with its text."""
    options = [param for param in command.get_params(context) if "--help" not in param.opts]
    rows = [option.get_help_record(context) for option in options]
    return [row for row in rows if row and all(row)]


def block(rows: Collection[tuple[str, str]]) -> str:
    if not rows:
        return ""
    formatter = click.HelpFormatter(width=100)
    formatter.write_dl(rows)
    return f"\n```text\n{formatter.getvalue()}```\n"


def command_text(command: ExampleCommand, context: click.Context, shared: Collection[str]) -> str:
    """Return the options of a command, with only the names of those that others have, too."""
    rows = records(command, context)
    own_rows = [(names, text) for names, text in rows if text not in shared]
    shared_names = [
        f"`{names.rpartition(', ')[2].split()[0]}`" for names, text in rows if text in shared
    ]
    usage = command.get_usage(context).removeprefix("Usage: ").replace(" [OPTIONS]", "")
    also = f" Also: {', '.join(shared_names)}." if shared_names else ""
    return f"\n### {usage}\n\n{command.short_help}{also}\n{block(own_rows)}"


def test_the_page_shows_the_options_of_every_command() -> None:
    written = PAGE.read_text().partition(MARK)[0]
    everything = [*commands(cli, "adanalytics")]
    rows = [row for pair in everything for row in records(*pair)]
    counts = Counter(text for _, text in rows)
    shared = {text: names for names, text in rows if counts[text] > 1 and "[required]" not in text}
    generated = "\n### Options of every command\n"
    generated += block(records(cli, click.Context(cli)))
    generated += "\n### Options of several commands\n"
    generated += block([(names, text) for text, names in shared.items()])
    generated += "".join(command_text(*pair, shared) for pair in everything)
    check(PAGE, written + MARK + generated)


def test_the_page_lists_every_exit_code() -> None:
    listed = re.findall(r"^\| (\d+) \|", PAGE.read_text(), re.MULTILINE)
    assert [int(code) for code in listed] == [code.value for code in ExitCode]
