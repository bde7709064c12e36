"""One pull of events as it was asked for: everything that both worlds share."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic

from pydantic import PydanticUserError, TypeAdapter

from adanalytics_client._checks import check_text, is_whole
from adanalytics_client._dates import Day, to_range
from adanalytics_client._fanout import Fanout, Turned
from adanalytics_client._json import Json
from adanalytics_client._operations import PageReader
from adanalytics_client._pages import Page
from adanalytics_client._plan import LARGEST_PAGE, Plan, make_plan
from adanalytics_client.errors import ConfigurationError
from adanalytics_client.models import Event

# Python 3.11's own TypeVar knows no default, and only type checkers need it.
if TYPE_CHECKING:
    from typing_extensions import TypeVar

    M = TypeVar("M", default=Event)
else:
    from typing import TypeVar

    M = TypeVar("M")

MOST_CONCURRENT = 64


@dataclass(frozen=True, slots=True)
class Pull(Generic[M]):
    """A plan, and how its pages are fetched and what becomes of its events."""

    plan: Plan
    concurrency: int
    ordered: bool
    adapter: TypeAdapter[list[M]]
    rows_key: str | None
    max_events: int | None

    def fanout(self) -> Fanout:
        """A fresh fan-out over the plan."""
        return Fanout(
            self.plan,
            concurrency=self.concurrency,
            ordered=self.ordered,
            enough=self.max_events,
        )

    def reader(self, *, as_texts: bool) -> PageReader:
        """How one page is fetched."""
        return PageReader(self.plan.per_page, rows_key=self.rows_key, as_texts=as_texts)

    def left(self, passed: int) -> int | None:
        """How many more events may pass, or None for all."""
        return None if self.max_events is None else self.max_events - passed

    def page(self, turned: Turned, passed: int) -> Page:
        """A page for the user, cut where `max_events` ends."""
        cursor = turned.cursor
        rows = turned.page.rows[: self.left(passed)]
        return Page(cursor.slice, cursor.number, rows, turned.last)

    def typed(self, rows: list[dict[str, Json]]) -> list[M]:
        """Rows as models.

        Raises:
            pydantic.ValidationError: for a row that the user's own model refuses; `Event` takes
                every row.
        """
        return self.adapter.validate_python(rows)


def make_pull(
    start: Day,
    end: Day | None,
    *,
    hour: int | None,
    split: str,
    per_page: int | None,
    concurrency: int,
    ordered: bool,
    model: type[M] | None,
    rows_key: str | None,
    max_events: int | None,
) -> Pull[M]:
    """Check the arguments of `events` and plan the pull.

    Raises:
        ConfigurationError: naming the argument that is wrong.
    """
    if not is_whole(concurrency, 1, MOST_CONCURRENT):
        raise ConfigurationError(
            f"concurrency={concurrency!r}: pass a whole number of requests "
            f"from 1 to {MOST_CONCURRENT}."
        )
    if max_events is not None and not is_whole(max_events, 1):
        raise ConfigurationError(
            f"max_events={max_events!r}: pass a whole number, at least 1, or None for all."
        )
    check_text("rows_key", rows_key)
    first, last = to_range(start, end)
    plan = make_plan(first, last, hour=hour, split=split, per_page=per_page)
    if max_events is not None:
        # A smaller page is as many requests and fewer bytes.
        plan = replace(plan, per_page=min(plan.per_page, max_events, LARGEST_PAGE))
    return Pull(plan, concurrency, ordered, _adapter(model or Event), rows_key, max_events)


def _adapter(model: object) -> TypeAdapter[Any]:
    kind: Any = model
    try:
        return TypeAdapter(list[kind])
    except PydanticUserError as error:
        shown = getattr(model, "__name__", repr(model))
        raise ConfigurationError(
            f"model={shown}: pass a pydantic model, a dataclass or a TypedDict ({error.code})."
        ) from None
