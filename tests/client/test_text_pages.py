"""Pages as the text they came as: the same bytes as a file of lines, in both variants."""

import asyncio
import io
from pathlib import Path

from adanalytics_client import AsyncClient, Client, TextPage
from adanalytics_server.local import LocalServer

DAY = "2026-01-15"


def test_text_pages_are_the_lines_of_a_file(reference: LocalServer, tmp_path: Path) -> None:
    with Client(reference.url, api_key=reference.api_key, partner="acme") as client:
        query = client.events(DAY, split="daily", per_page=400, max_events=1_000)
        query.write(tmp_path / "day.jsonl")
        pages = list(query.text_pages())
        assert b"".join(page.jsonl for page in pages) == (tmp_path / "day.jsonl").read_bytes()
        assert [len(page) for page in pages] == [400, 400, 200]
        assert [(page.number, page.total) for page in pages] == [(1, 1500), (2, 1500), (3, 1500)]
        rest = client.events(
            DAY, split="daily", per_page=400, max_events=1_000, resume=pages[0].token
        )
        assert [page.jsonl for page in rest.text_pages()] == [page.jsonl for page in pages[1:]]
    assert asyncio.run(_async_pages(reference)) == pages


async def _async_pages(reference: LocalServer) -> list[TextPage]:
    async with AsyncClient(reference.url, api_key=reference.api_key, partner="acme") as client:
        query = client.events(DAY, split="daily", per_page=400, max_events=1_000)
        return [page async for page in query.text_pages()]


class Careful(io.BytesIO):
    """A stream that does with its pieces what only bytes can do."""

    def write(self, piece: bytes) -> int:  # type: ignore[override]  # only bytes are written here
        return super().write(piece.removesuffix(b""))


def test_a_stream_is_given_bytes(reference: LocalServer) -> None:
    stream = Careful()
    with Client(reference.url, api_key=reference.api_key, partner="acme") as client:
        query = client.events(DAY, split="daily", per_page=400)
        assert query.write(stream, format="jsonl") == 1_500
        assert stream.getvalue() == b"".join(page.jsonl for page in query.text_pages())
