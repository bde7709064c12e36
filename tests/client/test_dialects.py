"""Every dialect of the reference server, by each split and output: all rows, or a typed error."""

import asyncio
import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from adanalytics_client import AsyncClient, Client, QuotaPolicy, RetryPolicy
from adanalytics_client.errors import AdAnalyticsError
from adanalytics_server.faults import DIALECTS, ENDS, DialectError, dialect_of
from adanalytics_server.local import LocalServer, Sample

# `make test-dialects` tries each dialect with every split; otherwise each has one of its own.
IS_WHOLE_TABLE = os.environ.get("ADANALYTICS_DIALECTS") == "all"
SPLITS = ("hourly", "daily", "none", "auto")
# Enough events for the limit to matter.
LARGE = {"per-page-capped": 2_600, "total-capped": 11_500}
# How a service counts cannot differ from its rows and be right: no query shows which of them is.
REFUSED = {"total-capped": {"daily", "none", "auto"}, "page-empty": {"none", "daily", "auto"}}

Rows = Counter[str]

# What a service that is wrong in one way may do besides: state less, name its fields otherwise, or
# be wrong in a second way.
BESIDES = {
    "metadata": ("meta-none", "meta-has-more", "meta-pages", "meta-next", "meta-flat", "bare"),
    "fields": ("fields-counters", "fields-camel", "fields-ids", "ids-nil", "times-epoch"),
    "end": tuple(name for name in ENDS if not name.startswith(("says-", "accepted", "lists-"))),
}


def pairs() -> Iterator[str]:
    """Yield each wrong end with each of `BESIDES`; without the whole table, with one of a kind."""
    ends = BESIDES["end"]
    for at, end in enumerate(ends):
        for kind, names in BESIDES.items():
            besides = names[at + 1 :] if kind == "end" else names
            if not IS_WHOLE_TABLE:
                besides = () if kind == "end" else (names[at % len(names)],)
            for beside in besides:
                pair = f"{beside},{end}"
                with suppress(DialectError):
                    dialect_of(pair)
                    yield pair


PAIRS = [*pairs(), *([] if IS_WHOLE_TABLE else ["per-page-capped,total-capped"])]


def rows_of(lines: bytes) -> Rows:
    """Count the rows by their values; what a row says of its response is left out."""
    rows = [json.loads(line, parse_float=Decimal) for line in lines.splitlines()]
    for row in rows:
        row.pop("served_at", None)
    return Counter(json.dumps(row, sort_keys=True, default=str) for row in rows)


def sample_of(name: str) -> Sample:
    events = max((LARGE.get(each, 130) for each in name.split(",")), default=130)
    return Sample(days=2, events_per_day=events)


@cache
def plain_rows(events_per_day: int) -> bytes:
    sample = Sample(days=2, events_per_day=events_per_day)
    with (
        LocalServer(sample=sample) as server,
        Client(server.url, api_key=server.api_key, partner="acme") as client,
    ):
        query = client.events(sample.start, sample.start + timedelta(1))
        return b"".join(page.jsonl for page in query.text_pages())


def right_rows(name: str) -> Rows:
    """The rows of the plain server, as the dialect words them."""
    plain = map(json.loads, plain_rows(sample_of(name).events_per_day).splitlines())
    return rows_of(b"\n".join(map(msgspec.json.encode, dialect_of(name).rows([*plain]))))


def splits_of(name: str) -> tuple[str, ...]:
    at = [*DIALECTS, *PAIRS].index(name)
    return SPLITS if IS_WHOLE_TABLE else (SPLITS[at % len(SPLITS)],)


def pulls(
    server: LocalServer, sample: Sample, folder: Path, splits: tuple[str, ...]
) -> Iterator[tuple[str, str, Any]]:
    """Yield the split, the output and the rows or the error of each pull, by both clients."""
    days = sample.start, sample.start + timedelta(sample.days - 1)

    about: dict[str, Any] = {
        "api_key": server.api_key,
        "partner": "acme",
        "quota": QuotaPolicy(limit=None),
        "retry": RetryPolicy(attempts=1),
    }

    async def pull(split: Any) -> bytes:
        async with AsyncClient(server.url, **about) as client:
            pages = client.events(*days, split=split).text_pages()
            return b"".join([page.jsonl async for page in pages])

    with Client(server.url, **about) as client:
        for split in splits:
            file = folder / f"{split}.jsonl"
            query = client.events(*days, split=split)  # type: ignore[arg-type]  # it is one
            for how in ("iterated", "written", *(("async",) if split == "daily" else ())):
                try:
                    if how == "iterated":
                        lines = b"".join(page.jsonl for page in query.text_pages())
                    elif how == "written":
                        query.write(file)
                        lines = file.read_bytes()
                    else:
                        lines = asyncio.run(pull(split))
                except AdAnalyticsError as error:
                    assert not file.exists() or how != "written"
                    yield split, how, error
                else:
                    yield split, how, rows_of(lines)


def counts_of(server: LocalServer, sample: Sample) -> list[int]:
    """The total that the server states for each day."""
    with Client(server.url, api_key=server.api_key, partner="acme") as client:
        days = [sample.start + timedelta(day) for day in range(sample.days)]
        pages = [next(client.events(day, split="daily").text_pages()) for day in days]
    return [page.total or 0 for page in pages]


@pytest.mark.parametrize("name", DIALECTS)
def test_no_row_is_lost_in_silence(name: str, tmp_path: Path) -> None:
    choice, sample, right = DIALECTS[name], sample_of(name), right_rows(name)
    with LocalServer(sample=sample, dialect=name, rate_limit=0) as server:
        for split, how, came in pulls(server, sample, tmp_path, splits_of(name)):
            if isinstance(came, AdAnalyticsError):
                may_fail = not choice.is_whole or split in REFUSED.get(name, ())
                assert may_fail, f"{split} {how}: {came}"
            elif name == "times-local":
                # Other rows belong to these days; `ServiceProfile.zone` names them.
                assert came.total() == sum(counts_of(server, sample))
            else:
                assert came == right, f"{split} {how}: {came.total():,} of {right.total():,} rows"


@pytest.mark.parametrize("pair", PAIRS)
def test_two_faults_together_lose_no_row_in_silence(pair: str, tmp_path: Path) -> None:
    """One fault may hide what shows the other one; then an error is as good as the rows."""
    sample, right = sample_of(pair), right_rows(pair)
    with LocalServer(sample=sample, dialect=pair, rate_limit=0) as server:
        for split, how, came in pulls(server, sample, tmp_path, splits_of(pair)):
            if not isinstance(came, AdAnalyticsError):
                assert came == right, f"{split} {how}: {came.total():,} of {right.total():,} rows"
