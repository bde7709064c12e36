"""The client that openapi-python-client generates from our OpenAPI document."""

import os
import sys
from datetime import date
from pathlib import Path

from generated.api.data import events
from generated.client import AuthenticatedClient
from generated.models import EventsAnswer


def main(day: str, target: Path) -> None:
    """Make the events of a day objects, one after the other, and write their number."""
    partner = os.environ["ADANALYTICS_PARTNER"]
    passed, date_of_events = 0, date.fromisoformat(day)
    with AuthenticatedClient(
        os.environ["ADANALYTICS_BASE_URL"], token=os.environ["ADANALYTICS_API_KEY"]
    ) as client:
        number, more = 0, True
        while more:
            number += 1
            page = events.sync(
                partner,
                client=client,
                start_date=date_of_events,
                end_date=date_of_events,
                page=number,
                per_page=10_000,
            )
            if not isinstance(page, EventsAnswer):
                raise TypeError(f"page {number}: {page}")
            for _event in page.data:
                passed += 1
            more = number * 10_000 < page.meta.total
    target.write_text(str(passed))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
