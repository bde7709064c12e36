"""Ours beside httpx alone: the same small request again and again."""

import sys

from adanalytics_client import Client, QuotaPolicy

# More than are sent, so that none waits.
LIMIT = 1_000_000


def main(requests: int) -> None:
    """Ask for the days with data so many times; each is noted in the log of requests."""
    with Client.from_env(quota=QuotaPolicy(limit=LIMIT)) as client:
        for _ in range(requests):
            client.dates()


if __name__ == "__main__":
    main(int(sys.argv[1]))
