"""An object store with one file, and what tests of its downloads do again and again."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.client.stand_in import Asked, Say, StandIn
from tests.client.variants import Variant

from adanalytics_client import RetryPolicy, errors

FILE = b"event_id,revenue\r\n1,0.5\r\n"
ONCE = RetryPolicy(attempts=1)
DAYS = ("2026-01-01", "2026-01-31")


@dataclass
class Store:
    """An object store with one file that honours ranges, and an API that exports to it."""

    content: bytes = FILE
    etag: str | None = '"v1"'
    cuts: list[int] = field(default_factory=list)
    answer: dict[str, Any] = field(default_factory=dict)
    honours_if_range: bool = True
    headers: dict[str, str] = field(default_factory=dict)

    def __call__(self, asked: Asked) -> Say:
        if asked.method == "POST":
            return Say({"export_id": "e1", "download_url": "/f.csv?sig=s3cret", **self.answer})
        headers = {"Content-Type": "text/csv", **self.headers}
        if self.etag:
            headers["ETag"] = self.etag
        start = re.fullmatch(r"bytes=(\d+)-", asked.headers.get("range", ""))
        fits = not self.honours_if_range or asked.headers.get("if-range") == self.etag
        cut = self.cuts.pop(0) if self.cuts else None
        if start is None or not fits:
            return Say(self.content, headers=headers, cut=cut)
        first = int(start[1])
        size = len(self.content)
        if first >= size:
            return Say(status=416, headers={"Content-Range": f"bytes */{size}"})
        headers["Content-Range"] = f"bytes {first}-{size - 1}/{size}"
        left = None if cut is None else max(0, cut - first)
        return Say(self.content[first:], status=206, headers=headers, cut=left)


def ranges(stand_in: StandIn) -> list[str | None]:
    return [each.headers.get("range") for each in stand_in.asked if each.method == "GET"]


def break_off(variant: Variant, store: Store, path: Path, cut: int = 12) -> errors.DownloadError:
    """End a run with `cut` bytes: a second try that gets no further is the last one."""
    store.cuts = [cut, cut]
    with pytest.raises(errors.DownloadError) as caught:
        variant.call("export", *DAYS, to=path, check="none")
    store.cuts = []
    return caught.value
