"""Everything between the network and the application: uvicorn, the log and health."""

from adanalytics_server.serving.middleware import (
    HostCheck,
    RequestLayer,
    comes_from_elsewhere,
    is_cross_origin,
    is_own_host,
    log_failure,
)
from adanalytics_server.serving.monitoring import monitoring_router
from adanalytics_server.serving.protocol import CONNECTION
from adanalytics_server.serving.running import (
    LocalServerError,
    PortInUse,
    Server,
    ServerThread,
    listen,
    serve,
    url_of,
)

__all__ = [
    "CONNECTION",
    "HostCheck",
    "LocalServerError",
    "PortInUse",
    "RequestLayer",
    "Server",
    "ServerThread",
    "comes_from_elsewhere",
    "is_cross_origin",
    "is_own_host",
    "listen",
    "log_failure",
    "monitoring_router",
    "serve",
    "url_of",
]
