"""Run the tutorial's commands in a terminal; renew the outputs on its page and their picture.

Needs port 8000, as the page says `http://127.0.0.1:8000`. `make docs-recording` runs this.
"""

import os
import pty
import re
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.text import Text

TUTORIAL = Path(__file__).parent.parent / "docs/tutorial/first-pull.md"
PICTURE = TUTORIAL.parent / "images/first-pull.svg"
CONSOLE = re.compile(r"(?<=^```console\n)\$ ([^\n]*)\n(.*?)(?=^```$)", re.MULTILINE | re.DOTALL)
COLUMNS = 80
# Nobody can copy a secret from here, and the rest of a folder's name is different each time.
HIDDEN = re.compile(r"(?<=aak_)[\w-]+|(?<=password  )\S+|(?<=/adanalytics-)\w+")


def lines_of(process: "subprocess.Popen[bytes]", terminal: int) -> Iterator[str]:
    """Give the lines that stay on the terminal, without a progress line that was erased."""
    with open(terminal, encoding="utf-8", newline="\n") as screen:
        try:
            for line in screen:
                # The live line hides the cursor for a moment when it begins.
                if "\x1b[?25l" not in line:
                    yield line.replace("\r\n", "\n").rpartition("\x1b[2K")[2]
        except OSError:  # How Linux says that the program has closed its terminal.
            process.wait()


def start(
    command: str, environment: dict[str, str], folder: str
) -> tuple["subprocess.Popen[bytes]", Iterator[str]]:
    """Start a command in a terminal of its own."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command, shell=True, cwd=folder, env=environment, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    return process, lines_of(process, ours)


def record(commands: list[str]) -> list[str]:
    """Return what each command shows; the first one is the server, which the others ask."""
    with TemporaryDirectory() as folder:
        path = f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}"
        homes = {f"XDG_{name}_HOME": folder for name in ("CONFIG", "STATE", "CACHE")}
        environment = {"PATH": path, "TERM": "xterm-256color", "COLUMNS": str(COLUMNS), **homes}
        server, lines = start(f"exec {commands[0]}", environment, folder)
        try:
            shown = [""]
            while "password" not in shown[0]:
                shown[0] += next(lines)
            plain = Text.from_ansi(shown[0]).plain
            environment |= dict(re.findall(r"export (\w+)=(\S+)", plain))
            shown += ["".join(start(each, environment, folder)[1]) for each in commands[1:]]
        finally:
            server.terminate()
            server.wait()
    return [HIDDEN.sub("...", each) for each in shown]


def main() -> None:
    """Record, and write the page and its picture."""
    page = TUTORIAL.read_text()
    commands = [command for command, _output in CONSOLE.findall(page)]
    console = Console(record=True, width=COLUMNS)
    outputs = record(commands)
    for command, output in zip(commands, outputs, strict=True):
        console.print(Text.assemble(("$ ", "dim"), (command, "bold")))
        console.print(Text.from_ansi(output))
    svg = console.export_svg(title="adanalytics", unique_id="first-pull")
    # Without the fonts of another host, which a browser would ask for.
    PICTURE.write_text(re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL))
    texts = iter(
        re.sub(" +$", "", Text.from_ansi(each).plain, flags=re.MULTILINE) for each in outputs
    )
    TUTORIAL.write_text(CONSOLE.sub(lambda found: f"$ {found[1]}\n{next(texts)}", page))


if __name__ == "__main__":
    main()
