"""A group that knows its commands by name and summary, and imports one only to run it."""

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from adanalytics_cli.core.command_group import ExampleGroup

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a command lives, as `module:attribute`, and the line that help shows for it.

    The summary stands here too because reading it from the command would import the
    command, and with it everything that `--help` must not pay for.
    """

    target: str
    summary: str

    def load(self) -> click.Command:
        """Import the command."""
        module, _, attribute = self.target.partition(":")
        command = getattr(importlib.import_module(module), attribute)
        if not isinstance(command, click.Command):
            raise TypeError(f"{self.target} is not a click command")
        return command


class LazyGroup(ExampleGroup):
    """A group over a catalogue of commands; its help imports none of them."""

    def __init__(
        self,
        name: str,
        *,
        entries: Mapping[str, Entry],
        summary: str,
        examples: Sequence[str],
        details: str = "",
        params: Sequence[click.Parameter] = (),
    ) -> None:
        super().__init__(name, summary=summary, examples=examples, details=details, params=params)
        self.entries = entries

    def summaries(self) -> Mapping[str, str]:
        """Name and summary as the catalogue has them."""
        return {name: entry.summary for name, entry in self.entries.items()}

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command of that name, or None."""
        entry = self.entries.get(cmd_name)
        return entry.load() if entry else super().get_command(ctx, cmd_name)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list["CompletionItem"]:
        """Names and options that begin so; click itself would import every command for it."""
        from click.shell_completion import CompletionItem

        names = [
            CompletionItem(name, help=entry.summary)
            for name, entry in self.entries.items()
            if name.startswith(incomplete)
        ]
        return names + click.Command.shell_complete(self, ctx, incomplete)
