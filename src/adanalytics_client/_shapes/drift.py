"""What two profiles of a service say differently."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass

from adanalytics_client._json.exact import Json
from adanalytics_client._shapes.service import ServiceProfile

# They depend on the day of the probe and on its data.
_OF_THE_DATA = frozenset({"probe_date", "longest", "nulls", "role", "wait"})
_MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Difference:
    """A property of a service that has changed.

    Attributes:
        path: the place in `service.toml`, such as `pages.total`.
        before: the value in the earlier profile; `missing` for a field that it lacks.
        after: the value in the later one.
    """

    path: str
    before: Json
    after: Json

    def __str__(self) -> str:
        return f"{self.path}: {self.before!r} before, {self.after!r} now"


def differences(before: ServiceProfile, after: ServiceProfile) -> list[Difference]:
    """Return what differs, apart from what either does not know and what the data decide.

    Examples:
        >>> [str(line) for line in differences(earlier, ServiceProfile(rows_key="items"))]
        ["rows_key: 'data' before, 'items' now"]
    """
    return [*_differences(before, after, "")]


def _differences(before: Json, after: Json, path: str) -> Iterator[Difference]:
    if before == after or None in (before, after):
        return
    if is_dataclass(before):
        names = [member.name for member in fields(before) if member.name not in _OF_THE_DATA]
        for name in names:
            yield from _differences(
                getattr(before, name), getattr(after, name), f"{path}.{name}".lstrip(".")
            )
    elif isinstance(before, Mapping):
        yield from _of_mappings(before, after, path)
    # A field that is always null has any type; an empty form is several forms.
    elif "null" not in (before, after) and not (path.endswith(".form") and "" in (before, after)):
        yield Difference(path, before, after)


def _of_mappings(
    before: Mapping[str, Json], after: Mapping[str, Json], path: str
) -> Iterator[Difference]:
    # All columns of a service are known, or none is; the other tables hold what was seen.
    is_complete = path in {"columns", "fields"} and bool(before and after)
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name), after.get(name)
        if is_complete and None in (old, new):
            change = [_MISSING if value is None else "there" for value in (old, new)]
            yield Difference(f"{path}.{name}", *change)
        else:
            yield from _differences(old, new, f"{path}.{name}")
