"""Ask a person at the terminal, or read a secret from stdin; never from an option's value."""

import sys

import click


def can_ask() -> bool:
    """Whether a person is there to answer; a stream that was closed is None."""
    streams = (sys.stdin, sys.stderr)
    return all(stream is not None and stream.isatty() for stream in streams)


def ask(question: str) -> str:
    """A line typed in; may be empty."""
    answer: str = click.prompt(question, default="", show_default=False, err=True)
    return answer.strip()


def ask_secret(question: str) -> str:
    """A line typed in without being shown."""
    answer: str = click.prompt(question, hide_input=True, err=True)
    return answer


def secret_from_stdin(what: str) -> str:
    """The first line of stdin, not shown where a person types it; `what` begins the question.

    Raises click.UsageError when there is none, or none that is text.
    """
    if can_ask():
        return ask_secret(f"{what[0].upper()}{what[1:]}")
    line = "" if sys.stdin is None else sys.stdin.readline().rstrip("\r\n")
    if not line:
        raise click.UsageError(f"Nothing on stdin. Write the {what} there, as one line.")
    try:
        line.encode()
    except UnicodeEncodeError:
        # Bytes that are no UTF-8 arrive as lone surrogates, or not at all, by locale.
        raise click.UsageError(f"The {what} on stdin is not UTF-8 text.") from None
    return line
