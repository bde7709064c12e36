"""`adanalytics help`: show the help of a command."""

import click

from adanalytics_cli.core.command import command
from adanalytics_cli.core.invocation import Invocation


def _topics(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the commands of the group that the words before name, for the shell."""
    group: click.Command | None = context.find_root().command
    for word in context.params.get("words") or ():
        group = group.get_command(context, word) if isinstance(group, click.Group) else None
    names = group.list_commands(context) if isinstance(group, click.Group) else []
    return [name for name in names if name.startswith(incomplete)]


@command(
    "help",
    params=[click.Argument(["words"], nargs=-1, metavar="[COMMAND]...", shell_complete=_topics)],
    examples=["adanalytics help", "adanalytics help events", "adanalytics help server key create"],
)
def help_command(invocation: Invocation, words: tuple[str, ...]) -> None:
    root = click.get_current_context().find_root()
    line = [*words, "--help"]
    with root.command.make_context(root.info_name, line, obj=invocation) as command_context:
        root.command.invoke(command_context)
