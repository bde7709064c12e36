"""What a section reports, and its table in the terminal."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Self

from rich.table import Table

TRIES = "tries"


@dataclass(frozen=True)
class Figures:
    """The results of a section that are kept and compared, and of these the ones on the page.

    Args:
        title: heading of the section.
        values: numbers under names that stay between versions; a name with `` / `` is a ratio.
        goals: the most that a value may be, by its name; None for one without a goal. The page
            has these values and all ratios.
    """

    title: str
    values: dict[str, float]
    goals: dict[str, float | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if missing := self.goals.keys() - self.values.keys():
            raise ValueError(f"{self.title}: no value has the name {sorted(missing)}")

    def shown(self) -> Iterator[tuple[str, str, str]]:
        """Yield the name, the value and the goal of each figure on the page."""
        tries = self.values.get(TRIES)
        for name, value in self.values.items():
            if name in self.goals or " / " in name:
                most = self.goals.get(name)
                of = "" if tries is None else f" of {number(tries)}"
                yield name, number(value) + of, "" if most is None else goal(value, most)


@dataclass(frozen=True)
class Section:
    """The result of measuring one subject.

    Args:
        figures: what is kept of it.
        columns: headings of its table; a column named ``Goal`` has the goals.
        rows: the cells of each row, as they are printed.
    """

    figures: Figures
    columns: list[str]
    rows: list[list[str]]

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                title = self.figures.title
                raise ValueError(f"{title}: {row} does not fit the columns {self.columns}")


@dataclass(frozen=True)
class Results:
    """One run: when, with which options, where, how long, and its figures by section."""

    started: str
    options: str
    machine: dict[str, str]
    seconds: float = 0
    sections: dict[str, Figures] = field(default_factory=dict)

    def with_section(self, name: str, figures: Figures, taken: timedelta) -> Self:
        sections = {**self.sections, name: figures}
        return replace(self, sections=sections, seconds=taken.total_seconds())

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=1) + "\n")

    @classmethod
    def read(cls, path: Path) -> Self:
        fields = json.loads(path.read_text())
        sections = {name: Figures(**figures) for name, figures in fields["sections"].items()}
        return cls(**{**fields, "sections": sections})


def count_outcomes(
    title: str,
    tries: Mapping[str, tuple[int, Counter[str]]],
    outcomes: Sequence[str],
    goals: dict[str, float | None],
) -> Section:
    """Return a section with a row for each subject that was tried, and the totals as figures.

    Args:
        title: heading of the section.
        tries: the number of tries of each subject, and how often they had which outcome.
        outcomes: the columns of the table.
        goals: as in `Figures`: 0 for an outcome that no try may have.
    """
    totals = {outcome: sum(counts[outcome] for _, counts in tries.values()) for outcome in outcomes}
    all_tries = sum(number for number, _ in tries.values())
    return Section(
        Figures(title, {TRIES: all_tries, **totals}, goals),
        columns=["What", TRIES.capitalize(), *(outcome.capitalize() for outcome in outcomes)],
        rows=[
            [subject, f"{number:,}", *(f"{counts[outcome]:,}" for outcome in outcomes)]
            for subject, (number, counts) in tries.items()
        ],
    )


def side_by_side(earlier: Results, later: Results) -> Table:
    """Compare the ratios of two runs: times and memory alone tell more about the machine."""
    columns = ["Ratio", earlier.started, later.started, "Later / earlier"]
    rows = []
    for section, figures in later.sections.items():
        before = earlier.sections[section].values if section in earlier.sections else {}
        for name, value in figures.values.items():
            if name in before and " / " in name:
                change = value / before[name] if before[name] else float(value == before[name])
                rows.append([name, number(before[name]), number(value), f"{change:.2f}"])
    return _table("Two runs side by side", columns, rows)


def number(value: float) -> str:
    """Write a number with three significant digits, whole and large ones in full."""
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def plain(cell: str) -> str:
    """Return a cell without the marks of Markdown."""
    return cell.replace("*", "").replace("`", "")


def goal(value: float, most: float, unit: str = "") -> str:
    """Return a goal as a cell, and whether the value misses it, rounded as it is printed."""
    text = f"at most {most:g}{unit}" if most else "0"
    return f"{text}, missed" if round(value, 2) > most else text


def table(section: Section) -> Table:
    """Return the section as a table for the terminal."""
    return _table(section.figures.title, section.columns, section.rows)


def _table(title: str, columns: list[str], rows: list[list[str]]) -> Table:
    made = Table(title=title, title_justify="left", title_style="bold")
    for index, column in enumerate(columns):
        cells = [row[index] for row in rows if row[index]]
        is_numeric = bool(cells) and all(cell.lstrip("-~")[:1].isdigit() for cell in cells)
        made.add_column(column, justify="right" if is_numeric else "left")
    for row in rows:
        made.add_row(*map(plain, row))
    return made
