"""What long work tells the caller while it runs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

# Rows between two reports: about ten reports a second.
ROWS_BETWEEN_REPORTS = 5_000


@dataclass(frozen=True, slots=True)
class Progress:
    """A moment of a load or a generation.

    Attributes:
        stage: ``reading`` rows of a file, ``storing`` events, ``generating`` and storing them.
        rows: rows or events done in this stage.
        fraction: how much of the stage is done, 0.0 to 1.0; by bytes where rows are not known.
    """

    stage: Literal["reading", "storing", "generating"]
    rows: int
    fraction: float


OnProgress = Callable[[Progress], None]
