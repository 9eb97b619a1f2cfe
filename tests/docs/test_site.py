"""The built documentation site: complete, without errors in a browser, readable everywhere."""

from __future__ import annotations

import ast
import functools
import html
import html.parser
import http.server
import os
import re
import shutil
import threading
import urllib.parse
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.helpers.repository import ROOT
from tools.api_surface import TOP_MODULES, public_modules, public_names

SITE = Path(os.environ.get("GPUMATH_TEST_SITE", "/nonexistent"))
CUFFT = "docs/generated/reference/gpumath.bindings.cufft.html"
PAGES = [
    "docs/index.html",
    "docs/performance.html",
    "docs/performance-fft.html",
    "docs/performance-products.html",
    "docs/slower-than-expected.html",
    "docs/generated/plots.html",
    "docs/generated/examples/device/index.html",
    "docs/generated/examples/fft/01_sunspots.html",
    "docs/generated/reference/gpumath.fft.html",
    CUFFT,
]
# Of what a page shows: the contrast of text and background as WCAG defines it.
CONTRAST = """
element => {
  const light = text => {
    const parts = text.match(/[\\d.]+/g).slice(0, 3).map(x => x / 255)
      .map(x => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  let behind = element;
  while (/rgba\\(.*, 0\\)|transparent/.test(getComputedStyle(behind).backgroundColor))
    behind = behind.parentElement;
  const a = light(getComputedStyle(element).color);
  const b = light(getComputedStyle(behind).backgroundColor);
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}
"""

pytestmark = pytest.mark.skipif(
    not (SITE / "index.html").exists(), reason="the site is not built: nox -s docs builds it"
)


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_arguments: object) -> None:
        pass


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    handler = functools.partial(QuietHandler, directory=str(SITE))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright, which drives the browser, is not installed"
    )
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("Chromium is not installed")
    with playwright.sync_playwright() as started:
        # Chromium's own sandbox does not start for root, as whom CI may run.
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    context = browser.new_context(base_url=address)
    page = context.new_page()
    errors: list[str] = []

    def note(message: Any) -> None:
        # The page that leads from / to the front page names no icon, so the browser looks for one.
        if message.type in ("error", "warning") and "favicon.ico" not in message.location["url"]:
            errors.append(f"{message.location['url']}: {message.text}")

    page.on("console", note)
    page.on("pageerror", lambda error: errors.append(str(error)))
    # A click may end a request for an icon of the page that it leaves.
    page.on(
        "requestfailed",
        lambda request: request.failure == "net::ERR_ABORTED" or errors.append(request.url),
    )
    yield page
    context.close()
    assert errors == []


def listed(path: Path) -> list[str]:
    """Return the names in a module's `__all__`."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    raise AssertionError(path)


def test_every_public_name_is_described() -> None:
    lines = (SITE / "objects.inv").read_bytes().split(b"\n", 4)
    entries = zlib.decompress(lines[4]).decode().splitlines()
    described = {entry.split(" ")[0] for entry in entries if " py:" in entry}
    modules = [m for tops in TOP_MODULES.values() for top in tops for m in public_modules(top)]
    assert len(modules) > 20
    # A module among the names of another one is described under its own name, if at all.
    names = {
        f"{m.__name__}.{n}"
        for m in modules
        for n in public_names(m)
        if not isinstance(getattr(m, n), ModuleType)
    }
    # Importing these needs PyTorch, so their names are read.
    for path in (ROOT / "packages/gpumath-host/src/gpumath/torch").glob("[a-z]*.py"):
        names |= {f"gpumath.torch.{path.stem}.{name}" for name in listed(path)}
    assert "gpumath.torch.fft.irfftn" in names
    assert names - described == set()


class Links(html.parser.HTMLParser):
    """The addresses that the text of a page links to, and the places in it that have a name."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.found: list[str] = []
        self.places = {""}
        self.depth = 0
        self.folder = path.parent
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.places.add(values.get("id") or "")
        self.depth += tag == "article"
        address = values.get("href") or ""
        if tag == "a" and self.depth and "://" not in address and not address.startswith("mailto"):
            self.found.append(address)

    def handle_endtag(self, tag: str) -> None:
        self.depth -= tag == "article"

    def targets(self, page: Path) -> set[tuple[Path, str]]:
        """Return the pages that are linked to, with the place in each."""
        pairs = (urllib.parse.urldefrag(urllib.parse.unquote(link)) for link in self.found)
        return {((self.folder / link).resolve() if link else page, place) for link, place in pairs}


def test_two_clicks_lead_a_stranger_to_what_he_needs() -> None:
    front = (SITE / "docs" / "index.html").resolve()
    pages = {front: Links(front)}
    for _click in range(2):
        for page, links in list(pages.items()):
            for target, _place in links.targets(page):
                if target.suffix == ".html" and target not in pages:
                    assert target.exists(), f"{page.name} links to {target}, which is not there"
                    pages[target] = Links(target)
    for page in [front, *(target for target, _ in pages[front].targets(front))]:
        if page.suffix == ".html":
            for target, place in pages[page].targets(page):
                known = target not in pages or place in pages[target].places
                assert known, f"{page.name} links to #{place} of {target.name}"
    for name, text in {
        "install.html": "pip install",
        "tutorials/first-fft.html": "rfft",
        "slower-than-expected.html": "the first call",
        "libraries.html": "LibraryNotFoundError",
        "migration.html": "python -m gpumath.compat.nvmath",
        "generated/plots.html": "gpumath.bench",
        "generated/examples/device/index.html": "Two-dimensional transforms in one kernel",
    }.items():
        path = front.parent / name
        assert path in pages, f"{name} is more than two clicks from the front page"
        plain = re.sub(r"<[^>]*>", "", path.read_text())
        assert text in html.unescape(plain), f"{name} does not have {text!r}"


def test_programs_for_a_gpu_are_shown_with_what_they_print() -> None:
    page = SITE / "docs" / "generated" / "examples" / "device" / "04_fft_2d.html"
    text = html.unescape(re.sub(r"<[^>]*>", "", page.read_text()))
    assert re.search(r"What it prints on a GPU.*512 images of 64 x 64", text, re.DOTALL)


@pytest.mark.parametrize(
    ("c_name", "python_name"),
    [
        ("cufftExecC2C", "cufft.exec_c2c"),
        ("cuMemcpy2D", "driver.memcpy2d"),
        ("CUDA_MEMCPY2D", "driver.Memcpy2D"),
    ],
)
def test_the_search_finds_c_names(page: Any, c_name: str, python_name: str) -> None:
    page.goto(f"/search.html?q={c_name}")
    first = page.locator("#search-results ul.search li a").first
    assert first.inner_text() == f"{c_name} is {python_name}"
    first.click()
    heading = page.locator(f'[id="gpumath.bindings.{python_name}"]')
    heading.wait_for()  # fails if there is none, or more than one
    assert python_name.split(".")[1] in heading.inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_pages_are_readable(page: Any, scheme: str, width: int) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 844})
    for path in PAGES:
        page.goto(f"/{path}")
        # The page itself does not scroll sideways: wide tables and code have their own bars.
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        assert page.evaluate("document.documentElement.dataset.theme") == scheme
        for heading in page.locator("article h1").all():
            assert heading.evaluate("element => element.scrollWidth <= element.clientWidth"), path
        for selector in ("article h1", "article p", "article a", "article pre span"):
            shown = page.locator(selector).first
            assert shown.count() == 0 or shown.evaluate(CONTRAST) > 4.5, (path, selector)


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("Install", "pip install"),
        ("Your first transform", "fft.rfft(signal)"),
        ("A library is not found", "LibraryNotFoundError"),
        ("It is slower than I thought", "the first call loads libraries and plans"),
        ("reference", "gpumath.linalg"),
        ("explanation", "the life of a call"),
    ],
)
def test_one_click_from_the_front_page(page: Any, link: str, expected: str) -> None:
    page.goto("/index.html")
    page.wait_for_url("**/docs/index.html")
    page.locator("article").get_by_role("link", name=link, exact=True).click()
    page.wait_for_url(lambda url: "/docs/index.html" not in url)
    assert expected in page.locator("article").inner_text()
