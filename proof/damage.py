"""What `verify` and a query make of a dataset that was damaged."""

import random
from functools import partial
from pathlib import Path
from shutil import copytree, rmtree
from typing import get_args

from adanalytics_client.dataset import Dataset, PartFormat
from proof.report import Section
from proof.trial import (
    FIRST,
    LAST,
    OTHER,
    QUERY,
    SAME,
    SILENT,
    TYPED,
    Tally,
    Trial,
    essence,
    find_truth,
    trial,
)

SEEDS, QUICK_SEEDS = 30, 2
AS_IT_IS = "read as it is"
OUTCOMES = (SAME, TYPED, OTHER, SILENT, AS_IT_IS)


def damage(place: Path, dice: random.Random) -> str:
    """Damage one file of a dataset, and return what was done."""
    files = sorted(file for file in place.glob("data/**/*") if file.is_file())
    files += sorted(place.glob("_adanalytics/manifest/*"))
    file = dice.choice(files)
    kind = dice.choice(("cut", "emptied", "removed", "exchanged", "changed"))
    held = file.read_bytes()
    at = dice.randrange(len(held))
    if kind == "removed":
        file.unlink()
    elif kind == "exchanged":
        file.write_bytes(dice.choice([each for each in files if each != file]).read_bytes())
    else:
        changed = held[:at] + bytes([held[at] ^ 1 << dice.randrange(8)]) + held[at + 1 :]
        file.write_bytes({"cut": held[:at], "emptied": b"", "changed": changed}[kind])
    return f"{file.relative_to(place)} {kind} at {at}"


def damaged_datasets(at: Trial, seeds: int) -> None:
    """Damage datasets in every format; query and verify each."""
    at.server.reset()
    for form in get_args(PartFormat):
        whole, place = at.folder / f"whole-{form}", at.folder / f"damaged-{form}"
        with at.client() as client:
            Dataset(whole, format=form).sync(client, FIRST, LAST)
        for seed in range(seeds):
            rmtree(place, ignore_errors=True)
            copytree(whole, place)
            what = f"seed {seed}: {form}: {damage(place, random.Random(seed))}"
            dataset = Dataset(place)
            at.count(f"query, {form}", partial(_queried, at, dataset), what)
            at.count("verify", partial(_verified, dataset), what)


def _verified(dataset: Dataset) -> str:
    return SILENT if dataset.verify(None).is_whole else TYPED


def _queried(at: Trial, dataset: Dataset) -> str:
    held = essence(dataset.query(QUERY).to_pylist())
    return SAME if held == at.truth.events else AS_IT_IS


def measure(quick: bool) -> Section:
    """Damage datasets in every format, each from seeds that stay the same."""
    tally = Tally()
    with trial(tally, find_truth()) as at:
        damaged_datasets(at, QUICK_SEEDS if quick else SEEDS)
    return tally.section("Damaged datasets", OUTCOMES, {OTHER: 0, SILENT: 0, AS_IT_IS: None})
