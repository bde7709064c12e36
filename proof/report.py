"""What a section reports, and its forms: a table in the terminal, a page, bars as SVG."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from html import escape
from pathlib import Path
from typing import Any, Self

from rich.table import Table

INTRODUCTION = """\
---
description: "Figures about adanalytics beside other tools and with faults, and how to repeat them."
---

# Proof

`make proof` takes the measurements and generates this page from them; only the mutation-testing
results come from `make mutation`. `make proof-quick` takes the same measurements on less data, in
two minutes. A goal is a figure that the project wants to reach; a goal that was not reached is
marked *missed*. Each measurement of time or memory runs alone; all other measurements run two at a
time.
"""
STYLE = """\
<style>
text { font: 14px sans-serif; fill: #57606a }
.title { font-weight: bold }
.ours { fill: #3f51b5 }
.peer { fill: #9aa0a6 }
@media (prefers-color-scheme: dark) { text { fill: #b8c0c8 } .ours { fill: #8c9eff } }
</style>"""
BAR_HEIGHT, GAP, BAR_WIDTH, VALUE_WIDTH = 22, 8, 360, 60
# Of the widest sans-serif font that is usual, at 14 px.
LETTER_WIDTH = 8


@dataclass(frozen=True)
class Plot:
    """Bars to draw from figures.

    Args:
        name: name of the SVG file, without its suffix.
        title: what the bars show, with the unit.
        bars: label of each bar, and the key of its figure.
        ours: labels of the bars to highlight.
    """

    name: str
    title: str
    bars: dict[str, str]
    ours: list[str]


@dataclass(frozen=True)
class Section:
    """The result of measuring one subject.

    Args:
        title: heading of the section.
        explanation: what was measured and how, in Markdown.
        columns: headings of the table; a column named ``Goal`` has the goals.
        rows: the cells of each row, as they are printed.
        figures: the same measurements as numbers, under names that stay between versions.
        commands: shell commands that repeat a measurement by hand.
        plots: what to draw.
    """

    title: str
    explanation: str
    columns: list[str]
    rows: list[list[str]]
    figures: dict[str, float]
    commands: list[str]
    plots: list[Plot] = field(default_factory=list)

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"{self.title}: {row} does not fit the columns {self.columns}")
        for plot in self.plots:
            if missing := set(plot.bars.values()) - set(self.figures):
                raise ValueError(f"{self.title}: plot {plot.name} has no figures for {missing}")


@dataclass(frozen=True)
class Results:
    """One run: when, by which command, where, how long, and its sections by name."""

    started: str
    command: str
    machine: dict[str, str]
    seconds: float = 0
    sections: dict[str, Section] = field(default_factory=dict)

    def with_section(self, name: str, section: Section, taken: timedelta) -> Self:
        sections = {**self.sections, name: section}
        return replace(self, sections=sections, seconds=taken.total_seconds())

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=2) + "\n")

    @classmethod
    def read(cls, path: Path) -> Self:
        fields = json.loads(path.read_text())
        return cls(**{**fields, "sections": dict(map(_section, fields["sections"].items()))})


def _section(named: tuple[str, dict[str, Any]]) -> tuple[str, Section]:
    name, fields = named
    return name, Section(**{**fields, "plots": [Plot(**plot) for plot in fields["plots"]]})


def side_by_side(earlier: Results, later: Results) -> Section:
    """Compare the ratios of two runs: times and memory alone tell more about the machine."""
    rows, figures = [], {}
    for name, section in later.sections.items():
        if name not in earlier.sections:
            continue
        before = earlier.sections[name].figures
        for key, value in section.figures.items():
            if key in before and " / " in key:
                change = value / before[key] if before[key] else float(value == before[key])
                rows.append([key, number(before[key]), number(value), f"{change:.2f}"])
                figures[key] = change
    machines = " · ".join(dict.fromkeys(run.machine["processor"] for run in (earlier, later)))
    return Section(
        title="Two runs side by side",
        explanation=f"These ratios come from two runs ({machines}). The last column is the later "
        "ratio divided by the earlier one.",
        columns=["Ratio", earlier.started, later.started, "Later / earlier"],
        rows=rows,
        figures=figures,
        commands=[later.command],
    )


def number(value: float) -> str:
    """Write a number with three significant digits, large ones in full."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def plain(cell: str) -> str:
    """Return a cell without the marks of Markdown."""
    return cell.replace("*", "").replace("`", "")


def goal(value: float, most: float, unit: str = "") -> str:
    """Return a goal as a cell, and whether the value misses it, rounded as it is printed."""
    text = f"at most {most:g}{unit}"
    return f"{text}, missed" if round(value, 2) > most else text


def table(section: Section) -> Table:
    """Return the section as a table for the terminal."""
    made = Table(title=section.title, title_justify="left", title_style="bold")
    for index, column in enumerate(section.columns):
        made.add_column(column, justify="right" if _is_numeric(section, index) else "left")
    for row in section.rows:
        made.add_row(*map(plain, row))
    return made


def _is_numeric(section: Section, index: int) -> bool:
    cells = [row[index] for row in section.rows if row[index]]
    return bool(cells) and all(cell.lstrip("-~")[:1].isdigit() for cell in cells)


def write_page(results: Results, folder: Path) -> None:
    """Write ``proof.md`` and the plots, which go to ``images``."""
    (folder / "images").mkdir(parents=True, exist_ok=True)
    for section in results.sections.values():
        for plot in section.plots:
            (folder / "images" / f"{plot.name}.svg").write_text(svg(plot, section.figures))
    (folder / "proof.md").write_text(page(results))


def page(results: Results) -> str:
    """Return the page as Markdown."""
    machine = "\n".join(f"| {name} | {value} |" for name, value in results.machine.items())
    minutes = f"{results.seconds / 60:.0f} minutes"
    return "\n".join(
        [
            INTRODUCTION,
            f"| run | {results.started}, `{results.command}`, {minutes} |\n|---|---|\n{machine}",
            *(part for section in results.sections.values() for part in _part(section)),
        ]
    )


def _part(section: Section) -> Iterator[str]:
    yield f"\n## {section.title}\n\n{section.explanation.strip()}\n"
    for plot in section.plots:
        yield f"![{plot.title}](images/{plot.name}.svg)\n"
    yield _line(section.columns)
    yield _line(
        "---:" if _is_numeric(section, index) else "---" for index in range(len(section.columns))
    )
    yield from (_line(cell.replace("|", "\\|") for cell in row) for row in section.rows)
    if section.commands:
        yield "\n```console"
        yield from (f"$ {command}" for command in section.commands)
        yield "```"


def _line(cells: Iterator[str] | list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def svg(plot: Plot, figures: dict[str, float]) -> str:
    """Draw horizontal bars from zero, in colours that can be read on light and dark pages."""
    most = max(figures[key] for key in plot.bars.values()) or 1
    labels = LETTER_WIDTH * max(map(len, plot.bars))
    width = labels + BAR_WIDTH + VALUE_WIDTH
    height = 34 + len(plot.bars) * (BAR_HEIGHT + GAP)
    lines = [
        '<svg xmlns="http://www.w3.org/2000/svg" role="img"',
        f'  aria-label="{escape(plot.title)}" width="{width}" height="{height}"',
        f'  viewBox="0 0 {width} {height}">',
        STYLE,
        f'<text class="title" y="18">{escape(plot.title)}</text>',
    ]
    for index, (label, key) in enumerate(plot.bars.items()):
        top = 34 + index * (BAR_HEIGHT + GAP)
        length = BAR_WIDTH * figures[key] / most
        kind = "ours" if label in plot.ours else "peer"
        at = f'y="{top + BAR_HEIGHT / 2 + 5}"'
        size = f'width="{length:.1f}" height="{BAR_HEIGHT}"'
        lines += [
            f'<text x="{labels - 8}" {at} text-anchor="end">{escape(label)}</text>',
            f'<rect class="{kind}" x="{labels}" y="{top}" {size} rx="2"/>',
            f'<text x="{labels + length + 6:.1f}" {at}>{number(figures[key])}</text>',
        ]
    return "\n".join([*lines, "</svg>\n"])
