"""Ask a person at the terminal, or read a secret from stdin; never from an option's value."""

import sys
from collections.abc import Callable

import click


def can_ask() -> bool:
    """Return whether a person is there to answer; a stream that was closed is None."""
    streams = (sys.stdin, sys.stderr)
    return all(stream is not None and stream.isatty() for stream in streams)


def ask(
    question: str, *, default: str | None = None, check: Callable[[str], str] | None = None
) -> str:
    """Ask for a line; an empty one means the `default`, and is asked again where there is none.

    `check` returns the accepted answer, or raises click.UsageError to ask again.
    """
    answer: str = click.prompt(
        question, default=default, show_default=bool(default), value_proc=check, err=True
    )
    return answer.strip()


def ask_secret(question: str, *, optional: bool = False) -> str:
    """Ask for a line that is not shown; it is empty only if `optional`."""
    default = "" if optional else None
    answer: str = click.prompt(
        question, default=default, show_default=False, hide_input=True, err=True
    )
    return answer


def secret_from_stdin(name: str) -> str:
    """Read the first line of stdin, not shown where a person types it; `name` begins the question.

    Raises click.UsageError when there is none, or none that is text.
    """
    if can_ask():
        return ask_secret(f"{name[0].upper()}{name[1:]}")
    line = "" if sys.stdin is None else sys.stdin.readline().rstrip("\r\n")
    if not line:
        raise click.UsageError(f"Nothing on stdin. Write the {name} there, as one line.")
    try:
        line.encode()
    except UnicodeEncodeError:
        # Bytes that are not UTF-8 arrive as lone surrogates, or not at all, by locale.
        raise click.UsageError(f"The {name} on stdin is not UTF-8 text.") from None
    return line
