"""Pages that httpx receives and pyarrow.json parses to columns, and nothing else."""

import io
import os
import sys
from pathlib import Path

import httpx
import pyarrow.compute as pc
import pyarrow.json as pj


def main(day: str, target: Path) -> None:
    """Parse the events of a day to columns, and write their number."""
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
            # By default the largest block is 1 MiB, and this is one document.
            options = pj.ReadOptions(block_size=len(answer.content) + 1)
            table = pj.read_json(io.BytesIO(answer.content), read_options=options)
            passed += pc.list_flatten(table["data"]).length()
            more = number * 10_000 < table["meta"][0]["total"].as_py()
    target.write_text(str(passed))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
