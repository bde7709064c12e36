"""One generated auction as records; bodies are put together from text that is ready.

Encoding 26 fields from an object would take longer than everything else here.
"""

import json
from functools import lru_cache

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
from adanalytics_server.storage.events import EVENT_TYPE_NUMBERS, Record
from adanalytics_server.storage.money import text_from_nanos

_NO_MONEY = f'"{text_from_nanos(0)}"'


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
        self._partner = json.dumps(partner_id, ensure_ascii=False)
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
        middle = self._middle(placement, campaign)
        end = (
            f'"is_filtered":{_json(is_filtered)},'
            f'"key_values":{KEY_VALUES[draw() % len(KEY_VALUES)]}}}'
        )
        site = (
            f'"payment_type":"{campaign.payment}",'
            f'"domain":{_json(placement.domain)},"app_bundle":{_json(placement.app_bundle)}'
        )
        records = []
        for after, event_type, error_code in steps:
            time = request + after
            text = format_timestamp(time)
            event_id, event_id_text = next(self._ids)
            revenue = self._price(campaign) if event_type == campaign.paid_event else 0
            cost = _cost(revenue, campaign) if shows_cost else None
            body = (
                f'{{"event_id":"{event_id_text}","event_time":"{text}",'
                f'"event_date":"{text[:10]}","event_hour":{int(text[11:13])},'
                f'"received_at":"{format_timestamp(time + self._delay())}",'
                f'"event_type":"{event_type}",{middle}'
                f'"revenue":{_money(revenue)},"cost":{_money(cost)},{site},'
                f'"error_code":{_json(error_code)},{end}'
            )
            records.append(
                Record(
                    time,
                    event_id,
                    body.encode(),
                    EVENT_TYPE_NUMBERS[event_type],
                    campaign.number,
                    campaign.demand_tag,
                    revenue,
                    cost,
                    is_filtered,
                )
            )
        return records

    def _winner(self, placement: Placement) -> Campaign:
        if self._draw() % 100 >= 78:
            return NOBODY
        campaigns = CAMPAIGNS[placement.media_type]
        return campaigns[self._draw() % len(campaigns)]

    def _middle(self, placement: Placement, campaign: Campaign) -> str:
        draw = self._draw
        device, os = placement.devices[draw() % len(placement.devices)]
        creative = campaign.creatives[draw() % len(campaign.creatives)]
        return (
            f'"auction_id":"{next(self._ids)[1]}","partner_id":{self._partner},'
            f'"supply_tag_id":{placement.supply_tag},'
            f'"demand_tag_id":{_json(campaign.demand_tag)},'
            f'"campaign_id":{_json(campaign.number)},'
            f'"creative_id":{_json(creative)},"deal_id":{_json(campaign.deal)},'
            f'"media_type":"{placement.media_type}","device_type":"{device}",'
            f'"country":{_json(COUNTRIES[draw() % len(COUNTRIES)])},'
            f'"os":{_json(os)},"currency":"{self._currency}",'
        )

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


def _money(nanos: int | None) -> str:
    if nanos is None:
        return "null"
    return f'"{text_from_nanos(nanos)}"' if nanos else _NO_MONEY


@lru_cache(maxsize=1024)
def _json(value: str | int | None) -> str:
    return json.dumps(value)
