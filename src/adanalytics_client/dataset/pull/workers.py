"""Processes of a sync that sort events into hours, so that it uses more than one core."""

import os
import signal
import threading
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from multiprocessing.connection import Connection


class WorkerPool(ProcessPoolExecutor):
    """A pool of up to `most` processes, which start when they are needed."""

    def __init__(self, most: int) -> None:
        self.most = most
        # Not forked: this process has threads.
        context = get_context("spawn")
        watched, self._alive = context.Pipe(duplex=False)
        super().__init__(most, context, _begin, (watched,))
        self.closed = False

    def close(self) -> None:
        """End the processes at once, whatever they are doing."""
        self.closed = True
        self._alive.close()
        self.shutdown(wait=False, cancel_futures=True)


def _begin(watched: Connection) -> None:
    """Leave Ctrl-C to the process that started this one, and end with it, however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Ready when its other end is closed: nothing is ever sent.
    threading.Thread(target=lambda: os._exit(watched.poll(None)), daemon=True).start()
