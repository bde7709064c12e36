"""Measure every section, and print the tables.

    python -m proof [--quick] [--section NAME]... [--compare OTHER.json]

The results are in build/proof/RESULTS.json; `python -m proof.page` puts them on the page.
"""

import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import click
from rich.console import Console

from proof.measuring import machine
from proof.report import Results, side_by_side, table
from proof.sections import SECTIONS, measure_all

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "build" / "proof" / "RESULTS.json"


@click.command(context_settings={"show_default": True})
@click.option("--quick", is_flag=True, help="Measure small data once: a trial of two minutes.")
@click.option(
    "--section", "names", multiple=True, type=click.Choice(SECTIONS), help="Measure only this one."
)
@click.option(
    "--compare",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Put the ratios of an earlier RESULTS.json beside the new ones.",
)
def main(*, quick: bool, names: tuple[str, ...], compare: Path | None) -> None:
    """Measure adanalytics against its peers and its promises."""
    console = Console(width=None if sys.stdout.isatty() else 160)
    options = [*["--quick"] * quick, *(f"--section {name}" for name in names)]
    started = datetime.now(UTC)
    results = Results(started.isoformat(timespec="minutes"), " ".join(options), machine(ROOT))
    earlier = None if compare is None else Results.read(compare)
    chosen = names or SECTIONS
    for name, section in measure_all(chosen, quick=quick):
        results = results.with_section(name, section.figures, datetime.now(UTC) - started)
        # After each section, so that a failure in a later one loses nothing.
        results.write(RESULTS)
        console.print(table(section), end="\n\n")
    results = replace(results, sections={name: results.sections[name] for name in chosen})
    results.write(RESULTS)
    if earlier is not None:
        console.print(side_by_side(earlier, results))
    minutes, seconds = divmod(round(results.seconds), 60)
    console.print(f"{minutes} min {seconds} s; the figures are in {RESULTS.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
