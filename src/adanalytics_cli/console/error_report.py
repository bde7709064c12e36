"""Print a failure: one or two lines, or one JSON object, and a traceback only on request."""

import json
import os
import sys
import traceback

import click

from adanalytics_cli.console.redaction import redact
from adanalytics_cli.console.terminal import look_at
from adanalytics_cli.core.exit_codes import ExitCode
from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.failures import Failure, explain


def print_error(error: BaseException, invocation: Invocation) -> ExitCode:
    """Tell the user on stderr what went wrong and return the exit status."""
    failure = explain(error, sign_in_again=invocation.sign_in_again)
    if invocation.debug:
        trace = "".join(traceback.format_exception(error))
        click.echo(redact(trace, invocation.secrets), err=True, nl=False)
    text = _as_json(failure) if invocation.errors_as_json else _as_text(failure, error, invocation)
    click.echo(redact(text, invocation.secrets), err=True, color=True)
    return failure.code


def _as_text(failure: Failure, error: BaseException, invocation: Invocation) -> str:
    terminal = look_at(sys.stderr, invocation.color, os.environ)
    label = click.style("Error:", fg="red", bold=True) if terminal.color else "Error:"
    first = f"{label} {_one_line(failure.message)}"
    if failure.request_id and failure.request_id not in failure.message:
        first += f" (request {failure.request_id})"
    remedy = failure.remedy or _usage_remedy(error)
    return f"{first}\n{_one_line(remedy)}" if remedy else first


def _as_json(failure: Failure) -> str:
    return json.dumps(
        {
            "error": _one_line(failure.message),
            "remedy": failure.remedy or None,
            "kind": failure.kind,
            "exit_code": int(failure.code),
            "request_id": failure.request_id,
        }
    )


def _usage_remedy(error: BaseException) -> str:
    if isinstance(error, click.UsageError) and error.ctx is not None:
        return f"See {error.ctx.command_path} --help"
    return ""


def _one_line(text: str) -> str:
    return " ".join(text.split())
