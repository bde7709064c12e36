"""Check that the events of a day add up to its summary, campaign by campaign, to the last digit."""

import sys
from collections import defaultdict
from decimal import Decimal

from adanalytics_client import Client


def main(day: str) -> None:
    with Client.from_env() as client:
        revenue: defaultdict[int | None, Decimal] = defaultdict(Decimal)
        for event in client.events(day):
            if not event.is_filtered:
                revenue[event.campaign_id] += event.revenue or 0
        differences = [
            f"{row['campaign_name']}: {row['revenue']} in the summary, {added} in the events"
            for row in client.summary(day, group_by="campaign").rows
            if row["revenue"] != (added := revenue.pop(row["campaign_id"], Decimal()))
        ]
    if differences or revenue:
        sys.exit("\n".join([*differences, *(f"not in the summary: {id_}" for id_ in revenue)]))
    print(f"{day}: events and summary agree")


if __name__ == "__main__":
    main(sys.argv[1])
