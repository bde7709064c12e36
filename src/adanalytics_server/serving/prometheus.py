"""The text that Prometheus collects, version 0.0.4 of its exposition format.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate

from adanalytics_server.serving.metrics import DURATION_BOUNDS, Durations, Metrics

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Sample = tuple[str, Mapping[str, str], float]


def metrics_text(metrics: Metrics, *, exports: Mapping[str, int]) -> str:
    """Write all metrics of a server.

    Args:
        metrics: what was counted about requests.
        exports: number of bulk exports by their status.
    """
    families = (
        _family(
            "adanalytics_requests_total",
            "counter",
            "Requests that were answered.",
            (
                (
                    "",
                    {"operation": kind.operation, "method": kind.method, "status": kind.status},
                    count,
                )
                for kind, count in metrics.requests.items()
            ),
        ),
        _family(
            "adanalytics_request_duration_seconds",
            "histogram",
            "Time from the head of a request to the last byte of its answer.",
            (
                sample
                for operation, durations in metrics.durations.items()
                for sample in _histogram(operation, durations)
            ),
        ),
        _family(
            "adanalytics_response_body_bytes_total",
            "counter",
            "Bytes of the bodies of answers.",
            (("", {"operation": name}, count) for name, count in metrics.sent_bytes.items()),
        ),
        _family(
            "adanalytics_requests_in_progress",
            "gauge",
            "Requests that are being answered, this one included.",
            [("", {}, metrics.in_progress)],
        ),
        _family(
            "adanalytics_exports",
            "gauge",
            "Bulk exports by their status.",
            (("", {"status": status}, count) for status, count in exports.items()),
        ),
    )
    return "".join(f"{line}\n" for family in families for line in family)


def _family(name: str, kind: str, text: str, samples: Iterable[Sample]) -> Iterator[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"
    for suffix, labels, value in samples:
        # Labels are names from the code: none of them has a quote or a backslash to escape.
        written = ",".join(f'{label}="{text}"' for label, text in labels.items())
        yield f"{name}{suffix}{{{written}}} {value}" if written else f"{name}{suffix} {value}"


def _histogram(operation: str, durations: Durations) -> Iterator[Sample]:
    bounds = [*(str(bound) for bound in DURATION_BOUNDS), "+Inf"]
    cumulated = list(accumulate(durations.counts))
    for bound, count in zip(bounds, cumulated, strict=True):
        yield "_bucket", {"operation": operation, "le": bound}, count
    yield "_sum", {"operation": operation}, durations.total
    yield "_count", {"operation": operation}, cumulated[-1]
