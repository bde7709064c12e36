"""The options that hold for a whole run, and where they are gathered while the line is parsed."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

import click

from adanalytics_cli.core.completing import profile_names

ColorChoice = Literal["auto", "always", "never"]


def utc_now() -> datetime:
    """The present moment in UTC."""
    return datetime.now(UTC)


@dataclass(slots=True)
class Invocation:
    """What one run of the program was asked for, apart from its command.

    It is filled while the line is parsed, because the same option may stand before or
    after the command, and because an error half-way through parsing must already be
    printed in the form that was asked for.

    `clock` gives an aware UTC datetime; tests replace it to fix what `today` means.
    """

    profile: str | None = None
    base_url: str | None = None
    partner: str | None = None
    quiet: bool = False
    verbose: bool = False
    debug: bool = False
    color: ColorChoice = "auto"
    errors_as_json: bool = False
    clock: Callable[[], datetime] = utc_now
    # What to do when the credential is refused, known once it is known where it came from.
    sign_in_again: str = ""
    # Values that no message may repeat, noted as soon as they are read.
    secrets: set[str] = field(default_factory=set, repr=False)

    def program(self) -> list[str]:
        """The words that begin a command line for the same service and partner."""
        given = {
            "--profile": self.profile,
            "--base-url": self.base_url,
            "--partner": self.partner,
        }
        return ["adanalytics", *(word for name, of in given.items() if of for word in (name, of))]


def current_invocation(context: click.Context) -> Invocation:
    """The record of this run, shared by the root and all its commands."""
    return context.ensure_object(Invocation)


def _gather(context: click.Context, parameter: click.Parameter, value: object) -> None:
    if value and parameter.name:
        setattr(current_invocation(context), parameter.name, value)


def connection_options(*, hidden: bool) -> list[click.Parameter]:
    """`--profile`, `--base-url` and `--partner`: which service and whose data."""
    return [
        _option(
            "--profile",
            metavar="P",
            hidden=hidden,
            summary="Profile of the settings file.",
            complete=profile_names,
        ),
        _option("--base-url", metavar="URL", hidden=hidden, summary="Address of the service."),
        _option("--partner", metavar="ID", hidden=hidden, summary="Partner whose data are read."),
    ]


def output_options(*, hidden: bool) -> list[click.Parameter]:
    """`-q`, `-v`, `--debug` and `--color`: how much is said, and how."""
    return [
        _flag("-q", "--quiet", hidden=hidden, summary="No progress and no remarks."),
        _flag("-v", "--verbose", hidden=hidden, summary="A line on stderr for each step."),
        _flag("--debug", hidden=hidden, summary="Show the traceback of an error, without secrets."),
        _option(
            "--color",
            choices=("auto", "always", "never"),
            hidden=hidden,
            summary="Colours; NO_COLOR and FORCE_COLOR count too.",
        ),
    ]


def _option(
    name: str,
    *,
    hidden: bool,
    summary: str,
    metavar: str | None = None,
    choices: tuple[str, ...] = (),
    complete: Callable[[click.Context, click.Parameter, str], list[str]] | None = None,
) -> click.Option:
    return click.Option(
        [name],
        metavar=metavar,
        type=click.Choice(choices) if choices else str,
        shell_complete=complete,
        hidden=hidden,
        help=summary,
        expose_value=False,
        is_eager=True,
        callback=_gather,
    )


def _flag(*names: str, hidden: bool, summary: str) -> click.Option:
    return click.Option(
        list(names),
        is_flag=True,
        hidden=hidden,
        help=summary,
        expose_value=False,
        is_eager=True,
        callback=_gather,
    )
