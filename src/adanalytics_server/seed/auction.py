"""Generate auctions as records from random numbers that are the same on every machine.

``random.Random`` guarantees its sequence for one method only; SHAKE-256 guarantees every bit.
"""

import hashlib
import struct
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, NamedTuple

from adanalytics_server.clock import MILLISECONDS_PER_DAY, rfc3339
from adanalytics_server.storage.events import LogEvent, Record, encode_event, record_of
from adanalytics_server.storage.money import text_from_nanos

from . import catalogue
from .catalogue import Campaign, Placement

_WORDS = struct.Struct("<4096I")
_IDS_PER_BLOCK = 1024


def numbers(key: str) -> Iterator[int]:
    """Yield endless integers from 0 to 2**32 - 1 that depend on ``key`` only."""
    for block in count():
        yield from _WORDS.unpack(_block(f"{key}/number/{block}", _WORDS.size))


def uuids(key: str) -> Iterator[str]:
    """Yield endless UUIDs that depend on ``key`` only."""
    for block in count():
        digits = _block(f"{key}/uuid/{block}", 16 * _IDS_PER_BLOCK).hex()
        for start in range(0, len(digits), 32):
            # RFC 9562, version 4; `UUID` takes four times as long.
            text, variant = digits[start : start + 32], "89ab"[int(digits[start + 16], 16) % 4]
            yield f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{variant}{text[17:20]}-{text[20:]}"


def _block(name: str, size: int) -> bytes:
    return hashlib.shake_256(name.encode()).digest(size)


Draw = Callable[[], int]
# The longest delay of an event after its auction, in milliseconds.
LONGEST = 60_000
_SPOTS = (6_000, 15_000, 15_000, 20_000, 30_000)
_QUARTILES = ("first_quartile", "midpoint", "third_quartile", "complete")


class Step(NamedTuple):
    """An event of an auction: milliseconds after the request, type, VAST error."""

    delay: int
    event_type: str
    error_code: int | None = None


def unfilled(draw: Draw) -> list[Step]:
    """Return the events of a request without an ad; one in six has an error."""
    steps = [Step(0, "ad_request")]
    if draw() % 6 == 0:
        code = catalogue.REQUEST_ERRORS[draw() % len(catalogue.REQUEST_ERRORS)]
        steps.append(Step(80 + draw() % 2_000, "error", code))
    return steps


def shown(draw: Draw) -> list[Step]:
    """Return the events of a display or native ad: a request, an impression, rarely a click."""
    impression = 60 + draw() % 700
    steps = [Step(0, "ad_request"), Step(impression, "impression")]
    if draw() % 120 == 0:
        steps.append(Step(impression + 900 + draw() % 25_000, "click"))
    return steps


def played(draw: Draw) -> list[Step]:
    """Return the events of a video or audio ad up to its end, a skip, an error or a dropout."""
    now = 120 + draw() % 900
    steps = [Step(0, "ad_request"), Step(now, "impression")]
    if draw() % 90 == 0:
        code = catalogue.PLAYBACK_ERRORS[draw() % len(catalogue.PLAYBACK_ERRORS)]
        return [*steps, Step(now + 40 + draw() % 400, "error", code)]
    now += 20 + draw() % 250
    steps.append(Step(now, "start"))
    quarter = _SPOTS[draw() % len(_SPOTS)] // 4
    for quartile in _QUARTILES:
        # One number decides what the viewer does in this quarter.
        chance = draw() % 1000
        if chance < 45:
            return [*steps, Step(now + 1 + draw() % quarter, "skip")]
        if chance < 105:
            return steps
        if chance < 108:
            steps.append(Step(now + 1 + draw() % quarter, "click"))
        now += quarter
        steps.append(Step(now, quartile))
    return steps


class Auctions:
    """Generates auctions of one ``day`` (ms since 1970) from the random sequence of a ``key``."""

    def __init__(self, key: str, *, partner_id: str, currency: str, day: int) -> None:
        self._draw: Draw = numbers(key).__next__
        self._ids = uuids(key)
        self._partner_id = partner_id
        self._currency = currency
        self._day_end = day + MILLISECONDS_PER_DAY

    def auction(self, *, earliest: int, width: int, limit: int) -> list[Record]:
        """Generate an auction that begins within ``width`` ms after ``earliest`` (ms since 1970).

        It has at most ``limit`` records; later events are left out.
        """
        draw = self._draw
        placement = catalogue.PLACEMENTS[draw() % len(catalogue.PLACEMENTS)]
        campaign = self._winner(placement)
        play = played if placement.media_type in ("video", "audio") else shown
        steps = (unfilled if campaign is catalogue.NOBODY else play)(draw)[:limit]
        # The auction must end within the day, which has an exact number of events.
        request = min(earliest + draw() % width, self._day_end - 1 - steps[-1].delay)
        is_filtered = draw() % 100 == 0
        # The partner may not see some costs.
        shows_cost = draw() % 300 != 0
        device, os = placement.devices[draw() % len(placement.devices)]
        creative = campaign.creatives[draw() % len(campaign.creatives)]
        fields = {
            "auction_id": next(self._ids),
            "partner_id": self._partner_id,
            "supply_tag_id": placement.supply_tag,
            "demand_tag_id": campaign.demand_tag,
            "campaign_id": campaign.number,
            "creative_id": creative,
            "deal_id": campaign.deal,
            "media_type": placement.media_type,
            "device_type": device,
            "country": catalogue.COUNTRIES[draw() % len(catalogue.COUNTRIES)],
            "os": os,
            "currency": self._currency,
            "payment_type": campaign.payment,
            "domain": placement.domain,
            "app_bundle": placement.app_bundle,
            "is_filtered": is_filtered,
            "key_values": catalogue.KEY_VALUES[draw() % len(catalogue.KEY_VALUES)],
        }
        return [self._record(request, step, campaign, shows_cost, fields) for step in steps]

    def _record(
        self, request: int, step: Step, campaign: Campaign, shows_cost: bool, fields: dict[str, Any]
    ) -> Record:
        time = request + step.delay
        text = rfc3339(time)
        revenue = self._price(campaign) if step.event_type == campaign.paid_event else 0
        cost = _cost(revenue, campaign) if shows_cost else None
        event = LogEvent(
            event_id=next(self._ids),
            event_time=text,
            event_date=text[:10],
            event_hour=int(text[11:13]),
            received_at=rfc3339(time + self._delay()),
            event_type=step.event_type,
            revenue=text_from_nanos(revenue),
            cost=None if cost is None else text_from_nanos(cost),
            error_code=step.error_code,
            **fields,
        )
        return record_of(event, encode_event(event), time=time)

    def _winner(self, placement: Placement) -> Campaign:
        if self._draw() % 100 >= 78:
            return catalogue.NOBODY
        campaigns = catalogue.CAMPAIGNS[placement.media_type]
        return campaigns[self._draw() % len(campaigns)]

    def _price(self, campaign: Campaign) -> int:
        lowest, highest = campaign.price
        price = lowest + self._draw() % (highest - lowest + 1)
        # A few corrections take back the payment of an earlier event.
        return -price if self._draw() % 250 == 0 else price

    def _delay(self) -> int:
        """Return the delay of an event's arrival in milliseconds: one event in 100 is late."""
        draw = self._draw()
        return 60_000 + draw % 10_800_000 if draw % 100 == 0 else 20 + draw % 1_500


def _cost(revenue: int, campaign: Campaign) -> int:
    share = abs(revenue) * campaign.cost_share // 1000
    return share if revenue >= 0 else -share
