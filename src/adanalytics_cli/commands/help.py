"""`adanalytics help`: show the help of a command."""

import click

from adanalytics_cli.core.command import ExampleCommand


@click.pass_context
def run(context: click.Context, words: tuple[str, ...]) -> None:
    """Run the named command with `--help`."""
    root = context.find_root()
    line = [*words, "--help"]
    with root.command.make_context(root.info_name, line, obj=context.obj) as inner:
        root.command.invoke(inner)


help_command = ExampleCommand(
    "help",
    callback=run,
    params=[click.Argument(["words"], nargs=-1, metavar="[COMMAND]...")],
    examples=["adanalytics help", "adanalytics help events", "adanalytics help server key create"],
)
