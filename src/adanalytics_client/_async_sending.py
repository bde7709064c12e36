"""Send one request as a task and receive its answer."""

import asyncio
from contextlib import aclosing
from dataclasses import dataclass, replace

import httpx

from adanalytics_client._effects import Clock, Failure, Reply, Send, Trouble
from adanalytics_client._lent import Defaults
from adanalytics_client._receiving import Receiver, SinkError, received_by_task
from adanalytics_client._redact import Redact, quiet_logs
from adanalytics_client._rooms import Rooms
from adanalytics_client._transmitting import AsyncTransmitter
from adanalytics_client._wire import HEAD_WAIT, SLOW_BODY, WHOLE_WAIT, to_failure


@dataclass(frozen=True, slots=True)
class AsyncSender:
    """Turns `Send` into what came of it; a cancellation ends it at once."""

    transmitter: AsyncTransmitter
    defaults: Defaults
    clock: Clock
    redact: Redact
    rooms: Rooms

    async def send(self, send: Send) -> Reply | Failure:
        """Send and receive."""
        begun = asyncio.get_running_loop().time()
        limit = asyncio.timeout(None)
        answered, proxies = False, self.defaults.proxies
        with quiet_logs(self.redact):
            try:
                left = None if send.deadline is None else send.deadline - self.clock.monotonic()
                request = self.defaults.dress(send.request, left)
                async with limit:
                    _limit(limit, begun, request.extensions[HEAD_WAIT])
                    response = await self.transmitter.send(request)
                    answered = True
                    _limit(limit, begun, request.extensions[WHOLE_WAIT])
                    try:
                        return await self._receive(send, response)
                    finally:
                        await response.aclose()
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                proxy = proxies.of(send.request.url)
                return replace(to_failure(error, answered=answered), proxy=proxy)
            except TimeoutError:
                if not limit.expired():
                    raise
                detail = SLOW_BODY if answered else ""
                proxy = proxies.of(send.request.url)
                return Failure(Trouble.TIMEOUT, arrived=True, detail=detail, proxy=proxy)
            except SinkError as told:
                theirs = told.error
            except (asyncio.CancelledError, KeyboardInterrupt) as stopped:
                # Frames of the HTTP libraries hold the credential.
                raise stopped.with_traceback(None) from None
        raise theirs

    async def _receive(self, send: Send, response: httpx.Response) -> Reply | Failure:
        read = self.transmitter.read_by_hook(response)
        receiver = Receiver(send, response, self.rooms, decoded=read is not None)
        if receiver.unread:
            return receiver.finish()
        async with aclosing(received_by_task(receiver, response, read)) as steps:
            async for wanted in steps:
                if not wanted:
                    break
                if send.deadline is not None and self.clock.monotonic() > send.deadline:
                    return Failure(Trouble.TIMEOUT, arrived=True, detail=SLOW_BODY)
        return receiver.finish()


def _limit(limit: asyncio.Timeout, begun: float, wait: float | None) -> None:
    limit.reschedule(None if wait is None else begun + wait)
