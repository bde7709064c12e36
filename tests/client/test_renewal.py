"""Addresses that expire in the middle of an export of several files, and what comes instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.client.one_export import CSV, FILE

from adanalytics_client import errors
from adanalytics_client._export import ExportFile
from adanalytics_client._listed_anew import matched

if TYPE_CHECKING:
    from pathlib import Path

    from tests.client.conftest import Asked, MovedClock, Say, StandIn, World

    from adanalytics_server.local import LocalServer

ANOTHER = FILE.replace(b"1,2", b"3,4", 1) + b"\n"


def _expiring(say: type[Say], stand_in: StandIn, listed: list[Any], later: dict[str, Any]) -> None:
    """`a` can be had at once, every other address only once it is signed with `new`."""

    def script(asked: Asked) -> Say:
        if asked.method == "POST":
            return say({"id": "e1", "status": "done", "status_url": "/st", "files": listed})
        if asked.path == "/st":
            return say({"status": "done", **later})
        content = FILE if asked.path.endswith("a.csv") else ANOTHER
        fresh = content is FILE or "new" in asked.target
        return say(content, headers=CSV) if fresh else say(status=403)

    stand_in.script = script


@pytest.mark.parametrize(
    ("listed", "later"),
    [
        (["/a.csv?sig=old", "/b.csv?sig=old"], ["/b.csv?sig=new", "/a.csv?sig=new"]),
        (["/a.csv?sig=old", "/b.csv?sig=old"], ["/a.csv?sig=new", "/b.csv?sig=new"]),
        (["/old/a.csv", "/old/b.csv"], ["/new/b.csv", "/new/a.csv"]),
        (
            [{"url": "/old1/a.csv", "name": "a.csv"}, {"url": "/old2/b", "name": "b.csv"}],
            [{"url": "/new1/b", "name": "b.csv"}, {"url": "/new2/a.csv", "name": "a.csv"}],
        ),
    ],
    ids=["signed", "same order", "by the end of the path", "named"],
)
def test_files_are_known_again_in_whatever_order_they_are_listed(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path, listed: Any, later: Any
) -> None:
    _expiring(say, stand_in, listed, {"files": later})
    world.call("export", "2026-01-01", to=tmp_path)
    found = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    assert found == {"a.csv": FILE, "b.csv": ANOTHER}


def _sized(*files: tuple[str, bytes]) -> list[dict[str, Any]]:
    return [{"url": url, "size_bytes": len(content)} for url, content in files]


def test_files_at_opaque_addresses_are_known_again_by_their_sizes(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    later = _sized(("/new-2", ANOTHER), ("/new-1-a.csv", FILE))
    _expiring(say, stand_in, _sized(("/a.csv", FILE), ("/b.csv", ANOTHER)), {"files": later})
    world.call("export", "2026-01-01", to=tmp_path)
    found = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    assert found == {"a.csv": FILE, "b.csv": ANOTHER}


def test_sizes_that_contradict_the_order_are_told(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    later = _sized(("/new-2", ANOTHER), ("/new-1", FILE[:5]))
    _expiring(say, stand_in, _sized(("/a.csv", FILE), ("/b.csv", ANOTHER)), {"files": later})
    with pytest.raises(errors.ExportExpired, match=r"lists new-2, new-1 instead of a\.csv, b"):
        world.call("export", "2026-01-01", to=tmp_path)
    assert [each.name for each in tmp_path.iterdir() if each.suffix == ".csv"] == []


def test_what_arrived_of_a_file_with_another_size_is_fetched_afresh(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    """Its size tells that it was made anew, where no checksum does."""
    tagged = {**CSV, "ETag": '"v1"'}
    stand_in.says_by_name(
        bulk_export=[say({"status": "done", "status_url": "/st", "files": _sized(("/f", FILE))})],
        f=[say(FILE, headers=tagged, cut=9), say(status=403)],
        st=[say({"status": "done", "files": _sized(("/g", ANOTHER))})],
        g=[say(ANOTHER, headers=tagged)],
    )
    world.call("export", "2026-01-01", to=tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == ANOTHER
    assert "range" not in stand_in.asked[-1].headers


@pytest.mark.parametrize(
    ("later", "told"),
    [
        (["/b.csv?sig=new", "/c.csv?sig=new"], r"lists b\.csv, c\.csv instead of a\.csv, b\.csv"),
        (["/all.csv?sig=new"], r"lists all\.csv instead of a\.csv, b\.csv"),
        ([f"/{n}.csv?sig=new" for n in range(7)], r"4\.csv and 2 more instead of a\.csv"),
    ],
)
def test_other_files_than_before_are_told(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path, later: list[str], told: str
) -> None:
    _expiring(say, stand_in, ["/a.csv?sig=old", "/b.csv?sig=old"], {"files": later})
    with pytest.raises(errors.ExportExpired, match=told) as caught:
        world.call("export", "2026-01-01", to=tmp_path)
    assert caught.value.export_id == "e1"
    assert "sig" not in str(caught.value)
    assert [each.name for each in tmp_path.iterdir() if each.suffix == ".csv"] == []


def test_files_of_two_exports_are_never_delivered_as_one(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    """The order was repeated for the addresses, and the service has started another export."""

    def ordered(export_id: str, sign: str) -> Say:
        files = [f"/a.csv?sig={sign}", f"/b.csv?sig={sign}"]
        return say({"status": "done", "id": export_id, "files": files})

    stand_in.says_by_name(
        bulk_export=[
            say({"status": "pending", "id": "e1"}, status=202),
            ordered("e1", "old"),
            ordered("e2", "new"),
        ],
        a_csv=[say(FILE, headers=CSV)],
        b_csv=[say(status=403), say(ANOTHER, headers=CSV)],
    )
    with pytest.raises(errors.ExportExpired, match=r"another export \(e2\)\. Order") as caught:
        world.call("export", "2026-01-01", to=tmp_path)
    assert caught.value.export_id == "e1"
    assert [each.name for each in tmp_path.iterdir() if each.suffix == ".csv"] == []


def test_a_file_that_is_made_anew_is_waited_for_no_longer_than_was_allowed(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path, clock: MovedClock
) -> None:
    stand_in.says_by_name(
        bulk_export=[say({"status": "pending", "status_url": "/st"}, status=202)],
        st=[
            say({"status": "done", "status_url": "/st", "url": "/f.csv"}),
            say({"status": "processing"}, status=202),
        ],
        f_csv=[say(status=403)],
    )
    with pytest.raises(errors.ExportTimeout, match="its last status is 'processing'"):
        world.call("export", "2026-01-01", to=tmp_path / "out.csv", timeout=10)
    assert sum(clock.sleeps) == 10


def test_the_time_in_which_a_file_arrives_is_no_wait_for_it(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path, clock: MovedClock
) -> None:
    """What took an hour to arrive and is made anew then may take a moment for that."""
    cuts = [9]

    def script(asked: Asked) -> Say:
        if asked.method == "POST":
            return say({"status": "done", "status_url": "/st", "url": "/f.csv"})
        if asked.path == "/st":
            anew = say({"status": "done", "url": "/g.csv"})
            return say({"status": "processing"}, status=202) if len(stand_in.asked) < 5 else anew
        if asked.path == "/g.csv":
            return say(FILE, headers=CSV)
        if not cuts:
            return say(status=403)
        clock.now += 3600
        return say(FILE, headers=CSV, cut=cuts.pop())

    stand_in.script = script
    world.call("export", "2026-01-01", to=tmp_path / "out.csv", timeout=10)
    assert (tmp_path / "out.csv").read_bytes() == FILE
    assert 0 < sum(clock.sleeps) <= 10


@pytest.mark.parametrize("expired", [True, False], ids=["expired", "refused once"])
def test_an_address_that_is_refused_with_the_credential_and_without_is_asked_for_anew(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path, *, expired: bool
) -> None:
    refusals = [say({"error": "Unauthorized"}, status=401)]

    def script(asked: Asked) -> Say:
        if asked.method == "POST":
            return say({"status": "done", "status_url": "/st", "url": "/f.csv?sig=old"})
        if asked.path == "/st":
            return say({"status": "done", "url": "/f.csv?sig=new"})
        if "authorization" in asked.headers:
            return say({"error": "A signed address takes no credential."}, status=400)
        if expired and "old" in asked.target:
            return refusals[0]
        return refusals.pop() if refusals and not expired else say(FILE, headers=CSV)

    stand_in.script = script
    world.call("export", "2026-01-01", to=tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == FILE
    asked = [each.path for each in stand_in.asked]
    assert asked[1:] == ["/f.csv"] * 3 + (["/st", "/f.csv"] if expired else [])


def test_an_address_that_stays_refused_says_to_start_again(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    def script(asked: Asked) -> Say:
        if asked.method == "POST":
            return say({"status": "done", "url": "/f.csv?sig=old"})
        return say(status=400 if "authorization" in asked.headers else 401)

    stand_in.script = script
    with pytest.raises(errors.ExportExpired, match=r"refused \(401\), and takes no credential"):
        world.call("export", "2026-01-01", to=tmp_path / "out.csv")
    assert len(stand_in.asked) == 4


def test_the_real_server_may_refuse_an_address_once(
    reference: LocalServer, reference_world: World, tmp_path: Path
) -> None:
    reference.faults.add("401 once on download")
    try:
        reference_world.call("export", "2026-01-15", to=tmp_path / "out.jsonl", format="jsonl")
        assert [each.struck for each in reference.faults.counts()] == [1]
    finally:
        reference.faults.clear()
    assert len((tmp_path / "out.jsonl").read_bytes().splitlines()) == 1500


def _files(listed: str) -> tuple[ExportFile, ...]:
    """From words such as `/path|name|sha256|size`, the latter three of which may be empty."""
    parted = [(each + "|5").split("|")[:4] for each in listed.split()]
    return tuple(
        ExportFile(
            f"https://x.example{path}", name or None, int(size) if size else None, sha256 or None
        )
        for path, name, sha256, size in parted
    )


@pytest.mark.parametrize(
    ("known", "fresh", "order"),
    [
        ("/1||", "/2|x|s", [0]),
        ("/1|| /2||", "/3|| /4||", [0, 1]),
        ("/1|| /2||", "/2|| /4||", None),
        ("/1|a| /2|b|", "/3|c| /4|d|", None),
        ("/1||s /2||t", "/3||t /4||s", [1, 0]),
        ("/1||s /2||t", "/3||t /4||u", None),
        ("/g?f=1|| /g?f=2||", "/g?f=2&se=5|| /g?f=1&se=5||", [1, 0]),
        ("/1/d|| /2/d||", "/2/d?t=5|| /1/d?t=6||", [1, 0]),
        ("/t1/d|| /t2/d||", "/t3/d|| /t4/d||", [0, 1]),
        ("/1|||5 /2|||7", "/3|||7 /4|||5", [1, 0]),
        ("/1|||5 /2|||7", "/3|||5 /4|||7", [0, 1]),
        ("/1|||5 /2|||7", "/3|||8 /4|||9", None),
        ("/1|||5 /2|||5 /3|||7", "/4|||5 /5|||7 /6|||5", None),
        ("/1|||5 /2|||5 /3|||7", "/4|||5 /5|||5 /6|||7", [0, 1, 2]),
        ("/1|||5 /2|||", "/3||| /4|||7", [0, 1]),
        ("/1|||5 /2|||7", "/2|||7 /4|||5", None),
        ("/1|a||5 /2|b||7", "/3|c||7 /4|d||5", None),
        ("/1|a||5 /2|b||7", "/3|b||9 /4|a||8", [1, 0]),
        ("/1||s|5 /2||t|7", "/3||u|5 /4||v|7", None),
    ],
)
def test_which_file_is_which(known: str, fresh: str, order: list[int] | None) -> None:
    listed = _files(fresh)
    expected = None if order is None else tuple(listed[each] for each in order)
    assert matched(_files(known), listed) == expected
