"""The end of a server: begun when it is asked for, and no longer than what is under way."""

import asyncio
import contextlib
import logging
import socket
from types import FrameType

import uvicorn

# What a container's manager waits before it kills is 10 s (Docker) or 30 s (Kubernetes).
GRACE_SECONDS = 8
# For the application to close its files, when nobody waits for requests.
FORCED_SECONDS = 1
# Between two looks at what is left: idle connections are gone soon, and a long answer is not
# looked at a thousand times a second.
FIRST_PAUSE_SECONDS = 0.001
LONGEST_PAUSE_SECONDS = 0.05

_log = logging.getLogger("adanalytics_server.stopping")


class PromptServer(uvicorn.Server):
    """A uvicorn server that stops when it is asked to, not at the next tenth of a second."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._ticking: asyncio.Task[None] | None = None

    def stop(self, *, by_force: bool = False) -> None:
        """Ask for the end, from any thread; by force, requests under way are not waited for."""
        self.should_exit = True
        self.force_exit = self.force_exit or by_force
        self._wake()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take a signal as an order to stop, and a second Ctrl-C as one to stop by force."""
        super().handle_exit(sig, frame)
        self._wake()

    async def main_loop(self) -> None:
        """Do what is done ten times a second, until somebody asks for the end."""
        # An order that came before there was anything to wake is seen at the first tick.
        self._ticking = asyncio.create_task(super().main_loop())
        await asyncio.wait({self._ticking})
        if not self._ticking.cancelled():
            self._ticking.result()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more connections and let requests that are under way finish."""
        _log.info("Stopping: requests under way get %d s to finish", GRACE_SECONDS)
        # Whoever connected before the order is let in.
        await asyncio.sleep(FIRST_PAUSE_SECONDS)
        for server in self.servers:
            server.close()
        for listener in sockets or []:
            listener.close()
        try:
            async with asyncio.timeout(GRACE_SECONDS):
                await self._until_nothing_is_left()
        except TimeoutError:
            _log.warning(
                "Given up after %d s: requests under way %d, open connections %d",
                GRACE_SECONDS,
                len(self.server_state.tasks),
                len(self.server_state.connections),
            )
        for task in self.server_state.tasks:
            task.cancel()
        # By force, too: an application that is cancelled instead leaves a traceback in the log.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FORCED_SECONDS if self.force_exit else None):
                await self.lifespan.shutdown()

    async def _until_nothing_is_left(self) -> None:
        left = self.server_state
        pause = FIRST_PAUSE_SECONDS
        while not self.force_exit:
            # Before the first look, too: what was sent before the order is read by then.
            await asyncio.sleep(pause)
            if not (left.connections or left.tasks):
                return
            # Each time, because one that was let in last may only now be among them.
            for connection in list(left.connections):
                connection.shutdown()
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    def _wake(self) -> None:
        if self._ticking is not None:
            # The loop of a server that has ended is closed, and there is nobody to wake.
            with contextlib.suppress(RuntimeError):
                self._ticking.get_loop().call_soon_threadsafe(self._ticking.cancel)
