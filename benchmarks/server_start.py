"""How soon a server inside a test answers, and how soon its controls bring everything back.

    python benchmarks/server_start.py

Wall time, after imports; the best of some runs, because the rest of the machine is in it.
"""

import time
from collections.abc import Callable

import httpx

from adanalytics_server.local import LocalServer, Sample

RUNS = 10


def say(what: str, milliseconds: float, limit: str) -> None:
    print(f"{what:<58} {milliseconds:>7.2f}   {limit}")


def milliseconds_of(work: Callable[[], object]) -> float:
    """Return the time of the fastest of some runs."""
    took = []
    for _ in range(RUNS):
        began = time.perf_counter()
        work()
        took.append(time.perf_counter() - began)
    return min(took) * 1000


def main() -> None:
    """Start servers and ask each of them once; then reset one again and again."""
    took = []
    with httpx.Client() as http:
        for _ in range(RUNS):
            began = time.perf_counter()
            with LocalServer() as server:
                http.get(f"{server.url}/livez").raise_for_status()
                took.append(time.perf_counter() - began)
        say("milliseconds from nothing to a first answer", min(took) * 1000, "at most 60")
        with LocalServer(sample=Sample()) as server:
            headers = {"Authorization": f"Bearer {server.api_key}"}
            dates = f"{server.url}/api/partners/{server.partner}/ad-analytics/dates"

            def use_and_reset() -> None:
                http.get(dates, headers=headers).raise_for_status()
                server.reset()

            alone = milliseconds_of(lambda: http.get(dates, headers=headers).raise_for_status())
            say("milliseconds of a reset", milliseconds_of(use_and_reset) - alone, "at most 5")
            url = f"{server.url}/_control/reset"
            posted = milliseconds_of(lambda: http.post(url).raise_for_status())
            say("milliseconds of a reset over HTTP", posted, "for information")


if __name__ == "__main__":
    main()
