"""Measure every section, print the tables, and write the page about them.

    python -m proof [--quick] [--section NAME]... [--compare OTHER.json]

The results are in build/proof/RESULTS.json; those of the run that the page shows are in
proof/2026-11-24.json, to compare later runs with. Only a full run, which has neither --quick nor
--section, writes docs/explanation/proof.md and its plots.
"""

import sys
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

import click
from rich.console import Console

from proof.measuring import machine
from proof.report import Results, Section, side_by_side, table, write_page

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "build" / "proof" / "RESULTS.json"
EXPLANATION = ROOT / "docs" / "explanation"
# In the order of the page. Each module has a function `measure(quick: bool) -> Section`.
SECTIONS = [
    *("client", "start", "economy", "server", "faults", "damage", "kills", "stores", "load"),
    *("security", "mutation"),
]


def measure(name: str, *, quick: bool) -> Section:
    """Measure the section of that name."""
    section: Section = import_module(f"proof.{name}").measure(quick)
    return section


@click.command(context_settings={"show_default": True})
@click.option("--quick", is_flag=True, help="Measure small data once: a trial of two minutes.")
@click.option(
    "--section", "names", multiple=True, type=click.Choice(SECTIONS), help="Measure only this one."
)
@click.option(
    "--compare",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Put the figures of an earlier RESULTS.json beside the new ones.",
)
def main(*, quick: bool, names: tuple[str, ...], compare: Path | None) -> None:
    """Measure adanalytics against its peers and its promises."""
    console = Console(width=None if sys.stdout.isatty() else 160)
    options = [*["--quick"] * quick, *(f"--section {name}" for name in names)]
    # Not the path: the page is for other machines.
    options += [] if compare is None else [f"--compare {compare.name}"]
    command = " ".join(["python -m proof", *options])
    started = datetime.now(UTC)
    results = Results(started.isoformat(timespec="minutes"), command, machine(ROOT))
    earlier = None if compare is None else Results.read(compare)
    for name in names or SECTIONS:
        console.print(f"Measuring: {name}", highlight=False, style="dim")
        before = results.seconds
        results = results.with_section(
            name, measure(name, quick=quick), datetime.now(UTC) - started
        )
        # After each section, so that a failure in a later one loses nothing.
        results.write(RESULTS)
        console.print(table(results.sections[name]))
        console.print(f"{name}: {results.seconds - before:.0f} s", style="dim", end="\n\n")
    if earlier is not None:
        results = results.with_section(
            "two-runs", side_by_side(earlier, results), datetime.now(UTC) - started
        )
        console.print(table(results.sections["two-runs"]))
    minutes, seconds = divmod(round(results.seconds), 60)
    console.print(f"{minutes} min {seconds} s; the figures are in {RESULTS.relative_to(ROOT)}")
    if not (quick or names):
        write_page(results, EXPLANATION)
        console.print("Written: docs/explanation/proof.md and its plots")


if __name__ == "__main__":
    main()
