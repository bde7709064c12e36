"""The same small request again and again with httpx alone."""

import os
import sys

import httpx


def main(requests: int) -> None:
    """Ask for the days with data so many times."""
    partner = os.environ["ADANALYTICS_PARTNER"]
    url = f"{os.environ['ADANALYTICS_BASE_URL']}/api/partners/{partner}/ad-analytics/dates"
    headers = {"Authorization": f"Bearer {os.environ['ADANALYTICS_API_KEY']}"}
    with httpx.Client(headers=headers) as http:
        for _ in range(requests):
            http.get(url).raise_for_status()


if __name__ == "__main__":
    main(int(sys.argv[1]))
