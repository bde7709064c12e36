"""What a run was asked for, and what it did."""

from dataclasses import dataclass, field
from datetime import datetime

from adanalytics_client import Period
from adanalytics_client.dataset.failure_report import BadQuery
from adanalytics_client.dataset.hours import Hour
from adanalytics_client.dataset.planning import Via


@dataclass(frozen=True, slots=True)
class Order:
    """What a run is asked for.

    Attributes:
        span: the days, or None for all that the service has.
        repull: how many of the last days to ask for in any case.
        via: how hours may be asked for.
    """

    span: Period | None = None
    repull: int = 0
    via: Via = "auto"


@dataclass(slots=True)
class Outcome:
    """What a run did so far.

    Attributes:
        began: when it began.
        pulled: hours that were put in place, with their events.
        damaged: what was found broken, and was pulled again.
        bad: queries that could not be answered well.
        wanted: how many hours were to be pulled, None until that is known.
    """

    began: datetime
    pulled: dict[Hour, int] = field(default_factory=dict)
    damaged: list[str] = field(default_factory=list)
    bad: list[BadQuery] = field(default_factory=list)
    wanted: int | None = None

    @property
    def left(self) -> int:
        """Hours that were to be pulled and are not."""
        return (self.wanted or 0) - len(self.pulled)

    @property
    def progress(self) -> str:
        """How far it came, in words."""
        if self.wanted is None:
            return "which hours are missing was not known yet"
        if not self.wanted:
            return "no hour was missing"
        return f"{len(self.pulled):,} of {self.wanted:,} hours are done"

    @property
    def events(self) -> int:
        """Events of the hours that were put in place."""
        return sum(self.pulled.values())
