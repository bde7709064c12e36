"""What two profiles of a service say differently."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass

from adanalytics_client._json.exact import Json

from .service import ServiceProfile

# They depend on the day of the probe and on its data.
_OF_THE_DATA = frozenset({"probe_date", "longest", "nulls", "role", "wait", "fields"})
# What each probe looks at.
_PARTS = frozenset({"pages", "summary", "columns"})
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
    changes = [*_differences(before, after, "")]
    # Only times show the zone.
    has_zones = all(profile.pages and profile.pages.zone for profile in (before, after))
    return [change for change in changes if change.path != "zone" or has_zones]


def _differences(before: Json, after: Json, path: str) -> Iterator[Difference]:
    if path in _PARTS and before and not after:
        yield Difference(path, "there", _MISSING)
    elif path == "pages.most" and before is None and after is not None:
        yield Difference(path, before, after)
    # What is not known on one side, such as for want of data, does not differ.
    if before == after or None in (before, after):
        return
    if is_dataclass(before):
        for name in [member.name for member in fields(before) if member.name not in _OF_THE_DATA]:
            place = f"{path}.{name}".lstrip(".")
            yield from _differences(getattr(before, name), getattr(after, name), place)
    elif isinstance(before, Mapping):
        yield from _of_mappings(before, after, path)
    elif not _is_same(before, after, path):
        yield Difference(path, before, after)


def _is_same(before: Json, after: Json, path: str) -> bool:
    """Return whether the data of two days may show one property in these two ways."""
    # A field that is always null has any type, and whole numbers may be fractions.
    if path.endswith(".type"):
        return "null" in (before, after) or {before, after} == {"integer", "number"}
    return path.endswith(".form") and before == ""


def _of_mappings(
    before: Mapping[str, Json], after: Mapping[str, Json], path: str
) -> Iterator[Difference]:
    is_complete = path == "columns" and bool(before and after)
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name), after.get(name)
        if is_complete and None in (old, new):
            # A day may lack a field that not every event has.
            if getattr(old or new, "nulls", "") == "never":
                change = [_MISSING if value is None else "there" for value in (old, new)]
                yield Difference(f"{path}.{name}", *change)
        else:
            yield from _differences(old, new, f"{path}.{name}")
