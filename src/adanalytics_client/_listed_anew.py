"""Which of the files that an export lists anew is which of those it listed before."""

from collections.abc import Callable
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from adanalytics_client._export import ExportFile
from adanalytics_client._source import path_of

Files = tuple[ExportFile, ...]
Mark = Callable[[ExportFile], str | int | None]


def matched(known: Files, fresh: Files) -> Files | None:
    """`fresh` in the order of `known`, or None when nobody can tell which is which.

    What names each file once in both lists tells. Where nothing does, as with addresses that hold
    another token each time, sizes may, and else the order does, unless anything speaks against it.
    """
    if len(known) != len(fresh):
        return None
    if len(known) == 1:
        return fresh
    against = False
    for mark in (_stated_name, _whole_path, _path, called, _checksum):
        if ordered := _in_order(known, fresh, mark):
            return ordered
        before, now = [mark(each) for each in known], [mark(each) for each in fresh]
        moved = [each for each, then in zip(now, before, strict=True) if each not in (None, then)]
        against = against or bool({*moved} & {*before})
    if against or _differ(known, fresh, _stated_name) or _differ(known, fresh, _checksum):
        return None
    # Other files may have these sizes, too: they count only where nothing else is said.
    ordered = _in_order(known, fresh, _size) or fresh
    return None if _differ(known, ordered, _size) else ordered


def _in_order(known: Files, fresh: Files, mark: Mark) -> Files | None:
    """`fresh` in the order of `known` by a mark that each file has once in both lists."""
    before, now = [mark(each) for each in known], [mark(each) for each in fresh]
    if None in before or len(set(before)) < len(before) or set(before) != set(now):
        return None
    return tuple(fresh[now.index(each)] for each in before)


def _differ(known: Files, fresh: Files, mark: Mark) -> bool:
    """Whether the mark of any file is another one now."""
    pairs = [(mark(old), mark(new)) for old, new in zip(known, fresh, strict=True)]
    return any(None not in pair and pair[0] != pair[1] for pair in pairs)


def called(file: ExportFile) -> str:
    """The service's name for a file, else the last part of its address."""
    return PurePosixPath(file.name or unquote(urlsplit(file.url).path)).name


def _stated_name(file: ExportFile) -> str | None:
    return file.name


def _whole_path(file: ExportFile) -> str:
    return path_of(file.url)


def _path(file: ExportFile) -> str:
    return urlsplit(file.url).path


def _checksum(file: ExportFile) -> str | None:
    return file.sha256


def _size(file: ExportFile) -> int | None:
    return file.size_bytes
