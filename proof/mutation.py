"""Whether tests notice a change of a central line: `python -m proof.mutation`, or make mutation.

It takes minutes, so the section shows the result that the last run of it recorded.
"""

import json
import os
import shutil
import subprocess
import sys
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
TIME_LIMIT = 300
KILLED, SURVIVED = "killed", "survived"
# Exit statuses of pytest: all passed; some failed; the files could not be imported.
STATUSES = {0: SURVIVED, 1: KILLED, 2: KILLED}
EXPLANATION = """\
Central lines are changed one at a time: planning, paging, pacing, retries, exact numbers, the
commit of a dataset, exports, secrets, money and storage. A change is *killed* when a test of the
files that ought to notice it fails; without a change all of them pass. Recorded on {date} by `make
mutation`.
"""


@dataclass(frozen=True)
class Mutation:
    """One change to one place in a file, and the test files that ought to notice it."""

    what: str
    file: str
    before: str
    after: str
    tests: list[str]


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


def run_tests(files: Iterable[str], folder: Path, *, seconds: float) -> str:
    """Run the test files on the copy until one fails."""
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
        return KILLED
    if done.returncode not in STATUSES:
        raise ProofError(f"{files}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return STATUSES[done.returncode]


def outcome_of(mutation: Mutation, folder: Path, number: int) -> str:
    """Change the copy, run its tests, and change it back."""
    file = folder / mutation.file
    before = file.read_text()
    if before.count(mutation.before) != 1:
        raise ProofError(f"{mutation.what}: its line is not in {mutation.file} once.")
    # Compiled code is renewed for another time of the file, which counts in seconds.
    _write(file, before.replace(mutation.before, mutation.after), 2 * number)
    try:
        return run_tests(mutation.tests, folder, seconds=TIME_LIMIT)
    finally:
        _write(file, before, 2 * number + 1)


def _write(file: Path, text: str, seconds: int) -> None:
    file.write_text(text)
    os.utime(file, (2e9 + seconds, 2e9 + seconds))


@click.command(context_settings={"show_default": True})
@click.option("--only", default="", help="Try only changes that are described with this word.")
def main(*, only: str) -> None:
    """Try every change, and record the outcomes unless only some were tried."""
    outcomes: dict[str, str] = {}
    chosen = [each for each in mutations() if only in each.what]
    with scratch() as folder:
        files = sorted({file for each in chosen for file in each.tests})
        if run_tests(files, folder, seconds=TIME_LIMIT * len(chosen)) == KILLED:
            raise ProofError("A test fails without any change.")
        for number, mutation in enumerate(chosen):
            outcomes[mutation.what] = outcome_of(mutation, folder, number)
            print(f"{outcomes[mutation.what]:9}{mutation.what}", flush=True)
    killed = sum(outcome == KILLED for outcome in outcomes.values())
    print(f"{killed} of {len(outcomes)} are killed")
    if not only:
        record = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "outcomes": outcomes}
        RECORD.write_text(json.dumps(record, indent=2) + "\n")


def measure(quick: bool) -> Section:  # noqa: ARG001  # nothing runs
    """Show the recorded outcomes, those that survived first."""
    record = json.loads(RECORD.read_text())
    outcomes: dict[str, str] = record["outcomes"]
    if missing := {each.what for each in mutations()} ^ outcomes.keys():
        raise ProofError(f"Run make mutation again: {sorted(missing)} changed since.")
    killed = sum(outcome == KILLED for outcome in outcomes.values())
    by_file = {each.what: each.file.removeprefix("src/") for each in mutations()}
    changes = sorted(outcomes, key=lambda what: outcomes[what] == KILLED)
    return Section(
        title="Mutations",
        explanation=EXPLANATION.format(date=record["date"]),
        columns=["Change", "File", "Outcome"],
        rows=[
            [f"**{killed} of {len(outcomes)} killed**", "", f"goal: {GOAL}"],
            *([what, f"`{by_file[what]}`", outcomes[what]] for what in changes),
        ],
        figures={"mutations": float(len(outcomes)), "mutations killed": float(killed)},
        commands=["make mutation"],
    )


if __name__ == "__main__":
    main()
