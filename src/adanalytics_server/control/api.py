"""The control API, ``/_control/*``: the test controls over HTTP, for tests in any language."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends
from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from starlette.requests import Request
from starlette.responses import Response

from adanalytics_server.api.requests import read_body
from adanalytics_server.api.routes import json_response
from adanalytics_server.clock import rfc3339
from adanalytics_server.control.controls import ControlError, Controls
from adanalytics_server.control.files import CannotRestore
from adanalytics_server.errors import ApiError, bad_parameter
from adanalytics_server.faults import Fault, parse_fault
from adanalytics_server.serving.middleware import comes_from_elsewhere

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Leaves a year for times computed from now, such as the expiry of a token.
_LATEST = (datetime(9999, 1, 1, tzinfo=UTC) - _EPOCH) // timedelta(milliseconds=1)


def _only_text(value: object) -> object:
    # pydantic would read a number as seconds since 1970, and a large one as milliseconds.
    if value is not None and not isinstance(value, str):
        raise ValueError("must be a string such as 2026-01-15T12:00:00Z")
    return value


class ClockOrder(BaseModel):
    """Changes to the clock, applied in this order."""

    model_config = ConfigDict(extra="forbid", strict=True)

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


class FaultsOrder(BaseModel):
    """Faults to arm, each as a sentence or as an object of fields."""

    model_config = ConfigDict(extra="forbid")

    faults: list[Annotated[Fault, BeforeValidator(_from_text)]] = Field(
        min_length=1, max_length=1_000
    )


class SnapshotOrder(BaseModel):
    """The name of a snapshot to take."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str


def controls_of(request: Request) -> Controls:
    """Return the controls of the server that received a request; refuse other sites' pages."""
    # A page of another site could not read the response, but it could change the server.
    if comes_from_elsewhere(request):
        raise ApiError(403, "Forbidden")
    controls: Controls = request.app.state.controls
    return controls


ItsControls = Annotated[Controls, Depends(controls_of)]
control_router = APIRouter(prefix="/_control", include_in_schema=False)


@control_router.post("/reset")
async def reset(controls: ItsControls) -> Response:
    try:
        await controls.reset()
    except CannotRestore as error:
        raise ApiError(409, str(error)) from error
    return Response(status_code=204)


@control_router.get("/clock")
async def clock(controls: ItsControls) -> Response:
    return _clock(controls)


@control_router.post("/clock")
async def move_clock(request: Request, controls: ItsControls) -> Response:
    order = await read_body(request, ClockOrder)
    moved = controls.clock
    at = moved.now() if order.now is None else _milliseconds(order.now)
    for field, reached in (("now", at), ("advance", at + (order.advance or 0) * 1000)):
        if not 0 <= reached <= _LATEST:
            raise bad_parameter(field, "would move the clock out of the years 1970 to 9998")
    if order.now is not None:
        moved.set(at)
    if order.advance is not None:
        moved.advance(seconds=order.advance)
    if order.freeze is not None:
        (moved.freeze if order.freeze else moved.run)()
    return _clock(controls)


@control_router.get("/faults")
async def faults(controls: ItsControls) -> Response:
    return _faults(controls)


@control_router.post("/faults")
async def arm_faults(request: Request, controls: ItsControls) -> Response:
    order = await read_body(request, FaultsOrder)
    controls.faults.add(*order.faults)
    return _faults(controls)


@control_router.delete("/faults")
async def disarm_faults(controls: ItsControls) -> Response:
    controls.faults.clear()
    return Response(status_code=204)


@control_router.get("/requests")
async def requests(controls: ItsControls) -> Response:
    return json_response({"requests": controls.journal.entries()})


@control_router.delete("/requests")
async def forget_requests(controls: ItsControls) -> Response:
    controls.journal.clear()
    return Response(status_code=204)


@control_router.get("/snapshots")
async def snapshots(controls: ItsControls) -> Response:
    return json_response({"snapshots": controls.snapshots()})


@control_router.post("/snapshots")
async def take_snapshot(request: Request, controls: ItsControls) -> Response:
    order = await read_body(request, SnapshotOrder)
    try:
        await controls.snapshot(order.name)
    except ControlError as error:
        raise bad_parameter("name", str(error)) from error
    return json_response({"snapshots": controls.snapshots()}, status=201)


@control_router.post("/snapshots/{name}/restore")
async def restore_snapshot(name: str, controls: ItsControls) -> Response:
    try:
        await controls.restore(name)
    except ControlError as error:
        raise ApiError(404, str(error)) from error
    except CannotRestore as error:
        raise ApiError(409, str(error)) from error
    return Response(status_code=204)


def _clock(controls: Controls) -> Response:
    asked = controls.clock
    return json_response({"now": rfc3339(asked.now()), "frozen": asked.is_frozen})


def _faults(controls: Controls) -> Response:
    listed = []
    for count in controls.faults.counts():
        fields = msgspec.to_builtins(count.fault).items()
        stated = {name: value for name, value in fields if value is not None}
        listed.append({"fault": stated, "matched": count.matched, "struck": count.struck})
    return json_response({"faults": listed})


def _milliseconds(instant: datetime) -> int:
    return (instant - _EPOCH) // timedelta(milliseconds=1)
