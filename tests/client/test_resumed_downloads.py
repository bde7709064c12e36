"""Downloads that go on where they broke off, now or later, and the part on the disk."""

import gzip
import hashlib
import json
import os
import re
import resource
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from tests.client.object_store import DAYS, FILE, ONCE, Store
from tests.client.stand_in import Asked, Say
from tests.client.variants import BOTH_LIBRARIES

from adanalytics_client import errors

# Shorter than the bytes that `break_off` leaves.
SHORT = b"a,b\r\n1,2\r\n"
# In the header, in a value, around each line end, and before the last byte.
CUTS = (0, 1, 16, 17, 18, 20, len(FILE) - 2, len(FILE) - 1)


@BOTH_LIBRARIES
def test_a_download_that_was_cut_goes_on_in_the_same_run_if_it_has_an_etag(store: Store) -> None:
    variant = store.open_variant()
    for cut, etag in product(CUTS, ('"v1"', None)):
        store.cuts, store.etag = [cut], etag
        resumes = bool(cut and etag)
        assert store.fetch(variant) == FILE
        assert store.ranges == [None, f"bytes={cut}-" if resumes else None]
        assert store.stand_in.asked[2].headers.get("if-range") == (etag if resumes else None)
        assert store.names == ["out.csv"]


def test_a_download_that_was_cut_goes_on_in_a_new_run(store: Store) -> None:
    for cut in CUTS:
        store.target.write_bytes(b"old")
        assert store.break_off(cut).part == (str(store.part) if cut else None)
        assert store.target.read_bytes() == b"old"
        notes = [each.read_text() for each in store.target.parent.glob("*.json")]
        assert "s3cret" not in "".join(notes)
        assert store.fetch() == FILE
        assert store.ranges == [f"bytes={cut}-" if cut else None]
        assert store.names == ["out.csv"]


def test_a_saved_job_goes_on_with_its_download(store: Store) -> None:
    store.cuts = [9, 9]
    first = store.open_variant(retry=ONCE)
    job = first.call("start_export", *DAYS)
    with pytest.raises(errors.DownloadError):
        first.on(job, "download", store.target, check="none")
    again = store.open_variant()
    store.stand_in.asked.clear()
    later = type(job).from_json(again.client, job.to_json())
    again.on(later, "download", store.target, check="none")
    assert store.ranges == ["bytes=9-"]
    assert len(store.stand_in.asked) == 1


@pytest.mark.parametrize("honours_if_range", [True, False])
@pytest.mark.parametrize("new", [FILE.upper(), FILE.upper() + FILE[18:].upper(), SHORT])
def test_two_versions_are_never_glued(store: Store, new: bytes, *, honours_if_range: bool) -> None:
    """Also when the service overlooks If-Range, and the new version is as long as the old one."""
    store.break_off()
    store.content, store.etag, store.honours_if_range = new, '"v2"', honours_if_range
    assert store.fetch() == new


DIGEST = hashlib.sha256(FILE).hexdigest()


@pytest.mark.parametrize("digest", [None, DIGEST])
def test_a_part_of_another_export_is_gone_on_with_if_the_bytes_are_the_same(
    store: Store, digest: str | None
) -> None:
    """An ETag says something about one file only: another may have the same."""
    store.answer = {"sha256": digest}
    store.break_off()
    store.answer["export_id"] = "e2"
    store.content = FILE if digest else FILE.upper()
    assert store.fetch() == store.content
    assert store.ranges == ["bytes=12-" if digest else None]


@pytest.mark.parametrize("digests", [(None, DIGEST), (DIGEST, None)])
def test_a_part_is_gone_on_with_where_one_answer_has_no_checksum(
    store: Store, digests: tuple[str | None, str | None]
) -> None:
    store.answer = {"sha256": digests[0]}
    store.break_off()
    store.answer["sha256"] = digests[1]
    assert store.fetch() == FILE
    assert store.ranges == ["bytes=12-"]


def test_a_service_may_send_less_of_the_rest_than_was_asked_for(store: Store) -> None:
    def script(asked: Asked) -> Say:
        if asked.method == "POST":
            return Say({"url": "/f.csv"})
        headers = {"ETag": '"v1"'}
        start = re.fullmatch(r"bytes=(\d+)-", asked.headers.get("range", ""))
        if start is None:
            return Say(FILE, headers=headers, cut=3)
        first = int(start[1])
        last = min(first + 6, len(FILE) - 1)
        headers["Content-Range"] = f"bytes {first}-{last}/{len(FILE)}"
        return Say(FILE[first : last + 1], status=206, headers=headers)

    store.stand_in.script = script
    assert store.fetch() == FILE


DATED = {"Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT", "Date": "Thu, 01 Jan 2026 00:00:01 GMT"}


@pytest.mark.parametrize(
    ("dates", "resumes"),
    [
        (DATED, True),
        ({**DATED, "Last-Modified": "Fri, 31 Dec 2100 00:00:00 GMT"}, False),
        ({**DATED, "Last-Modified": "soon"}, False),
        ({"Last-Modified": DATED["Last-Modified"]}, False),
    ],
)
def test_a_date_is_a_validator_when_it_is_older_than_the_answer(
    store: Store, dates: dict[str, str], *, resumes: bool
) -> None:
    store.etag, store.headers, store.honours_if_range = None, dates, False
    store.break_off()
    assert store.fetch() == FILE
    assert store.ranges == ["bytes=12-" if resumes else None]


def test_a_416_starts_afresh(store: Store) -> None:
    store.break_off()
    store.content, store.honours_if_range = SHORT, False
    assert store.fetch() == SHORT
    assert store.ranges == ["bytes=12-", None]


def test_a_gzip_file_goes_on_and_must_end(store: Store) -> None:
    """Of two members, cut between them: the rest is still missing, though gzip has ended."""
    first, second = gzip.compress(SHORT[:5]), gzip.compress(SHORT[5:])
    store.target = store.target.with_name("out.csv.gz")
    store.content = first + second
    store.break_off(len(first))
    assert gzip.decompress(store.fetch()) == SHORT
    store.content, store.etag = first + second[:-1], '"v2"'
    store.target = store.target.with_name("other.csv.gz")
    with pytest.raises(errors.DownloadError, match="the end is missing"):
        store.fetch(store.open_variant(retry=ONCE))
    assert store.names == ["out.csv.gz"]


ETAG = {"ETag": '"v1"'}


@pytest.mark.parametrize(
    ("range_of_rest", "rest", "then", "asked"),
    [
        # Of an unknown length.
        ("3-8/*", FILE[3:9], [], [None, "bytes=3-", None]),
        ("3-8/7", FILE[3:9], [], [None, "bytes=3-", None]),
        ("3-8/25", FILE[3:12], [], [None, "bytes=3-", None]),
        # A range that is refused then is no end, whatever length is named.
        (
            "3-8/25",
            FILE[3:9],
            [Say(status=416, headers={"Content-Range": "bytes */9"})],
            [None, "bytes=3-", "bytes=9-", None],
        ),
    ],
)
def test_a_rest_that_does_not_fit_its_range_is_fetched_afresh(
    store: Store, range_of_rest: str, rest: bytes, then: list[Say], asked: list[str | None]
) -> None:
    """A file of unknown length breaks off after three bytes."""
    store.stand_in.says(
        Say({"url": "/f.csv"}),
        Say(FILE, headers=ETAG, cut=3, chunked=True),
        Say(rest, status=206, headers={**ETAG, "Content-Range": f"bytes {range_of_rest}"}),
        *then,
        Say(SHORT[:7], headers={"ETag": '"v2"'}),
    )
    assert store.fetch() == SHORT[:7]
    assert store.ranges == asked


@pytest.mark.parametrize(
    ("after", "etag", "goes_on"),
    [("/f.csv?id=1", None, True), ("/f.csv?id=2", None, False), ("/f.csv?id=2", '"v1"', False)],
)
def test_without_an_id_a_file_is_known_by_its_whole_address(
    store: Store, after: str, etag: str | None, *, goes_on: bool
) -> None:
    store.etag, store.headers, store.honours_if_range = etag, DATED, False
    store.answer = {"export_id": None, "download_url": "/f.csv?id=1"}
    store.break_off()
    store.answer["download_url"] = after
    store.content = FILE if goes_on else FILE.upper()
    assert store.fetch() == store.content
    assert store.ranges == ["bytes=12-" if goes_on else None]


@pytest.mark.parametrize(
    ("days", "options", "partner"),
    [
        (("2026-01-01", "2026-01-30"), {}, "acme"),
        (DAYS, {"format": "jsonl"}, "acme"),
        (DAYS, {"compression": "gzip"}, "acme"),
        (DAYS, {}, "other"),
    ],
)
def test_a_part_of_another_order_is_not_gone_on_with(
    store: Store, days: tuple[str, str], options: dict[str, str], partner: str
) -> None:
    """Though the service gives every file the same address and ETag."""
    store.target = store.target.with_name("out")
    store.answer = {"export_id": None}
    store.break_off()
    store.content = b'{"a": 1}\n' if options.get("format") == "jsonl" else FILE.upper()
    if "compression" in options:
        store.content = gzip.compress(store.content)
    assert store.fetch(store.open_variant(partner=partner), *days, **options) == store.content
    assert store.ranges == [None]


NOTE = "out.csv.part.json"


def _spoil(**changes: Any) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        note = json.loads((folder / NOTE).read_text())
        (folder / NOTE).write_text(json.dumps(note | changes))

    return spoil


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / NOTE).unlink(),
        lambda folder: (folder / NOTE).write_bytes(b'{"version": 1, "sour'),
        lambda folder: (folder / NOTE).write_bytes(b"\xff" * 40_000),
        lambda folder: (folder / NOTE).write_bytes(b"[]"),
        _spoil(version=2),
        _spoil(validator='"v1"\r\nX-Evil: 1'),
        _spoil(validator=5),
        _spoil(total="many"),
        _spoil(total=5),
        lambda folder: (folder / "out.csv.part").write_bytes(FILE * 2),
    ],
)
def test_a_damaged_note_means_a_fresh_start(
    store: Store, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    store.break_off()
    damage(tmp_path)
    assert store.fetch() == FILE
    assert store.ranges == [None]
    assert store.names == ["out.csv"]


def test_a_part_that_changed_on_the_disk_is_noticed_by_its_checksum(store: Store) -> None:
    store.answer = {"sha256": hashlib.sha256(FILE).hexdigest()}
    store.break_off()
    store.part.write_bytes(bytes(12))
    assert store.fetch() == FILE
    assert store.ranges == ["bytes=12-", None]


def test_a_part_that_is_whole_asks_for_its_last_byte(store: Store) -> None:
    """Killed between the last byte and the rename."""
    store.break_off()
    store.part.write_bytes(FILE)
    assert store.fetch() == FILE
    assert store.ranges == [f"bytes={len(FILE) - 1}-"]


@contextmanager
def small_disk(size: int) -> Iterator[None]:
    """No file of this process can become larger than `size` bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_full_disk_leaves_the_old_file_and_what_fits(store: Store) -> None:
    store.content = FILE + b"1,0.5\r\n" * 40_000
    store.target.write_bytes(b"old")
    with small_disk(100_000), pytest.raises(OSError, match="File too large"):
        store.fetch()
    assert store.target.read_bytes() == b"old"
    kept = store.part.stat().st_size
    assert 0 < kept <= 100_000
    assert store.fetch() == store.content
    assert store.ranges == [f"bytes={kept}-"]


@pytest.mark.parametrize("name", ["out.csv.part", ".out.csv.part.json.tmp", "out.csv.part.json"])
@pytest.mark.parametrize("planted_at", ["first", "between"])
def test_nothing_behind_a_planted_link_is_written(
    store: Store, tmp_path: Path, name: str, planted_at: str
) -> None:
    victim, link = tmp_path / "victim", tmp_path / "folder" / name
    link.parent.mkdir()
    store.target = link.with_name("out.csv")
    victim.write_bytes(b"precious")
    if planted_at == "between":
        store.break_off()
        link.unlink(missing_ok=True)
    link.symlink_to(victim)
    if name == "out.csv.part":
        with pytest.raises(errors.ConfigurationError, match=r"out\.csv\.part is a link"):
            store.fetch()
        assert store.stand_in.asked == []
    else:
        assert store.fetch() == FILE
        assert not store.target.is_symlink()
    assert victim.read_bytes() == b"precious"


def test_a_pipe_in_the_place_of_a_part_or_its_note(store: Store, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / NOTE)
    assert store.fetch() == FILE
    os.mkfifo(store.part)
    with pytest.raises(errors.ConfigurationError, match="is a device or a pipe"):
        store.fetch()


def _permissions(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.mark.parametrize(("mode", "meanwhile"), [(0o600, 0o600), (0o444, 0o644), (0o666, 0o644)])
def test_a_file_that_is_replaced_keeps_its_permissions(
    store: Store, mode: int, meanwhile: int
) -> None:
    """And nobody reads meanwhile who may not read it, also what an earlier run left."""
    before = os.umask(0o022)
    try:
        store.break_off()
        assert _permissions(store.part) == 0o644
        store.target.touch()
        store.target.chmod(mode)
        store.break_off(14)
        assert _permissions(store.part) == meanwhile
        assert store.fetch() == FILE
    finally:
        os.umask(before)
    assert _permissions(store.target) == mode


def test_an_unwritable_path_is_an_error_before_anything_is_ordered(
    store: Store, tmp_path: Path
) -> None:
    store.part.mkdir()
    link = tmp_path / "link.csv"
    link.symlink_to(tmp_path / "nowhere" / "real.csv")
    for target, kind, problem in (
        (store.target, OSError, "Is a directory"),
        (link, errors.ConfigurationError, r"folder .*nowhere does not exist"),
        ("/proc/out.csv", OSError, "/proc/"),
        ("/proc", OSError, "/proc/"),
    ):
        with pytest.raises(kind, match=problem):
            store.fetch(to=target)
        assert store.stand_in.asked == []
    assert store.names == ["link.csv", "out.csv.part"]


def test_a_download_checks_its_path_before_it_waits(store: Store) -> None:
    store.stand_in.says(Say({"status": "pending", "status_url": "/status"}, status=202))
    variant = store.open_variant()
    job = variant.call("start_export", *DAYS)
    store.part.mkdir()
    with pytest.raises(OSError, match="Is a directory"):
        variant.on(job, "download", store.target, check="none")
    assert len(store.stand_in.asked) == 1


def test_checking_a_path_leaves_no_trace(store: Store, tmp_path: Path) -> None:
    store.break_off()
    left = store.names
    store.stand_in.script = lambda _: Say({"error": "not now"}, status=400)
    for target in (store.target, tmp_path / "new.csv", tmp_path):
        with pytest.raises(errors.InvalidRequest):
            store.fetch(to=target)
    assert store.names == left
    assert store.part.read_bytes() == FILE[:12]


Meanwhile = Callable[[Callable[[Path], None]], None]


@pytest.fixture
def meanwhile(store: Store, tmp_path: Path) -> Meanwhile:
    """Break the file off once and then do something in its folder before the rest is sent."""

    def arrange(happens: Callable[[Path], None]) -> None:
        store.cuts = [12]
        waiting = [happens]

        def script(asked: Asked) -> Say:
            if asked.headers.get("range") and waiting:
                waiting.pop()(tmp_path)
            return store(asked)

        store.stand_in.script = script

    return arrange


def _another_begins(folder: Path) -> None:
    """The part was deleted by hand, and another process began with the same name."""
    (folder / "out.csv.part").unlink()
    (folder / "out.csv.part").write_bytes(b"written by another")
    (folder / NOTE).write_text("the other's note")


@pytest.mark.parametrize("new_version", [False, True])
def test_a_download_leaves_the_part_of_another_alone(
    store: Store, meanwhile: Meanwhile, tmp_path: Path, *, new_version: bool
) -> None:
    """Also one that starts afresh."""

    def changes(folder: Path) -> None:
        _another_begins(folder)
        if new_version:
            store.etag, store.content = '"v2"', FILE * 2

    meanwhile(changes)
    with pytest.raises(errors.DownloadError, match="was removed or replaced while") as caught:
        store.fetch()
    assert caught.value.part is None
    assert {each.name: each.read_text() for each in tmp_path.iterdir()} == {
        "out.csv.part": "written by another",
        "out.csv.part.json": "the other's note",
    }


def _link(folder: Path) -> None:
    (folder / "out.csv.part").rename(folder / "victim")
    (folder / "out.csv.part").symlink_to(folder / "victim")


@pytest.mark.parametrize(
    "happens", [lambda folder: (folder / "out.csv.part").unlink(), _link, shutil.rmtree]
)
def test_a_part_that_is_gone_or_a_link_never_becomes_the_target(
    store: Store, meanwhile: Meanwhile, happens: Callable[[Path], None]
) -> None:
    meanwhile(happens)
    store.target.write_bytes(b"old")
    with pytest.raises(errors.DownloadError, match="was removed or replaced while"):
        store.fetch()
    if happens is not shutil.rmtree:
        assert store.target.read_bytes() == b"old"
    assert not store.target.is_symlink()


def test_a_file_that_cannot_get_its_name_is_kept(store: Store, meanwhile: Meanwhile) -> None:
    meanwhile(lambda _: store.target.mkdir(mode=0o755))
    with pytest.raises(errors.DownloadError, match=r"could not be named .*directory") as caught:
        store.fetch()
    assert caught.value.part == str(store.part)
    assert store.part.read_bytes() == FILE
    store.target.rmdir()
    assert store.fetch() == FILE
    assert store.ranges == [f"bytes={len(FILE) - 1}-"]
    assert store.names == ["out.csv"]


def test_of_several_files_the_error_names_the_one_in_the_way(store: Store, tmp_path: Path) -> None:
    store.answer = {"files": ["/a.csv", "/b.csv"], "download_url": None}

    def script(asked: Asked) -> Say:
        if asked.path == "/b.csv":
            (tmp_path / "a.csv").mkdir()
        return store(asked)

    store.stand_in.script = script
    with pytest.raises(errors.DownloadError, match=r"could not be named .*a\.csv") as caught:
        store.fetch(to=tmp_path)
    assert caught.value.part == str(tmp_path / "a.csv.part")


@pytest.mark.parametrize("cuts", [[12, 12], []], ids=["broken off", "whole"])
def test_a_child_that_was_forked_meanwhile_does_not_keep_the_lock(
    store: Store, cuts: list[int]
) -> None:
    """What a child has of an open file is what `dup` makes: one lock, until both are closed."""
    store.cuts, held = [*cuts], list[int]()

    def script(asked: Asked) -> Say:
        if asked.method == "GET" and not held:
            held.append(os.dup(_descriptor_of(store.part)))
        return store(asked)

    store.stand_in.script = script
    try:
        if cuts:
            with pytest.raises(errors.DownloadError, match="ended after"):
                store.fetch(store.open_variant(retry=ONCE))
        store.fetch()
        assert store.fetch() == FILE
    finally:
        for each in held:
            os.close(each)
    assert len(held) == 1


def _descriptor_of(path: Path) -> int:
    for each in Path("/dev/fd").iterdir():
        with suppress(OSError):
            if os.path.samestat(os.fstat(int(each.name)), path.stat()):
                return int(each.name)
    raise AssertionError
