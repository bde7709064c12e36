"""Environments of the peers, below build/proof, with exactly the versions of their lists."""

import shutil
import subprocess
import sys
from pathlib import Path

PEERS = Path(__file__).parent / "peers"
BUILD = Path(__file__).parent.parent / "build" / "proof"


def python_of(peer: str) -> Path:
    """Return the Python with the versions that ``peers/<peer>.txt`` lists; install it if needed."""
    wanted = (PEERS / f"{peer}.txt").read_text()
    folder = BUILD / "environments" / peer
    python, installed = folder / "bin" / "python", folder / "installed.txt"
    if installed.exists() and installed.read_text() == wanted:
        return python
    install: list[str | Path]
    if shutil.which("uv"):
        subprocess.run(
            ["uv", "venv", "--quiet", "--clear", "--python", sys.executable, folder], check=True
        )
        install = ["uv", "pip", "install", "--quiet", "--python", python, "--compile-bytecode"]
    else:
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        install = [python, "-m", "pip", "install", "--quiet"]
    subprocess.run([*install, "--no-deps", "--requirement", PEERS / f"{peer}.txt"], check=True)
    installed.write_text(wanted)
    return python
