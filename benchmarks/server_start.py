"""Wall time until a server inside a test answers, stops, and is reset.

    python benchmarks/server_start.py

Time counts after the imports. The best of several runs counts, because other work on the machine
can only delay one. Stops alternate with those of bare uvicorn with the smallest application.
"""

import statistics
import threading
import time
from collections.abc import Callable

import httpx
import uvicorn
from starlette.types import Receive, Scope, Send

from adanalytics_server.local import LocalServer, Sample

RUNS = 10


def say(what: str, milliseconds: float, limit: str) -> None:
    print(f"{what:<58} {milliseconds:>7.2f}   {limit}")


def milliseconds_of(work: Callable[[], object]) -> float:
    """Return the time of the fastest of several runs."""
    took = []
    for _ in range(RUNS):
        began = time.perf_counter()
        work()
        took.append(time.perf_counter() - began)
    return min(took) * 1000


async def smallest_app(_scope: Scope, receive: Receive, send: Send) -> None:
    """Start up and shut down, and nothing in between."""
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})


def seconds_of_a_stop() -> float:
    server = LocalServer()
    with server:
        began = time.perf_counter()
        server.close()
        return time.perf_counter() - began


def seconds_of_a_stop_of_uvicorn() -> float:
    server = uvicorn.Server(uvicorn.Config(smallest_app, port=0, log_config=None))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.001)
    began = time.perf_counter()
    server.should_exit = True
    thread.join()
    return time.perf_counter() - began


def compare_stops() -> None:
    pairs = [(seconds_of_a_stop(), seconds_of_a_stop_of_uvicorn()) for _ in range(RUNS)]
    ours = statistics.median(our for our, _ in pairs) * 1000
    ratio = statistics.median(our / peer for our, peer in pairs)
    say("milliseconds of a stop", ours, "for information")
    say("a stop / a stop of bare uvicorn", ratio, "at most 0.20")


def main() -> None:
    """Start servers and request something from each, stop some, then reset one repeatedly."""
    took = []
    with httpx.Client() as http:
        for _ in range(RUNS):
            began = time.perf_counter()
            with LocalServer() as server:
                http.get(f"{server.url}/livez").raise_for_status()
                took.append(time.perf_counter() - began)
        say("milliseconds from start to the first answer", min(took) * 1000, "at most 60")
        compare_stops()
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
