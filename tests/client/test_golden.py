"""The golden run: every output of the client, byte for byte, through public names only.

Each case pulls generated data from a reference server over loopback. `golden.json` holds the number
of requests and the lines of its output, and both variants, `Client` and `AsyncClient`, must give
them. A line that several outputs have is there once, with a number; an output is a list of such
numbers. They do not depend on the versions of pyarrow, pandas, polars or zlib: packed files are
unpacked and tables are compared as types and values.

To record the values anew, after a change of an output that is wanted, run from the project folder:

    .venv/bin/python -m tests.client.test_golden

It refuses to record a case in which the two variants differ.
"""

import difflib
import gzip
import io
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import chain, groupby
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.client.notes import Notes
from tests.client.variants import AsyncVariant, SyncVariant, Variant

from adanalytics_client import AsyncClient, Client, QuotaPolicy
from adanalytics_client.observers import RequestSent
from adanalytics_client.testing import MovableClock
from adanalytics_server.faults import SHAPES
from adanalytics_server.local import LocalServer, Sample

GOLDEN = Path(__file__).with_name("golden.json")

FIRST, SECOND, EMPTY = "2026-01-15", "2026-01-16", "2026-01-20"
EVENTS_A_DAY = 21
SAMPLE = Sample(days=2, events_per_day=EVENTS_A_DAY, seed=20260115)
# A day is three full pages, or two and a short one.
EVEN, UNEVEN = 7, 9
FEW = ("event_id", "revenue", "event_time", "os", "key_values")
SPLITS = ("hourly", "daily", "none", "auto")
GROUPINGS = ("day", "campaign", "demand_tag")
# Each look at an export moves the clock; a busy machine may need many looks.
PATIENCE = 80_000.0

# An export known by its id, details of errors and a lone row have tests of their own.
ELSEWHERE = ("export-job", "error-details", "summary-object")
DIALECTS = tuple(name for name in SHAPES if name not in ELSEWHERE)
# These change the answers to exports only.
ONLY_EXPORTS = ("link-", "status-")
# These change headers, or the size of a page, so one pull is enough.
ONE_PULL = ("rate-", "retry-", "per-page-")


VARIANTS: dict[str, Callable[..., Variant]] = {
    "sync": lambda *to, **options: SyncVariant(Client(*to, **options)),
    "async": lambda *to, **options: AsyncVariant(AsyncClient(*to, **options)),
}


class Servers:
    """One reference server a dialect, started when it is first needed."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._running: dict[str, tuple[LocalServer, MovableClock]] = {}

    def fresh(self, dialect: str) -> tuple[LocalServer, MovableClock]:
        """Return a server as it was after its start, and its clock."""
        if dialect not in self._running:
            clock = MovableClock(datetime(2026, 2, 1, tzinfo=UTC))
            server = LocalServer(
                sample=SAMPLE,
                rate_limit=1_000_000,
                # One day is exported within its request, two are exported by the worker.
                export_inline_max=EVENTS_A_DAY,
                dialect=dialect,
                clock=clock.of_server,
            )
            self._running[dialect] = (self._stack.enter_context(server), clock)
        server, clock = self._running[dialect]
        server.reset()
        return server, clock

    def close(self) -> None:
        self._stack.close()


class Bench:
    """Where a case runs: one variant, one server, one folder."""

    def __init__(self, variant: str, servers: Servers, dialect: str, folder: Path) -> None:
        self.folder = folder
        self._variant = variant
        self._opened: list[Variant] = []
        self._server, self._clock = servers.fresh(dialect)
        self.open()

    def open(self) -> None:
        """Go on with a new client, whose requests are counted from 0."""
        self.requests = Notes()
        variant = VARIANTS[self._variant](
            self._server.url,
            api_key=self._server.api_key,
            partner=self._server.partner,
            quota=QuotaPolicy(limit=None, log="memory"),
            observer=self.requests,
            clock=self._clock,
        )
        self._opened.append(variant)
        self.client, self.done, self.taken = variant.client, variant.done, variant.taken

    def close(self) -> None:
        for variant in self._opened:
            variant.close()

    def pull(self, start: str = FIRST, end: str | None = SECOND, **options: Any) -> Any:
        """Return a query of both days, one day after the other, unless told otherwise."""
        return self.client.events(start, end, **{"split": "daily", "per_page": UNEVEN, **options})


Run = Callable[[Bench], bytes]


class Output(NamedTuple):
    """What a case gives: the number of requests, if it is the same each time, and lines."""

    requests: int | None
    lines: list[str]


@dataclass(frozen=True)
class Case:
    """One output: what makes it, and where.

    Attributes:
        run: gives the bytes to compare.
        dialect: the dialect of the server.
        counted: whether the number of requests is the same each time.
    """

    run: Run
    dialect: str = "reference"
    counted: bool = True

    def measured(self, variant: str, servers: Servers, folder: Path) -> Output:
        """Run the case and return its output."""
        with closing(Bench(variant, servers, self.dialect, folder)) as bench:
            lines = self.run(bench).decode().split("\n")
            return Output(len(bench.requests.of(RequestSent)) if self.counted else None, lines)


# From outputs to bytes that any version of a library gives.


def as_json(found: Iterable[object], text: Callable[[object], str] = repr) -> bytes:
    """Write each element as a line of JSON, in the form of the lines of a file."""
    encode = json.JSONEncoder(default=text, separators=(",", ":"), ensure_ascii=False).encode
    return "\n".join(map(encode, found)).encode()


def of_table(table: Any) -> bytes:
    columns = [(field.name, str(field.type), field.nullable) for field in table.schema]
    return as_json([*columns, *table.to_pylist()], str)


def of_file(path: Path) -> bytes:
    """Read a file of any format; one that is packed is unpacked."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    content = path.read_bytes()
    if path.suffix == ".gz":
        assert content[:3] == b"\x1f\x8b\x08", f"{path.name} is not gzip"
        return gzip.decompress(content)
    if path.suffix == ".parquet":
        return of_table(pq.ParquetFile(path).read())
    if path.suffix == ".arrow":
        with pa.ipc.open_file(content) as reader:
            return of_table(reader.read_all())
    return content


# Runs: each gives the bytes of one output.


def write(bench: Bench, *, name: str, columns: Iterable[str] | None = None, **pull: Any) -> bytes:
    """Write a file; the number of events that is returned counts, too."""
    path = bench.folder / name
    written = bench.done(bench.pull(**pull).write(path, columns=columns))
    assert [each.name for each in bench.folder.iterdir()] == [name]
    return b"%d\n" % written + of_file(path)


def stream(bench: Bench, *, form: str, **pull: Any) -> bytes:
    """Write into a stream of bytes."""
    target = io.BytesIO()
    written = bench.done(bench.pull(**pull).write(target, format=form))
    return b"%d\n" % written + target.getvalue()


def typed(bench: Bench, **pull: Any) -> bytes:
    events = bench.taken(bench.pull(**pull))
    return "\n".join(event.model_dump_json() for event in events).encode()


def rows(bench: Bench, **pull: Any) -> bytes:
    return as_json(bench.taken(bench.pull(**pull).rows()))


def pages(bench: Bench, **pull: Any) -> bytes:
    found = bench.taken(bench.pull(**pull).pages())
    return as_json(chain.from_iterable([_numbers(page), *page.rows] for page in found))


def text_pages(bench: Bench, **pull: Any) -> bytes:
    found = bench.taken(bench.pull(**pull).text_pages())
    return b"".join(as_json([_numbers(page)]) + b"\n" + page.jsonl for page in found)


def _numbers(page: Any) -> tuple[object, ...]:
    is_sound = page.drift is None and page.partial is None
    return _asked(page.slice), page.number, len(page), page.last, page.total, is_sound


def _asked(query: Any) -> tuple[object, ...]:
    """The days and the hour of one query of a plan."""
    return query.start.isoformat(), query.end.isoformat(), query.hour


def arrow(bench: Bench, *, columns: Iterable[str] | None = None, **pull: Any) -> bytes:
    return of_table(bench.done(bench.pull(**pull).to_arrow(columns=columns)))


def arrow_batches(bench: Bench, *, columns: Iterable[str] | None = None) -> bytes:
    import pyarrow as pa

    found = bench.taken(bench.pull().to_arrow_batches(columns=columns))
    sizes = [batch.num_rows for batch in found]
    return as_json([sizes]) + b"\n" + of_table(pa.Table.from_batches(found))


def pandas(bench: Bench, *, columns: Iterable[str] | None = None) -> bytes:
    frame = bench.done(bench.pull(end=None).to_pandas(columns=columns))
    types = [(str(name), str(kind.pyarrow_dtype)) for name, kind in frame.dtypes.items()]
    return as_json([*types, *frame.to_dict("records")], str)


def polars(bench: Bench, *, columns: Iterable[str] | None = None) -> bytes:
    frame = bench.done(bench.pull().to_polars(columns=columns))
    # polars before 2 reads a map as a list of pairs.
    rows = [dict(zip(frame.columns, row, strict=True)) for row in frame.rows()]
    for row in rows:
        if isinstance(pairs := row.get("key_values"), list):
            row["key_values"] = {pair["key"]: pair["value"] for pair in pairs}
    return as_json([frame.columns, *rows], str)


def only_days(bench: Bench, **pull: Any) -> bytes:
    query = bench.pull(FIRST, EMPTY, **pull).only_days([SECOND, EMPTY])
    return as_json(bench.taken(query.rows()))


def plan(bench: Bench, **pull: Any) -> bytes:
    found = bench.pull(**pull).plan
    return as_json([found.least_requests, *(_asked(each) for each in found.slices)])


def resume(bench: Bench, *, after: int, **pull: Any) -> bytes:
    """Leave after a page, go on with a new client, and compare the halves with the whole."""
    whole = bench.taken(bench.pull(**pull).text_pages())
    first = bench.taken(bench.pull(**pull).text_pages(), after)
    bench.open()
    target = io.BytesIO()
    bench.done(bench.pull(resume=first[-1].token, **pull).write(target, format="jsonl"))
    halves = b"".join(page.jsonl for page in first) + target.getvalue()
    assert halves == b"".join(page.jsonl for page in whole)
    return halves


def dates(bench: Bench) -> bytes:
    return as_json([day.isoformat() for day in bench.done(bench.client.dates())])


def summaries(bench: Bench) -> bytes:
    """Ask for the totals and for each grouping."""
    orders = [bench.client.summary(FIRST, SECOND, group_by=each) for each in (None, *GROUPINGS)]
    return "\n".join(bench.done(order).model_dump_json() for order in orders).encode()


def export_job(
    bench: Bench, *, name: str, by_worker: bool, compression: str | None = None
) -> bytes:
    """Start an export, wait for it, download it."""
    path, form = bench.folder / name, name.split(".")[1]
    end = SECOND if by_worker else FIRST
    order = bench.client.start_export(FIRST, end, format=form, compression=compression)
    job = bench.done(order)
    assert job.last_status.done is not by_worker
    status = bench.done(job.wait(timeout=PATIENCE))
    assert bench.done(job.download(path)) == path
    assert [each.name for each in bench.folder.iterdir()] == [name]
    known = [status.phase.value, status.status_text, status.row_count, len(status.files)]
    return as_json([known]) + b"\n" + of_file(path)


def export_to(bench: Bench, *, name: str, by_worker: bool, compression: str | None = None) -> bytes:
    """Do the same in one call."""
    path, form = bench.folder / name, name.split(".")[1]
    end = SECOND if by_worker else FIRST
    order = bench.client.export(
        FIRST, end, to=path, format=form, compression=compression, timeout=PATIENCE
    )
    assert bench.done(order) == path
    assert [each.name for each in bench.folder.iterdir()] == [name]
    return of_file(path)


# The table.


def _outputs() -> Iterator[tuple[str, Run]]:
    for suffix in ("jsonl", "csv", "jsonl.gz", "csv.gz", "parquet", "arrow"):
        name = f"events.{suffix}"
        yield f"file {suffix}", partial(write, name=name)
        yield f"file {suffix}, columns", partial(write, name=name, columns=FEW)
        yield (
            f"file {suffix}, one day, max_events",
            partial(write, name=name, end=None, max_events=17),
        )
        yield f"file {suffix}, no events", partial(write, name=name, start=EMPTY, end=EMPTY)
    for form in ("jsonl", "csv"):
        yield f"stream {form}", partial(stream, form=form)
    for name, run in (("typed", typed), ("rows", rows), ("pages", pages), ("arrow", arrow)):
        yield name, run
        yield f"{name}, one hour", partial(run, hour=20, per_page=1)
        yield f"{name}, max_events", partial(run, max_events=17)
        yield f"{name}, no events", partial(run, start=EMPTY, end=EMPTY)
    yield "arrow, columns", partial(arrow, columns=FEW)
    for name, framed in (("arrow batches", arrow_batches), ("pandas", pandas), ("polars", polars)):
        yield name, framed
        yield f"{name}, columns", partial(framed, columns=FEW)
    yield "text pages", text_pages
    yield "text pages, max_events", partial(text_pages, max_events=17)
    yield "rows, only days", only_days
    yield "rows, only days, hourly", partial(only_days, split="hourly")


def _splits() -> Iterator[tuple[str, Run]]:
    for split in SPLITS:
        # A day is six pages, most hours are one or two; `auto` needs more pages to cut anything.
        pull: dict[str, Any] = {"split": split, "per_page": 2 if split == "auto" else 4}
        if split == "hourly":
            pull |= {"end": None, "per_page": 1}
        yield f"{split}: plan", partial(plan, **pull)
        yield f"{split}: jsonl", partial(write, name="events.jsonl", **pull)
        yield f"{split}: pages", partial(pages, **pull)
        yield f"{split}: rows, one request at a time", partial(rows, concurrency=1, **pull)
        end = None if split == "hourly" else SECOND
        yield f"{split}: jsonl, large pages", partial(stream, form="jsonl", split=split, end=end)
    # Two days of 21 pages are cut to days above; a day of 21 pages is cut to hours.
    yield "auto: pages, cut to hours", partial(pages, split="auto", end=None, per_page=1)
    for split, after in (("hourly", 5), ("daily", 1), ("daily", 4), ("none", 3), ("auto", 3)):
        name = f"{split}: resumed after page {after}"
        size = 1 if split == "hourly" else 3
        end = None if split == "hourly" else SECOND
        yield name, partial(resume, after=after, split=split, end=end, per_page=size)


def _exports() -> Iterator[tuple[str, Case]]:
    for worked, by_worker in (("inline", False), ("by the worker", True)):
        for form in ("csv", "jsonl", "parquet"):
            for compression in (None, "none", "gzip"):
                packed = compression == "gzip" and form != "parquet"
                name = f"events.{form}.gz" if packed else f"events.{form}"
                how: dict[str, Any] = {
                    "name": name,
                    "by_worker": by_worker,
                    "compression": compression,
                }
                told = f"export {form}, {compression or 'default'} compression, {worked}"
                yield told, Case(partial(export_job, **how), counted=not by_worker)
                if compression != "none":
                    whole = partial(export_to, **how)
                    yield f"{told}, in one call", Case(whole, counted=not by_worker)


def _in_dialect(dialect: str) -> Iterator[tuple[str, Case]]:
    if dialect.startswith(ONE_PULL):
        yield f"{dialect}: jsonl", Case(partial(stream, form="jsonl"), dialect)
        return
    runs: dict[str, Run] = {}
    if not dialect.startswith(ONLY_EXPORTS):
        runs |= {"jsonl": partial(stream, form="jsonl"), "dates": dates, "summaries": summaries}
    runs["export csv, inline"] = partial(export_job, name="events.csv", by_worker=False)
    if not dialect.startswith(ONLY_EXPORTS):
        runs["pages"] = partial(pages, per_page=EVEN)
    if not dialect.startswith((*ONLY_EXPORTS, "envelope-")):
        # To decide, the client reads page numbers.
        runs["rows, auto"] = partial(rows, split="auto", per_page=2)
    for name, run in runs.items():
        yield f"{dialect}: {name}", Case(run, dialect)
    exported = partial(export_job, name="events.csv", by_worker=True)
    yield f"{dialect}: export csv, by the worker", Case(exported, dialect, counted=False)


CASES: dict[str, Case] = {
    **{name: Case(run) for name, run in (*_outputs(), *_splits())},
    **dict(_exports()),
    **{name: case for dialect in DIALECTS for name, case in _in_dialect(dialect)},
}


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    with closing(Servers()) as opened:
        yield opened


@pytest.fixture(scope="session")
def golden() -> dict[str, Output]:
    content = json.loads(GOLDEN.read_text())
    return {
        name: Output(requests, list(chain.from_iterable(_expanded(runs, content["lines"]))))
        for name, (requests, runs) in content["outputs"].items()
    }


def _expanded(runs: str, lines: list[str]) -> Iterator[list[str]]:
    for run in runs.split():
        first, _, last = run.partition("-")
        yield lines[int(first) : int(last or first) + 1]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", CASES)
def test_output_is_as_recorded(
    name: str, variant: str, servers: Servers, golden: dict[str, Output], tmp_path: Path
) -> None:
    recorded, found = golden[name], CASES[name].measured(variant, servers, tmp_path)
    changes = difflib.unified_diff(recorded.lines, found.lines, "recorded", "found", "", "", 0, "")
    assert not (text := "\n".join(changes)), text
    assert found.requests == recorded.requests


def test_recorded_cases_are_those_of_the_table(golden: dict[str, Output]) -> None:
    assert list(golden) == list(CASES)


def record() -> None:
    """Run all cases in both variants and write `golden.json`."""
    numbers: dict[str, int] = {}
    outputs = []
    with closing(Servers()) as servers:
        for name, case in CASES.items():
            found: dict[str, Output] = {}
            for variant in VARIANTS:
                with tempfile.TemporaryDirectory() as folder:
                    found[variant] = case.measured(variant, servers, Path(folder))
            if found["sync"] != found["async"]:
                raise SystemExit(f"{name}: the variants differ: {found}")
            requests, lines = found["sync"]
            runs = _runs([numbers.setdefault(line, len(numbers)) for line in lines])
            outputs.append(f"\n{json.dumps(name)}: {json.dumps([requests, runs])}")
    texts = ",\n".join(map(json.dumps, numbers))
    GOLDEN.write_text(f'{{"lines": [\n{texts}\n],\n"outputs": {{{",".join(outputs)}\n}}}}\n')
    print(f"Recorded {len(outputs)} cases in {GOLDEN}.")


def _runs(numbers: list[int]) -> str:
    """Write numbers such as 3, 4, 5, 9 as `3-5 9`."""
    steps = groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])
    runs = [[number for _, number in run] for _, run in steps]
    return " ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


if __name__ == "__main__":
    record()
