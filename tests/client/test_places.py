"""Where events are written to: pipes, streams of one's own, and names that are none."""

import io
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.client.stand_in import Say, StandIn
from tests.client.variants import Variant

from adanalytics_client import errors
from adanalytics_client._base.formats import FORMATS

DAY = "2026-01-15"
ROW = b'{"event_id":"a"}'


@pytest.fixture
def day(stand_in: StandIn) -> StandIn:
    stand_in.says(Say(b'{"events": [%b], "total": 1}' % ROW))
    return stand_in


def write(variant: Variant, to: Any, **options: Any) -> Any:
    return variant.on(variant.client.events(DAY, split="none"), "write", to, **options)


def test_a_pipe_waits_for_its_reader(variant: Variant, day: StandIn, tmp_path: Path) -> None:
    path, read = tmp_path / "pipe", list[bytes]()
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()))
    reader.start()
    assert write(variant, path, format="jsonl") == 1
    reader.join()
    assert read == [ROW + b"\n"]


class OnlyWrites:
    def __init__(self) -> None:
        self.pieces: list[Any] = []

    def write(self, piece: Any) -> int:
        self.pieces.append(piece)
        return len(piece)


@pytest.mark.parametrize("form", FORMATS)
def test_of_a_stream_only_writing_is_asked_for(variant: Variant, day: StandIn, form: str) -> None:
    stream, whole = OnlyWrites(), io.BytesIO()
    assert write(variant, stream, format=form) == 1
    assert {type(each) for each in stream.pieces} == {bytes}
    write(variant, whole, format=form)
    assert b"".join(stream.pieces) == whole.getvalue()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("file.csv/", "so it names a folder. Name a file"),
        ("new.csv/", "so it names a folder. Name a file"),
        ("x.gz", "x.gz has no suffix in front of .gz: events are written as"),
        ("x.tsv.gz", "x.tsv.gz ends in .tsv: events are written as"),
        ("x.tsv", "x.tsv ends in .tsv: events are written as"),
    ],
)
def test_names_that_cannot_be_a_file(
    variant: Variant, day: StandIn, tmp_path: Path, name: str, message: str
) -> None:
    (tmp_path / "file.csv").write_bytes(b"old")
    with pytest.raises(errors.ConfigurationError, match=message):
        write(variant, f"{tmp_path}/{name}")
    assert day.asked == []
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file.csv"]


def test_a_name_that_is_too_long_costs_no_request(
    variant: Variant, day: StandIn, tmp_path: Path
) -> None:
    with pytest.raises(OSError, match="File name too long"):
        write(variant, tmp_path / ("x" * 252 + ".csv"))
    assert day.asked == []


def test_events_without_a_field_have_one_header(
    variant: Variant, stand_in: StandIn, tmp_path: Path
) -> None:
    rows = [[{}, {}], [{}], [{"odd": 1}]]
    stand_in.script = lambda asked: Say(
        {"events": rows[int(asked.query["page"]) - 1], "has_more": asked.query["page"] != "3"}
    )
    assert write(variant, tmp_path / "x.csv") == 4
    header, *lines = (tmp_path / "x.csv").read_text().splitlines()
    assert header.startswith("event_id,event_time,")
    assert header.endswith(",key_values,odd")
    assert [line.strip(",") for line in lines] == ["", "", "", "1"]
    assert {line.count(",") for line in lines} == {header.count(",")}
