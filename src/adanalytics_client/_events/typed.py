"""Make models of pages: from the text if that is exact, else from dicts."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic

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


@dataclass(frozen=True, slots=True)
class Typed(Generic[M]):
    """Makes models of pages.

    Attributes:
        adapter: checks a list of models.
        own: whether the model is `Event`. Then pydantic may read the text itself: it turns numbers
            with a fraction into floats, which only our own models detect.
    """

    adapter: "TypeAdapter[list[M]]"
    own: bool

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
            form = adapter.core_schema.get("items_schema", {}).get("type")
        except (PydanticUserError, PydanticUndefinedAnnotation) as error:
            raise _refusal(model, error.code or "unknown to pydantic") from None
        if form in _NO_OBJECTS:
            raise _refusal(model, "an event is an object with fields")
        return cls(adapter, own=kind is Event)

    def read(self, events: RawRows) -> Iterator[M]:
        """Make models of events, some at a time.

        A row that the user's own model refuses is its ValidationError; `Event` accepts every row.
        """
        for part in events.parts():
            yield from self._models(part)

    def _models(self, events: RawRows) -> list[M]:
        from pydantic import ValidationError

        if self.own:
            from adanalytics_client.models import EXACT, Inexact

            with suppress(ValidationError, Inexact):
                return self.adapter.validate_json(events.array(), context=EXACT)
        rows = events.rows()
        try:
            return self.adapter.validate_python(rows)
        except ValidationError as error:
            if not self.own:
                raise
            # `Event` accepts every value, but pydantic accepts no name that is not UTF-8.
            raise events.source.sign(_unfit(error, events)) from None


def _unfit(error: "ValidationError", events: RawRows) -> ProtocolError:
    index, *_ = error.errors()[0]["loc"]
    event = events.offset + int(index) + 1
    shown = ascii(error.errors()[0]["input"])
    return ProtocolError(
        f"Event {event} of {events.source.page} has {shown}, which no model can hold.",
        remedy="Use rows().",
    )


def _refusal(model: object, why: str) -> ConfigurationError:
    shown = getattr(model, "__name__", None) or repr(model)
    if len(shown) > _LONGEST_NAME:
        shown = f"{type(model).__name__}(...)"
    if why == "typed-dict-version":
        why = "before Python 3.12, pydantic needs the TypedDict of typing_extensions"
    return ConfigurationError(
        f"model={shown} is not valid.",
        remedy=f"Pass a pydantic model, a dataclass or a TypedDict ({why}).",
    )
