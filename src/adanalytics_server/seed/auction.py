"""Generated auctions, as records."""

from typing import Any

from adanalytics_server.clock import MILLISECONDS_PER_DAY
from adanalytics_server.loading.timestamps import format_timestamp
from adanalytics_server.seed.catalogue import (
    CAMPAIGNS,
    COUNTRIES,
    KEY_VALUES,
    NOBODY,
    PLACEMENTS,
    Campaign,
    Placement,
)
from adanalytics_server.seed.draws import numbers, uuids
from adanalytics_server.seed.funnel import Draw, Step, played, shown, unfilled
from adanalytics_server.storage.events import EVENT_TYPE_NUMBERS, LogEvent, Record, encode_event
from adanalytics_server.storage.money import text_from_nanos


class Auctions:
    """Makes auctions from one sequence of chance.

    Args:
        key: what the sequence depends on.
        partner_id: the partner that the events belong to.
        currency: ISO 4217 code.
        day: start of the day, in milliseconds since 1970; every event lies within the day.
    """

    def __init__(self, key: str, *, partner_id: str, currency: str, day: int) -> None:
        self._draw: Draw = numbers(key).__next__
        self._ids = uuids(key)
        self._partner_id = partner_id
        self._currency = currency
        self._day_end = day + MILLISECONDS_PER_DAY

    def auction(self, *, earliest: int, width: int, most: int) -> list[Record]:
        """Make the records of one auction.

        Args:
            earliest: first possible time of the request, in milliseconds since 1970.
            width: milliseconds from there within which the request comes.
            most: events at most; later ones of the funnel are left out.
        """
        draw = self._draw
        placement = PLACEMENTS[draw() % len(PLACEMENTS)]
        campaign = self._winner(placement)
        steps = _steps(draw, placement, campaign)[:most]
        # The whole funnel fits into the day: a day has exactly the events asked for.
        request = min(earliest + draw() % width, self._day_end - 1 - steps[-1].after)
        is_filtered = draw() % 100 == 0
        # Some costs are not this partner's to see.
        shows_cost = draw() % 300 != 0
        device, os = placement.devices[draw() % len(placement.devices)]
        creative = campaign.creatives[draw() % len(campaign.creatives)]
        shared = {
            "auction_id": next(self._ids)[1],
            "partner_id": self._partner_id,
            "supply_tag_id": placement.supply_tag,
            "demand_tag_id": campaign.demand_tag,
            "campaign_id": campaign.number,
            "creative_id": creative,
            "deal_id": campaign.deal,
            "media_type": placement.media_type,
            "device_type": device,
            "country": COUNTRIES[draw() % len(COUNTRIES)],
            "os": os,
            "currency": self._currency,
            "payment_type": campaign.payment,
            "domain": placement.domain,
            "app_bundle": placement.app_bundle,
            "is_filtered": is_filtered,
            "key_values": KEY_VALUES[draw() % len(KEY_VALUES)],
        }
        return [self._record(request, step, campaign, shows_cost, shared) for step in steps]

    def _record(
        self, request: int, step: Step, campaign: Campaign, shows_cost: bool, shared: dict[str, Any]
    ) -> Record:
        time = request + step.after
        text = format_timestamp(time)
        event_id, event_id_text = next(self._ids)
        revenue = self._price(campaign) if step.event_type == campaign.paid_event else 0
        cost = _cost(revenue, campaign) if shows_cost else None
        event = LogEvent(
            event_id=event_id_text,
            event_time=text,
            event_date=text[:10],
            event_hour=int(text[11:13]),
            received_at=format_timestamp(time + self._delay()),
            event_type=step.event_type,
            revenue=text_from_nanos(revenue),
            cost=None if cost is None else text_from_nanos(cost),
            error_code=step.error_code,
            **shared,
        )
        return Record(
            time=time,
            event_id=event_id,
            body=encode_event(event),
            event_type=EVENT_TYPE_NUMBERS[step.event_type],
            campaign_id=campaign.number,
            demand_tag_id=campaign.demand_tag,
            revenue=revenue,
            cost=cost,
            is_filtered=event.is_filtered,
        )

    def _winner(self, placement: Placement) -> Campaign:
        if self._draw() % 100 >= 78:
            return NOBODY
        campaigns = CAMPAIGNS[placement.media_type]
        return campaigns[self._draw() % len(campaigns)]

    def _price(self, campaign: Campaign) -> int:
        least, most = campaign.price
        price = least + self._draw() % (most - least + 1)
        # Now and then a correction takes back what an earlier event was paid.
        return -price if self._draw() % 250 == 0 else price

    def _delay(self) -> int:
        """Return how many milliseconds later an event is received: one in a hundred is late."""
        draw = self._draw()
        return 60_000 + draw % 10_800_000 if draw % 100 == 0 else 20 + draw % 1_500


def _steps(draw: Draw, placement: Placement, campaign: Campaign) -> list[Step]:
    if campaign is NOBODY:
        return unfilled(draw)
    return played(draw) if placement.media_type in ("video", "audio") else shown(draw)


def _cost(revenue: int, campaign: Campaign) -> int:
    share = abs(revenue) * campaign.cost_share // 1000
    return share if revenue >= 0 else -share
