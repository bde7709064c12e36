"""Pull yesterday into a file, and print how many requests are left.

    ADANALYTICS_BASE_URL=... ADANALYTICS_API_KEY=... ADANALYTICS_PARTNER=... \
        python examples/pull_a_day.py [YYYY-MM-DD] [FILE]
"""

import sys
from datetime import UTC, date, datetime, timedelta

from adanalytics_client import Client


def main(arguments: list[str]) -> None:
    yesterday = datetime.now(UTC).date() - timedelta(days=1)
    day = date.fromisoformat(arguments[0]) if arguments else yesterday
    target = arguments[1] if len(arguments) > 1 else f"{day}.jsonl"
    with Client.from_env() as client:
        written = client.events(day).write(target)
        print(f"{written} events in {target}; {client.quota.remaining} requests left this hour")


if __name__ == "__main__":
    main(sys.argv[1:])
