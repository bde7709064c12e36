"""A service with any rows: those of the hours that a test gives it, in the published envelope."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from adanalytics_client import Client, ServiceProfile

API = "/api/partners/acme/ad-analytics"


class ServiceOfRows:
    """Serves rows by day and hour; a row is the JSON text of an event.

    Attributes:
        rows: the texts by day and hour.
        summary: the row of the summary by day, by day.
        asked: the paths of the requests so far.
    """

    def __init__(self, server: HTTPServer) -> None:
        self.rows: dict[tuple[str, int], Sequence[str]] = {}
        self.summary: dict[str, Mapping[str, Any]] = {}
        self.asked: list[str] = []
        self.url = server.url_for("")
        server.expect_request(f"{API}/events").respond_with_handler(self._events)
        server.expect_request(f"{API}/dates").respond_with_handler(self._dates)
        server.expect_request(f"{API}/summary").respond_with_handler(self._summary)

    def client(self, **profile: Any) -> Client:
        service = ServiceProfile(**profile)
        return Client(self.url, api_key="a-test-key", partner="acme", service=service)

    def _events(self, request: Request) -> Response:
        self.asked.append("events")
        query = request.args
        wanted = [
            text
            for (day, hour), texts in sorted(self.rows.items())
            if query["start_date"] <= day <= query["end_date"]
            and query.get("hour", str(hour)) == str(hour)
            for text in texts
        ]
        page, size = int(query.get("page", 1)), int(query.get("per_page", 1000))
        meta = {"total": len(wanted), "page": page, "per_page": size}
        texts = ",".join(wanted[(page - 1) * size : page * size])
        return _json(f'{{"data":[{texts}],"meta":{json.dumps(meta)}}}')

    def _dates(self, _request: Request) -> Response:
        self.asked.append("dates")
        return _json(json.dumps({"dates": sorted({day for day, _ in self.rows})}))

    def _summary(self, request: Request) -> Response:
        self.asked.append("summary")
        days = [*self.summary.items()]
        rows = [
            {"date": day, **row}
            for day, row in sorted(days)
            if request.args["start_date"] <= day <= request.args["end_date"]
        ]
        meta = {"total": len(rows), "page": 1, "per_page": 1000}
        return _json(json.dumps({"data": rows, "meta": meta}))


def _json(text: str) -> Response:
    return Response(text, content_type="application/json")
