"""Pages that httpx receives and msgspec decodes to dicts, and nothing else."""

import os
import sys
from pathlib import Path

import httpx
import msgspec


def main(day: str, target: Path) -> None:
    """Decode the events of a day, and write their number."""
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
            page = msgspec.json.decode(answer.content)
            passed += len(page["data"])
            more = number * 10_000 < page["meta"]["total"]
    target.write_text(str(passed))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
