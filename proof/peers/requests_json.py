"""The loop that most programs begin with: requests, a dict and a line for each event."""

import json
import os
import sys
from pathlib import Path

import requests


def main(day: str, target: Path) -> None:
    """Write the events of a day as JSON lines."""
    partner = os.environ["ADANALYTICS_PARTNER"]
    url = f"{os.environ['ADANALYTICS_BASE_URL']}/api/partners/{partner}/ad-analytics/events"
    with requests.Session() as session, target.open("w") as file:
        session.headers["Authorization"] = f"Bearer {os.environ['ADANALYTICS_API_KEY']}"
        page, more = 0, True
        while more:
            page += 1
            query = {"start_date": day, "end_date": day, "page": str(page), "per_page": "10000"}
            answer = session.get(url, params=query, timeout=60)
            answer.raise_for_status()
            body = answer.json()
            file.writelines(json.dumps(event) + "\n" for event in body["data"])
            more = page * 10_000 < body["meta"]["total"]


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
