"""The names of campaigns and so on, which events do not have: by id, from summaries."""

from collections.abc import Collection, Mapping
from datetime import date

import msgspec

from adanalytics_client._base.logs import LOG
from adanalytics_client._json.fields import ID_OF, FieldNames, GroupBy
from adanalytics_client.dataset.storage.local import Store

from .layout import NAMES
from .manifest import read_record

MOST_NAMES = 100_000
"""The most names of a group that are kept."""


class GroupNames(msgspec.Struct, frozen=True):
    """The names of one group, such as all campaigns.

    Attributes:
        first: the first day for which the service was asked for names.
        last: the last such day.
        names: the newest name of each id, whose number is a text.
    """

    first: date
    last: date
    names: dict[str, str] = {}

    def updated(self, group: GroupBy, fresh: Mapping[str, str]) -> "GroupNames":
        """Return the group with names that replace earlier ones of the same ids."""
        names = {**fresh, **{id_: name for id_, name in self.names.items() if id_ not in fresh}}
        if len(names) > MOST_NAMES:
            text = "The dataset keeps %s names of %ss, and drops %s."
            LOG.warning(text, f"{MOST_NAMES:,}", group, f"{len(names) - MOST_NAMES:,}")
            names = dict([*names.items()][:MOST_NAMES])
        return msgspec.structs.replace(self, names=names)


Names = Mapping[GroupBy, GroupNames]
"""What is known of each group."""


def read_names(store: Store) -> dict[GroupBy, GroupNames]:
    """Read the names of a dataset; a missing or damaged file has none."""
    return read_record(store, NAMES, dict[GroupBy, GroupNames]) or {}


def spans_without_names(
    names: Names, days: Collection[date], columns: Collection[str], fields: FieldNames
) -> dict[GroupBy, tuple[date, date]]:
    """Return the days for which to ask the service, for each group with ids in the columns.

    They adjoin those of earlier requests and include their nearest day, of which a request may
    have been too early to see all.

    Args:
        days: the days with events.
        columns: the fields of the events; none if they are not known, so that all may be there.
        fields: the names by which the service sends documented fields.
    """
    spans = {}
    for group, part in ID_OF.items():
        if not days or (columns and not fields.sent(part, columns)):
            continue
        first, last = min(days), max(days)
        if entry := names.get(group):
            if entry.first <= first and last <= entry.last:
                continue
            # The days between are asked for, too, so that the known days stay one range.
            if entry.first <= first:
                first = entry.last
            elif last <= entry.last:
                last = entry.first
        spans[group] = (first, last)
    return spans
