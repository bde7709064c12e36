"""What the tests of the web area share: a browser's worth of httpx."""

from collections.abc import Callable, Iterator

import httpx
import pytest

from adanalytics_server.local import LocalServer

SignIn = Callable[..., httpx.Client]


@pytest.fixture
def browser(server: LocalServer) -> Iterator[Callable[[], httpx.Client]]:
    """Make clients that keep cookies, each with its own, and are signed in as nobody."""
    clients: list[httpx.Client] = []

    def make() -> httpx.Client:
        clients.append(httpx.Client(base_url=server.url))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def sign_in(server: LocalServer, browser: Callable[[], httpx.Client]) -> SignIn:
    """Sign in, as the admin unless told otherwise, and return the client."""

    def sign(email: str = server.email, password: str = server.password) -> httpx.Client:
        client = browser()
        answer = client.post("/login", data={"email": email, "password": password})
        assert answer.status_code == 303
        return client

    return sign


@pytest.fixture
def web(sign_in: SignIn) -> httpx.Client:
    """A client that is signed in as the admin."""
    return sign_in()
