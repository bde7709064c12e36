"""The server of the HTTP benchmarks, run as its own process.

    python benchmarks/http_server.py FOLDER [REQUESTS_AN_HOUR]

This is the reference server with three more routes: fixed bytes from memory and from a file,
which are the simplest answers, and the CPU seconds of this process. It prints its address when it
is ready.
"""

import sys
import time
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, Response

from adanalytics_server.app import create_app
from adanalytics_server.serving.running import listen, serve, url_of
from adanalytics_server.settings import Settings


def main(folder: Path, rate_limit: int) -> None:
    """Serve a folder; ``/memory`` and ``/file`` return its ``page.json``."""
    page = folder / "page.json"
    body = page.read_bytes() if page.exists() else b""
    app = create_app(Settings(data=folder, rate_limit=rate_limit))

    async def from_memory(_request: Request) -> Response:
        return Response(body, media_type="application/json")

    async def cpu(_request: Request) -> Response:
        return Response(str(time.process_time()))

    async def from_file(_request: Request) -> Response:
        return FileResponse(page, media_type="application/json")

    app.add_route("/memory", from_memory)
    app.add_route("/cpu", cpu)
    app.add_route("/file", from_file)
    listener = listen("127.0.0.1", 0)
    serve(app, listener, ready=lambda: print(url_of(listener), flush=True))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
