"""Which hours a filter on `event_date` and `event_hour` leaves to read."""

import operator
from collections.abc import Callable, Iterable
from typing import Any

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
    Not,
)

from adanalytics_client.dataset import Hour

_COMPARISONS: dict[type[Filter], Callable[[Any, Any], bool]] = {
    EqualTo: operator.eq,
    EqualNullSafe: operator.eq,
    GreaterThan: operator.gt,
    GreaterThanOrEqual: operator.ge,
    LessThan: operator.lt,
    LessThanOrEqual: operator.le,
    In: lambda held, values: held in values,
}


def may_pass(hour: Hour, filters: Iterable[Filter]) -> bool:
    """Return whether events of the hour may pass all filters; Spark itself applies them again."""
    return all(_may_pass_one(hour, each) for each in filters)


def _may_pass_one(hour: Hour, filter_: Filter) -> bool:
    negated = isinstance(filter_, Not)
    compared = filter_.child if isinstance(filter_, Not) else filter_
    compare = _COMPARISONS.get(type(compared))
    column: tuple[str, ...] = getattr(compared, "attribute", ())
    held = {"event_date": hour.day, "event_hour": hour.hour}.get(".".join(column))
    value = getattr(compared, "value", None)
    if compare is None or held is None or value is None:
        return True
    return compare(held, value) is not negated
