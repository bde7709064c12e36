"""The global options of one run, collected while its command line is parsed."""

import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Literal

import click

from .prose import fitted

if TYPE_CHECKING:
    from adanalytics_client import Observer

ColorChoice = Literal["auto", "always", "never"]


@dataclass(slots=True)
class Invocation:
    """The global options of one run.

    It is filled while the command line is parsed, because an option may come before or after
    the command, and because an error in the middle of parsing must already be printed in the
    requested format.

    `clock` gives an aware UTC datetime; tests replace it to fix what `today` means.
    """

    profile: str | None = None
    base_url: str | None = None
    partner: str | None = None
    rows_key: str | None = None
    fields: dict[str, str] = field(default_factory=dict)
    time_field: str | None = None
    zone: str | None = None
    max_wait: float | None = None
    rate_limit: int | None = None
    quiet: bool = False
    verbose: bool = False
    debug: bool = False
    color: ColorChoice = "auto"
    as_json: bool = False
    clock: Callable[[], datetime] = field(default=partial(datetime.now, UTC))
    # The remedy for a refused credential; it depends on where the credential came from.
    sign_in_again: str = ""
    # Values that no message may contain, added as soon as they are read.
    secrets: set[str] = field(default_factory=set, repr=False)
    # Of every client of the run, before the command's own ones.
    observers: Sequence["Observer"] = ()

    @property
    def describes_service(self) -> bool:
        """Return whether an option says more about the service than its address."""
        return bool(self.rows_key or self.fields or self.time_field or self.zone)

    def notice(self, text: str) -> None:
        """Print a notice on stderr; `-q` silences it."""
        if not self.quiet:
            click.echo(fitted(text, sys.stderr), err=True)

    def command_line(self, *words: str) -> str:
        """Return the command line that runs `words` for the same service, partner and quota."""
        return shlex.join(["adanalytics", *self.connection_words(), *words])

    def connection_words(self) -> list[str]:
        """Return the options that name the same service, partner and quota."""
        option_values: dict[str, object] = {
            "--profile": self.profile,
            "--base-url": self.base_url,
            "--partner": self.partner,
            "--rows-key": self.rows_key,
            "--time-field": self.time_field,
            "--zone": self.zone,
            "--rate-limit": self.rate_limit,
        }
        options: list[str] = []
        for name, value in option_values.items():
            options += [] if value in (None, "") else [name, str(value)]
        for pair in self.fields.items():
            options += ["--map", "=".join(pair)]
        return options


def current_invocation(context: click.Context) -> Invocation:
    """Return the record of this run, shared by the root and all its commands."""
    return context.ensure_object(Invocation)


def print_json(record: object) -> None:
    """Print a report as one JSON object, or a list of them."""
    from adanalytics_client._json.exact import json_text

    click.echo(json_text(record))
