"""The footer of an answer from datasets: what they cover, and what must not be added up."""

import re
from collections.abc import Iterator, Sequence

import click

from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.core.periods import span, spans_of
from adanalytics_cli.core.prose import listed
from adanalytics_client._base.escaping import visible
from adanalytics_client._base.quantities import counted
from adanalytics_client._json.exact import json_text
from adanalytics_client.dataset.coverage import Coverage, overlaps, runs_of_hours

from .row_output import facts_about

# More gaps than a reader looks up.
_MOST_GAPS = 3
# A day or a month of a query, at the beginning of a text.
_DAYS = re.compile(r"'(\d{4}-\d\d(?:-\d\d)?)", re.ASCII)


def write_footer(
    coverage: Sequence[Coverage],
    notes: Sequence[str],
    invocation: Invocation,
    *,
    has_warnings: bool = True,
) -> None:
    """Print on stderr what the datasets cover, warnings and `notes`; with `-f json` as an object.

    `-q` silences it. Only an answer that adds up datasets `has_warnings`.
    """
    warnings = warnings_of(coverage) if has_warnings else []
    notes = [*notes, *doubts_of(coverage)]
    if invocation.as_json:
        record = {
            "datasets": [_record(dataset) for dataset in coverage],
            "warnings": warnings,
            "notes": notes,
        }
        if not invocation.quiet:
            click.echo(json_text(record), err=True)
        return
    for line in (*map(_describe, coverage), *(f"Warning: {text}" for text in warnings), *notes):
        invocation.notice(visible(line))


def facts_of(coverage: Sequence[Coverage]) -> dict[str, object]:
    """Return the partners, the currencies and the days of datasets, for a workbook."""
    facts = facts_about(
        (dataset.partner for dataset in coverage),
        (day for dataset in coverage for day in dataset.days),
    )
    currencies = sorted({name for dataset in coverage for name in dataset.currencies or ()})
    return {**facts, "currency": ", ".join(currencies)}


def find_notes(coverage: Sequence[Coverage], sql: str, rows: int) -> list[str]:
    """Say so if a query names only days or months on one side of those that the datasets have.

    An answer of more than one row needs no reason; one row may be a bare 0.
    """
    days = sorted({day for dataset in coverage for day in dataset.days})
    names = _DAYS.findall(sql)
    if rows > 1 or not (names and days):
        return []
    first, last = f"{days[0]}", f"{days[-1]}"
    if min(names) <= last and max(f"{name}-31"[:10] for name in names) >= first:
        return []
    subject = "the dataset has" if len(coverage) == 1 else "the datasets have"
    return [f"The query names {listed(names, _MOST_GAPS)}; {subject} {', '.join(spans_of(days))}."]


def warnings_of(coverage: Sequence[Coverage]) -> list[str]:
    """Return what must not be added up: several currencies, and hours that count twice."""
    warnings = []
    currencies = sorted({name for dataset in coverage for name in dataset.currencies or ()})
    if len(currencies) > 1:
        names = f"{', '.join(currencies[:-1])} and {currencies[-1]}"
        warnings.append(
            f"Amounts are in {names}: a sum over both means nothing. Group by currency."
        )
    for one, other, days in overlaps(coverage):
        spans = listed(spans_of(days), _MOST_GAPS)
        warnings.append(
            f"{one.place} and {other.place} both have events of {one.partner} on {spans}: "
            "they count twice. Leave out one, or choose by dataset."
        )
    return warnings


def doubts_of(coverage: Sequence[Coverage]) -> Iterator[str]:
    """Yield, of each dataset, the whole days that have not agreed with the service."""
    for dataset in coverage:
        days = [part.day for part in dataset.records if part.is_settled and not part.is_agreed]
        if days:
            text = f"not agreed with the service: {listed(spans_of(days), _MOST_GAPS)}"
            yield f"{dataset.partner}: {text}; adanalytics verify says why."


def _describe(coverage: Coverage) -> str:
    currencies = ", ".join(coverage.currencies or ())
    owner = f"{coverage.partner}, {currencies or 'currency not known'}"
    if not coverage.hours:
        return f"{owner}: no hour was pulled yet."
    first, last, missing = min(coverage.hours), max(coverage.hours), coverage.missing
    # Whole days need no hours, which makes the usual line short.
    is_whole = (first.hour, last.hour) == (0, 23)
    period = span(first.day, last.day) if is_whole else f"{first} to {last}"
    gaps = "none missing between"
    if missing:
        texts = [
            f"{begin}" if begin == end else f"{begin} to {end}"
            for begin, end in runs_of_hours(missing)
        ]
        gaps = f"{len(missing)} missing between: {listed(texts, _MOST_GAPS, 'more gaps')}"
    hours = f"{counted(len(coverage.days), 'day')}, {counted(len(coverage.hours), 'hour')}, {gaps}"
    return f"{owner}: {period}, {hours}. {_share(coverage)}"


def _share(coverage: Coverage) -> str:
    """Say how many events are filtered, and so which view has them."""
    events, filtered = coverage.events, coverage.filtered
    if coverage.flag is None:
        return (
            f"No field of its {counted(events, 'event')} says which are filtered, so traffic is "
            "events."
        )
    if filtered is None:
        return f"The share of its {counted(events, 'event')} that are filtered is not known."
    share = f" ({filtered / events:.1%})".replace("%", " %") if events else ""
    return f"{filtered:,} of {counted(events, 'event')}{share} are filtered; traffic is without."


def _record(coverage: Coverage) -> dict[str, object]:
    hours, currencies = coverage.hours, coverage.currencies
    return {
        "dataset": coverage.place,
        "partner": coverage.partner,
        "currencies": None if currencies is None else [*currencies],
        "first_hour": str(min(hours)) if hours else None,
        "last_hour": str(max(hours)) if hours else None,
        "days": len(coverage.days),
        "hours": len(hours),
        "missing_hours": [*map(str, coverage.missing)],
        "events": coverage.events,
        "filtered": coverage.filtered,
        "filtered_share": (
            round(coverage.filtered / coverage.events, 6)
            if coverage.filtered is not None and coverage.events
            else None
        ),
    }
