"""Which files an answer about an export names: all of them, or an error; both worlds."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.client.one_export import CSV, FILE, fetch

from adanalytics_client import errors

if TYPE_CHECKING:
    from tests.client.conftest import Say, StandIn, World


@pytest.mark.parametrize(
    "answer",
    [
        {"status": "done", "files": {"urls": ["/f.csv", "/g.csv"]}},
        {"status": "done", "files": [{"name": "x", "urls": ["/f.csv", "/g.csv"]}]},
        {"status": "done", "files": [{"files": [{"url": "/f.csv"}, {"url": "/g.csv"}]}]},
        {"status": "done", "files": [{"urls": ["/f.csv"]}, {"url": "/g.csv"}]},
        {"status": "done", "download_url": {"urls": ["/f.csv", "/g.csv"]}},
        {"status": "done", "files": [{"data": {"urls": ["/f.csv", "/g.csv"]}}], "file_count": 2},
        {"status": "done", "parts": [{"url": "/f.csv"}, {"url": "/g.csv"}], "total_parts": 2},
        {"download_url": "/g.csv", "parts": [{"url": "/f.csv"}, {"url": "/g.csv"}]},
    ],
)
def test_a_list_gives_all_of_its_files(
    world: World, stand_in: StandIn, say: type[Say], answer: Any
) -> None:
    stand_in.says(say(answer))
    job = world.call("start_export", "2026-01-01")
    assert [each.url.rpartition("/")[2] for each in job.last_status.files] == ["f.csv", "g.csv"]


@pytest.mark.parametrize(
    ("beside", "told"),
    [
        (
            {"files": [{"url": "/g.csv"}]},
            r"names http.*/f\.csv\?\*\*\*, but under 'files' something else",
        ),
        ({"urls": ["/g.csv"]}, "but under 'urls' something else"),
        ({"file_count": 3}, "and counts 3 files"),
        ({"totalFiles": "3", "data": {"state": "done"}}, "and counts 3 files"),
        ({"has_more": True}, "and says that there are more"),
        ({"total_parts": 2}, "and counts 2 files"),
        ({"num_parts": "2", "part_number": 1}, "and counts 2 files"),
        ({"part": 1, "parts": 2}, "and counts 2 files"),
        ({"files": 2}, "and counts 2 files"),
        ({"download_url_2": "/g.csv"}, "but under 'downloadurl2' something else"),
        ({"results": [{"url": "/f.csv"}, {"url": "/g.csv"}]}, "but under 'results' other files"),
        ({"data": [{"url": "/g.csv"}, {"url": "/f.csv?sig=2"}]}, "but under 'data' other files"),
        (
            {"manifest": {"entries": [{"href": "/f.csv"}, {"href": "/g.csv"}]}},
            "but under 'entries' other files",
        ),
        ({"pages": ["/f.csv?sig=abc", "/f.csv?sig=def"]}, "but under 'pages' other files"),
    ],
)
def test_one_file_beside_word_of_others_is_an_error_that_says_what_was_seen(
    world: World, stand_in: StandIn, say: type[Say], beside: dict[str, Any], told: str
) -> None:
    stand_in.says(say({"status": "done", "download_url": "/f.csv?sig=abc", **beside}))
    with pytest.raises(errors.ProtocolError, match=told) as caught:
        world.call("start_export", "2026-01-01")
    assert "Names seen: status, downloadurl" in str(caught.value)
    assert "sig=abc" not in str(caught.value)


@pytest.mark.parametrize(
    "beside",
    [
        {"file_count": 1},
        {"has_more": False},
        {"files": [{"url": "/f.csv?sig=2"}]},
        {"files": []},
        {"files": None},
        {"files": ["/g", "/h"], "file_count": 2},
        {"parts": ["/g", "/h"], "total_parts": 2},
        {"parts": [{"number": 1}, {"number": 2}], "part_count": 2},
        {"links": [{"rel": "self", "href": "/st"}, {"rel": "file", "href": "/f.csv"}]},
        {"related": [{"rel": "self", "href": "/st"}, {"rel": "file", "href": "/f.csv"}]},
        {"mirrors": ["/f.csv", "/mirror/f.csv"]},
        {"results": [{"url": "/f.csv?sig=2"}]},
        {"history": [{"url": "/g.csv"}, {"url": "/h.csv"}]},
        {"download_url_1": "/f.csv", "download_url_2": None, "row_count": 2},
    ],
)
def test_one_file_that_is_all_is_taken(
    world: World, stand_in: StandIn, say: type[Say], beside: dict[str, Any]
) -> None:
    stand_in.says(say({"status": "done", "download_url": "/f.csv", **beside}))
    job = world.call("start_export", "2026-01-01")
    assert [each.url for each in job.last_status.files] == [f"{stand_in.url}/f.csv"]


@pytest.mark.parametrize(
    ("measures", "told"),
    [
        ({"size_bytes": "10006"}, "10005 bytes and 10006 were"),
        ({"sha256": "sha256:" + "0" * 64}, "sha256 is not"),
        ({"sha256": "SHA-256=" + "A" * 64}, "sha256 is not"),
        ({"checksum": "sha256:" + "0" * 64}, "sha256 is not"),
        ({"sha256": None, "checksum": "SHA-256=" + "A" * 64}, "sha256 is not"),
        ({"row_count": "3000"}, "for 3000 events"),
    ],
)
def test_measures_are_checked_however_they_are_written(
    world: World,
    stand_in: StandIn,
    say: type[Say],
    tmp_path: Path,
    measures: dict[str, Any],
    told: str,
) -> None:
    stand_in.says_by_name(
        bulk_export=[say({"status": "done", "download_url": "/f.csv", **measures})],
        f_csv=[say(FILE, headers=CSV, chunked=True)],
    )
    with pytest.raises(errors.DownloadError, match=told):
        fetch(world, tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_right_measures_pass_however_they_are_written(
    world: World, stand_in: StandIn, say: type[Say], tmp_path: Path
) -> None:
    digest = f"sha256:{sha256(FILE).hexdigest()}"
    measures = {"size_bytes": str(len(FILE)), "sha256": digest, "row_count": "2000"}
    stand_in.says_by_name(
        bulk_export=[say({"status": "done", "download_url": "/f.csv", **measures})],
        f_csv=[say(FILE, headers=CSV)],
    )
    assert fetch(world, tmp_path / "out.csv").read_bytes() == FILE


@pytest.mark.parametrize("checksum", ["0" * 64, "md5:" + "0" * 32, "sha3-256:" + "0" * 64])
def test_a_checksum_of_another_kind_is_left_aside(
    world: World, stand_in: StandIn, say: type[Say], checksum: str
) -> None:
    stand_in.says(say({"status": "done", "download_url": "/f.csv", "checksum": checksum}))
    assert world.call("start_export", "2026-01-01").last_status.files[0].sha256 is None


@pytest.mark.parametrize("size", ["9" * 5000, "-1", "1.5", "many", "", True, [], "\u0663"])
def test_a_measure_that_is_none_is_left_aside(
    world: World, stand_in: StandIn, say: type[Say], size: Any
) -> None:
    told = {"size_bytes": size, "row_count": size, "sha256": "none", "file_count": size}
    stand_in.says(say({"status": "done", "download_url": "/f.csv", **told}))
    status = world.call("start_export", "2026-01-01").last_status
    assert (status.row_count, status.files[0].size_bytes, status.files[0].sha256) == (None,) * 3


@pytest.mark.parametrize(
    ("later", "told"),
    [
        ({"size_bytes": 10006}, "10005 bytes and 10006 were"),
        ({"sha256": "0" * 64}, "sha256 is not"),
    ],
)
def test_measures_that_come_after_the_address_are_checked(
    world: World,
    stand_in: StandIn,
    say: type[Say],
    tmp_path: Path,
    later: dict[str, Any],
    told: str,
) -> None:
    early = {"status": "processing", "status_url": "/st", "download_url": "/f.csv", "size_bytes": 5}
    stand_in.says_by_name(
        bulk_export=[say(early, status=202)],
        st=[say({"status": "done", "size_bytes": len(FILE), **later})],
        f_csv=[say(FILE, headers=CSV, chunked=True)],
    )
    with pytest.raises(errors.DownloadError, match=told):
        fetch(world, tmp_path / "out.csv")


@pytest.mark.parametrize("name", ["url", "href", "location"])
def test_a_plain_address_beside_a_list_of_others_is_an_error(
    world: World, stand_in: StandIn, say: type[Say], name: str
) -> None:
    """It may be of the job, or of a first file: only a name of nothing but files may be of all."""
    stand_in.says(say({"status": "done", name: "/a.csv", "files": [{"url": "/b"}, {"url": "/c"}]}))
    with pytest.raises(errors.ProtocolError, match="but under 'files' something else"):
        world.call("start_export", "2026-01-01")
    stand_in.says(say({"status": "done", name: "/b", "files": [{"url": "/b?x"}, {"url": "/c"}]}))
    assert len(world.call("start_export", "2026-01-01").last_status.files) == 2


def test_a_longer_list_beside_several_files_is_an_error(
    world: World, stand_in: StandIn, say: type[Say]
) -> None:
    files = {"download_urls": ["/f.csv", "/g.csv"], "files": ["/f.csv", "/g.csv", "/h.csv"]}
    stand_in.says(say({"status": "done", **files}))
    with pytest.raises(errors.ProtocolError, match="names 2 files, but under 'files' other files"):
        world.call("start_export", "2026-01-01")


def test_what_is_about_a_file_is_no_other_file(
    world: World, stand_in: StandIn, say: type[Say]
) -> None:
    beside = {"artifacts": [{"url": "/f.csv"}, {"url": "/f.csv.sha256"}, {"url": "/f.csv.asc?x"}]}
    stand_in.says(say({"status": "done", "download_url": "/f.csv", **beside}))
    assert len(world.call("start_export", "2026-01-01").last_status.files) == 1
