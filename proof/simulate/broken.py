"""Put defects into a copy of the client, one at a time, and see whether a simulation finds each:

    python -m proof.simulate.broken [--only WORDS]

The lines are those of `proof/mutations.toml` that say `simulated = true`; the defects, those of an
earlier version, are in `defects.toml`.
"""

import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from proof.measuring import ProofError
from proof.mutation import mutations, scratch

SECONDS = 60
_SHOWN = 100
_CLIENT = "src/adanalytics_client/"
_UNCOUNTED = (
    f"{_CLIENT}_events/check.py",
    "is_counted = self._is_comparable and (",
    "is_counted = False and (",
)


@dataclass(frozen=True)
class Broken:
    """A defect: for each change its file, what stands there once, and what replaces it.

    Attributes:
        kind: of the services that pulls meet; None for all kinds.
    """

    what: str
    changes: tuple[tuple[str, str, str], ...]
    kind: str | None = None

    def changed(self, folder: Path) -> dict[str, str]:
        """Return the changed texts of its files.

        Raises:
            ProofError: a line is not there once.
        """
        texts: dict[str, str] = {}
        for file, old, new in self.changes:
            text = texts.get(file) or (folder / file).read_text()
            if text.count(old) != 1:
                raise ProofError(f"{self.what}: its line is not in {file} once.")
            texts[file] = text.replace(old, new)
        return texts

    @contextmanager
    def put_into(self, folder: Path) -> Iterator[None]:
        """Change the files of a copy, and change them back."""
        before = {file: (folder / file).read_text() for file, _, _ in self.changes}
        for file, text in self.changed(folder).items():
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
    found = tomllib.loads(Path(__file__).with_name("defects.toml").read_text())["defect"]
    return [
        Broken(
            each["what"],
            (
                *((f"{_CLIENT}{file}", old, new) for file, old, new in each["changes"]),
                *([_UNCOUNTED] if each.get("uncounted") else []),
            ),
            each.get("kind"),
        )
        for each in found
    ]


def time_to_find(folder: Path, kind: str | None) -> tuple[float | None, str]:
    """Simulate a copy; return the seconds until a violation, if there is one, and its text."""
    began = time.monotonic()
    command = ["-B", "-m", "proof.simulate", "--raw", "--minutes", f"{SECONDS / 60}"]
    done = subprocess.run(
        [sys.executable, *command, *(["--kind", kind] if kind else [])],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    last = (done.stdout + done.stderr).strip().rpartition("\n")[2]
    return (time.monotonic() - began if done.returncode else None), last[:_SHOWN]


@click.command()
@click.option("--only", default="", help="Try only defects that are described with these words.")
def main(*, only: str) -> None:
    """Try each defect, and print the seconds until it was found."""
    missed = 0
    with scratch() as folder:
        for kind, every in (("lines", broken_lines()), ("defects", defects())):
            tried = [each for each in every if only in each.what]
            found = 0
            for each in tried:
                with each.put_into(folder):
                    seconds, text = time_to_find(folder, each.kind)
                found += seconds is not None
                shown = "not found" if seconds is None else f"{seconds:.1f} s, {text}"
                print(f"{each.what}: {shown}", flush=True)
            print(f"{found} of {len(tried)} {kind} are found within {SECONDS} s", flush=True)
            missed += len(tried) - found
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
