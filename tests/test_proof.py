"""What a section of `make proof` becomes: a table, a page with plots, a comparison."""

import re
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from rich.console import Console

from proof.economy import Load, planned
from proof.measuring import ProofError, run
from proof.mutation import ROOT, changed, mutations
from proof.report import Plot, Results, Section, goal, side_by_side, table, write_page
from proof.sections import SECTIONS, UNTIMED, measure_all

SECTION = Section(
    title="Bodies",
    explanation="Reading a day.",
    columns=["Program", "CPU s", "Goal"],
    rows=[["ours <1>", "1.50", "at most 2"], ["a|b", "3.00", ""]],
    figures={"ours cpu": 1.5, "peer cpu": 3.0},
    commands=["adanalytics events 2026-01-15"],
    plots=[Plot("bodies", "CPU, s", {"ours <1>": "ours cpu", "peer": "peer cpu"}, ["ours <1>"])],
)


def results(section: Section, started: str = "2026-01-15T10:00+00:00") -> Results:
    empty = Results(started, "python -m proof", {"processor": "a machine"})
    return empty.with_section("bodies", section, timedelta(minutes=3))


def test_a_section_becomes_a_table_and_a_page(tmp_path: Path) -> None:
    console = Console(width=80)
    with console.capture() as printed:
        console.print(table(SECTION))
    assert "ours <1> │  1.50" in printed.get()

    write_page(results(SECTION), tmp_path)
    page = (tmp_path / "proof.md").read_text()
    assert "| run | 2026-01-15T10:00+00:00, `python -m proof`, 3 minutes |" in page
    assert "| Program | CPU s | Goal |\n| --- | ---: | --- |\n| ours <1> | 1.50 |" in page
    assert "| a\\|b |" in page
    assert "$ adanalytics events 2026-01-15\n" in page
    drawn = (tmp_path / "images" / "bodies.svg").read_text()
    assert re.findall(r'width="(\d+)\.0" height="22"', drawn) == ["180", "360"]
    assert "ours &lt;1&gt;" in drawn


def test_results_are_read_back_and_compared(tmp_path: Path) -> None:
    compared = replace(SECTION, figures={**SECTION.figures, "ours / peer cpu": 0.5})
    earlier = results(compared)
    earlier.write(tmp_path / "RESULTS.json")
    assert Results.read(tmp_path / "RESULTS.json") == earlier

    figures = {**SECTION.figures, "ours cpu": 3.0, "ours / peer cpu": 1.0, "ours / new cpu": 1.0}
    later = results(replace(SECTION, figures=figures), "2026-01-16T10:00+00:00")
    assert side_by_side(earlier, later).rows == [["ours / peer cpu", "0.5", "1", "2.00"]]


def test_a_row_fits_its_columns() -> None:
    with pytest.raises(ValueError, match="does not fit the columns"):
        Section("T", "", ["A", "B"], [["1"]], {}, [])


@pytest.mark.parametrize("peaked", [False, True])
def test_requests_follow_from_the_events_of_each_hour(*, peaked: bool) -> None:
    load = Load(1_000_000, peaked)
    hours = load.hours()
    assert (len(hours), sum(hours)) == (24, 1_000_000)
    assert max(hours) == (166_666 if peaked else 41_667)
    hourly = 108 if peaked else 120
    assert planned(load) == {"hourly": hourly, "auto": hourly + 1, "none": 100, "default": 1000}


def test_a_goal_is_missed_as_it_is_printed() -> None:
    assert goal(0.304, 0.3) == "at most 0.3"
    assert goal(0.306, 0.3) == "at most 0.3, missed"
    assert goal(51, 50, " ms") == "at most 50 ms, missed"


def test_a_process_costs_what_it_and_its_children_take(tmp_path: Path) -> None:
    kept = tmp_path / "kept.txt"
    child = "import time; block = b'x' * 40_000_000\nwhile time.process_time() < 0.2: pass"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    cost = run([sys.executable, "-c", f"{parent}; open({str(kept)!r}, 'w')"], folder=tmp_path)
    assert kept.exists()
    assert cost.cpu > 0.2
    # Not that of this process, which started it.
    assert 40 < cost.megabytes < 65


def test_a_process_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(ProofError, match="ended with 3:\nno events"):
        run([sys.executable, "-c", "print('no events'); exit(3)"], folder=tmp_path)


def test_the_line_of_each_mutation_is_there_once() -> None:
    texts = [changed(each, ROOT) for each in mutations()]
    assert len(texts) == 40


def test_sections_without_times_come_first_from_processes_of_their_own() -> None:
    measured = dict(measure_all(["mutation", "damage"], quick=True))
    assert list(measured) == ["damage", "mutation"]
    assert measured["damage"].figures["damage, verify, silent"] == 0
    assert set(UNTIMED) < set(SECTIONS)
