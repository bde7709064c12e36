"""A command of the command line in a process of its own, with a limit of requests."""

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import Any

import anyio

from adanalytics_cli.core.errors import CommandError
from adanalytics_client._base.quantities import in_bytes

MOST_OUTPUT = 100_000_000
"""Bytes of the stdout of a command; it is stopped soon after the next one."""

# Bytes of stderr, whose last line is the error.
_MOST_TOLD = 65_536
# Seconds. A client that ends a server ends its commands two seconds later.
_GRACE = 1.5
# Seconds between two looks at the size of the output.
_LOOK = 0.1


class AnswerTooLarge(CommandError):
    """A command has written more than an answer may have."""


class Ended(CommandError):
    """A command was ended from outside, such as by a lack of memory."""


class CallTooSlow(CommandError):
    """A command has run for longer than a call may."""


@dataclass(frozen=True, slots=True)
class Result:
    """The end of a command.

    Attributes:
        output: the file with its stdout.
        error: its error as `--json` prints it; None without one.
        notes: what stderr has besides: JSON objects and lines of text.
    """

    output: Path
    error: dict[str, Any] | None = None
    notes: list[Any] = field(default_factory=list)


async def run_command(
    words: Sequence[str], *, meter: Path, most: int, output: Path, seconds: float, stdin: str = ""
) -> Result:
    """Run `adanalytics WORDS` until `meter` has `most` bytes; stdout goes to the file `output`.

    It is stopped after so many `seconds`, and when its output has more than MOST_OUTPUT bytes.

    It is a process because a query and a sync end at a signal and at nothing else: when the call is
    cancelled or the client is gone, the command ends as after Ctrl-C, and a dataset stays whole.
    """
    # -P: no module of the current folder is imported.
    start = [sys.executable, "-P", "-m", "adanalytics_cli.metered", str(meter), str(most)]
    stderr = output.with_suffix(".stderr")
    stop: CommandError | None = CallTooSlow(
        f"Stopped: the call takes more than {seconds:g} s.",
        remedy="Ask for fewer days, or aggregate before a join.",
    )
    with output.open("wb") as out, stderr.open("wb") as err:
        process = await anyio.open_process(
            [*start, *words], stdin=PIPE if stdin else DEVNULL, stdout=out, stderr=err
        )
        try:
            with anyio.move_on_after(seconds):
                if process.stdin:
                    # A command that ends before it has read everything says why.
                    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                        await process.stdin.send(stdin.encode())
                    await process.stdin.aclose()
                stop = await _watch(process, output)
        finally:
            await _end(process)
    text = stderr.read_bytes()[-_MOST_TOLD:].decode(errors="replace")
    return _result(process.returncode or 0, output, text, stop)


def error_record(error: CommandError) -> dict[str, Any]:
    """Return an error as `--json` prints it."""
    return {
        "error": str(error),
        "remedy": error.remedy,
        "kind": type(error).__name__,
        "exit_code": int(error.code),
    }


async def _watch(process: anyio.abc.Process, output: Path) -> CommandError | None:
    """Wait until a process has ended, or has written too much."""
    while process.returncode is None:
        with anyio.move_on_after(_LOOK):
            await process.wait()
        if _size(output) > MOST_OUTPUT:
            return AnswerTooLarge(
                f"Stopped: the answer has more than {in_bytes(MOST_OUTPUT)}.",
                remedy="Aggregate, name the columns, or use LIMIT.",
            )
    return None


async def _end(process: anyio.abc.Process) -> None:
    """End a process that still runs: first as Ctrl-C does, and soon by force."""
    with anyio.CancelScope(shield=True):
        for end in (process.terminate, process.kill):
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    end()
                with anyio.move_on_after(_GRACE):
                    await process.wait()


def _size(path: Path) -> int:
    return path.stat().st_size


def _result(code: int, output: Path, stderr: str, stop: CommandError | None) -> Result:
    if code < 0 or stop:
        # It is not whole.
        output.write_bytes(b"")
    if stop:
        return Result(output, error_record(stop))
    notes = [_note(line) for line in stderr.splitlines() if line.strip()]
    if not code:
        return Result(output, None, notes)
    if notes and isinstance(notes[-1], dict) and "exit_code" in notes[-1]:
        return Result(output, notes[-1], notes[:-1])
    message = f"The command ended with status {code} and without an error of its own."
    return Result(output, error_record(Ended(message, remedy="Call it once more.")))


def _note(line: str) -> object:
    with suppress(ValueError):
        return json.loads(line) if line.startswith("{") else line
    return line
