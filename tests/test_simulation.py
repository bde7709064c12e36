"""Simulated worlds: the client keeps its promises in them, and a broken line does not."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from adanalytics_client._quota import window
from proof.mutation import ROOT
from proof.simulate.__main__ import explain, simulate
from proof.simulate.broken import broken_lines, changed, defects
from proof.simulate.choices import Choices
from proof.simulate.disk import Disk, forgetful_disk

WORLDS = 150


@pytest.fixture
def disk() -> Iterator[Disk]:
    with forgetful_disk() as made:
        yield made


def test_promises_hold_in_some_worlds() -> None:
    violations = {seed: simulate(seed)[1] for seed in range(1, WORLDS + 1)}
    assert {seed: text for seed, text in violations.items() if text} == {}


def test_a_dataset_equals_the_service_after_deaths() -> None:
    scenarios = [simulate(seed, sync=True) for seed in (1, 2)]
    assert [violation for _, violation in scenarios] == [None] * 2


def test_decisions_repeat_a_world() -> None:
    """Every interleaving, fault and time is fixed by the seed."""
    for seed in range(1, 12):
        first, _ = simulate(seed)
        traces = [simulate(seed, first.pick.made)[0].world.trace for _ in range(2)]
        assert traces[0] == traces[1]
        assert first.seconds == simulate(seed)[0].seconds


def test_a_broken_line_is_found_and_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window, "WINDOW", 1800.0)
    worlds = ((seed, *simulate(seed)) for seed in range(1, 1000))
    seed, scenario, violation = next(each for each in worlds if each[2])
    assert violation is not None
    assert "allowed are" in str(violation)
    told = explain(seed, violation, scenario.pick.made)
    shrunk = int(told.partition(" to ")[2].partition(" ")[0])
    assert shrunk <= len(scenario.pick.made)
    assert told.count("process 1 sends") < 8


def test_the_lines_of_each_defect_are_there_once() -> None:
    assert len(broken_lines()) >= 10
    for each in (*broken_lines(), *defects()):
        assert changed((*each.changes, *each.control), ROOT)


def test_a_disk_forgets_what_was_not_synced(disk: Disk) -> None:
    path = disk.folder / "kept"
    with path.open("wb") as file:
        file.write(b"whole")
        file.flush()
        os.fsync(file.fileno())
        folder = os.open(disk.folder, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
        file.write(b", and more")
    lost = Path(disk.folder / "lost")
    lost.write_bytes(b"never synced")
    assert disk.state() == {"kept": b"whole, and more", "lost": b"never synced"}
    cuts = [disk.state(Choices(seed)) for seed in range(20)]
    assert {"kept": b"whole"} in cuts
    assert all(each.get("lost") in {None, b"", b"never synced"} for each in cuts)
    disk.restore(cuts[0])
    assert sorted(each.name for each in disk.folder.iterdir()) == sorted(cuts[0])


def test_a_folder_that_a_restart_found_is_a_folder_after_another_power_cut(disk: Disk) -> None:
    disk.restore({"scratch": {}})
    (disk.folder / "scratch").rmdir()
    cuts = [disk.state(Choices(seed)) for seed in range(20)]
    assert {"scratch": {}} in cuts
    assert all(each in ({}, {"scratch": {}}) for each in cuts)
