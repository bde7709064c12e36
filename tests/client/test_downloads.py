"""Downloads of exported files: resumed where that is safe, proven whole, credential at home."""

from __future__ import annotations

import gzip
import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.client.one_export import CSV, FILE, fetch

from adanalytics_client import Observer, RetryPlanned, RetryPolicy, errors

if TYPE_CHECKING:
    from tests.client.conftest import Asked, MovedClock, OpenWorld, Say, StandIn, World


class Planned(Observer):
    """Keeps the numbers of the attempts that are to be repeated."""

    def __init__(self) -> None:
        self.attempts: list[int] = []

    def retry(self, info: RetryPlanned) -> None:
        self.attempts.append(info.attempt)


@pytest.mark.parametrize("cut", [0, 1, 5, 500, len(FILE) - 1])
def test_a_broken_download_goes_on_where_it_broke_off(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path, cut: int
) -> None:
    whole = {**CSV, "ETag": '"v1"'}
    rest = {**whole, "Content-Range": f"bytes {cut}-{len(FILE) - 1}/{len(FILE)}"}
    again = say(FILE[cut:], status=206, headers=rest) if cut else say(FILE, headers=whole)
    stand_in.says_by_name(
        bulk_export=[say({"download_url": "/f.csv"})],
        f_csv=[say(FILE, headers=whole, cut=cut), again],
    )
    assert fetch(world, tmp_path / "out.csv").read_bytes() == FILE
    asked = stand_in.asked[2].headers
    assert asked.get("range") == (f"bytes={cut}-" if cut else None)
    assert asked.get("if-range") == ('"v1"' if cut else None)


def test_a_file_that_was_replaced_meanwhile_is_fetched_afresh(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    stand_in.says_by_name(
        bulk_export=[say({"download_url": "/f.csv"})],
        f_csv=[
            say(b"old" * 900, headers={**CSV, "ETag": '"v1"'}, cut=100),
            say(b"x", status=206, headers={"ETag": '"v2"', "Content-Range": "bytes 100-100/101"}),
            say(FILE, headers={**CSV, "ETag": '"v2"'}),
        ],
    )
    assert fetch(world, tmp_path / "out.csv").read_bytes() == FILE


@pytest.mark.parametrize(
    "name", ["x" * 251 + ".csv", "x" * 239, "€" * 85], ids=["longest", "long", "euros"]
)
def test_a_file_with_the_longest_name_arrives(
    open_world: OpenWorld, stand_in: StandIn, say: type[Say], tmp_path: Path, name: str
) -> None:
    """Also in two runs, the second of which finds what the first one left."""
    whole = {**CSV, "ETag": '"v1"'}
    rest = {**whole, "Content-Range": f"bytes 500-{len(FILE) - 1}/{len(FILE)}"}
    stand_in.says_by_name(
        bulk_export=[say({"download_url": "/f.csv"})],
        f_csv=[
            say(FILE, headers=whole, cut=500),
            say(FILE[500:], status=206, headers=rest, cut=0),
            say(FILE[500:], status=206, headers=rest),
        ],
    )
    first = open_world(retry=RetryPolicy(attempts=1))
    with pytest.raises(errors.DownloadError) as caught:
        fetch(first, tmp_path / name)
    assert caught.value.part is not None
    assert Path(caught.value.part).read_bytes() == FILE[:500]
    assert fetch(open_world(), tmp_path / name).read_bytes() == FILE
    assert stand_in.asked[-1].headers["range"] == "bytes=500-"
    assert [each.name for each in tmp_path.iterdir()] == [name]


def test_without_a_validator_a_download_starts_afresh(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    stand_in.says_by_name(
        bulk_export=[say({"download_url": "/f.csv"})],
        f_csv=[say(FILE, headers=CSV, cut=100), say(FILE, headers=CSV)],
    )
    assert fetch(world, tmp_path / "out.csv").read_bytes() == FILE
    assert "range" not in stand_in.asked[2].headers


def test_a_download_that_never_gets_further_ends_and_leaves_the_old_file(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    stand_in.says_by_name(
        bulk_export=[say({"download_url": "/f.csv?sig=secret"})],
        f_csv=[say(FILE, headers=CSV, cut=100)],
    )
    (tmp_path / "out.csv").write_text("old")
    with pytest.raises(errors.DownloadError, match="after 100 of 10005 bytes") as caught:
        fetch(world, tmp_path / "out.csv")
    assert "secret" not in str(caught.value)
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("out.csv", "old")]
    assert len(stand_in.asked) == 5


def test_the_attempts_of_a_download_are_counted_as_they_were_sent(
    open_world: OpenWorld, stand_in: StandIn, say: type[Say], clock: MovedClock, tmp_path: Path
) -> None:
    """Getting further begins the waits anew; what is told counts on."""
    whole = {**CSV, "ETag": '"v1"'}
    gone = say({"error": "busy"}, status=503)
    stand_in.says_by_name(
        bulk_export=[say({"download_url": "/f.csv"})],
        f_csv=[gone, gone, say(FILE, headers=whole, cut=100), gone],
    )
    planned = Planned()
    with pytest.raises(errors.DownloadError) as caught:
        fetch(open_world(observer=planned), tmp_path / "out.csv")
    assert isinstance(caught.value.__cause__, errors.ServerError)
    assert caught.value.attempts == len(stand_in.asked) - 1 == 6
    assert planned.attempts == [1, 2, 3, 4, 5]
    assert clock.sleeps == [0.5, 1.0, 0.5, 0.5, 1.0]


@pytest.mark.parametrize(
    ("announced", "kind"),
    [
        ({"sha256": "0" * 64}, errors.ChecksumMismatch),
        ({"size_bytes": 5}, errors.DownloadError),
    ],
)
def test_a_file_is_compared_with_what_was_announced(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path, announced: Any, kind: Any
) -> None:
    stand_in.says_by_name(
        bulk_export=[say({"download_url": "/f.csv", **announced})],
        f_csv=[say(FILE, headers=CSV)],
    )
    with pytest.raises(kind):
        fetch(world, tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []


def test_a_right_checksum_passes(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    sha256 = hashlib.sha256(FILE).hexdigest().upper()
    stand_in.says_by_name(
        bulk_export=[say({"download_url": "/f.csv", "sha256": sha256, "size_bytes": len(FILE)})],
        f_csv=[say(FILE, headers=CSV)],
    )
    assert fetch(world, tmp_path / "out.csv").read_bytes() == FILE


def test_a_gzip_file_without_its_end_is_found(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    packed = gzip.compress(FILE) + gzip.compress(FILE)
    stand_in.says_by_name(
        bulk_export=[say({"download_url": "/f.gz"})],
        f_gz=[say(packed[:-3]), say(packed)],
    )
    assert fetch(world, tmp_path / "out.csv.gz").read_bytes() == packed


def test_a_content_encoding_is_undone(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    packed, headers = gzip.compress(FILE), {"Content-Encoding": "gzip", **CSV}
    stand_in.says_by_name(
        bulk_export=[say({"download_url": "/f.csv"})],
        f_csv=[say(packed[:-3], headers=headers), say(packed, headers=headers)],
    )
    assert fetch(world, tmp_path / "out.csv").read_bytes() == FILE
    assert stand_in.asked[1].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize("status", [403, 410])
def test_an_expired_file_is_typed(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path, status: int
) -> None:
    stand_in.says_by_name(bulk_export=[say({"download_url": "/f.csv"})], f_csv=[say(status=status)])
    with pytest.raises(errors.ExportExpired):
        fetch(world, tmp_path / "out.csv")


def test_a_file_on_another_origin_never_gets_the_credential(
    world: World, stand_in: StandIn, other_origin: StandIn, say: type[Say], tmp_path: Path
) -> None:
    stand_in.says(say({"download_url": f"{other_origin.url}/d/../f{{1}}.csv?a=%2f&b='|<'"}))
    other_origin.says(say(FILE, headers=CSV))
    assert fetch(world, tmp_path / "out.csv").read_bytes() == FILE
    (asked,) = other_origin.asked
    assert asked.target == "/d/../f{1}.csv?a=%2f&b='|<'"
    assert not {"authorization", "cookie"} & asked.headers.keys()


def test_a_401_elsewhere_is_not_answered_with_the_credential(
    world: World, stand_in: StandIn, other_origin: StandIn, say: type[Say], tmp_path: Path
) -> None:
    stand_in.says(say({"download_url": f"{other_origin.url}/f.csv"}))
    other_origin.says(say(status=401))
    with pytest.raises(errors.AuthenticationError):
        fetch(world, tmp_path / "out.csv")
    assert "authorization" not in other_origin.asked[0].headers
    assert len(other_origin.asked) == 1


def test_a_file_at_home_gets_the_credential_after_a_401(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    stand_in.says_by_name(
        bulk_export=[say({"download_url": "/f.csv"})],
        f_csv=[say(status=401), say(FILE, headers=CSV)],
    )
    assert fetch(world, tmp_path / "out.csv").read_bytes() == FILE
    assert ["authorization" in asked.headers for asked in stand_in.asked] == [True, False, True]


@pytest.mark.parametrize("refuses", [True, False])
def test_a_redirect_at_home_is_followed_without_the_credential_first(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path, *, refuses: bool
) -> None:
    """The address behind may be signed and refuse a credential, or want it as well."""

    def script(asked: Asked) -> Say:
        with_it = "authorization" in asked.headers
        if asked.method == "POST":
            return say({"download_url": "/f.csv"})
        if asked.path == "/f.csv":
            return say(status=302, headers={"Location": "/g.csv"}) if with_it else say(status=401)
        if refuses:
            return say(status=400) if with_it else say(FILE, headers=CSV)
        return say(FILE, headers=CSV) if with_it else say(status=401)

    stand_in.script = script
    assert fetch(world, tmp_path / "out.csv").read_bytes() == FILE


@pytest.mark.parametrize("sent", [b"", b"a,b"])
def test_a_short_file_is_a_download_error(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path, sent: bytes
) -> None:
    stand_in.says_by_name(
        bulk_export=[say({"download_url": "/f.csv"})],
        f_csv=[say(FILE, headers=CSV, cut=len(sent))],
    )
    with pytest.raises(errors.DownloadError, match="broke off after"):
        fetch(world, tmp_path / "out.csv")


def test_an_empty_file_of_an_export_with_events_is_a_download_error(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    (tmp_path / "out.csv").write_text("old")
    for rows in (20, 0, None):
        stand_in.says_by_name(
            bulk_export=[say({"download_url": "/f.csv", "row_count": rows})],
            f_csv=[say(b"", headers=CSV)],
        )
        if rows:
            with pytest.raises(errors.DownloadError, match="empty, of an export of 20 events"):
                fetch(world, tmp_path / "out.csv")
            assert [each.read_text() for each in tmp_path.iterdir()] == ["old"]
        else:
            assert fetch(world, tmp_path / "out.csv").read_bytes() == b""


def test_an_answer_without_a_file_is_no_refusal_of_parameters(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    stand_in.says_by_name(
        bulk_export=[say({"download_url": "/f.csv"})],
        f_csv=[say(status=204), say(FILE, headers=CSV)],
    )
    assert fetch(world, tmp_path / "out.csv").read_bytes() == FILE
    stand_in.says_by_name(bulk_export=[say({"download_url": "/f.csv"})], f_csv=[say(status=204)])
    with pytest.raises(errors.DownloadError, match="Instead of the file came status 204"):
        fetch(world, tmp_path / "out.csv")


def test_a_redirect_without_an_address_is_no_refusal_of_parameters(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    ordered = [say({"download_url": "/f.csv"})]
    stand_in.says_by_name(bulk_export=ordered, f_csv=[say(status=302), say(FILE, headers=CSV)])
    assert fetch(world, tmp_path / "out.csv").read_bytes() == FILE
    stand_in.says_by_name(bulk_export=ordered, f_csv=[say(status=302)])
    with pytest.raises(errors.DownloadError, match="came status 302 without an address; try"):
        fetch(world, tmp_path / "out.csv")


def test_an_encoding_that_cannot_be_undone_says_what_to_do(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    stand_in.says_by_name(
        bulk_export=[say({"download_url": "/f.csv"})],
        f_csv=[say(FILE, headers={"Content-Encoding": "br", **CSV})],
    )
    with pytest.raises(errors.DownloadError, match=r"'br', which was not asked for\. Have the"):
        fetch(world, tmp_path / "out.csv")


def test_several_files_all_arrive_or_none(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    files = [{"url": "/a.csv", "name": "../a.csv"}, {"url": "/b.csv"}]
    stand_in.says_by_name(
        bulk_export=[say({"files": files})],
        a_csv=[say(FILE, headers=CSV)],
        b_csv=[say(status=404), say(FILE, headers=CSV)],
    )
    job = world.call("start_export", "2026-01-01")
    with pytest.raises(errors.ConfigurationError, match="2 files; name a folder"):
        world.on(job, "download", tmp_path / "out.csv")
    with pytest.raises(errors.NotFound):
        world.on(job, "download", tmp_path)
    assert list(tmp_path.iterdir()) == []
    world.on(job, "download", tmp_path)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.csv", "b.csv"]


def test_a_path_that_cannot_be_is_told_before_anything_is_sent(
    open_world: OpenWorld, stand_in: StandIn, tmp_path: Path
) -> None:
    with pytest.raises(errors.ConfigurationError, match="does not exist"):
        fetch(open_world(), tmp_path / "nowhere" / "out.csv")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(errors.ConfigurationError, match="is a device or a pipe"):
        fetch(open_world(), tmp_path / "pipe")
    with pytest.raises(errors.ConfigurationError, match="zero character"):
        fetch(open_world(), tmp_path / "a\0b.csv")
    assert stand_in.asked == []


def test_two_downloads_to_one_path_do_not_mix(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    import fcntl

    stand_in.says_by_name(
        bulk_export=[say({"download_url": "/f.csv"})], f_csv=[say(FILE, headers=CSV)]
    )
    with (tmp_path / "out.csv.part").open("wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(errors.DownloadError, match="Another process"):
            fetch(world, tmp_path / "out.csv")


def test_a_file_that_outgrows_what_was_announced_is_not_read_on(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    stand_in.says_by_name(
        bulk_export=[say({"download_url": "/f.csv", "size_bytes": 1000})],
        f_csv=[say(bytes(8_000_000), headers=CSV, chunked=True)],
    )
    with pytest.raises(errors.DownloadError, match="more than the 1000 bytes"):
        fetch(world, tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []
