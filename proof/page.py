"""Put the figures of a release on the proof's page: `python -m proof.page`, or make proof-page.

The page, docs/explanation/proof.md, is written by hand. Its one table, and the plot that the home
page shows, come from the results of a run. The results stay in proof/results.json, with which
`make proof` compares.
"""

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

import click

from proof.client import WAYS
from proof.report import Figures, Results, number, plain

ROOT = Path(__file__).parent.parent
RELEASED = ROOT / "proof" / "results.json"
PAGE = ROOT / "docs" / "explanation" / "proof.md"
PLOT = ROOT / "docs" / "explanation" / "images" / "proof-cpu.svg"
TABLE = re.compile(r"(?<=<!-- figures -->\n\n).*?(?=\n\n<!-- end of figures -->)", re.DOTALL)
STYLE = """\
<style>
text { font: 14px sans-serif; fill: #57606a }
.title { font-weight: bold }
.ours { fill: #3f51b5 }
.peer { fill: #9aa0a6 }
@media (prefers-color-scheme: dark) { text { fill: #b8c0c8 } .ours { fill: #8c9eff } }
</style>"""
TITLE = "Seconds of CPU per million events, ours and theirs"
BAR_HEIGHT, GAP, BAR_WIDTH, VALUE_WIDTH = 22, 8, 360, 60
# Of the widest sans-serif font that is usual, at 14 px.
LETTER_WIDTH = 8


def markdown(results: Results) -> str:
    """Return the table of the page."""
    return "\n".join(_lines(results))


def _lines(results: Results) -> Iterator[str]:
    yield "| what | figure | goal |"
    yield "|---|---:|---|"
    yield f"| run | {results.started[:10]}, {results.seconds / 60:.0f} minutes | |"
    yield from (f"| {name} | {value} | |" for name, value in results.machine.items())
    for figures in results.sections.values():
        yield f"| **{figures.title}** | | |"
        yield from (f"| {name} | {value} | {goal} |" for name, value, goal in figures.shown())


def svg(figures: Figures) -> str:
    """Draw the CPU of each way as a bar, in colours that can be read on light and dark pages."""
    values = {plain(way.label): figures.values[way.cpu] for way in WAYS}
    ours = {plain(way.label) for way in WAYS if way.ours is None}
    labels = LETTER_WIDTH * max(map(len, values))
    width = labels + BAR_WIDTH + VALUE_WIDTH
    height = 34 + len(values) * (BAR_HEIGHT + GAP)
    lines = [
        '<svg xmlns="http://www.w3.org/2000/svg" role="img"',
        f'  aria-label="{TITLE}" width="{width}" height="{height}"',
        f'  viewBox="0 0 {width} {height}">',
        STYLE,
        f'<text class="title" y="18">{TITLE}</text>',
    ]
    for index, (label, value) in enumerate(values.items()):
        top = 34 + index * (BAR_HEIGHT + GAP)
        length = BAR_WIDTH * value / max(values.values())
        kind = "ours" if label in ours else "peer"
        at = f'y="{top + BAR_HEIGHT / 2 + 5}"'
        size = f'width="{length:.1f}" height="{BAR_HEIGHT}"'
        lines += [
            f'<text x="{labels - 8}" {at} text-anchor="end">{escape(label)}</text>',
            f'<rect class="{kind}" x="{labels}" y="{top}" {size} rx="2"/>',
            f'<text x="{labels + length + 6:.1f}" {at}>{number(value)}</text>',
        ]
    return "\n".join([*lines, "</svg>\n"])


@click.command()
@click.argument("results", type=click.Path(path_type=Path, exists=True, dir_okay=False))
def main(results: Path) -> None:
    """Keep RESULTS as those of the release, and renew the page's table and plot."""
    run = Results.read(results)
    if run.options:
        raise click.ClickException(f"These are results of {run.options}. Run make proof.")
    run.write(RELEASED)
    page, tables = TABLE.subn(lambda _: markdown(run), PAGE.read_text())
    if tables != 1:
        raise click.ClickException(f"{PAGE.name} has {tables} places for the table.")
    PAGE.write_text(page)
    PLOT.write_text(svg(run.sections["client"]))


if __name__ == "__main__":
    main()
