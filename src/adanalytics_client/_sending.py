"""Send one request on a thread and receive its answer."""

from dataclasses import dataclass, replace

import httpx

from adanalytics_client._effects import Clock, Failure, Reply, Send, Trouble
from adanalytics_client._lent import Defaults
from adanalytics_client._problems import given_up
from adanalytics_client._receiving import Receiver, SinkError, received
from adanalytics_client._redact import Redact, quiet_logs
from adanalytics_client._rooms import Rooms
from adanalytics_client._stop import STOP, Stop
from adanalytics_client._transmitting import Transmitter
from adanalytics_client._wire import SLOW_BODY, to_failure


@dataclass(slots=True)
class Sender:
    """Turns `Send` into what came of it."""

    transmitter: Transmitter
    defaults: Defaults
    clock: Clock
    redact: Redact
    rooms: Rooms

    def send(self, send: Send, stop: Stop) -> Reply | Failure:
        """Send and receive; `stop` ends it."""
        answered = False
        with quiet_logs(self.redact):
            try:
                left = None if send.deadline is None else send.deadline - self.clock.monotonic()
                request = self.defaults.dress(send.request, left)
                request.extensions[STOP] = stop
                response = self.transmitter.send(request)
                answered = True
                try:
                    return self._receive(send, response, stop)
                finally:
                    response.close()
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                if stop.is_set():
                    raise given_up() from None
                proxy = self.defaults.proxies.of(send.request.url)
                return replace(to_failure(error, answered=answered), proxy=proxy)
            except SinkError as told:
                theirs = told.error
            except KeyboardInterrupt as stopped:
                # Frames of the HTTP libraries hold the credential.
                raise stopped.with_traceback(None) from None
        raise theirs

    def _receive(self, send: Send, response: httpx.Response, stop: Stop) -> Reply | Failure:
        read = self.transmitter.read_by_hook(response)
        receiver = Receiver(send, response, self.rooms, decoded=read is not None)
        if receiver.unread:
            return receiver.finish()
        for wanted in received(receiver, response, read):
            if not wanted:
                break
            if stop.is_set():
                raise given_up()
            if send.deadline is not None and self.clock.monotonic() > send.deadline:
                return Failure(Trouble.TIMEOUT, arrived=True, detail=SLOW_BODY)
        return receiver.finish()
