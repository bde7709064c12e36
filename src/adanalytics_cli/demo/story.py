"""How the demo tells what it does: short paragraphs with a label, 80 columns wide."""

import os
import sys
import textwrap
from collections.abc import Sequence

import click

from adanalytics_cli.console.terminal import look_at
from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.demo.check import Check, shortened

# Keeps a number and its unit on one line; printed as a plain space.
NO_BREAK = "\u00a0"
_WIDTH = 80
_LABEL = 9


class Story:
    """Prints the steps on stdout, in colours where stdout shows them."""

    def __init__(self, invocation: Invocation) -> None:
        self._color = look_at(sys.stdout, invocation.color, os.environ).color

    def step(self, label: str, text: str) -> None:
        """A label and what was done, wrapped beside it."""
        lines = textwrap.wrap(text, _WIDTH - _LABEL, break_long_words=False, break_on_hyphens=False)
        self._print(f"{self._bold(f'{label:<{_LABEL}}')}{lines[0]}")
        for line in lines[1:]:
            self._print(f"{'':{_LABEL}}{line}")

    def check(self, check: Check) -> None:
        """A comparison with its outcome, and the differences if there are any."""
        mark = click.style("ok", fg="green") if check.holds else click.style("DIFFERS", fg="red")
        self._print(f"{'':{_LABEL}}{mark}  {check.what}")
        for line in shortened(check):
            self._print(f"{'':{_LABEL}}    {line}")

    def commands(self, label: str, lines: Sequence[str]) -> None:
        """Lines to copy into a shell, never wrapped."""
        self._print("")
        self._print(self._bold(label))
        for line in lines:
            self._print(f"  {line}")

    def gap(self) -> None:
        """An empty line."""
        self._print("")

    def _bold(self, text: str) -> str:
        return click.style(text, bold=True)

    def _print(self, text: str) -> None:
        click.echo(text.replace(NO_BREAK, " "), color=self._color)
