"""A model for a page, written by hand, that pydantic fills from the bytes of each answer."""

import os
import sys
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import httpx
from pydantic import BaseModel


class Event(BaseModel):
    """One event."""

    event_id: str
    event_time: datetime
    event_date: date
    event_hour: int
    received_at: datetime
    event_type: str
    auction_id: str
    partner_id: str
    supply_tag_id: int
    demand_tag_id: int | None
    campaign_id: int | None
    creative_id: str | None
    deal_id: str | None
    media_type: str
    device_type: str
    country: str | None
    os: str | None
    currency: str
    revenue: Decimal
    cost: Decimal | None
    payment_type: str
    domain: str | None
    app_bundle: str | None
    error_code: int | None
    is_filtered: bool
    key_values: dict[str, str]


class Meta(BaseModel):
    """Where the pages end."""

    total: int


class Page(BaseModel):
    """One answer."""

    data: list[Event]
    meta: Meta


def main(day: str, target: Path) -> None:
    """Make the events of a day objects, one after the other, and write their number."""
    partner = os.environ["ADANALYTICS_PARTNER"]
    url = f"{os.environ['ADANALYTICS_BASE_URL']}/api/partners/{partner}/ad-analytics/events"
    headers = {"Authorization": f"Bearer {os.environ['ADANALYTICS_API_KEY']}"}
    passed = 0
    with httpx.Client(headers=headers, timeout=60) as http:
        number, more = 0, True
        while more:
            number += 1
            query = {"start_date": day, "end_date": day, "page": str(number), "per_page": "10000"}
            answer = http.get(url, params=query)
            answer.raise_for_status()
            page = Page.model_validate_json(answer.content)
            for _event in page.data:
                passed += 1
            more = number * 10_000 < page.meta.total
    target.write_text(str(passed))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
