"""Health and metrics, for supervisors and Prometheus, without partners, users or credentials.

The format: https://prometheus.io/docs/instrumenting/exposition_formats/, version 0.0.4.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import accumulate

from fastapi import APIRouter
from starlette.responses import JSONResponse, Response

from adanalytics_server.context import ContextDep

# Upper bounds in seconds: from a cached page to an export that finishes within its request.
_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Metrics:
    """Counts of one process since its start; only the event loop writes, so there is no lock.

    Memory is bounded by operations times methods times statuses: clients choose no labels.
    """

    def __init__(self) -> None:
        self._requests: Counter[str] = Counter()
        self._durations: dict[str, list[int]] = {}
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._sent_bytes: Counter[str] = Counter()
        self._in_progress = 0

    def begin(self) -> None:
        """Count a new request."""
        self._in_progress += 1

    def end(
        self, operation: str, method: str, status: int | None, *, seconds: float, sent_bytes: int
    ) -> None:
        """Count a finished request; it has no status if the client left before the response."""
        self._in_progress -= 1
        method = method if method in _METHODS else "other"
        label = f'operation="{operation}"'
        self._requests[f'{label},method="{method}",status="{status or "aborted"}"'] += 1
        buckets = self._durations.setdefault(label, [0] * (len(_BOUNDS) + 1))
        buckets[bisect_left(_BOUNDS, seconds)] += 1
        self._seconds[label] += seconds
        self._sent_bytes[label] += sent_bytes

    def text(self, exports: Mapping[str, int]) -> str:
        """Write all metrics; ``exports`` counts bulk exports by status."""
        durations: dict[str, float] = {}
        for labels, buckets in self._durations.items():
            for bound, count in zip((*_BOUNDS, "+Inf"), accumulate(buckets), strict=True):
                durations[f'_bucket{{{labels},le="{bound}"}}'] = count
            durations[f"_sum{{{labels}}}"] = self._seconds[labels]
            durations[f"_count{{{labels}}}"] = sum(buckets)
        requests = {f"{{{labels}}}": count for labels, count in self._requests.items()}
        sent_bytes = {f"{{{labels}}}": count for labels, count in self._sent_bytes.items()}
        by_status = {f'{{status="{status}"}}': count for status, count in exports.items()}
        families: tuple[tuple[str, str, str, Mapping[str, float]], ...] = (
            ("requests_total", "counter", "Requests answered.", requests),
            (
                "request_duration_seconds",
                "histogram",
                "From the head to the last byte.",
                durations,
            ),
            ("response_body_bytes_total", "counter", "Bytes of response bodies.", sent_bytes),
            ("requests_in_progress", "gauge", "Including this one.", {"": self._in_progress}),
            ("exports", "gauge", "Bulk exports by status.", by_status),
        )
        lines: list[str] = []
        for name, kind, text, samples in families:
            family = f"adanalytics_{name}"
            lines += [f"# HELP {family} {text}", f"# TYPE {family} {kind}"]
            lines += [f"{family}{labels} {value}" for labels, value in samples.items()]
        return "\n".join((*lines, ""))


def monitoring_router(metrics: Metrics) -> APIRouter:
    """Make the routes ``/livez``, ``/readyz`` and ``/metrics``; they need no credential."""
    router = APIRouter(include_in_schema=False)

    @router.get("/livez")
    async def live() -> JSONResponse:
        return JSONResponse({"status": "ok"})

    @router.get("/readyz")
    async def ready(context: ContextDep) -> JSONResponse:
        partners = await context.accounts.partners()
        return JSONResponse({"status": "ok", "partners": len(partners)})

    @router.get("/metrics")
    async def metrics_text(context: ContextDep) -> Response:
        exports = await context.exports.table.count_by_status()
        headers = {"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}
        return Response(metrics.text(exports), headers=headers)

    return router
