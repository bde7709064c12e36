"""`adanalytics help`: show the help of a command."""

import click

from adanalytics_cli.core.command import command
from adanalytics_cli.core.invocation import Invocation


@command(
    "help",
    params=[click.Argument(["words"], nargs=-1, metavar="[COMMAND]...")],
    examples=["adanalytics help", "adanalytics help events", "adanalytics help server key create"],
)
def help_command(invocation: Invocation, words: tuple[str, ...]) -> None:
    """Run the named command with `--help`."""
    root = click.get_current_context().find_root()
    line = [*words, "--help"]
    with root.command.make_context(root.info_name, line, obj=invocation) as inner:
        root.command.invoke(inner)
