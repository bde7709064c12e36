"""The columns of an output: those that were chosen, or all that are known or come along."""

import difflib
from collections.abc import Iterable, Mapping, Sequence

from adanalytics_client._json import Json
from adanalytics_client.errors import ConfigurationError

# Written once more, since making the models takes a tenth of a second, which a pull that only
# writes what comes has no use for. A test holds them together.
EVENT_COLUMNS = (
    *("event_id", "event_time", "event_date", "event_hour", "received_at", "event_type"),
    *("auction_id", "partner_id", "supply_tag_id", "demand_tag_id", "campaign_id"),
    *("creative_id", "deal_id", "media_type", "device_type", "country", "os", "currency"),
    *("revenue", "cost", "payment_type", "domain", "app_bundle", "error_code", "is_filtered"),
    "key_values",
)
"""The documented fields of an event, in their order."""

SUMMARY_COLUMNS = (
    *("date", "campaign_id", "campaign_name", "demand_tag_id", "demand_tag_name"),
    *("ad_requests", "impressions", "starts", "first_quartiles", "midpoints", "third_quartiles"),
    *("completions", "clicks", "skips", "errors", "revenue", "cost", "profit", "fill_rate"),
    *("ctr", "vcr", "completion_rate_started", "error_rate", "margin", "ecpm", "rpm", "cpm_cost"),
)
"""The documented fields of a row of a summary, in their order."""


class Columns:
    """Chosen columns, checked against the first events: a name that nobody knows is a mistake.

    Args:
        chosen: the names, in the order of the output.
        known: names that need not be in any event.

    Raises:
        ConfigurationError: for something else than names, or none.

    Attributes:
        names: the chosen names, each once.

    Example:
        >>> Columns(["revenue", "odd"]).choose([{"event_id": "a", "odd": 1}])
        ('revenue', 'odd')
    """

    def __init__(self, chosen: Iterable[str], known: Iterable[str] = EVENT_COLUMNS) -> None:
        self.names = tuple(dict.fromkeys(_names(chosen)))
        self._known = tuple(known)
        self._checked = False

    def choose(self, rows: Sequence[Mapping[str, Json]]) -> tuple[str, ...]:
        """The chosen names, once the first page has shown that each of them exists.

        Raises:
            ConfigurationError: for a name that is neither documented nor in that page.

        Example:
            >>> Columns(["revnue"]).choose([{"event_id": "a"}])
            Traceback (most recent call last):
            ConfigurationError: ...revnue...
        """
        if not self._checked and rows:
            known = dict.fromkeys((*self._known, *(name for row in rows for name in row)))
            for name in self.names:
                if name not in known:
                    raise ConfigurationError(_unknown(name, list(known)))
            self._checked = True
        return self.names


def _names(chosen: object) -> list[str]:
    """The names as a list; text is not taken for a list of letters."""
    if isinstance(chosen, Iterable) and not isinstance(chosen, str):
        names = list(chosen)
        if not names:
            raise ConfigurationError(
                "columns: no name is in it; name at least one, or pass None for all."
            )
        if all(isinstance(each, str) for each in names):
            return names
    raise ConfigurationError(
        f"columns={chosen!r}: pass a list of names, such as ['event_time', 'revenue']."
    )


def _unknown(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"Did you mean '{near[0]}'?" if near else f"There are: {', '.join(known)}."
    return f"columns: no column '{name}'. {hint}"
