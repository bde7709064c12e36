"""The OpenAPI document of the Partner API, generated from the routes."""

import json
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from pydantic import BaseModel

_FRAMEWORK_SCHEMAS = ("HTTPValidationError", "ValidationError")
_PARTNER_PATHS = "/api/partners/"
_BEARER = {
    "type": "http",
    "scheme": "bearer",
    "description": "a token of the login, or an API key; both in the same way",
}


class DocumentedApp(FastAPI):
    """FastAPI without the 422 that it announces everywhere: here a bad parameter is a 400."""

    def openapi(self) -> dict[str, Any]:
        """Return the document; it is made once."""
        if self.openapi_schema is None:
            document = super().openapi()
            for path, operations in document["paths"].items():
                for operation in operations.values():
                    operation["responses"].pop("422", None)
                    if path.startswith(_PARTNER_PATHS):
                        operation["security"] = [{"bearer": []}]
            for name in _FRAMEWORK_SCHEMAS:
                document["components"]["schemas"].pop(name, None)
            document["components"]["securitySchemes"] = {"bearer": _BEARER}
        return super().openapi()


def json_body(model: type[BaseModel]) -> dict[str, Any]:
    """Describe a body that the operation reads itself."""
    content = {"application/json": {"schema": model.model_json_schema()}}
    return {"requestBody": {"required": True, "content": content}}


def operation_id(route: APIRoute) -> str:
    """Name an operation like its function: what metrics and faults call it too."""
    return route.name


def document_text(app: FastAPI) -> str:
    """Write the document of an application as JSON to be read and compared."""
    return json.dumps(app.openapi(), indent=2, ensure_ascii=False) + "\n"
