"""A service with any rows: those of the hours that a test gives it, in the published envelope."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
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
        counts: whether it counts the events of other days as impressions, so that a sync requests
            a small day at once, not each hour of it.
        campaigns: the rows of the summary by campaign.
        export: makes the file of an export from the texts of its events; None refuses exports.
        longest: the days that an export may have.
        most: the days of a longer range that it answers with, without a word: the first ones, or
            below 0 the last ones.
        highest: the highest total that it states of events.
        asked: the paths of the requests so far.
    """

    def __init__(self, server: HTTPServer) -> None:
        self.rows: dict[tuple[str, int], Sequence[str]] = {}
        self.summary: dict[str, Mapping[str, Any]] = {}
        self.counts = True
        self.campaigns: list[Mapping[str, Any]] = []
        self.export: Callable[[Sequence[str]], bytes] | None = None
        self.longest = 366
        self.most = 366
        self.highest = 10_000
        self.asked: list[str] = []
        self.url = server.url_for("")
        self._file = b""
        server.expect_request(f"{API}/events").respond_with_handler(self._events)
        server.expect_request(f"{API}/dates").respond_with_handler(self._dates)
        server.expect_request(f"{API}/summary").respond_with_handler(self._summary)
        server.expect_request(f"{API}/bulk-export").respond_with_handler(self._order)
        server.expect_request("/file").respond_with_handler(lambda _request: Response(self._file))

    def client(self, **profile: Any) -> Client:
        service = ServiceProfile(**profile)
        return Client(self.url, api_key="a-test-key", partner="acme", service=service)

    def _events(self, request: Request) -> Response:
        self.asked.append("events")
        query = request.args
        wanted = self._of_days(query["start_date"], query["end_date"], query.get("hour"))
        page, size = int(query.get("page", 1)), int(query.get("per_page", 1000))
        meta = {"total": min(len(wanted), self.highest), "page": page, "per_page": size}
        texts = ",".join(wanted[(page - 1) * size : page * size])
        return _json(f'{{"data":[{texts}],"meta":{json.dumps(meta)}}}')

    def _order(self, request: Request) -> Response:
        self.asked.append("export")
        days = request.json or {}
        first, last = (date.fromisoformat(days[f"{end}_date"]) for end in ("start", "end"))
        if self.export is None or (last - first).days >= self.longest:
            return Response("{}", 400, content_type="application/json")
        texts = self._of_days(days["start_date"], days["end_date"])
        self._file = self.export(texts)
        url, rows = f"{self.url.rstrip('/')}/file", len(texts)
        body = {"status": "completed", "download_url": url, "row_count": rows}
        return _json(json.dumps(body))

    def _of_days(self, first: str, last: str, hour: str | None = None) -> list[str]:
        days = (date.fromisoformat(last) - date.fromisoformat(first)).days + 1
        if days > self.most > 0:
            last = f"{date.fromisoformat(first) + timedelta(self.most - 1)}"
        elif days > -self.most > 0:
            first = f"{date.fromisoformat(last) + timedelta(self.most + 1)}"
        return [
            text
            for (day, number), texts in sorted(self.rows.items())
            if first <= day <= last and hour in {None, str(number)}
            for text in texts
        ]

    def _dates(self, _request: Request) -> Response:
        self.asked.append("dates")
        return _json(json.dumps({"dates": sorted({day for day, _ in self.rows})}))

    def _summary(self, request: Request) -> Response:
        self.asked.append("summary")
        counts = Counter(day for (day, _), texts in self.rows.items() for _ in texts)
        shown = {day: {"impressions": count} for day, count in counts.items() if self.counts}
        days = shown | self.summary
        rows = [
            {"date": day, **row}
            for day, row in sorted(days.items())
            if request.args["start_date"] <= day <= request.args["end_date"]
        ]
        if request.args.get("group_by") == "campaign":
            rows = [{**row} for row in self.campaigns]
        meta = {"total": len(rows), "page": 1, "per_page": 1000}
        return _json(json.dumps({"data": rows, "meta": meta}))


def _json(text: str) -> Response:
    return Response(text, content_type="application/json")
