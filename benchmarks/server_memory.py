"""Memory of the server while it serves pages and exports, at two sizes of its data.

    python benchmarks/server_memory.py [EVENTS]

The server runs in its own process. Its events differ only in their ids and times: generating ten
million realistic ones would take longer than all the measurements.
"""

import sys
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

import httpx
from server_http import EVENTS_URL, EXPORT_URL, PER_PAGE, say
from server_process import ServerProcess, server

from adanalytics_server.local import LocalServer, Sample
from adanalytics_server.storage.events import EVENT_TYPE_NUMBERS, Record
from adanalytics_server.storage.ingest import ingest
from adanalytics_server.storage.store import PartnerStore

START = date(2026, 1, 1)
DAYS = 10
SMALL = 200_000
BYTES_LIMIT = "at most 250"
TEMPLATE = (
    '{"event_id":"%s","event_time":"%s","event_date":"%s","event_hour":%d,"received_at":"%s",'
    '"event_type":"impression","auction_id":"%s","partner_id":"acme","supply_tag_id":1,'
    '"demand_tag_id":2,"campaign_id":3,"creative_id":"creative","deal_id":null,'
    '"media_type":"video","device_type":"ctv","country":"DE","os":"android","currency":"USD",'
    '"revenue":"0.002500000","cost":"0.001000000","payment_type":"cpm","domain":"news.example",'
    '"app_bundle":null,"error_code":null,"is_filtered":false,"key_values":{"genre":"drama"}}'
)


def cheap_events(day: date, events: int) -> Iterator[Record]:
    """Give that many events of a day, in order."""
    begin = int(datetime.combine(day, datetime.min.time(), UTC).timestamp() * 1000)
    for number in range(events):
        at = begin + number * 86_400_000 // events
        instant = datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds")
        text = instant.replace("+00:00", "Z")
        name = UUID(int=begin << 64 | number)
        yield Record(
            time=at,
            event_id=name.bytes,
            body=(TEMPLATE % (name, text, text[:10], int(text[11:13]), text, name)).encode(),
            event_type=EVENT_TYPE_NUMBERS["impression"],
            campaign_id=3,
            demand_tag_id=2,
            revenue=2_500_000,
            cost=1_000_000,
            is_filtered=False,
        )


def fill(folder: Path, events: int) -> str:
    """Store events in a new folder and return a key for it."""
    sample = Sample(start=START - timedelta(days=1), events_per_day=1)
    with LocalServer(data=folder, sample=sample, rate_limit=0) as local:
        key = local.api_key
    store = PartnerStore(folder / "partners" / "1")
    for number in range(DAYS):
        ingest(store, cheap_events(START + timedelta(days=number), events // DAYS))
    store.close()
    (folder / "page.json").write_bytes(b"{}")
    return key


def paging(http: httpx.Client, events: int) -> None:
    """Read every twentieth page of all days, and the last one."""
    last = events // PER_PAGE
    for page in [*range(1, last, 20), last]:
        query = {**dates(), "per_page": PER_PAGE, "page": page}
        with http.stream("GET", EVENTS_URL, params=query) as answer:
            size = sum(len(piece) for piece in answer.iter_raw())
        if size < PER_PAGE:
            raise RuntimeError(f"page {page} is short: {size} bytes")


def exporting(http: httpx.Client, form: str, events: int) -> None:
    """Export everything in one format, and download it."""
    job = http.post(EXPORT_URL, json={**dates(), "format": form}).json()
    while True:
        with httpx.stream("GET", job["download_url"], timeout=60) as answer:
            if answer.status_code == 200:
                for _ in answer.iter_raw():
                    pass
                break
        time.sleep(0.2)
    done = http.get(job["status_url"]).json()
    if done["row_count"] != events:
        raise RuntimeError(f"the export has {done['row_count']} rows")


def dates() -> dict[str, str]:
    return {
        "start_date": START.isoformat(),
        "end_date": (START + timedelta(days=DAYS - 1)).isoformat(),
    }


def measure(events: int) -> dict[str, float]:
    """Return the peak resident megabytes after each kind of work on that many events."""
    with TemporaryDirectory() as name:
        key = fill(Path(name), events)
        with server(Path(name)) as running:
            return _measured(running, key, events)


def _measured(running: ServerProcess, key: str, events: int) -> dict[str, float]:
    found: dict[str, float] = {}
    headers = {"Authorization": f"Bearer {key}"}
    with httpx.Client(base_url=running.url, headers=headers, timeout=600) as http:
        paging(http, events)
        found["paging"] = running.megabytes()
        for form in ("csv", "jsonl", "parquet"):
            exporting(http, form, events)
            found[f"{form} export"] = running.megabytes()
    return found


def main(events: int) -> None:
    """Measure with 200,000 events and with the number on the command line."""
    few, many = measure(SMALL), measure(events)
    print(f"{events:,} events over {DAYS} days, compared with {SMALL:,}")
    for what, megabytes in many.items():
        say(f"peak resident megabytes, after {what}", megabytes, BYTES_LIMIT)
        say(f"  / with {SMALL:,} events", megabytes / few[what], "flat")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400_000)
