"""The hours in the dataset of the current folder, for the calendar.

`dates` has no option for a dataset, so it looks in the current folder, as git does. The service
lists only days; the manifest has hours and costs no request.
"""

from collections.abc import Callable
from datetime import date
from pathlib import Path

from adanalytics_cli.core.settings import ServiceSettings
from adanalytics_cli.output.calendar_chart import Coverage


def held_coverage(
    folder: Path,
    settings: ServiceSettings,
    asked: tuple[date, date] | None,
    damaged: Callable[[str], None],
) -> Coverage | None:
    """Return the hours in the dataset in `folder`, for all its days or for the period `asked`.

    None where `folder` is not a dataset, belongs to another partner or service than the settings
    name, or has no days yet and none are asked for. An empty hour counts as held, except on a day
    without events. A day with a damaged manifest is left out and reported to `damaged`.
    Raise DatasetDamaged when the identity of the dataset is damaged.
    """
    if not (folder / "_adanalytics/dataset.json").is_file():
        return None
    from adanalytics_client.dataset import Dataset

    held = Dataset(folder).holdings()
    if held is None or not _is_meant(settings, held.partner, held.origin):
        return None
    if not held.hours and not asked:
        return None
    first, last = asked or (min(held.hours), max(held.hours))
    for day, problem in held.damaged.items():
        if first <= day <= last:
            damaged(f"the manifest of {day} is damaged: {problem}")
    hours = {day: count for day, count in held.hours.items() if first <= day <= last}
    return Coverage(hours, first, last, by_hour=True)


def _is_meant(settings: ServiceSettings, partner: str, origin: str) -> bool:
    """Return whether the settings allow this partner and service."""
    wanted = ((settings.partner, partner), (settings.base_url, origin))
    return all(setting is None or setting.value == of for setting, of in wanted)
