"""Answers of many reads, and one that unpacks to more than memory should hold."""

import subprocess
import sys
import zlib

import pytest
from tests.client.bench import Bench
from tests.client.stand_in import Say, StandIn

MIB = 1024 * 1024
READ_ONE_PAGE = """
import asyncio, resource, sys
from adanalytics_client import AsyncClient, Client, ProtocolError, QuotaPolicy

def highest():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

async def with_task():
    async with AsyncClient(sys.argv[1], **options) as client:
        await client.dates()

options = {"api_key": "k", "partner": "acme", "quota": QuotaPolicy(log="memory")}
before = highest()
try:
    if sys.argv[2] == "AsyncClient":
        asyncio.run(with_task())
    else:
        with Client(sys.argv[1], **options) as client:
            client.dates()
except ProtocolError as error:
    assert "is larger than 256 MiB" in str(error), error
    print(highest() - before)
"""


@pytest.mark.parametrize("kind", ["Client", "AsyncClient"])
def test_a_body_is_refused_before_it_is_unpacked_beyond_the_bound(
    stand_in: StandIn, kind: str
) -> None:
    deflate = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    block = deflate.compress(bytes(16 * MIB)) + deflate.flush(zlib.Z_FULL_FLUSH)
    packed = b"\x1f\x8b\x08" + bytes(7) + block * 64
    stand_in.says(Say(packed, headers={"Content-Encoding": "gzip"}))
    command = [sys.executable, "-c", READ_ONE_PAGE, stand_in.url, kind]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert int(done.stdout) < 320 * MIB


def test_a_page_of_many_reads_is_whole(bench: Bench) -> None:
    rows = [{"event_id": f"e{at}", "pad": "x" * 1000} for at in range(4_000)]
    bench.says(Say({"events": rows, "total": len(rows)}))
    assert bench.open().rows("2026-01-15", hour=3) == rows
