"""The kinds of text and number that bodies are made of, with the rule of each as a pattern."""

from decimal import Decimal
from typing import Annotated

from pydantic import Field, WithJsonSchema

from adanalytics_server.storage.events import DEVICE_TYPES, EVENT_TYPES, MEDIA_TYPES, PAYMENT_TYPES

Uuid = Annotated[
    str, Field(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", description="UUID")
]
Instant = Annotated[
    str,
    Field(
        pattern=r"^-?[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$",
        description="RFC 3339, UTC, milliseconds",
    ),
]
Money = Annotated[
    str,
    Field(pattern=r"^-?[0-9]+\.[0-9]{9}$", description="exact decimal in units of the currency"),
]
Rate = Annotated[
    str,
    Field(pattern=r"^-?[0-9]+\.[0-9]{6}$", description="money per 1,000, rounded half to even"),
]
# A number on the wire: pydantic's own description of a Decimal would be a string.
Fraction = Annotated[
    Decimal,
    WithJsonSchema({"type": "number", "description": "rounded half to even to six digits"}),
]
Count = Annotated[int, Field(ge=0)]
Hour = Annotated[int, Field(ge=0, le=23)]
Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$", description="ISO 4217")]
Country = Annotated[str, Field(pattern=r"^[A-Z]{2}$", description="ISO 3166-1 alpha-2")]
ErrorCode = Annotated[int, Field(ge=100, le=901, description="VAST error code")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Address = Annotated[str, Field(json_schema_extra={"format": "uri"})]
# Not a Literal, which different versions of pydantic describe in different words.
TimeZone = Annotated[str, Field(json_schema_extra={"const": "UTC"})]

EventType = Annotated[
    str, Field(json_schema_extra={"enum": list(EVENT_TYPES)}, description="VAST name")
]
MediaType = Annotated[str, Field(json_schema_extra={"enum": list(MEDIA_TYPES)})]
DeviceType = Annotated[str, Field(json_schema_extra={"enum": list(DEVICE_TYPES)})]
PaymentType = Annotated[
    str,
    Field(
        json_schema_extra={"enum": list(PAYMENT_TYPES)},
        description="which event type carries the money",
    ),
]
