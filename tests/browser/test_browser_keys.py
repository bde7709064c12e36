"""The life of an API key in a real browser, with scripts and without."""

from collections.abc import Callable

import httpx
import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import Visit

from adanalytics_server.local import LocalServer

DATES = "/api/partners/acme/ad-analytics/dates"
OTHER_ORIGIN = "http://127.0.0.1:1/"


def status_with(server: LocalServer, key: str) -> int:
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.get(server.url + DATES, headers=headers).status_code


def copied(page: Page, *, scripts: bool) -> str:
    """Copy the shown key with the keyboard, paste it into another field, and read it there."""
    page.get_by_role("link", name="I have copied it").focus()
    page.keyboard.press("Shift+Tab")
    button = page.get_by_role("button", name="Copy")
    if scripts:
        expect(button).to_be_focused()
        page.keyboard.press("Shift+Tab")
    else:
        expect(button).to_be_hidden()
    expect(page.get_by_label("API key", exact=True)).to_be_focused()
    page.keyboard.press("Control+c")
    page.get_by_role("link", name="I have copied it").click()
    page.get_by_label("Name of the key").focus()
    page.keyboard.press("Control+v")
    return page.get_by_label("Name of the key").input_value()


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts on", "scripts off"])
def test_a_key_is_made_copied_used_and_deleted(
    new_visit: "Callable[..., Visit]", server: LocalServer, *, scripts: bool
) -> None:
    name = "madeinabrowser" * 4
    visit = new_visit(scripts=scripts, width=390)
    visit.sign_in()
    page = visit.page
    page.get_by_role("link", name="API keys").click()
    page.get_by_label("Name of the key").fill(name)
    page.get_by_role("button", name="Create key").click()
    expect(page.locator("strong")).to_have_text(name)
    # Widths count once the stylesheet is there.
    page.wait_for_load_state()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    key = copied(page, scripts=scripts)
    assert status_with(server, key) == 200
    visit.open("/settings/api-keys")
    row = page.get_by_role("row").filter(has_text=name)
    expect(row).to_contain_text(key[-4:])
    expect(row).not_to_contain_text("never")
    row.get_by_role("link", name="Delete").click()
    assert status_with(server, key) == 200
    page.get_by_role("button", name="Delete key").click()
    expect(page.get_by_role("status")).to_have_text("The key was deleted.")
    expect(row).to_have_count(0)
    assert status_with(server, key) == 401


def test_a_page_of_another_origin_makes_no_key(
    new_visit: "Callable[..., Visit]", server: LocalServer
) -> None:
    """Another port is the same site, so the browser sends the cookie; the server must refuse."""
    visit = new_visit()
    visit.sign_in()
    form = f'<form method="post" action="{server.url}/settings/api-keys">'
    trap = f'<!doctype html>{form}<input name="name" value="trap"><button>Win</button></form>'
    page = visit.page
    page.route(OTHER_ORIGIN, lambda route: route.fulfill(body=trap, content_type="text/html"))
    page.goto(OTHER_ORIGIN)
    address = f"{server.url}/settings/api-keys"
    with page.expect_console_message() as message, page.expect_response(address) as answer:
        page.get_by_role("button", name="Win").click()
    assert answer.value.status == 403
    assert "adanalytics_session" in answer.value.request.all_headers()["cookie"]
    assert visit.problems == [f"request to {OTHER_ORIGIN}", f"error: {message.value.text}"]
    visit.problems.clear()
    visit.open("/settings/api-keys")
    expect(page.get_by_role("row").filter(has_text="local server")).to_have_count(1)
    expect(page.get_by_role("row").filter(has_text="trap")).to_have_count(0)
