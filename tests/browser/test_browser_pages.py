"""Pages in a real browser, by keyboard, in both schemes and at every width; a key's life."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import Visit

from adanalytics_server.local import LocalServer

PAGES = {
    "overview": "/",
    "empty": "/?partner=globex",
    "keys": "/settings/api-keys",
    "delete": "/settings/api-keys/1/delete",
}
WIDTHS = (1920, 1280, 1024, 840, 640, 360)
FILLS = (".hours-drawing .level-5", ".fill-impressions", ".fill-revenue")
FILLS_OF = {
    "light": ["rgb(26, 74, 156)", "rgb(47, 111, 208)", "rgb(20, 133, 122)"],
    "dark": ["rgb(169, 204, 250)", "rgb(110, 162, 238)", "rgb(75, 191, 176)"],
}
FILL = "element => getComputedStyle(element).fill"
# Whatever reaches beyond the window, or beyond the card it is in.
OUTSIDE = """() => [...document.querySelectorAll("main *")].filter(element => {
    const card = element.closest(".card") || document.documentElement;
    const inside = element.closest(".scroll, pre, svg, .unseen");
    return !inside && element.getBoundingClientRect().right > card.getBoundingClientRect().right;
}).map(element => element.outerHTML.slice(0, 80))"""
# What has the focus: what it says, where it is, and how thick the ring around it is.
FOCUS = """() => {
    const element = document.activeElement;
    const style = getComputedStyle(element);
    const box = element.getBoundingClientRect();
    return {
        text: (element.id || element.innerText).trim(),
        tag: element.tagName,
        ring: style.outlineStyle === "none" ? 0 : parseFloat(style.outlineWidth),
        top: box.top, bottom: box.bottom, height: innerHeight,
    };
}"""


def walk(page: Page, *, until: str) -> list[dict[str, Any]]:
    """Press Tab until something has the focus, and return all that had it on the way."""
    stops: list[dict[str, Any]] = []
    while not stops or not stops[-1]["text"].startswith(until):
        assert len(stops) < 60, f"{until} cannot be reached: {[stop['text'] for stop in stops]}"
        page.keyboard.press("Tab")
        stops.append(page.evaluate(FOCUS))
    return stops


def test_everything_is_done_with_the_keyboard_alone(new_visit: "Callable[..., Visit]") -> None:
    visit = new_visit()
    page = visit.page
    visit.open("/")
    expect(page.get_by_label("E-mail address")).to_be_focused()
    page.keyboard.type(visit.server.email)
    page.keyboard.press("Tab")
    page.keyboard.type(visit.server.password)
    # A focus ring is drawn only once the styles have come.
    with page.expect_event("load"):
        page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Acme")
    stops = walk(page, until="Show February 2026 as a table")
    assert stops[0]["text"] == "Skip to content"
    for stop in stops:
        assert stop["ring"] >= 2, stop
        assert stop["top"] >= 0, stop
        assert stop["bottom"] <= stop["height"], stop
    page.keyboard.press("Enter")
    expect(page.get_by_role("rowheader", name="2026-02-01")).to_be_visible()
    visit.open("/")
    walk(page, until="Skip")
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    assert walk(page, until="")[0]["text"] == "partner"
    visit.open("/")
    for target, heading in [
        ("API keys", "API keys"),
        ("Delete", "Delete this key?"),
        ("Keep it", "API keys"),
        ("Sign out", "Sign in"),
    ]:
        walk(page, until=target)
        with page.expect_event("load"):
            page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text(heading)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_every_width_and_have_their_colours(
    new_visit: "Callable[..., Visit]", pictures: Path, scheme: str
) -> None:
    visit = new_visit(scheme=scheme)
    visit.sign_in()
    # A style that the security policy blocks would leave every square black.
    assert [visit.page.locator(part).first.evaluate(FILL) for part in FILLS] == FILLS_OF[scheme]
    for name, path in PAGES.items():
        visit.open(path)
        for width in WIDTHS:
            visit.page.set_viewport_size({"width": width, "height": 900})
            assert visit.page.evaluate(OUTSIDE) == [], f"{name} at {width} pixels"
        visit.page.screenshot(path=pictures / f"{name}-{scheme}-{WIDTHS[-1]}.png", full_page=True)
    # The table of figures scrolls inside its card.
    visit.open("/")
    visit.page.get_by_text("as a table").click()
    expect(visit.page.get_by_role("columnheader", name="eCPM")).to_be_visible()
    for width in (800, 390):
        visit.page.set_viewport_size({"width": width, "height": 900})
        assert visit.page.evaluate(OUTSIDE) == []
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= width


def test_partner_and_month_are_chosen_without_a_script(new_visit: "Callable[..., Visit]") -> None:
    visit = new_visit(scripts=False)
    visit.sign_in()
    page = visit.page
    page.get_by_label("Month", exact=True).select_option("January 2026")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("heading", name="January 2026 by hour")).to_be_visible()
    expect(page.get_by_role("img", name="Heatmap of January 2026")).to_be_visible()
    page.get_by_role("link", name="Feb", exact=True).click()
    expect(page.get_by_role("heading", name="February 2026 by hour")).to_be_visible()
    page.get_by_label("Partner").select_option("Globex")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Globex")
    expect(page.get_by_text("No data yet")).to_be_visible()


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
