"""The program as a process of its own: how tests start it and what they wait for."""

import re
import subprocess
from collections.abc import Callable

Spawn = Callable[..., "subprocess.Popen[bytes]"]
TIMEOUT = 60
"""Seconds after which a process that should have ended counts as stuck."""


def finish(process: "subprocess.Popen[bytes]") -> tuple[int, str, str]:
    """Exit status, stdout and stderr, once it has ended."""
    out, err = process.communicate(timeout=TIMEOUT)
    return process.returncode, (out or b"").decode(), (err or b"").decode()


def plain(shown: str) -> str:
    """What a terminal showed, without colours; each drawing of the live line begins a new one.

    The last drawing is erased from the row below it.
    """
    erased = re.sub(r"\r\n\x1b\[\?25h\r\x1b\[1A\x1b\[2K", "\r\x1b[2K", shown)
    return re.sub(r"\x1b\[(\?25[hl]|[\d;]*m)", "", erased)
