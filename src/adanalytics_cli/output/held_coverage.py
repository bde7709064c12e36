"""The hours that a dataset holds, for the calendar: of the folder that one stands in, as with git.

No option of `dates` names a dataset, and the service lists days only. The manifest knows hours, and
costs no request to look at.
"""

from collections.abc import Callable
from datetime import date
from pathlib import Path

from adanalytics_cli.console.calendar_chart import Coverage
from adanalytics_cli.core.settings import Place


def held_coverage(
    folder: Path, place: Place, asked: tuple[date, date] | None, damaged: Callable[[str], None]
) -> Coverage | None:
    """The hours that the dataset in `folder` holds, in all its days or those asked for.

    None where `folder` is no dataset, is one of another partner or service than the settings
    name, or has no day yet and none is asked for. An hour known to be empty is held, but a day
    without events has none. Of a day whose record is damaged nothing is known; `damaged` is told.
    Raises DatasetDamaged when the dataset does not say what it is.
    """
    if not (folder / "_adanalytics/dataset.json").is_file():
        return None
    from adanalytics_client.dataset import Dataset

    held = Dataset(folder).holdings()
    if held is None or not _is_meant(place, held.partner, held.origin):
        return None
    if not held.hours and not asked:
        return None
    first, last = asked or (min(held.hours), max(held.hours))
    for day, problem in held.damaged.items():
        if first <= day <= last:
            damaged(f"the manifest of {day} is damaged: {problem}")
    hours = {day: count for day, count in held.hours.items() if first <= day <= last}
    return Coverage(hours, first, last, by_hour=True)


def _is_meant(place: Place, partner: str, origin: str) -> bool:
    """Whether nothing that is set names another partner or service."""
    wanted = ((place.partner, partner), (place.base_url, origin))
    return all(setting is None or setting.value == of for setting, of in wanted)
