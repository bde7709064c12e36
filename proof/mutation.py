"""Whether tests notice a change of a central line: `python -m proof.mutation`, or make mutation.

It takes minutes, so the section shows the result that the last run of it recorded.
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
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from proof.measuring import ProofError
from proof.report import Section

HERE = Path(__file__).parent
ROOT = HERE.parent
RECORD = HERE / "mutations.json"
GOAL = 38
# What takes longer than this, and this much longer than all unchanged tests, hangs.
TIME_LIMIT, SLOWNESS = 300, 2
SURVIVED, HUNG = "nothing", "a test that hangs"
# Exit statuses of pytest. Another one is no test that notices: a change has to compile.
PASSED, FAILED = 0, 1
EXPLANATION = """\
Key lines of the code are changed, one at a time, to find out whether the tests notice the change.
The changed lines concern planning, paging, pacing, retries, exact numbers, the commit of a dataset,
exports, secrets, money and storage. Each change has a list of tests that ought to notice it;
without the change, the listed tests pass. A change is *killed* if one of these tests fails or
hangs. A test run that hangs is stopped after at least twice the time that all listed tests take
without a change. `make mutation` recorded the outcomes; the oldest outcome is from {date}.
"""


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
    known = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    record = {each.what: known[each.what] for each in all_of_them if each.what in known}
    with scratch() as folder:
        files = sorted({file for each in chosen for file in each.tests})
        began = time.monotonic()
        if (failed := noticed_by(files, folder)) != SURVIVED:
            raise ProofError(f"Without any change, it is noticed by {failed}.")
        seconds = max(TIME_LIMIT, SLOWNESS * (time.monotonic() - began))
        for number, mutation in enumerate(chosen):
            found = try_out(mutation, folder, number, seconds=seconds)
            print(f"{mutation.what}: {found}", flush=True)
            record[mutation.what] = {"noticed by": found, "date": f"{datetime.now(UTC):%Y-%m-%d}"}
            RECORD.write_text(json.dumps(record, indent=2) + "\n")
    killed = sum(record[each.what]["noticed by"] != SURVIVED for each in chosen)
    print(f"{killed} of {len(chosen)} are killed")


def measure(quick: bool) -> Section:  # noqa: ARG001  # nothing runs
    """Show the recorded outcomes, those that survived first."""
    record: dict[str, dict[str, str]] = json.loads(RECORD.read_text())
    every = {each.what: each for each in mutations()}
    if missing := every.keys() ^ record.keys():
        raise ProofError(f"Run make mutation again: {sorted(missing)} changed since.")
    for each in every.values():
        changed(each, ROOT)
    killed = sum(each["noticed by"] != SURVIVED for each in record.values())
    changes = sorted(every, key=lambda what: record[what]["noticed by"] != SURVIVED)
    return Section(
        title="Mutations",
        explanation=EXPLANATION.format(date=min(each["date"] for each in record.values())),
        columns=["Change", "File", "Noticed by"],
        rows=[
            [f"**{killed} of {len(record)} killed**", "", f"goal: {GOAL}"],
            *(
                [
                    what,
                    f"`{every[what].file.removeprefix('src/')}`",
                    f"`{record[what]['noticed by'].rpartition('::')[2]}`",
                ]
                for what in changes
            ),
        ],
        figures={"mutations": float(len(record)), "mutations killed": float(killed)},
        commands=["make mutation"],
    )


if __name__ == "__main__":
    main()
