"""Make models of pages: from the text of events as documented, else from dicts."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Generic, cast

from msgspec import Struct, field

from adanalytics_client._base.logs import LOG
from adanalytics_client._base.remedies import remedy
from adanalytics_client._json.fields import DOCUMENTED
from adanalytics_client._json.raw import RawRows
from adanalytics_client.errors import ConfigurationError, ProtocolError

# pydantic and the models are imported where they are used, because they make the start take half as
# long again. Python 3.11's own TypeVar has no default, and only type checkers need one.
if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError
    from typing_extensions import TypeVar

    from adanalytics_client.models import Event

    M = TypeVar("M", default=Event)
else:
    from typing import TypeVar

    M = TypeVar("M")

# pydantic's names of the types that no JSON object can be.
_NO_OBJECTS = frozenset(
    {"int", "float", "bool", "str", "bytes", "decimal", "complex", "none", "literal", "enum"}
    | {"date", "datetime", "time", "timedelta", "uuid", "url"}
    | {"list", "tuple", "set", "frozenset"}
)
_LONGEST_NAME = 60
_NAMES = 20


class Typed(Struct, Generic[M], frozen=True):
    """Makes models of pages.

    Attributes:
        adapter: checks a list of models.
        own: whether the model is `Event`.
        is_event: whether it is `Event`, or a class that extends it.
        foreign: the names of the first events without a documented field, which were logged.
    """

    adapter: "TypeAdapter[list[M]]"
    own: bool
    is_event: bool
    foreign: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, model: type[M] | None) -> "Typed[M]":
        """Prepare a model; `Event` if none is given."""
        from pydantic import PydanticUndefinedAnnotation, PydanticUserError, TypeAdapter

        from adanalytics_client.models import Event

        if isinstance(model, str):
            raise _refusal(model, "the class, not its name")
        kind: Any = model or Event
        try:
            adapter = TypeAdapter(list[kind])
            # Before the first request: a model that cannot hold an event would fail on the first
            # page.
            form = adapter.core_schema.get("items_schema", {}).get("type")
        except (PydanticUserError, PydanticUndefinedAnnotation) as error:
            raise _refusal(model, error.code or "unknown to pydantic") from None
        if form in _NO_OBJECTS:
            raise _refusal(model, "an event is an object with fields")
        is_event = isinstance(kind, type) and issubclass(kind, Event)
        return cls(adapter, own=kind is Event, is_event=is_event)

    def read(self, events: RawRows) -> Iterator[M]:
        """Make models of events, some at a time.

        A row that the user's own model refuses is its ValidationError; `Event` accepts every row.
        """
        if self.is_event:
            self._warn(events)
        for part in events.parts():
            yield from self._models(part)

    def _warn(self, events: RawRows) -> None:
        """Log once that no field of a page's first event is documented."""
        sample = events.sample()
        if self.foreign or not sample or any(map(events.names.documented, sample)):
            return
        self.foreign.extend(sample)
        LOG.warning(
            "%s has no documented field, so every attribute of these events is None. The first "
            "event has: %s. Name the field of each attribute: "
            'ServiceProfile(fields={"event_time": "..."}), or --map event_time=...',
            events.source.page,
            ", ".join([*sample][:_NAMES]),
        )

    def _models(self, events: RawRows) -> Iterable[M]:
        from pydantic import ValidationError

        from adanalytics_client.models import apply_names, typed_events

        if self.own and events.names == DOCUMENTED:
            own_models = typed_events(events.array(), events.sample())
            if own_models is not None:
                return cast("Iterator[M]", own_models)
        rows = events.rows()
        try:
            models = self.adapter.validate_python(rows)
        except ValidationError as error:
            if not self.own:
                raise
            # `Event` accepts every value, but pydantic accepts no name that is not UTF-8.
            raise events.source.sign(_unfit(error, events)) from None
        if self.is_event:
            apply_names(cast("list[Event]", models), events.names)
        return models


def _unfit(error: "ValidationError", events: RawRows) -> ProtocolError:
    index, *_ = error.errors()[0]["loc"]
    event = events.offset + int(index) + 1
    text = ascii(error.errors()[0]["input"])
    return ProtocolError(
        f"Event {event} of {events.source.page} has {text}, which no model can hold.",
        remedy=remedy("rows"),
    )


def _refusal(model: object, reason: str) -> ConfigurationError:
    name = getattr(model, "__name__", None) or repr(model)
    if len(name) > _LONGEST_NAME:
        name = f"{type(model).__name__}(...)"
    if reason == "typed-dict-version":
        reason = "before Python 3.12, pydantic needs the TypedDict of typing_extensions"
    return ConfigurationError(
        f"model={name} is not valid.",
        remedy=f"Pass a pydantic model, a dataclass or a TypedDict ({reason}).",
    )
