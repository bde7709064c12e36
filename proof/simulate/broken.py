"""Put defects into a copy of the client, one at a time, and see whether a simulation finds each:

    python -m proof.simulate.broken [--only WORDS]

The lines are those of `proof/mutations.toml` that say `simulated = true`; the defects, those of an
earlier version, are in `defects.toml`. Times are of the CPU. Where a defect is searched for among
services of one kind, or without the count, the same worlds must show nothing without the defect.
"""

import os
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

import click

from proof.measuring import ProofError
from proof.mutation import mutations, scratch

SECONDS = 60
_SHOWN = 100
_CLIENT = "src/adanalytics_client/"

Change = tuple[str, str, str]
"""A file, what stands there once, and what replaces it."""

_UNCOUNTED: Change = (
    f"{_CLIENT}_events/check.py",
    "is_counted = self._is_comparable and (",
    "is_counted = False and (",
)


@dataclass(frozen=True)
class Broken:
    """A defect.

    Attributes:
        kind: of the services that pulls meet; None for all kinds.
        uncounted: whether the count is switched off, too.
    """

    what: str
    changes: tuple[Change, ...]
    kind: str | None = None
    uncounted: bool = False

    @property
    def control(self) -> tuple[Change, ...]:
        """Return what is changed without the defect."""
        return (_UNCOUNTED,) if self.uncounted else ()


def changed(changes: Iterable[Change], folder: Path) -> dict[str, str]:
    """Return the changed texts of files.

    Raises:
        ProofError: a line is not there once.
    """
    texts: dict[str, str] = {}
    for file, old, new in changes:
        text = texts.get(file) or (folder / file).read_text()
        if text.count(old) != 1:
            raise ProofError(f"{old!r} is not in {file} once.")
        texts[file] = text.replace(old, new)
    return texts


@contextmanager
def _changed(changes: Iterable[Change], folder: Path) -> Iterator[None]:
    """Change the files of a copy, and change them back."""
    texts = changed(changes, folder)
    before = {file: (folder / file).read_text() for file in texts}
    for file, text in texts.items():
        (folder / file).write_text(text)
    yield
    for file, text in before.items():
        (folder / file).write_text(text)


def broken_lines() -> list[Broken]:
    """Return the mutations that the simulation ought to find."""
    return [
        Broken(each.what, ((each.file, each.before, each.after),))
        for each in mutations()
        if each.simulated
    ]


def defects() -> list[Broken]:
    """Return the defects of an earlier version."""
    tables = tomllib.loads(Path(__file__).with_name("defects.toml").read_text())["defect"]
    return [
        Broken(**{**table, "changes": tuple((_CLIENT + file, *texts) for file, *texts in changes)})
        for table in tables
        if (changes := table["changes"])
    ]


@dataclass(frozen=True)
class Search:
    """The worlds of a copy until one broke a promise: their number, their seconds, and how."""

    worlds: int
    seconds: float
    violation: str


def search(
    changes: Iterable[Change], folder: Path, kind: str | None, worlds: int | None = None
) -> Search:
    """Simulate a copy with changes for a minute, or so many worlds."""
    limit = ["--minutes", f"{SECONDS / 60}"] if worlds is None else ["--schedules", f"{worlds}"]
    if kind is not None:
        limit += ["--kind", kind]
    began = _seconds_of_children()
    with _changed(changes, folder):
        done = subprocess.run(
            [sys.executable, "-B", "-m", "proof.simulate", "--raw", *limit],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder / "src")},
            capture_output=True,
            text=True,
            check=False,
        )
    first, _, rest = done.stdout.partition("\n")
    number = first.partition(" ")[0].replace(",", "")
    if not number.isdigit():
        raise ProofError(f"The simulation fails: {done.stderr[-2000:]}")
    return Search(int(number), _seconds_of_children() - began, rest.strip()[:_SHOWN])


def _seconds_of_children() -> float:
    usage = getrusage(RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def find(broken: Broken, folder: Path) -> tuple[bool, str]:
    """Return whether a defect is found, and nothing without it; and a line of the table."""
    result = search((*broken.changes, *broken.control), folder, broken.kind)
    control = ""
    if result.violation and (broken.kind or broken.uncounted):
        same = search(broken.control, folder, broken.kind, result.worlds)
        control = same.violation and f", but without it, too: {same.violation}"
    figures = f"{result.seconds:5.1f} s {result.worlds:6,} worlds"
    text = result.violation or "NOT FOUND"
    return bool(result.violation) and not control, f"{figures}  {broken.what}: {text}{control}"


@click.command()
@click.option("--only", default="", help="Try only defects that are described with these words.")
def main(*, only: str) -> None:
    """Try each defect, and print the seconds and the worlds until it was found."""
    missed = 0
    with scratch() as folder:
        for name, candidates in (("lines", broken_lines()), ("defects", defects())):
            results = []
            for broken in candidates:
                if only in broken.what:
                    is_found, line = find(broken, folder)
                    results.append(is_found)
                    print(line, flush=True)
            print(f"{sum(results)} of {len(results)} {name} are found within {SECONDS} s of CPU")
            missed += results.count(False)
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
