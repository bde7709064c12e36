"""Record the client's requests as OpenTelemetry spans; this needs the `otel` extra.

Span names and attributes follow the stable conventions for HTTP client spans
(https://opentelemetry.io/docs/specs/semconv/http/http-spans/).
"""

import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ._base.observer import Observer, RequestSent, RetryPlanned, WaitStarted
from ._version import __version__
from .errors import ConfigurationError

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

_PORTS = {"http": 80, "https": 443}
_FIRST_ERROR = 400

_Attributes = dict[str, str | int | float | tuple[str, ...]]


class TracingObserver(Observer):
    """Records each request as a child span of the current span in the calling code.

    Retries and waits become events on the current span, or separate spans if no span is current.
    Credentials, signed queries and bodies are not recorded. Tracing does not change the requests.

    Args:
        tracer_provider: the tracer provider to use; by default the global one.

    Raises:
        ConfigurationError: when the `otel` extra is not installed.

    Examples:
        >>> with Client.from_env(observer=TracingObserver()) as client:
        ...     days = client.dates()
    """

    def __init__(self, tracer_provider: "TracerProvider | None" = None) -> None:
        try:
            from opentelemetry import trace
        except ImportError:
            raise ConfigurationError(
                "Tracing needs opentelemetry-api.",
                remedy="Install it with: pip install 'adanalytics[otel]'",
            ) from None
        self._trace = trace
        self._tracer = trace.get_tracer("adanalytics_client", __version__, tracer_provider)

    def request(self, info: RequestSent) -> None:
        """Record a finished request as a span with the request's duration."""
        # Spans of a trace are compared with each other, so all use the machine's time.
        ended = time.time_ns()
        span = self._tracer.start_span(
            info.method,
            kind=self._trace.SpanKind.CLIENT,
            attributes=_attributes(info),
            start_time=ended - round(info.seconds * 1_000_000_000),
        )
        if info.status is None or info.status >= _FIRST_ERROR:
            span.set_status(self._trace.StatusCode.ERROR)
        span.end(ended)

    def retry(self, info: RetryPlanned) -> None:
        """Record a retry and its reason as an event on the current span."""
        self._add_event(
            "adanalytics.retry",
            {
                "url.full": info.url,
                "adanalytics.attempt": info.attempt,
                "adanalytics.seconds": info.seconds,
                "adanalytics.reason": info.reason,
            },
        )

    def wait(self, info: WaitStarted) -> None:
        """Add an event with the length of a wait (for quota or an export) to the current span."""
        self._add_event(
            "adanalytics.wait",
            {"adanalytics.seconds": info.seconds, "adanalytics.reason": info.reason},
        )

    def _add_event(self, name: str, facts: _Attributes) -> None:
        parent = self._trace.get_current_span()
        if parent.get_span_context().is_valid:
            parent.add_event(name, facts)
        else:
            # An event without a span would be lost, so it becomes a span.
            self._tracer.start_span(name, attributes=facts).end()


def _attributes(info: RequestSent) -> _Attributes:
    parts = urlsplit(info.url)
    attributes: _Attributes = {
        "http.request.method": info.method,
        "url.full": info.url,
        "server.address": parts.hostname or "",
        "server.port": parts.port or _PORTS.get(parts.scheme, 0),
    }
    if info.status is not None:
        attributes["http.response.status_code"] = info.status
    if info.status is None or info.status >= _FIRST_ERROR:
        attributes["error.type"] = info.failure or str(info.status)
    if info.resends:
        attributes["http.request.resend_count"] = info.resends
    if info.request_id:
        attributes["http.response.header.x-request-id"] = (info.request_id,)
    return attributes
