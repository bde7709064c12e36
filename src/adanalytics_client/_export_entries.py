"""What an export's answer says of each of its files: that it is being made, or has failed."""

from collections.abc import Iterator
from dataclasses import dataclass

from adanalytics_client._export import ExportPhase
from adanalytics_client._export_files import LISTS, text_in
from adanalytics_client._export_words import (
    FAILED,
    WAITING,
    Said,
    is_unfinished,
    levels,
    merged,
    reason_of,
    word_of,
)
from adanalytics_client._fold import fold
from adanalytics_client._stated_errors import stated_error


@dataclass(frozen=True, slots=True)
class Judged:
    """Where an export stands after all, and what is said of an error or of why it is not done."""

    phase: ExportPhase
    reason: str | None


def judged(phase: ExportPhase, found: list[Said]) -> Judged:
    """Judge an answer by its own state and, where that is "done", by those of its files."""
    said = merged(found)
    if phase in {ExportPhase.FAILED, ExportPhase.EXPIRED}:
        return Judged(phase, reason_of(said))
    if phase is not ExportPhase.DONE:
        return Judged(phase, None)
    beside = [stated_error(found)]
    waiting: list[str] = []
    for entry in _entries(said):
        inner, word = merged(entry), word_of(entry) or ""
        name = text_in(inner, ("name", "filename"))
        called = f"its file {name!r}" if name else "one of its files"
        told = f"the status of {called} is {word!r}"
        if fold(word) in FAILED:
            return Judged(ExportPhase.FAILED, reason_of(inner) or told)
        if fold(word) in WAITING:
            waiting.append(told)
        elif not word and is_unfinished(inner):
            waiting.append(f"{called} is not done")
        beside.append(stated_error(entry))
    if waiting:
        return Judged(ExportPhase.WORKING, waiting[0])
    return Judged(phase, next(filter(None, beside), None))


def _entries(said: Said) -> Iterator[list[Said]]:
    """The levels of each file that is described, in lists within lists, too."""
    for name in LISTS:
        value = said.get(name)
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, dict):
                entry = levels(each)
                yield entry
                yield from _entries(merged(entry))
