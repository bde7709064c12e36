"""Which of the files that an export lists anew is which of those it listed before."""

from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from adanalytics_client._export import ExportFile
from adanalytics_client._source import path_of

Files = tuple[ExportFile, ...]


def matched(known: Files, fresh: Files) -> Files | None:
    """`fresh` in the order of `known`, or None when nobody can tell which is which.

    What names each file once in both lists tells. Where nothing does, as with addresses that hold
    another token each time, the order does, unless anything speaks against it.
    """
    if len(known) != len(fresh):
        return None
    if len(known) == 1:
        return fresh
    against = False
    for mark in (_stated_name, _whole_path, _path, called, _checksum):
        before, now = [mark(each) for each in known], [mark(each) for each in fresh]
        if None not in before and len(set(before)) == len(before) and set(before) == set(now):
            return tuple(fresh[now.index(each)] for each in before)
        moved = [each for each, then in zip(now, before, strict=True) if each not in (None, then)]
        against = against or bool({*moved} & {*before})
    names = [(old.name, new.name) for old, new in zip(known, fresh, strict=True)]
    renamed = any(None not in pair and pair[0] != pair[1] for pair in names)
    return None if against or renamed else fresh


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
