"""The control API, ``/_control/*``: the test controls over HTTP, for tests in any language."""

from datetime import UTC, datetime
from functools import cache
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    RootModel,
    ValidationError,
    model_validator,
    validate_call,
)
from starlette.requests import Request
from starlette.responses import Response

from adanalytics_server.accounts.people import AccountError
from adanalytics_server.api.requests import MOST_DISCARDED_BYTES, bad_fields, read_body
from adanalytics_server.clock import milliseconds_of, rfc3339
from adanalytics_server.errors import ApiError, bad_parameter, error_response, json_response
from adanalytics_server.faults import Fault, parse_fault
from adanalytics_server.loading.rows import LoadError
from adanalytics_server.seed.generate import GenerateError
from adanalytics_server.serving.middleware import comes_from_elsewhere
from adanalytics_server.storage.damage import DiskFull

from . import data
from .controls import Controls
from .files import CannotRestore

# Leaves a year for times computed from now, such as the expiry of a token.
_LATEST = milliseconds_of(datetime(9999, 1, 1, tzinfo=UTC))


def _only_text(value: object) -> object:
    # pydantic would read a number as seconds since 1970, and a large one as milliseconds.
    if value is not None and not isinstance(value, str):
        raise ValueError("must be a string such as 2026-01-15T12:00:00Z")
    return value


class Order(BaseModel):
    """A body that has exactly its fields."""

    model_config = ConfigDict(extra="forbid")


class ClockOrder(Order):
    """Changes to the clock, applied in this order."""

    model_config = ConfigDict(strict=True)

    now: Annotated[AwareDatetime, Field(strict=False), BeforeValidator(_only_text)] | None = None
    advance: float | None = Field(None, allow_inf_nan=False)
    freeze: bool | None = None

    @model_validator(mode="after")
    def _says_something(self) -> "ClockOrder":
        if self.now is None and self.advance is None and self.freeze is None:
            raise ValueError("needs now, advance or freeze")
        return self


def _from_text(value: object) -> object:
    return parse_fault(value) if isinstance(value, str) else value


class FaultsOrder(Order):
    """Faults to arm, each as a sentence or as an object of fields."""

    faults: list[Annotated[Fault, BeforeValidator(_from_text)]] = Field(
        min_length=1, max_length=1_000
    )


class Addition(RootModel[dict[str, Any]]):
    """The arguments of a function that adds own data."""


def controls_of(request: Request) -> Controls:
    """Return the controls of the server that received a request; refuse other sites' pages."""
    # A page of another site could not read the response, but it could change the server.
    if comes_from_elsewhere(request):
        raise ApiError(403)
    controls: Controls = request.app.state.controls
    return controls


async def answer_refusal(_request: Request, error: Exception) -> Response:
    """Answer an error of the controls, which says what to do."""
    return error_response(ApiError(409 if isinstance(error, CannotRestore) else 400, str(error)))


REFUSALS = (AccountError, CannotRestore, DiskFull, GenerateError, LoadError)
ItsControls = Annotated[Controls, Depends(controls_of)]
_with_checks = cache(validate_call(config=ConfigDict(arbitrary_types_allowed=True)))
control_router = APIRouter(prefix="/_control", include_in_schema=False)


@control_router.post("/reset", status_code=204)
async def reset(controls: ItsControls) -> None:
    await controls.reset()


@control_router.post("/keep", status_code=204)
async def keep(controls: ItsControls) -> None:
    await controls.keep()


@control_router.delete("/keep", status_code=204)
async def forget(controls: ItsControls) -> None:
    await controls.forget()


@control_router.get("/clock")
async def clock(controls: ItsControls) -> Response:
    server_clock = controls.clock
    return json_response(
        {"now": rfc3339(server_clock.milliseconds()), "frozen": server_clock.is_frozen}
    )


@control_router.post("/clock")
async def move_clock(request: Request, controls: ItsControls) -> Response:
    order = await read_body(request, ClockOrder)
    server_clock = controls.clock
    now = server_clock.milliseconds() if order.now is None else milliseconds_of(order.now)
    for field, time in (("now", now), ("advance", now + (order.advance or 0) * 1000)):
        if not 0 <= time <= _LATEST:
            raise bad_parameter(field, "would move the clock out of the years 1970 to 9998")
    if order.now is not None:
        server_clock.set(order.now)
    if order.advance is not None:
        server_clock.advance(order.advance)
    if order.freeze is not None:
        (server_clock.freeze if order.freeze else server_clock.run)()
    return await clock(controls)


@control_router.get("/faults")
async def faults(controls: ItsControls) -> Response:
    return json_response({"faults": controls.faults.counts()})


@control_router.post("/faults")
async def arm_faults(request: Request, controls: ItsControls) -> Response:
    order = await read_body(request, FaultsOrder)
    controls.faults.add(*order.faults)
    return await faults(controls)


@control_router.delete("/faults", status_code=204)
async def disarm_faults(controls: ItsControls) -> None:
    controls.faults.clear()


@control_router.get("/requests")
async def requests(controls: ItsControls) -> Response:
    return json_response({"requests": controls.journal.entries()})


@control_router.delete("/requests", status_code=204)
async def forget_requests(controls: ItsControls) -> None:
    controls.journal.clear()


async def add(request: Request, controls: ItsControls) -> Response:
    """Add own data: the last part of the path says what."""
    function = data.ADDITIONS[request.url.path.rpartition("/")[2]]
    body = await read_body(request, Addition, limit=MOST_DISCARDED_BYTES)
    try:
        return json_response(
            await _with_checks(function)(controls.context, **body.root), status=201
        )
    except ValidationError as error:
        raise bad_fields(error, "is not a field of this request") from error


for name in data.ADDITIONS:
    control_router.add_api_route(f"/{name}", add, methods=["POST"])
