"""The files that an answer about a bulk export names, under whatever names it names them."""

import re
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import urldefrag

from adanalytics_client._export import ExportFile
from adanalytics_client._export_words import Said, levels, merged
from adanalytics_client._fold import fold
from adanalytics_client._json import Json
from adanalytics_client._url import Address, absolute_url, origin_of, redact_url
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

GENERIC = ("location", "link", "href", "url", "urls", "files", "parts")
"""Names of a file, or of where to ask for one."""

LISTS = (*_SEVERAL, "urls", "files", "parts")
"""Names of several files."""

_COUNTS = tuple(
    name.format(thing)
    for thing in ("file", "part")
    for name in ("{}count", "{}scount", "total{}s", "num{}s", "numberof{}s", "{}s")
)
# Lists of what is about the same file, or about no file of this export.
_ASIDE = frozenset({"links", "mirrors", "alternates", "alternatives", "formats"})
# What is beside a file and about it.
_ABOUT_FILES = (".sha256", ".sha512", ".sha1", ".md5", ".sig", ".asc")
_SHA256 = re.compile(r"(?:sha-?256[:=])?([0-9a-f]{64})")
_SHA256_NAMED = re.compile(r"sha-?256[:=]([0-9a-f]{64})")
_DIGITS = re.compile(r"[0-9]{1,18}")


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


def check_all(files: tuple[ExportFile, ...], said: Said, base: str) -> None:
    """See that nothing beside the files of a finished export tells of others.

    Raises:
        ProtocolError: when something does.
    """
    if not files:
        return
    counted = max((count_of(said.get(name)) or 0 for name in _COUNTS), default=0)
    listed = [(name, _under(said, name, base)) for name in LISTS]
    most = max(len(files), *(len(found) for _, found in listed))
    # A name of nothing but files may be of the one that is made of those listed.
    bundled = any(any(_under(said, name, base)) for name in SPECIFIC)
    others = [name for name, found in listed if _are_others(files, found, bundled=bundled)]
    others += _numbered_others(files, said, base)
    told = f"names {_shown(files)}"
    if counted > most:
        told += f" and counts {counted} files"
    elif said.get("hasmore") is True:
        told += " and says that there are more"
    elif others:
        told += f", but under {others[0]!r} something else"
    elif longer := next(_longer_lists(files, said, base), None):
        told += f", but under {longer!r} other files beside that"
    else:
        return
    raise ProtocolError(
        f"The export is done, but the answer {told}. Nothing is downloaded, as it may not be all. "
        f"Names seen: {', '.join(said)}. Ask the service which of them is all, or ask for less."
    )


def _are_others(
    files: tuple[ExportFile, ...], found: tuple[ExportFile | None, ...], *, bundled: bool
) -> bool:
    """Whether another file than the one is listed, or several of which it is not one."""
    if len(files) != 1 or not any(found) or (bundled and len(found) > 1):
        return False
    return _place(files[0]) not in {_place(each) for each in found if each}


def _numbered_others(files: tuple[ExportFile, ...], said: Said, base: str) -> list[str]:
    """Names such as `download_url_2` that give another file than those known."""
    known, numbered = {_place(each) for each in files}, []
    for name in said:
        plain = name.rstrip("0123456789")
        if plain != name and plain in {*SPECIFIC, *GENERIC}:
            found = filter(None, _under(said, name, base))
            numbered += [name for each in found if _place(each) not in known]
    return numbered


def _longer_lists(files: tuple[ExportFile, ...], said: Said, base: str) -> Iterator[str]:
    """The names of lists, wherever they are, that hold one of the files beside others.

    Nothing else tells them from lists of something else, so they are not taken as the export.
    """
    known = {_place(each) for each in files}
    for name, values in _lists(said):
        found = [
            each
            for each in _each_file(values, base)
            if each and not _place(each).endswith(_ABOUT_FILES)
        ]
        places = {_place(each) for each in found}
        if known & places and (places - known or len({each.url for each in found}) > len(files)):
            yield name


def _lists(said: Said) -> Iterator[tuple[str, list[Json]]]:
    """The lists in an answer, with their names, except those of links."""
    waiting: list[tuple[str, Json]] = list(said.items())
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.items()
        elif isinstance(value, list) and fold(name) not in _ASIDE:
            if not any(isinstance(each, dict) and "rel" in each for each in value):
                yield name, value
            waiting += [(name, each) for each in value]


def _shown(files: tuple[ExportFile, ...]) -> str:
    return redact_url(files[0].url) if len(files) == 1 else f"{len(files)} files"


def _under(said: Said, name: str, base: str) -> tuple[ExportFile | None, ...]:
    value = said.get(name)
    return tuple(_each_file(value if isinstance(value, list) else [value], base))


def _list_with(said: Said, file: ExportFile | None, base: str) -> tuple[ExportFile | None, ...]:
    """The list of several entries that `file` is one of; each may be signed by itself."""
    for name in LISTS:
        found = _under(said, name, base)
        places = {_place(each) for each in found if each}
        if len(found) > 1 and file and _place(file) in places:
            return found
    return ()


def _place(file: ExportFile) -> str:
    """Its address apart from a signature."""
    return file.url.partition("?")[0]


def _each_file(values: list[Json], base: str) -> Iterator[ExportFile | None]:
    for value in values:
        if isinstance(value, dict):
            inner = merged(levels(value))
            found = files_in(inner, (*SPECIFIC, *GENERIC), base)
            if len(found) == 1 and (file := found[0]):
                name = text_in(inner, ("name", "filename")) or file.name
                found = measured((replace(file, name=name),), inner)
            yield from found or (None,)
        else:
            address = address_in(base, value) if isinstance(value, str) else None
            yield ExportFile(address) if address else None


def measured(
    files: tuple[ExportFile, ...], said: Said, *, anew: bool = False
) -> tuple[ExportFile, ...]:
    """The size and checksum beside a single file are that file's, unless it has its own.

    With `anew` they win: what a later answer says was measured later.
    """
    if len(files) != 1:
        return files
    (file,) = files
    size = count_of(said.get("sizebytes", said.get("filesizebytes")))
    sha256 = _sha256_in(said)
    sizes, digests = (file.size_bytes, size), (file.sha256, sha256)
    if anew:
        sizes, digests = sizes[::-1], digests[::-1]
    known = next((each for each in sizes if each is not None), None)
    return (replace(file, size_bytes=known, sha256=next(filter(None, digests), None)),)


def _sha256_in(said: Said) -> str | None:
    """In hex; under the name of any checksum only where the text says which it is."""
    forms = {"sha256": _SHA256, "checksumsha256": _SHA256, "checksum": _SHA256_NAMED}
    told = ((form, text_in(said, (name,)) or "") for name, form in forms.items())
    found = (form.fullmatch(text.strip().lower()) for form, text in told)
    return next((each[1] for each in found if each), None)


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
    """A whole number that counts something, also one written as text, or None."""
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        return int(value)
    whole = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if whole else None
