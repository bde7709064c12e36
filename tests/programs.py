"""Programs that tests run to their end."""

import os
import subprocess
from collections.abc import Mapping, Sequence


def run_program(
    command: Sequence[str | os.PathLike[str]],
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    text: str | None = None,
    check: bool = False,
    timeout: float = 60,
) -> "subprocess.CompletedProcess[str]":
    """Return what a program writes, and its exit status; `text` is its stdin."""
    return subprocess.run(
        command,
        env=env,
        cwd=cwd,
        input=text,
        capture_output=True,
        text=True,
        check=check,
        timeout=timeout,
    )
