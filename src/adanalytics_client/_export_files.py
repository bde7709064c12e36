"""The files that an answer about a bulk export names, under whatever names it names them."""

from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import urldefrag

from adanalytics_client._export import ExportFile
from adanalytics_client._export_words import Said, levels, merged
from adanalytics_client._json import Json
from adanalytics_client._url import Address, absolute_url, origin_of
from adanalytics_client.errors import ProtocolError

_SINGLE = (
    "downloadurl",
    "fileurl",
    "exporturl",
    "resulturl",
    "reporturl",
    "signedurl",
    "downloadlink",
)
# The same for several files; the plural of a specific name is as specific.
_SEVERAL = tuple(f"{name}s" for name in _SINGLE)
SPECIFIC = (*_SINGLE, *_SEVERAL)
"""Names of nothing but files, in the order in which they are believed."""

GENERIC = ("location", "link", "href", "url", "urls", "files")
"""Names of a file, or of where to ask for one."""

_LISTS = (*_SEVERAL, "urls", "files")
_SHA256_LENGTH = 64


def files_in(said: Said, names: tuple[str, ...], base: str) -> tuple[ExportFile | None, ...]:
    """What the first of `names` that gives an address gives; None for an entry without one.

    A list that holds the one file of a more specific name is all of the export, and is taken.
    """
    for name in names:
        found = _under(said, name, base)
        if any(found):
            longer = _list_with(said, found[0], base) if len(found) == 1 else ()
            return longer or found
    return ()


def _under(said: Said, name: str, base: str) -> tuple[ExportFile | None, ...]:
    value = said.get(name)
    return tuple(_each_file(value if isinstance(value, list) else [value], base))


def _list_with(said: Said, file: ExportFile | None, base: str) -> tuple[ExportFile | None, ...]:
    """The list of several entries that `file` is one of; each may be signed by itself."""
    for name in _LISTS:
        found = _under(said, name, base)
        places = {each.url.partition("?")[0] for each in found if each}
        if len(found) > 1 and file and file.url.partition("?")[0] in places:
            return found
    return ()


def _each_file(values: list[Json], base: str) -> Iterator[ExportFile | None]:
    for value in values:
        if isinstance(value, dict):
            inner = merged(levels(value))
            file = next(iter(files_in(inner, (*SPECIFIC, *GENERIC), base)), None)
            if file:
                file = replace(file, name=text_in(inner, ("name", "filename")))
                file = measured((file,), inner)[0]
            yield file
        else:
            address = address_in(base, value) if isinstance(value, str) else None
            yield ExportFile(address) if address else None


def measured(files: tuple[ExportFile, ...], said: Said) -> tuple[ExportFile, ...]:
    """The size and checksum beside a single file are that file's."""
    if len(files) != 1:
        return files
    sha256 = text_in(said, ("sha256", "checksumsha256"))
    if sha256 and len(sha256) != _SHA256_LENGTH:
        sha256 = None
    size = count_of(said.get("sizebytes", said.get("filesizebytes")))
    file = files[0]
    sha256 = (file.sha256 or sha256 or "").lower() or None
    known = file.size_bytes if file.size_bytes is not None else size
    return (replace(file, size_bytes=known, sha256=sha256),)


def address_in(base: str, reference: str | None) -> str | None:
    """An http(s) address without its fragment, or None for text that is none."""
    if not reference:
        return None
    try:
        address = Address(urldefrag(absolute_url(base, reference.strip())).url)
    except ProtocolError:
        return None
    return address if origin_of(address) else None


def text_in(said: Said, names: tuple[str, ...]) -> str | None:
    """The first text or number under `names`."""
    values = (said.get(name) for name in names)
    return next((str(each) for each in values if isinstance(each, str | int) and each != ""), None)


def count_of(value: Json) -> int | None:
    """A whole number that counts something, or None."""
    whole = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if whole else None
