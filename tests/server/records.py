"""Events made by hand."""

from uuid import UUID

from adanalytics_server.clock import rfc3339
from adanalytics_server.storage.events import LogEvent, Record, encode_event, record_of
from adanalytics_server.storage.money import text_from_nanos


def make_record(
    time: int,
    number: int = 0,
    *,
    event_type: str = "impression",
    campaign_id: int | None = 7,
    demand_tag_id: int | None = 70,
    revenue: int = 2_500_000,
    cost: int | None = 1_000_000,
    is_filtered: bool = False,
) -> Record:
    """Make a record from its time (ms since 1970) and number; both also name its event id."""
    event_id = UUID(int=number)
    instant = rfc3339(time)
    event = LogEvent(
        event_id=str(event_id),
        event_time=instant,
        event_date=instant[:10],
        event_hour=int(instant[11:13]),
        received_at=instant,
        event_type=event_type,
        auction_id=str(event_id),
        partner_id="acme",
        supply_tag_id=1,
        demand_tag_id=demand_tag_id,
        campaign_id=campaign_id,
        creative_id=None,
        deal_id=None,
        media_type="video",
        device_type="ctv",
        country="DE",
        os=None,
        currency="USD",
        revenue=text_from_nanos(revenue),
        cost=None if cost is None else text_from_nanos(cost),
        payment_type="cpm",
        domain=None,
        app_bundle=None,
        error_code=None,
        is_filtered=is_filtered,
        key_values={},
    )
    return record_of(event, encode_event(event), time=time)
