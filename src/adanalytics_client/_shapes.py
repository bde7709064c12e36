"""Words for an answer in which no list of records, or more than one, fits."""

from collections.abc import Collection, Iterable, Iterator

from adanalytics_client._fold import fold
from adanalytics_client._json import Json
from adanalytics_client._lines import Lines

_DEEPEST = 8
_MOST_NAMES = 20


def is_rows(value: Json) -> bool:
    """Whether a value is a list of objects, such as an empty one."""
    if isinstance(value, Lines):
        return True
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)


def kind_of(value: Json) -> str:
    """What a value is, in JSON's words.

    Example:
        >>> kind_of(None), kind_of([{}, None]), kind_of({})
        ('null', 'a list with null in it', 'an object')
    """
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, dict):
        return "an object"
    if is_rows(value):
        return "a list of objects"
    if isinstance(value, list):
        other = next(each for each in value if not isinstance(each, dict))
        return f"a list with {kind_of(other) if not isinstance(other, list) else 'a list'} in it"
    return "a text" if isinstance(value, str) else "a number"


def outlined(value: Json) -> str:
    """What a value is, of an object also its keys."""
    if isinstance(value, dict):
        return f"an object with the keys {_keys(value)}" if value else "an empty object"
    return kind_of(value)


def unclear(
    content: dict[str, Json],
    names: Collection[str],
    fitting: list[Json],
    *,
    rows_key: str | None,
    settable: bool,
) -> str:
    """What to say of an answer in which no list, or more than one, is that of the records.

    Args:
        content: the answer.
        names: the folded names that were looked for.
        fitting: the lists that were found under them.
        rows_key: as the caller gave it.
        settable: whether the caller can give one.
    """
    paths = {path: each for path, each in _members(content, _DEEPEST) if is_rows(each)}
    wanted = f"objects is named {rows_key!r}" if rows_key else "records was found"
    if fitting:
        likely = [path for path, each in paths.items() if any(each is one for one in fitting)]
        said = f"More than one list of {wanted}: {_joined(likely)}"
    else:
        wrong = _wrong(content, names, paths)
        likely = [path for path, each in paths.items() if len(each) or not wrong]
        said = f"No list of {wanted}"
        said += f": {wrong}, where a list of objects belongs" if wrong else ""
    if likely and settable:
        best = max(likely, key=lambda path: len(paths[path]))
        said += f"; name it with rows_key=, such as {best!r}"
    elif likely and not fitting:
        said += f"; there is {_joined(likely)}, which is none of the usual names"
    return f"{said}. Keys seen: {_keys(content)}."


def _wrong(content: dict[str, Json], names: Collection[str], lists: Iterable[str]) -> str:
    """What has a right name and is no list of objects, nor around one."""
    return _joined(
        f"{path} is {kind_of(each)}"
        for path, each in _members(content, 2)
        if fold(path.rpartition(".")[2]) in names
        and not (is_rows(each) or any(one.startswith(f"{path}.") for one in lists))
    )


def _keys(content: dict[str, Json]) -> str:
    return _joined(path for path, _ in _members(content, 2)) or "none"


def _members(content: dict[str, Json], depth: int) -> Iterator[tuple[str, Json]]:
    """Paths and values of an object and of those in it, the outer ones first."""
    level = [("", content)]
    for _ in range(depth):
        inner = []
        for above, each in level:
            for name, value in each.items():
                yield f"{above}{name}", value
                if isinstance(value, dict):
                    inner.append((f"{above}{name}.", value))
        level = inner


def _joined(paths: Iterable[str]) -> str:
    names = [*paths]
    more = len(names) - _MOST_NAMES
    told = ", ".join(names[:_MOST_NAMES])
    return f"{told} and {more} more" if more > 0 else told
