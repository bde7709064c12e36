"""Whether tests notice a change of a central line: `python -m proof.mutation`, or make mutation.

It takes minutes, so the section shows what the last run recorded in build/proof.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from proof.measuring import ProofError
from proof.report import TRIES, Figures, Section

HERE = Path(__file__).parent
ROOT = HERE.parent
RECORD = ROOT / "build" / "proof" / "mutations.json"
MOST = 2
# What takes longer than this, and this much longer than all unchanged tests, hangs.
TIME_LIMIT, SLOWNESS = 300, 2
SURVIVED, HUNG = "nothing", "a test that hangs"
# Exit statuses of pytest. Another one is no test that notices: a change has to compile.
PASSED, FAILED = 0, 1


@dataclass(frozen=True)
class Mutation:
    """One change to one place in a file, and the test files that ought to notice it.

    Attributes:
        simulated: whether the simulation ought to find it, too.
    """

    what: str
    file: str
    before: str
    after: str
    tests: list[str]
    simulated: bool = False


def mutations() -> list[Mutation]:
    found = tomllib.loads((HERE / "mutations.toml").read_text())["mutation"]
    return [Mutation(**each) for each in found]


@contextmanager
def scratch() -> Iterator[Path]:
    """Copy the files that git knows to a folder that is removed at the end."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, check=True)
    with TemporaryDirectory() as name:
        for file in listed.stdout.decode().splitlines():
            if (ROOT / file).is_file():
                (Path(name) / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / file, Path(name) / file)
        yield Path(name)


def noticed_by(files: Iterable[str], folder: Path, *, seconds: float | None = None) -> str:
    """Run the test files on the copy until one fails, and return its name."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-x", *files],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder / "src")},
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        return HUNG
    if done.returncode == PASSED:
        return SURVIVED
    found = re.search(r"^(?:FAILED|ERROR) \S*?([^/\s]+\.py\S*)", done.stdout, re.MULTILINE)
    if done.returncode != FAILED or found is None:
        raise ProofError(f"{files}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    # Without the values of its parameters.
    return found[1].partition("[")[0]


def changed(mutation: Mutation, folder: Path) -> str:
    """Return the changed text of its file.

    Raises:
        ProofError: the line is not there once.
    """
    before = (folder / mutation.file).read_text()
    if before.count(mutation.before) != 1:
        raise ProofError(f"{mutation.what}: its line is not in {mutation.file} once.")
    return before.replace(mutation.before, mutation.after)


def try_out(mutation: Mutation, folder: Path, number: int, *, seconds: float) -> str:
    """Change the copy, run its tests, and change it back; return what noticed it."""
    file = folder / mutation.file
    before = file.read_text()
    # Compiled code is renewed for another time of the file, which counts in seconds.
    _write(file, changed(mutation, folder), 2 * number)
    try:
        return noticed_by(mutation.tests, folder, seconds=seconds)
    finally:
        _write(file, before, 2 * number + 1)


def _write(file: Path, text: str, seconds: int) -> None:
    file.write_text(text)
    os.utime(file, (2e9 + seconds, 2e9 + seconds))


@click.command(context_settings={"show_default": True})
@click.option("--only", default="", help="Try only changes that are described with this word.")
def main(*, only: str) -> None:
    """Try every change, and record the outcomes."""
    all_of_them = mutations()
    chosen = [each for each in all_of_them if only in each.what]
    record = _recorded()
    RECORD.parent.mkdir(parents=True, exist_ok=True)
    with scratch() as folder:
        files = sorted({file for each in chosen for file in each.tests})
        began = time.monotonic()
        if (failed := noticed_by(files, folder)) != SURVIVED:
            raise ProofError(f"Without any change, it is noticed by {failed}.")
        seconds = max(TIME_LIMIT, SLOWNESS * (time.monotonic() - began))
        for number, mutation in enumerate(chosen):
            found = try_out(mutation, folder, number, seconds=seconds)
            print(f"{mutation.what}: {found}", flush=True)
            record[mutation.what] = found
            RECORD.write_text(json.dumps(record, indent=2) + "\n")
    killed = sum(record[each.what] != SURVIVED for each in chosen)
    print(f"{killed} of {len(chosen)} are killed")


def measure(quick: bool) -> Section:  # noqa: ARG001  # nothing runs
    """Show the recorded outcomes, those that survived first."""
    record = _recorded()
    tried = {each.what: each.file for each in mutations() if each.what in record}
    survived = [what for what in tried if record[what] == SURVIVED]
    return Section(
        Figures("Mutations", {TRIES: len(tried), "survived": len(survived)}, {"survived": MOST}),
        columns=["Change", "File", "Noticed by"],
        rows=[
            [what, tried[what].removeprefix("src/"), record[what].rpartition("::")[2]]
            for what in sorted(tried, key=lambda what: what not in survived)
        ]
        or [["none was tried: run make mutation first", "", ""]],
    )


def _recorded() -> dict[str, str]:
    """Return what noticed each change that was tried, of those that are still in the table."""
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    return {each.what: record[each.what] for each in mutations() if each.what in record}


if __name__ == "__main__":
    main()
