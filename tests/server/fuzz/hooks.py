"""What the document cannot say: the end of a range is not before its start."""

from typing import Any

import schemathesis


def in_order(values: Any) -> Any:
    """Swap two dates that are the wrong way round; leave everything else as it is."""
    if isinstance(values, dict):
        start, end = values.get("start_date"), values.get("end_date")
        if isinstance(start, str) and isinstance(end, str) and end < start:
            return {**values, "start_date": end, "end_date": start}
    return values


@schemathesis.hook
def map_query(_context: schemathesis.HookContext, query: Any) -> Any:
    return in_order(query)


@schemathesis.hook
def map_body(_context: schemathesis.HookContext, body: Any) -> Any:
    return in_order(body)
