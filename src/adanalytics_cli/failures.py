"""Every failure: its exit status, its message and remedy, and how it is printed."""

import difflib
import json
import sys
import traceback
from typing import NamedTuple

import click

from adanalytics_client import Remedy
from adanalytics_client._base.escaping import visible

from .console.redaction import redact
from .console.terminal import look_at
from .core.errors import CommandError, ExitCode, remedy_of
from .core.invocation import Invocation
from .core.prose import fitted
from .core.remedies import words_of

# The remedies for a refused credential.
_SIGN_IN = {"log_in", "log_in_again", "new_key"}
_GOES_ON = "Run the same command again to fetch the rest."
_LOCATION = "Check the place of the dataset, then run the same command again."

# The exit status of an error, keyed by top package and class name, so that looking up a failure
# imports nothing: the server's classes are not even installed everywhere. The nearest base class
# counts.
_NAMES = {
    ExitCode.USAGE: (
        "click.UsageError",
        "adanalytics_client.ConfigurationError",
        "adanalytics_client.InvalidRequest",
        "adanalytics_client.NotFound",
        "adanalytics_client.UnsuitablePlace",
        "adanalytics_client.QueryError",
        "adanalytics_server.MappingError",
        "adanalytics_server.DialectError",
        "adanalytics_server.GenerateError",
    ),
    ExitCode.FAILED: (
        "click.ClickException",
        "adanalytics_client.AdAnalyticsError",
        "adanalytics_server.AccountError",
        "adanalytics_server.LoadError",
        "adanalytics_server.DamagedFile",
        "adanalytics_server.LocalServerError",
        "adanalytics_server.FolderInUse",
        "adanalytics_server.OtherSchema",
        "sqlite3.Error",
        "builtins.OSError",
        "builtins.MemoryError",
    ),
    ExitCode.NOT_SIGNED_IN: (
        "adanalytics_client.UnusableLogin",
        "adanalytics_client.AuthenticationError",
        "adanalytics_client.PermissionDenied",
    ),
    ExitCode.USED_UP: (
        "adanalytics_client.QuotaExceeded",
        "adanalytics_client.RateLimited",
        "adanalytics_client.ExportTimeout",
    ),
    ExitCode.UNREACHABLE: (
        "adanalytics_client.TransportError",
        "adanalytics_client.StatusError",
        "adanalytics_client.ExportError",
    ),
    ExitCode.DAMAGED: (
        "adanalytics_client.ProtocolError",
        "adanalytics_client.DownloadError",
        "adanalytics_client.DatasetDamaged",
    ),
}
_TABLE = {name: code for code, names in _NAMES.items() for name in names}
_REMEDIES = {
    "sqlite3.Error": (
        "Check that --data is a server's folder, that it is writable, and that no load is running."
    ),
    "builtins.MemoryError": "Close other programs, or ask for fewer days at a time.",
}
_UNEXPECTED = "This is a bug. Run the command again with --debug and report the output."
# Of a text from elsewhere, such as a key of an answer; about ten lines of a terminal.
_LONGEST = 800


class Failure(NamedTuple):
    """A failure as the user sees it: the exit status, the message and the remedy."""

    code: ExitCode
    kind: str
    message: str
    remedy: str = ""
    request_id: str | None = None
    url: str | None = None
    facts: str = ""
    excerpt: str = ""


def explain(error: BaseException, *, sign_in_again: str = "") -> Failure:
    """Describe any exception for the user.

    `sign_in_again` is the remedy for a refused credential, where it is known.
    """
    kind = type(error).__name__
    entry = _look_up(error)
    if entry is None:
        message = f"Unexpected {kind}: {_shortened(str(error))}"
        return Failure(ExitCode.FAILED, kind, message, _UNEXPECTED)
    code, remedy = entry
    if getattr(error, "part", None):
        code, remedy = ExitCode.PARTLY_DONE, _GOES_ON
    remedy = remedy or _remedy(error, sign_in_again)
    request_id, url = getattr(error, "request_id", None), getattr(error, "url", None)
    facts = _shortened(getattr(error, "facts", ""))
    excerpt = getattr(error, "excerpt", "")
    return Failure(code, kind, _message(error), remedy, request_id, url, facts, excerpt)


def _look_up(error: BaseException) -> tuple[ExitCode, str] | None:
    if isinstance(error, CommandError):
        return error.code, error.remedy
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return ExitCode.FAILED, "Close other programs, or raise the limit of ulimit -u."
    # By name and not by class, because an import of all classes would slow every command.
    for base in type(error).__mro__:
        package = base.__module__.partition(".")[0]
        name = f"{package}.{base.__name__}"
        if name in _TABLE:
            return _TABLE[name], _REMEDIES.get(name, "")
    return None


def _remedy(error: BaseException, sign_in_again: str) -> str:
    """Return the remedy that the error itself has, in words of the command line."""
    remedy = getattr(error, "remedy", "")
    if isinstance(remedy, Remedy):
        # The client names arguments of Python; a command has its own way to sign in.
        is_refused = remedy.code in _SIGN_IN
        remedy = sign_in_again if is_refused and sign_in_again else words_of(remedy)
    system = error.__cause__ if type(error).__name__ == "DatasetError" else error
    if not remedy and isinstance(system, OSError):
        return remedy_of(system) or (_LOCATION if system is not error else "")
    return _shortened(remedy)


def _message(error: BaseException) -> str:
    if isinstance(error, click.NoSuchOption):
        # click compares the dashes, too, and suggests --quiet for --user.
        names = {name.lstrip("-"): name for name in error.possibilities or ()}
        near = difflib.get_close_matches(error.option_name.lstrip("-"), names)
        near = [names[name] for name in near]
        error = click.NoSuchOption(error.option_name, possibilities=near, ctx=error.ctx)
    # click words its own errors differently from their str(), with the parameter's name.
    if worded := getattr(error, "format_message", None):
        return _shortened(str(worded()))
    if isinstance(error, MemoryError):
        return "There is not enough memory."
    if isinstance(error, OSError) and error.strerror:
        file = f"{error.filename}: " if error.filename else ""
        return f"{file}{error.strerror}"
    # The text of a client's error holds its remedy and its facts, too; that of a load its file.
    message = getattr(error, "message", "") if hasattr(error, "facts") else ""
    return _shortened(message or str(error))


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def print_error(error: BaseException, invocation: Invocation) -> ExitCode:
    """Print on stderr what went wrong and return the exit status."""
    failure = explain(error, sign_in_again=invocation.sign_in_again)
    if invocation.debug:
        lines = "".join(traceback.format_exception(error)).splitlines()
        trace = "".join(f"{visible(line)}\n" for line in lines)
        click.echo(redact(trace, invocation.secrets), err=True, nl=False)
    text = _as_json(failure) if invocation.as_json else _as_text(failure, error, invocation)
    click.echo(redact(text, invocation.secrets), err=True, color=True)
    return failure.code


def _as_text(failure: Failure, error: BaseException, invocation: Invocation) -> str:
    terminal = look_at(sys.stderr, invocation.color)
    remedy = failure.remedy
    if not remedy and isinstance(error, click.UsageError) and error.ctx:
        remedy = f"See {error.ctx.command_path} --help"
    facts = f"({failure.facts})" if failure.facts and invocation.verbose else ""
    lines = [f"Error: {failure.message}", *filter(None, (remedy, facts))]
    texts = [fitted(visible(_one_line(line)), sys.stderr) for line in lines]
    # A caret stands below its place only if both lines stay as they are.
    texts[1:1] = map(visible, failure.excerpt.splitlines())
    text = "\n".join(texts)
    label = click.style("Error:", fg="red", bold=True) if terminal.color else "Error:"
    return f"{label}{text.removeprefix('Error:')}"


def _as_json(failure: Failure) -> str:
    return json.dumps(
        {
            "error": _one_line(failure.message),
            "remedy": failure.remedy or None,
            "kind": failure.kind,
            "exit_code": int(failure.code),
            "request_id": failure.request_id,
            "url": failure.url,
            **({"excerpt": failure.excerpt} if failure.excerpt else {}),
        }
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())
