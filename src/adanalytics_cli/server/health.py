"""`adanalytics server health`: is it there, and can it serve?"""

import click

from adanalytics_cli.core.command import ExampleCommand
from adanalytics_cli.core.errors import SettingsError, Unreachable

# A server that needs longer than this is no use to a load balancer either.
_PATIENCE_SECONDS = 5.0


def run(url: str) -> None:
    """Ask the readiness page once."""
    import httpx

    address = f"{url.rstrip('/')}/readyz"
    try:
        answer = httpx.get(address, timeout=_PATIENCE_SECONDS)
    except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
        raise SettingsError(
            f"'{url}' is not an address of a server", remedy="Write it like http://127.0.0.1:8000"
        ) from error
    except httpx.HTTPError as error:
        raise Unreachable(
            f"no answer from {url}: {error}", remedy="Is the server running, and on this port?"
        ) from error
    if answer.status_code != httpx.codes.OK:
        raise Unreachable(
            f"{url} is not ready: status {answer.status_code}", remedy="Look into the server's log."
        )
    click.echo(f"{url} is ready")


health = ExampleCommand(
    "health",
    callback=run,
    params=[click.Argument(["url"], metavar="URL")],
    summary="Ask a running server whether it is ready.",
    details="Exit status 0 when it is, 6 when it is not or does not answer.",
    examples=["adanalytics server health http://127.0.0.1:8000"],
)
