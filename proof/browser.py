"""The web area in a real browser, with pages of other sites that try to use it."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from playwright.sync_api import BrowserContext, Page, sync_playwright

from adanalytics_server.local import LocalServer

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
KEYS = "/settings/api-keys"
# Another port is the same site, so that the browser sends even a strict cookie there.
OTHERS = {"another origin": "127.0.0.1", "another site": "localhost"}
# Scripts that another site or an injected text could run, and what they must not return.
READ = "url => fetch(url, {credentials: 'include'}).then(answer => answer.text(), () => '')"
INJECT = """() => {
  const script = document.createElement('script');
  script.textContent = 'window.injected = true';
  document.head.append(script);
  return window.injected === true;
}"""
FORM = """<!doctype html>
<form method="post" action="{}"><input name="name" value="trap"><button>Win</button></form>"""
FRAME = '<!doctype html><iframe src="{}/login"></iframe>'
Check = Callable[[bool, str], None]


def program() -> str | None:
    """Return where the browser is."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def visit(server: LocalServer, chromium: str, check: Check) -> None:
    """Sign in, then open pages of other sites in the same browser."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        context = browser.new_context()
        page = context.new_page()
        page.goto(server.url)
        page.get_by_label("E-mail address").fill(server.email)
        page.get_by_label("Password").fill(server.password)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"{server.url}/")
        _look_at_cookie(page, context, check)
        check(page.evaluate(INJECT) is False, "an injected script runs")
        page.goto(server.url + KEYS)
        before = page.get_by_role("row").count()
        with _other_site() as (pages, port):
            for what, host in OTHERS.items():
                page.goto(f"http://{host}:{port}/")
                _read(page, server, what, check)
                for path in (KEYS, f"{KEYS}/1/name", f"{KEYS}/1/delete", "/logout", "/login"):
                    pages["/form"] = FORM.format(server.url + path)
                    page.goto(f"http://{host}:{port}/form")
                    with page.expect_response(server.url + path) as answer:
                        page.get_by_role("button").click()
                    status = answer.value.status
                    check(status == 403, f"a form of {what} to {path}: {status}")
                pages["/frame"] = FRAME.format(server.url)
                page.goto(f"http://{host}:{port}/frame")
                shown = any(each.url.startswith(server.url) for each in page.frames)
                check(not shown, f"{what} frames a page")
        page.goto(server.url + KEYS)
        check(page.url == server.url + KEYS, "another site ended the session")
        check(page.get_by_role("row").count() == before, "another site made or deleted a key")
        browser.close()


def _look_at_cookie(page: Page, context: BrowserContext, check: Check) -> None:
    (cookie,) = context.cookies()
    check(page.evaluate("document.cookie") == "", "scripts see the cookie")
    check(cookie.get("httpOnly") is True, "the cookie is not hidden from scripts")
    check(cookie.get("sameSite") == "Strict", f"the cookie is {cookie.get('sameSite')}")


def _read(page: Page, server: LocalServer, what: str, check: Check) -> None:
    for path in (KEYS, "/month.csv", f"/api/partners/{server.partner}/ad-analytics/dates"):
        read = page.evaluate(READ, server.url + path)
        check(read == "", f"{what} reads {path}: {read[:80]!r}")


@contextmanager
def _other_site() -> Iterator[tuple[dict[str, str], int]]:
    """Serve pages of another site; a page that the browser makes up may read nothing of ours."""
    pages = {"/": "<!doctype html>"}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(pages.get(self.path, "").encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as other:
        Thread(target=other.serve_forever, args=(0.01,)).start()
        try:
            yield pages, other.server_port
        finally:
            other.shutdown()
