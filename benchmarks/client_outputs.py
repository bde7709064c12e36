"""CPU time of the client's outputs, against the simplest programs that do the same.

    python benchmarks/client_outputs.py [EVENTS]

The server runs in its own process. CPU time is that of this process with all its threads. The peer
runs right after each run of ours, and each figure is the median ratio of such pairs: the shortest
run of a side would only show its luckiest state of memory.
"""

import asyncio
import io
import json
import sys
import time
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import httpx
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj
from page_bodies import DAY, EVENTS_PATH, PAGE, RANGE, Bench
from pydantic import TypeAdapter
from server_process import server

from adanalytics_client import AsyncClient, Event
from adanalytics_client.tables import event_schema
from adanalytics_server.local import LocalServer, Sample

# More pairs for work of a few milliseconds per page: a new file costs several times as much in runs
# in which the machine has to find memory for it.
PAIRS = 9
SHORT_PAIRS = 15


def cpu(work: Callable[[], object]) -> float:
    """Measure the work, then remove the file that it wrote, so that the next one is new, too."""
    before = time.process_time()
    written = work()
    spent = time.process_time() - before
    if isinstance(written, Path):
        written.unlink()
    return spent


def compare(
    what: str, ours: Callable[[], object], peer: Callable[[], object], goal: str, pairs: int = PAIRS
) -> None:
    """Run both in turn and print the median ratio of their CPU times; the first pair warms up."""
    ratios = [cpu(ours) / cpu(peer) for _ in range(pairs + 1)]
    print(f"{what:<66} {median(ratios[1:]):>6.2f}   {goal}")


def writing(bench: Bench) -> None:
    what = "write jsonl, hourly / reading the same bodies with httpx"
    compare(what, bench.write_hourly, bench.read_hourly, "at most 2.2", SHORT_PAIRS)
    # The client compares the ids of a query's pages; a single page needs no comparison.
    peers = {
        "reading the bodies with httpx": (bench.read_whole, "at most 2.2"),
        "receiving with httpx, discarding all": (bench.read_only, "for information"),
        "saving the bodies with httpx": (bench.save, "for information"),
    }
    for name, (peer, goal) in peers.items():
        what = f"write jsonl, one query / {name}"
        compare(what, lambda: bench.write("x.jsonl"), peer, goal, SHORT_PAIRS)

    what = "saving the bodies with a socket alone / discarding all"
    compare(what, bench.save_raw, bench.read_only, "for information", SHORT_PAIRS)

    compare(
        "write jsonl / requests, json.loads, json.dumps",
        lambda: bench.write("x.jsonl"),
        bench.save_with_requests,
        "at most 0.30",
    )
    compare(
        "write jsonl, hourly / httpx and orjson in threads",
        bench.write_hourly,
        bench.save_with_orjson,
        "at most 0.50",
    )

    def parsed() -> Path:
        path = bench.folder / "peer.jsonl"
        with path.open("w") as file:
            for body in bench.stream(PAGE):
                file.writelines(
                    json.dumps(row) + "\n"
                    for row in json.loads(body, parse_float=Decimal)["events"]
                )
        return path

    what = "write jsonl / httpx, json.loads, json.dumps"
    compare(what, lambda: bench.write("x.jsonl"), parsed, "for information")
    for name in ("x.jsonl.gz", "x.csv", "x.parquet"):
        what = f"write {name[2:]} / httpx, json.loads, json.dumps"
        compare(what, partial(bench.write, name), parsed, "for information")


def as_tasks(bench: Bench) -> None:
    """Measure the same on an event loop; both clients are open before anything is measured."""
    with asyncio.Runner() as loop:
        bare = httpx.AsyncClient(headers=bench.headers, timeout=60)
        client = AsyncClient(bench.url, api_key=bench.key, partner="acme", limit=None)

        async def read_only() -> None:
            for page in range(1, bench.pages + 1):
                query = {**RANGE, "page": str(page), "per_page": str(PAGE)}
                async with bare.stream("GET", bench.url + EVENTS_PATH, params=query) as answer:
                    async for _ in answer.aiter_raw():
                        pass

        async def write() -> Path:
            path = bench.folder / "x.jsonl"
            await client.events(DAY, split="none").write(path)
            return path

        what = "write jsonl as tasks / reading with httpx.AsyncClient"
        compare(what, lambda: loop.run(write()), lambda: loop.run(read_only()), "for information")
        loop.run(client.close())
        loop.run(bare.aclose())


def typed(bench: Bench) -> None:
    adapter = TypeAdapter(list[Event])
    arrays = bench.arrays()

    def iterate() -> None:
        for _event in bench.query():
            pass

    def validate() -> None:
        for array in arrays:
            for _event in adapter.validate_json(array):
                pass

    compare("for event in query / pydantic.validate_json alone", iterate, validate, "at most 1.2")


def tables(bench: Bench) -> None:
    lines = [array[1:-1].replace(b'},{"event_id"', b'}\n{"event_id"') for array in bench.arrays()]
    money = pa.decimal128(18, 9)
    schema = pa.schema(
        field.with_type(money) if pa.types.is_decimal(field.type) else field
        for field in event_schema()
    )
    of_text = (pa.types.is_decimal, pa.types.is_timestamp, pa.types.is_date)
    read = pa.schema(
        field.with_type(pa.string()) if any(each(field.type) for each in of_text) else field
        for field in schema
        if field.name != "key_values"
    )
    options = pj.ParseOptions(explicit_schema=read)

    def peer() -> None:
        pa.concat_tables(
            [cast(pj.read_json(io.BytesIO(each), parse_options=options)) for each in lines]
        )

    def cast(table: pa.Table) -> pa.Table:
        columns = [
            pairs(table[field.name])
            if field.name == "key_values"
            else table[field.name].cast(field.type)
            for field in schema
        ]
        return pa.table(columns, schema=schema)

    def pairs(column: pa.ChunkedArray) -> pa.Array:
        found = column.combine_chunks()
        keys = [field.name for field in found.type]
        each = [pc.struct_field(found, key).to_pylist() for key in keys]
        rows = [
            [(key, value) for key, value in zip(keys, values, strict=True) if value is not None]
            for values in zip(*each, strict=True)
        ]
        return pa.array(rows, schema.field("key_values").type)

    what = "to_arrow / pyarrow.json and casts, of lines in memory"
    compare(what, lambda: bench.query().to_arrow(), peer, "at most 1.5")


def by_hand(bench: Bench) -> None:
    """Measure the loop that people write first: the default page size, a dict for each event."""

    def loop() -> None:
        for body in bench.stream(1000):
            for _row in json.loads(body)["events"]:
                pass

    compare("a simple loop / write jsonl", loop, lambda: bench.write("x.jsonl"), "at least 3")
    print(f"{'requests of a simple loop / ours':<66} {PAGE / 1000:>6.2f}   at least 10")


def main(events: int) -> None:
    """Generate a day of events, serve it and measure."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        sample = Sample(start=DAY, days=1, events_per_day=events, seed=1)
        with LocalServer(data=folder, sample=sample, rate_limit=0) as local:
            key = local.api_key
        (folder / "page.json").write_bytes(b"{}")
        print(f"{events:,} events of one day, pages of {PAGE:,}")
        with server(folder) as running:
            bench = Bench(running.url, key, folder, events)
            writing(bench)
            as_tasks(bench)
            typed(bench)
            tables(bench)
            by_hand(bench)
            bench.client.close()
            bench.bare.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
