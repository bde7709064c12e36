"""The events of one auction, one after the other, as chance has it."""

from collections.abc import Callable
from typing import NamedTuple

from adanalytics_server.seed.catalogue import PLAYBACK_ERRORS, REQUEST_ERRORS

Draw = Callable[[], int]
# No event comes later after its auction than this, in milliseconds.
LONGEST = 60_000
_SPOTS = (6_000, 15_000, 15_000, 20_000, 30_000)
_QUARTILES = ("first_quartile", "midpoint", "third_quartile", "complete")


class Step(NamedTuple):
    """An event of an auction: milliseconds after the request, its type, its VAST error."""

    after: int
    event_type: str
    error_code: int | None = None


def unfilled(draw: Draw) -> list[Step]:
    """Give the events of a request that no ad was found for; one in six says why."""
    steps = [Step(0, "ad_request")]
    if draw() % 6 == 0:
        code = REQUEST_ERRORS[draw() % len(REQUEST_ERRORS)]
        steps.append(Step(80 + draw() % 2_000, "error", code))
    return steps


def shown(draw: Draw) -> list[Step]:
    """Give the events of a display or native ad: a request, an impression, seldom a click."""
    impression = 60 + draw() % 700
    steps = [Step(0, "ad_request"), Step(impression, "impression")]
    if draw() % 120 == 0:
        steps.append(Step(impression + 900 + draw() % 25_000, "click"))
    return steps


def played(draw: Draw) -> list[Step]:
    """Give the events of a video or audio ad up to its end, a skip, an error or a lost viewer."""
    now = 120 + draw() % 900
    steps = [Step(0, "ad_request"), Step(now, "impression")]
    if draw() % 90 == 0:
        code = PLAYBACK_ERRORS[draw() % len(PLAYBACK_ERRORS)]
        return [*steps, Step(now + 40 + draw() % 400, "error", code)]
    now += 20 + draw() % 250
    steps.append(Step(now, "start"))
    quarter = _SPOTS[draw() % len(_SPOTS)] // 4
    for quartile in _QUARTILES:
        fate = draw() % 1000
        if fate < 45:
            return [*steps, Step(now + 1 + draw() % quarter, "skip")]
        if fate < 105:
            return steps
        if fate < 108:
            steps.append(Step(now + 1 + draw() % quarter, "click"))
        now += quarter
        steps.append(Step(now, quartile))
    return steps
