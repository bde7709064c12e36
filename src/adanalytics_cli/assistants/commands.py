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

# Bytes of stderr, whose last line is the error.
_MOST_TOLD = 65_536
# Seconds. A client that ends a server ends its commands two seconds later.
_GRACE = 1.5


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
    words: Sequence[str], *, meter: Path, most: int, output: Path, stdin: str = ""
) -> Result:
    """Run `adanalytics WORDS` until `meter` has `most` bytes; stdout goes to the file `output`.

    It is a process because a query and a sync end at a signal and at nothing else: when the call is
    cancelled or the client is gone, the command ends as after Ctrl-C, and a dataset stays whole.
    """
    # -P: no module of the current folder is imported.
    start = [sys.executable, "-P", "-m", "adanalytics_cli.metered", str(meter), str(most)]
    told = meter.with_name("stderr")
    with output.open("wb") as out, told.open("wb") as err:
        process = await anyio.open_process(
            [*start, *words], stdin=PIPE if stdin else DEVNULL, stdout=out, stderr=err
        )
        try:
            if process.stdin:
                # A command that ends before it has read everything says why.
                with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                    await process.stdin.send(stdin.encode())
                await process.stdin.aclose()
            code = await process.wait()
        finally:
            await _end(process)
    return _result(code, output, told.read_bytes()[-_MOST_TOLD:].decode(errors="replace"))


async def _end(process: anyio.abc.Process) -> None:
    """End a process that still runs: first as Ctrl-C does, and soon by force."""
    with anyio.CancelScope(shield=True):
        for end in (process.terminate, process.kill):
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    end()
                with anyio.move_on_after(_GRACE):
                    await process.wait()


def _result(code: int, output: Path, told: str) -> Result:
    notes = [_note(line) for line in told.splitlines() if line.strip()]
    if not code:
        return Result(output, None, notes)
    if notes and isinstance(notes[-1], dict) and "exit_code" in notes[-1]:
        return Result(output, notes[-1], notes[:-1])
    what = f"The command ended with status {code}."
    return Result(output, {"error": what, "remedy": None, "kind": "Ended", "exit_code": code})


def _note(line: str) -> object:
    with suppress(ValueError):
        return json.loads(line) if line.startswith("{") else line
    return line
