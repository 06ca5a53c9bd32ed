"""A real browser for the pages that collbench writes: headless Chromium, told to report whatever goes wrong in it."""

from __future__ import annotations

import os
import shutil

import pytest

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")

#: No sandbox, because containers have none; the rest keeps the browser from talking to its makers.
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip

LOCAL = ("file:", "data:", "blob:")


@pytest.fixture(scope="module")
def chromium():
    """A running Chromium, driven by playwright.

    One for each module, not for the session: playwright leaves an event loop behind in the thread for as long as it is
    started, and no other test could use asyncio meanwhile. Without the browser tests are skipped, but in continuous
    integration (CI is set) they fail.
    """
    missing = pytest.fail if os.environ.get("CI") else pytest.skip
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        missing(f"no browser: install one of {', '.join(PROGRAMS)}")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("no playwright: pip install -e '.[dev]'")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium):
    """Return a function that opens a file, ``opened(path, **options of the context)``, and returns playwright's page.

    Each page has a browser context of its own, without network. At the end the test fails if any page has written an
    error to its console, left an exception uncaught, or asked for anything that is not a file or part of itself;
    `faults` of the page lists what has happened so far.
    """
    contexts, pages = [], []

    def open_file(path, **options):
        context = chromium.new_context(offline=True, **options)
        contexts.append(context)
        page = context.new_page()
        pages.append(page)
        page.faults = []
        page.on("console", lambda said: said.type == "error" and page.faults.append(f"console: {said.text}"))
        page.on("pageerror", lambda error: page.faults.append(f"uncaught: {error}"))
        page.on("request", lambda asked: asked.url.startswith(LOCAL) or page.faults.append(f"request: {asked.url}"))
        page.goto(path.resolve().as_uri())
        return page

    yield open_file
    for context in contexts:
        context.close()
    assert [fault for page in pages for fault in page.faults] == []
