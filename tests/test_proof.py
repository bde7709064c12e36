"""What a section of `make proof` becomes: tables, a plot, a comparison."""

import re
import sys
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from proof.client import WAYS
from proof.economy import Load, planned
from proof.measuring import ProofError, run
from proof.mutation import ROOT, changed, mutations
from proof.page import PAGE, PLOT, RELEASED, TABLE, markdown, svg
from proof.page import main as put_on_page
from proof.report import Figures, Results, Section, count_outcomes, goal, side_by_side, table
from proof.sections import SECTIONS, UNTIMED, measure_all

FIGURES = Figures(
    "Bodies",
    {"ours cpu": 1.5, "ours / peer": 0.5, "peak MB": 300, "memory MB": 95.84},
    {"peak MB": 250, "memory MB": None},
)


def results(figures: Figures, started: str = "2026-01-15T10:00+00:00") -> Results:
    empty = Results(started, "", {"processor": "a machine"})
    return empty.with_section("bodies", figures, timedelta(minutes=3))


def test_figures_become_the_table_of_the_page() -> None:
    assert markdown(results(FIGURES)).splitlines() == [
        "| what | figure | goal |",
        "|---|---:|---|",
        "| run | 2026-01-15, 3 minutes | |",
        "| processor | a machine | |",
        "| **Bodies** | | |",
        "| ours / peer | 0.5 |  |",
        "| peak MB | 300 | at most 250, missed |",
        "| memory MB | 95.8 |  |",
    ]
    with pytest.raises(ValueError, match="no value has the name"):
        Figures("T", {}, {"silent": 0})


def test_the_page_has_the_figures_of_the_release() -> None:
    released = Results.read(RELEASED)
    assert list(released.sections) == SECTIONS
    assert TABLE.findall(PAGE.read_text()) == [markdown(released)]
    assert PLOT.read_text() == svg(released.sections["client"])
    widths = re.findall(r'width="([\d.]+)" height="22"', PLOT.read_text())
    assert max(map(float, widths)) == 360
    assert len(widths) == len(WAYS)


def test_a_part_of_a_run_is_not_put_on_the_page(tmp_path: Path) -> None:
    replace(results(FIGURES), options="--quick").write(tmp_path / "RESULTS.json")
    done = CliRunner().invoke(put_on_page, [str(tmp_path / "RESULTS.json")])
    assert done.output == "Error: These are results of --quick. Run make proof.\n"


def test_results_are_read_back_and_compared(tmp_path: Path) -> None:
    earlier = results(FIGURES)
    earlier.write(tmp_path / "RESULTS.json")
    assert Results.read(tmp_path / "RESULTS.json") == earlier

    values = {"ours cpu": 3.0, "ours / peer": 1.0, "ours / new": 1.0}
    compared = side_by_side(earlier, results(Figures("Bodies", values), "2026-01-16T10:00+00:00"))
    assert [[*column.cells] for column in compared.columns] == [
        ["ours / peer"],
        ["0.5"],
        ["1"],
        ["2.00"],
    ]


def test_outcomes_become_a_table_and_totals() -> None:
    tries = {"sync": (20, Counter(same=19, torn=1)), "load": (1000, Counter(same=1000))}
    section = count_outcomes("Kills", tries, ["same", "torn"], {"torn": 0})
    assert section.figures.values == {"tries": 1020, "same": 1019, "torn": 1}
    assert [*section.figures.shown()] == [("torn", "1 of 1,020", "0, missed")]
    console = Console(width=80)
    with console.capture() as printed:
        console.print(table(section))
    assert "load │ 1,000 │ 1,000 │    0" in printed.get()


def test_a_row_fits_its_columns() -> None:
    with pytest.raises(ValueError, match="does not fit the columns"):
        Section(Figures("T", {}), ["A", "B"], [["1"]])


@pytest.mark.parametrize("peaked", [False, True])
def test_requests_follow_from_the_events_of_each_hour(*, peaked: bool) -> None:
    load = Load(1_000_000, peaked)
    hours = load.hours()
    assert (len(hours), sum(hours)) == (24, 1_000_000)
    assert max(hours) == (166_666 if peaked else 41_667)
    hourly = 108 if peaked else 120
    expected = {"hourly": hourly + 1, "auto": hourly + 2, "none": 102, "default": 1000}
    assert planned(load) == expected


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
    assert measured["damage"].figures.values["silent"] == 0
    assert set(UNTIMED) < set(SECTIONS)
