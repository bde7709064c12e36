"""What becomes of the file of an export that is ready, when its download goes wrong.

Two programs download: the client and the tasks of a sync. The tasks have the machine's time, so
that they wait for each repetition.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from shutil import rmtree
from tempfile import TemporaryDirectory
from threading import Thread
from unittest.mock import patch

import httpx

from adanalytics_client import AdAnalyticsError, Client
from adanalytics_client.dataset import Dataset
from proof.trial import EXPORT_SECONDS, FIRST, LAST, SILENT, TYPED, Trial, csv_rows, held_rows

WRONG_RANGES = "download, wrong ranges"
DAYS_LATER = (0.04, 1, 2, 8, 40)
Answer = tuple[int, str | None, bytes]
"""The status, the Content-Range and the body."""


def _range(first: int, whole: bytes, more: int = 0) -> str:
    return f"bytes {first}-{len(whole) - 1 + more}/{len(whole) + more}"


# Answers to the request for the rest of a file from a byte on; the first one is right.
ANSWERS: dict[str, Callable[[bytes, int], Answer]] = {
    "right": lambda whole, at: (206, _range(at, whole), whole[at:]),
    "all of it": lambda whole, _: (200, None, whole),
    "all of it as a part": lambda whole, _: (206, _range(0, whole), whole),
    "the rest as all of it": lambda whole, at: (200, None, whole[at:]),
    "no range": lambda whole, at: (206, None, whole[at:]),
    "another range": lambda whole, at: (206, _range(at + 1, whole), whole[at + 1 :]),
    "bytes of another range": lambda whole, at: (206, _range(at, whole), whole[at - 1 : -1]),
    "another length": lambda whole, at: (206, _range(at, whole, 1), whole[at:] + b"\n"),
    "fewer bytes": lambda whole, at: (206, _range(at, whole), whole[at:-1]),
    "more bytes": lambda whole, at: (206, _range(at, whole), whole[at:] + whole[-9:]),
    "changed bytes": lambda whole, at: (206, _range(at, whole), whole[at:].swapcase()),
    "nothing": lambda whole, at: (206, _range(at, whole), b""),
    "no such range": lambda whole, _: (416, f"bytes */{len(whole)}", b""),
}


@contextmanager
def between(server: str, answer: Callable[[bytes, int], Answer], *, cut: float) -> Iterator[str]:
    """Pass requests on, cut the first answer to a download, and answer those for its rest."""

    class Handler(BaseHTTPRequestHandler):
        def _pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            sent = {name: text for name, text in self.headers.items() if name.lower() != "range"}
            got = http.request(self.command, server + self.path, headers=sent, content=body)
            status, has_range, said, length = got.status_code, None, got.content, None
            if self.path.startswith("/exports/") and got.is_success:
                if asked := self.headers.get("Range"):
                    first = int(asked.removeprefix("bytes=").partition("-")[0])
                    status, has_range, said = answer(said, first)
                else:
                    length = len(said)
                    said = said[: max(1, int(length * cut))]
            self.send_response(status)
            for name in ("Content-Type", "ETag", "Location"):
                if name in got.headers:
                    self.send_header(name, got.headers[name])
            if has_range:
                self.send_header("Content-Range", has_range)
            self.send_header("Content-Length", str(len(said) if length is None else length))
            self.end_headers()
            self.wfile.write(said)

        do_GET = do_POST = _pass_on  # noqa: N815  # the names that the base class calls

        def log_message(self, *_: object) -> None:
            pass

    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    # How often it looks for its end; the default of half a second is longer than a try.
    thread = Thread(target=proxy.serve_forever, args=(0.01,))
    thread.start()
    try:
        # One client for all requests, because making one takes longer than a request.
        with httpx.Client() as http:
            yield f"http://127.0.0.1:{proxy.server_port}"
    finally:
        proxy.shutdown()
        thread.join()
        proxy.server_close()


def downloads(at: Trial, effects: Sequence[str], *, quick: bool) -> None:
    """Try these effects on a download, ranges that are wrong, and addresses that have expired."""
    for effect in effects:
        for times in ("always",) if quick else ("always", "once"):
            at.each([f"{effect} on download {times}"], ["download"])
    at.server.reset()
    for what, answer in ANSWERS.items():
        for cut in (0.5,) if quick else (0.01, 0.5, 0.99):
            for right_after in (False, True):
                once = _once(answer) if right_after else answer
                with between(at.server.url, once, cut=cut) as url, at.client(url) as client:
                    at.count(WRONG_RANGES, partial(_fetched, at, client), f"{what} at {cut:.0%}")
    for days in DAYS_LATER:
        at.server.reset()
        at.clock.of_server.freeze()
        with at.client() as client:
            at.count("download, expired", partial(_fetched, at, client, days), f"{days} days")


def _once(answer: Callable[[bytes, int], Answer]) -> Callable[[bytes, int], Answer]:
    answers = iter([answer])

    def next_answer(whole: bytes, at: int) -> Answer:
        return next(answers, ANSWERS["right"])(whole, at)

    return next_answer


def _fetched(at: Trial, client: Client, days: float = 0) -> str:
    job = client.start_export(FIRST, LAST, format="csv")
    job.wait(timeout=EXPORT_SECONDS)
    at.clock.advance(days * 86_400)
    return at.compared(csv_rows(job.download(at.folder / "x.csv")))


def tasks(at: Trial, effects: Sequence[str]) -> None:
    """Let the tasks of a sync download with faults that strike once.

    They wait for the time that an answer asks for, so the effects should ask for none.
    """
    names = {"BASE_URL": at.server.url, "API_KEY": at.server.api_key, "PARTNER": at.server.partner}
    for effect in effects:
        with (
            TemporaryDirectory() as state,
            patch.dict(os.environ, {f"ADANALYTICS_{name}": text for name, text in names.items()}),
            patch.dict(os.environ, {"XDG_STATE_HOME": state}),
        ):
            at.server.reset()
            at.server.faults.add(f"{effect} on download once")
            at.count("tasks of a sync", partial(_by_tasks, at), effect)


def _by_tasks(at: Trial) -> str:
    place = at.folder / "by-tasks"
    rmtree(place, ignore_errors=True)
    dataset = Dataset(place)
    with Client.from_env() as client:
        try:
            parts = [task.run() for task in dataset.tasks(client, FIRST, LAST)]
            left = dataset.commit(client, parts).left
        except AdAnalyticsError:
            left = -1
    held = held_rows(place)
    if not left:
        return at.compared(held)
    return TYPED if at.truth.has_hours(held) else SILENT
