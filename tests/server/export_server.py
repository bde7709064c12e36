"""A server process for tests of exports: it stops in the middle of one, or may write little.

    python export_server.py FOLDER [--hold] [--most-bytes N]

Prints its address when it answers, and with --hold one more line when an export is half written.
"""

import argparse
import resource
import threading
from collections.abc import Iterator
from pathlib import Path

from adanalytics_server.app import create_app
from adanalytics_server.exports import files as exportfiles
from adanalytics_server.serving.running import listen, serve, url_of
from adanalytics_server.settings import Settings
from adanalytics_server.storage.pages import Span, read_in_parts
from adanalytics_server.storage.store import PartnerStore


def half(store: PartnerStore, spans: list[Span], *, rows: int) -> Iterator[list[bytes]]:
    """Give the first chunk, and then nothing for ever."""
    yield next(read_in_parts(store, spans, rows=rows))
    print("half", flush=True)
    threading.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--hold", action="store_true")
    parser.add_argument("--most-bytes", type=int)
    options = parser.parse_args()
    if options.hold:
        vars(exportfiles)["read_in_parts"] = half
    if options.most_bytes:
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (options.most_bytes, hard))
    listener = listen("127.0.0.1", 0)
    app = create_app(Settings(data=options.folder, export_inline_max=10))
    serve(app, listener, ready=lambda: print(url_of(listener), flush=True))


if __name__ == "__main__":
    main()
