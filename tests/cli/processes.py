"""The program as a process of its own: how tests start it and what they wait for."""

import subprocess
from collections.abc import Callable

Spawn = Callable[..., "subprocess.Popen[bytes]"]
TIMEOUT = 60
"""Seconds after which a process that should have ended counts as stuck."""


def finish(process: "subprocess.Popen[bytes]") -> tuple[int, str, str]:
    """Exit status, stdout and stderr, once it has ended."""
    out, err = process.communicate(timeout=TIMEOUT)
    return process.returncode, (out or b"").decode(), (err or b"").decode()
