"""Downloads of packed files: stored packed, packed on their way, or both."""

from __future__ import annotations

import gzip
import hashlib
import tracemalloc
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from adanalytics_client import errors
from adanalytics_client._body import Gunzip

if TYPE_CHECKING:
    from tests.client.conftest import Say, StandIn, World

FILE = b"a,b\r\n" + b"1,2\r\n" * 2000
PACKED = gzip.compress(FILE, mtime=0)
TWICE = gzip.compress(PACKED, mtime=0)
MIB = 1024 * 1024
ENCODED = {"Content-Type": "text/csv", "Content-Encoding": "gzip"}


def _announced(content: bytes) -> dict[str, Any]:
    return {"size_bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


@pytest.mark.parametrize("announced", [None, FILE, PACKED])
@pytest.mark.parametrize(
    ("name", "compression", "arrived"),
    [
        ("out.csv", None, FILE),
        ("out.csv.gz", None, PACKED),
        ("out.csv.GZ", None, PACKED),
        ("out", "gzip", PACKED),
    ],
)
def test_a_file_that_is_stored_packed_arrives_as_it_was_ordered(
    world: World,
    stand_in: StandIn,
    say: type[Say],
    tmp_path: Path,
    announced: bytes | None,
    name: str,
    compression: str | None,
    arrived: bytes,
) -> None:
    """What is announced may be about the stored bytes or about those in them."""
    said = _announced(announced) if announced is not None else {}
    stand_in.says_by_name(
        bulk_export=[say({"download_url": "/f.csv", **said})],
        f_csv=[say(PACKED, headers=ENCODED, chunked=True)],
    )
    world.call("export", "2026-01-01", to=tmp_path / name, compression=compression)
    assert (tmp_path / name).read_bytes() == arrived


@pytest.mark.parametrize("announced", [{}, _announced(PACKED), _announced(TWICE)])
def test_a_packed_file_that_was_packed_again_on_its_way(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path, announced: dict[str, Any]
) -> None:
    stand_in.says_by_name(
        bulk_export=[say({"download_url": "/f.csv", **announced})],
        f_csv=[say(TWICE, headers=ENCODED)],
    )
    world.call("export", "2026-01-01", to=tmp_path / "out.csv.gz")
    assert (tmp_path / "out.csv.gz").read_bytes() == PACKED


@pytest.mark.parametrize("content", [b"", b"x"])
def test_a_packed_file_of_next_to_nothing_stays_packed(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path, content: bytes
) -> None:
    packed = gzip.compress(content, mtime=0)
    stand_in.says_by_name(
        bulk_export=[say({"download_url": "/f.csv"})], f_csv=[say(packed, headers=ENCODED)]
    )
    world.call("export", "2026-01-01", to=tmp_path / "out.csv.gz")
    assert (tmp_path / "out.csv.gz").read_bytes() == packed


@pytest.mark.parametrize(
    ("sent", "announced", "kind"),
    [
        (PACKED, {"sha256": "0" * 64}, errors.ChecksumMismatch),
        (PACKED, {"size_bytes": 5}, errors.DownloadError),
        (PACKED[:-1], {}, errors.DownloadError),
        (PACKED[:-1], {"size_bytes": len(FILE)}, errors.DownloadError),
        (b"not packed", {}, errors.DownloadError),
    ],
)
def test_what_fits_in_neither_form_is_refused(
    world: World,
    stand_in: StandIn,
    say: type[Say],
    tmp_path: Path,
    sent: bytes,
    announced: dict[str, Any],
    kind: type[errors.DownloadError],
) -> None:
    stand_in.says_by_name(
        bulk_export=[say({"download_url": "/f.csv", **announced})],
        f_csv=[say(sent, headers=ENCODED)],
    )
    with pytest.raises(kind):
        world.call("export", "2026-01-01", to=tmp_path / "out.csv.gz")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("headers", [{}, ENCODED])
def test_zeros_behind_the_last_member_are_no_damage(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path, headers: dict[str, str]
) -> None:
    padded = PACKED + bytes(512) + PACKED + bytes(100_000)
    stand_in.says_by_name(
        bulk_export=[say({"download_url": "/f.gz"})], f_gz=[say(padded, headers=headers)]
    )
    world.call("export", "2026-01-01", to=tmp_path / "out.csv.gz")
    assert (tmp_path / "out.csv.gz").read_bytes() == padded
    world.call("export", "2026-01-01", to=tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == (FILE * 2 if headers else padded)


def test_a_rest_in_another_encoding_is_no_rest(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    """Though a service may forget that each encoding needs an ETag of its own."""
    headers = {"ETag": '"v1"'}
    rest = {**headers, "Content-Encoding": "gzip", "Content-Range": "bytes 12-20/*"}
    stand_in.says(
        say({"download_url": "/f.csv"}),
        say(FILE, headers=headers, chunked=True, cut=12),
        say(PACKED[12:21], status=206, headers=rest),
        say(FILE, headers=headers),
    )
    world.call("export", "2026-01-01", to=tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == FILE
    assert stand_in.asked[-1].headers.get("range") is None


def _zeros(size: int) -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    return b"".join(packer.compress(bytes(MIB)) for _ in range(size // MIB)) + packer.flush()


@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz"])
def test_a_file_that_is_packed_a_thousandfold_is_never_in_memory(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path, name: str
) -> None:
    """Neither what comes so, nor what is a packed file inside."""
    size = 128 * MIB
    packed = _zeros(size)
    sent = packed if name == "out.csv" else gzip.compress(packed, mtime=0)
    stand_in.says_by_name(
        bulk_export=[say({"download_url": "/f.csv"})], f_csv=[say(sent, headers=ENCODED)]
    )
    tracemalloc.start()
    try:
        world.call("export", "2026-01-01", to=tmp_path / name)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (tmp_path / name).stat().st_size == (size if name == "out.csv" else len(packed))
    assert peak < 16 * MIB


@pytest.mark.parametrize("most", [1, 2, 7, 100, 10_004, 10_005, 10_006, 50_000])
@pytest.mark.parametrize("step", [1, 13, 10_000])
def test_unpacking_gives_bounded_pieces_of_the_same_bytes(most: int, step: int) -> None:
    packed, inner = PACKED + bytes(30) + PACKED, Gunzip()
    pieces = [
        plain
        for begin in range(0, len(packed), step)
        for plain in inner.pieces(packed[begin : begin + step], most)
    ]
    inner.finish()
    assert b"".join(pieces) == FILE * 2
    assert max(map(len, pieces)) <= most
