"""Remarks for people on stderr: there on a terminal and with `-v`, gone with `-q`."""

import sys

import click

from adanalytics_cli.invocation import current_invocation


def remark(text: str, context: click.Context) -> None:
    """Say on stderr what was done, where someone reads it."""
    invocation = current_invocation(context)
    if not invocation.quiet and (invocation.verbose or sys.stderr.isatty()):
        click.echo(text, err=True)
