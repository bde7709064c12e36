"""The group class: examples first in the help, and a guess when a command is misspelt."""

import difflib
from collections.abc import Mapping, Sequence

import click

from adanalytics_cli.core.command import HELP_NAMES, suggesting_near_options, write_examples


class ExampleGroup(click.Group):
    """A group of commands whose help shows examples before the commands."""

    def __init__(
        self,
        name: str,
        *,
        summary: str,
        examples: Sequence[str],
        details: str = "",
        commands: Sequence[click.Command] = (),
        params: Sequence[click.Parameter] = (),
    ) -> None:
        super().__init__(
            name,
            commands=commands,
            context_settings=HELP_NAMES,
            params=list(params),
            help=summary,
            short_help=summary,
        )
        self.examples = tuple(examples)
        self.details = details

    def summaries(self) -> Mapping[str, str]:
        """Name and one-line summary of each command, in the order of the help."""
        return {name: each.get_short_help_str() for name, each in self.commands.items()}

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """The names in the order of the help."""
        return list(self.summaries())

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the options before the command."""
        with suggesting_near_options():
            return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say which one may have been meant."""
        word = args[0]
        names = list(self.summaries())
        if word in names or word.startswith("-"):
            return super().resolve_command(ctx, args)
        near = difflib.get_close_matches(word, names, n=1)
        hint = f"Did you mean '{near[0]}'?" if near else f"There are: {', '.join(names)}."
        raise click.UsageError(f"no command '{word}'. {hint}", ctx)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Usage, summary, examples, commands, options."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        write_examples(formatter, self.examples, self.details)
        with formatter.section("Commands"):
            formatter.write_dl(list(self.summaries().items()))
        click.Command.format_options(self, ctx, formatter)
