"""Pauses that faults make, which end early when the server is reset or stopped."""

import asyncio
import threading


class Pauses:
    """Holds requests up for real seconds; :meth:`end` lets all of them go on at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()

    async def wait(self, seconds: float) -> None:
        """Wait for ``seconds``, or until somebody ends the pauses."""
        mine = (asyncio.get_running_loop(), asyncio.Event())
        with self._lock:
            self._held.add(mine)
        try:
            async with asyncio.timeout(seconds):
                await mine[1].wait()
        except TimeoutError:
            pass
        finally:
            with self._lock:
                self._held.discard(mine)

    def end(self) -> None:
        """Let everybody go on who waits now; may be called from any thread."""
        with self._lock:
            held = list(self._held)
        for loop, event in held:
            loop.call_soon_threadsafe(event.set)
