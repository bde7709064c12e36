"""The command class: examples first in the help, and options of the run on either side of it."""

import difflib
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import click

from adanalytics_cli.core.invocation import connection_options, output_options

HELP_NAMES = {"help_option_names": ["-h", "--help"]}
_DAYS_AGO = re.compile(r"-\d+d")


class ExampleCommand(click.Command):
    """A click command whose help shows examples before options.

    `examples` are complete command lines. `connects` says that the command talks to the
    service, so that `--base-url` and its like may also stand after the command.
    """

    def __init__(
        self,
        name: str,
        *,
        callback: Callable[..., object],
        params: Sequence[click.Parameter],
        summary: str,
        examples: Sequence[str],
        details: str = "",
        connects: bool = False,
    ) -> None:
        run_options = output_options(hidden=True)
        if connects:
            run_options += connection_options(hidden=True)
        super().__init__(
            name,
            context_settings=HELP_NAMES,
            callback=callback,
            params=[*params, *run_options],
            help=summary,
            short_help=summary,
        )
        self.examples = tuple(examples)
        self.details = details
        self.run_options = tuple(run_options)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Let `-7d` reach the date arguments: a leading space keeps it from being an option."""
        with suggesting_near_options():
            return super().parse_args(
                ctx, [f" {word}" if _DAYS_AGO.fullmatch(word) else word for word in args]
            )

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Usage, summary, examples, details, options."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        write_examples(formatter, self.examples, self.details)
        self.format_options(ctx, formatter)
        names = ", ".join(option.opts[-1] for option in self.run_options)
        formatter.write_paragraph()
        formatter.write_text(f"Also here: {names}; see adanalytics --help.")


@contextmanager
def suggesting_near_options() -> Iterator[None]:
    """Suggest instead of an unknown option only names that are near without their dashes.

    click compares the dashes, too, and offers `--quiet` to who wrote `--user`.
    """
    try:
        yield
    except click.NoSuchOption as error:
        names = {name.lstrip("-"): name for name in error.possibilities or ()}
        near = difflib.get_close_matches(error.option_name.lstrip("-"), names)
        raise click.NoSuchOption(
            error.option_name, possibilities=[names[name] for name in near], ctx=error.ctx
        ) from None


def write_examples(formatter: click.HelpFormatter, examples: Sequence[str], details: str) -> None:
    """Add the examples as they are to be typed, never wrapped, and then the details."""
    with formatter.section("Examples"):
        for example in examples:
            formatter.write(f"{'':>{formatter.current_indent}}{example}\n")
    if details:
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(details)
