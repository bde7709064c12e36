"""The only folder that sends: one driver for threads and one for tasks, both over httpx.

The driver for tasks is imported from its module: it imports asyncio, which threads do not need.
"""

from adanalytics_client._io.http import AsyncHttpClient, HttpClient
from adanalytics_client._io.proxies import Proxies
from adanalytics_client._io.stop import Stop
from adanalytics_client._io.sync_driver import SyncDriver

__all__ = ["AsyncHttpClient", "HttpClient", "Proxies", "Stop", "SyncDriver"]
