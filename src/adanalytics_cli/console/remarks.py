"""What is said to people on stderr; all of it is gone with `-q`."""

import sys

import click

from adanalytics_cli.core.invocation import current_invocation


def remark(text: str, context: click.Context) -> None:
    """Say what was done, where someone reads it: on a terminal and with `-v`."""
    invocation = current_invocation(context)
    if not invocation.quiet and (invocation.verbose or sys.stderr.isatty()):
        click.echo(text, err=True)


def notice(text: str, context: click.Context) -> None:
    """Say what one must know, also in a log."""
    if not current_invocation(context).quiet:
        click.echo(text, err=True)
