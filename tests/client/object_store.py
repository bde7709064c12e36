"""An object store with one file, and the runs of a client that download it."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.client.stand_in import Asked, Say, StandIn
from tests.client.variants import OpenVariant, Variant

from adanalytics_client import RetryPolicy, errors

FILE = b"event_id,revenue\r\n1,0.5\r\n"
ONCE = RetryPolicy(attempts=1)
DAYS = ("2026-01-01", "2026-01-31")


@dataclass
class Store:
    """An object store with one file that honours ranges, and an API that exports to it.

    Each run of a client downloads the file to `target`.
    """

    stand_in: StandIn
    open_variant: OpenVariant
    target: Path
    content: bytes = FILE
    etag: str | None = '"v1"'
    cuts: list[int] = field(default_factory=list)
    answer: dict[str, Any] = field(default_factory=dict)
    honours_if_range: bool = True
    headers: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.stand_in.script = self

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

    @property
    def part(self) -> Path:
        return self.target.with_name(f"{self.target.name}.part")

    @property
    def names(self) -> list[str]:
        """The names of what is in the folder."""
        return sorted(each.name for each in self.target.parent.iterdir())

    @property
    def ranges(self) -> list[str | None]:
        """What the last run asked for."""
        asked = self.stand_in.asked
        return [each.headers.get("range") for each in asked if each.method == "GET"]

    def break_off(self, cut: int = 12) -> errors.DownloadError:
        """End a run with `cut` bytes: a second try that gets no further is the last one."""
        self.cuts = [cut, cut]
        with pytest.raises(errors.DownloadError) as caught:
            self.fetch(self.open_variant(retry=ONCE))
        self.cuts = []
        return caught.value

    def fetch(self, variant: Variant | None = None, *days: str, **options: Any) -> bytes:
        """Return the file that a run downloads."""
        self.stand_in.asked.clear()
        options = {"to": self.target, "check": "none", **options}
        path: Path = (variant or self.open_variant()).call("export", *(days or DAYS), **options)
        return path.read_bytes() if path.is_file() else b""
