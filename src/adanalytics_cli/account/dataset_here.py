"""The dataset of the current folder, found as git finds its own."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from adanalytics_cli.core.errors import CommandError, SettingsError
from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.core.settings import ServiceSettings

if TYPE_CHECKING:
    from adanalytics_client.dataset import Dataset, Holdings

_DEFAULT = "events"


def default_dataset() -> str:
    """Return the dataset to read by default: the current folder, or else `events` in it."""
    from adanalytics_client.dataset import Dataset

    return next((place for place in (".", _DEFAULT) if Dataset(place).holdings()), _DEFAULT)


def open_dataset(invocation: Invocation, place: str) -> "tuple[Dataset, Holdings]":
    """Return the dataset at `place`, and what it holds.

    Raises CommandError, with the sync that makes it, where there is none.
    """
    from adanalytics_client.dataset import Dataset

    dataset = Dataset(place, clock=invocation.clock)
    holdings = dataset.holdings()
    if holdings is None:
        sync = invocation.command_line("sync", "--to", place)
        raise CommandError(f"There is no dataset at {place}.", remedy=f"Make one: {sync}")
    return dataset, holdings


def find_datasets(invocation: Invocation, places: Sequence[str]) -> list[str]:
    """Return the datasets to read: `places`, or the one that is here.

    Raises SettingsError for one that is named twice, and CommandError for a missing one.
    """
    places = places or [default_dataset()]
    # Given twice, every event would count twice.
    same = {place if "://" in place else os.path.realpath(place) for place in places}
    if len(same) < len(places):
        raise SettingsError("--in names a dataset twice.", remedy="Give each dataset once.")
    for place in places:
        open_dataset(invocation, place)
    return [*places]


def dataset_here(settings: ServiceSettings, place: str | None = None) -> "Holdings | None":
    """Return what the dataset at `place` holds, or that of the current folder; nothing is sent.

    None without a dataset. The current folder must be one of the partner and the service that the
    settings name.
    """
    if place is None and not Path("_adanalytics/dataset.json").is_file():
        return None
    from adanalytics_client.dataset import Dataset

    holdings = Dataset(Path() if place is None else place).holdings()
    if place is not None:
        return holdings
    pairs = holdings and (
        (settings.partner, holdings.partner),
        (settings.base_url, holdings.origin),
    )
    # The folder may be of another partner than the one that is asked about.
    is_other = any(setting is not None and setting.value != fact for setting, fact in pairs or ())
    return None if is_other else holdings
