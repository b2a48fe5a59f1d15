"""The site in a real browser: it works by mouse, keyboard and screen reader, at every width, and without a script."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect, sync_playwright
from site_night import offers, write

from page.build import build

CHROMIUM = shutil.which("chromium")
PAGES = {
    "start": "index.html",
    "offers": "offers/index.html",
    "job": "jobs/rt-chat-70b/index.html",
    "job with a deadline": "jobs/img-12b-batch/index.html",
    "job without answer": "jobs/qlora-8b/index.html",
    "jobs": "jobs/index.html",
    "sources": "sources/index.html",
    "method": "method/index.html",
}
DECK = offers()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        message = "no chromium on this machine; install it with: apt-get install chromium"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("public")
    build(write(folder / "gpu_almanac.duckdb"), folder / "site")
    return folder


@pytest.fixture(scope="module")
def address(public: Path) -> Iterator[str]:
    """The site under a path of its own, as a project page would be."""
    handler = partial(Quiet, directory=str(public.parent))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/{public.name}/site"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page of 1280 pixels that lets no message, error, dialog or failed request pass."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    opened = context.new_page()
    complaints: list[str] = []
    opened.on("console", lambda message: complaints.append(f"console: {message.text}"))
    opened.on("pageerror", lambda error: complaints.append(f"error: {error}"))
    opened.on("requestfailed", lambda request: complaints.append(f"{request.failure}: {request.url}"))
    opened.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
    yield opened
    context.close()
    # the browser drops what it still loads when a test goes on to the next page
    assert [complaint for complaint in complaints if not complaint.startswith("net::ERR_ABORTED")] == []


def cells(page: Page, key: str) -> list[str]:
    """Returns the texts of a column as they stand."""
    script = """key => {
        const heads = [...document.querySelectorAll('#offers th[data-k]')];
        const at = heads.findIndex(head => head.dataset.k === key);
        return [...document.querySelectorAll('#offers tbody tr')].map(row => row.cells[at].textContent.trim()) }"""
    texts: list[str] = page.evaluate(script, key)
    return texts


def shown(page: Page) -> int:
    return int(page.locator("#n").inner_text())


def choose(page: Page, facet: str, value: str) -> None:
    page.locator(f"details[data-facet={facet}] > summary").click()
    page.locator(f"details[data-facet={facet}] input[value='{value}']").check()
    page.keyboard.press("Escape")


@pytest.mark.parametrize("name", PAGES)
def test_no_page_complains_or_scrolls_sideways(page: Page, address: str, name: str) -> None:
    page.goto(f"{address}/{PAGES[name]}")
    for width in (1440, 768, 320):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width, width


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["start", "offers", "job with a deadline", "sources"])
def test_axe_finds_nothing(browser: Browser, address: str, name: str, scheme: Any) -> None:
    context = browser.new_context(color_scheme=scheme, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(
        f"{address}/{PAGES[name]}" + "?q=verda&max=1" * (name == "offers")
    )  # few rows: axe takes its time
    if name == "offers":
        page.locator("details[data-facet=gpu] > summary").click()
    result = Axe().run(page)
    context.close()
    assert result.violations_count == 0, result.generate_report()


def test_axe_would_find_something(browser: Browser, address: str) -> None:
    page = browser.new_page()
    page.goto(f"{address}/index.html")
    page.evaluate(
        "document.querySelector('select').parentElement.replaceWith(document.querySelector('select'))"
    )
    assert Axe().run(page).violations_count > 0
    page.close()


def test_the_script_shows_the_rows_that_were_there_before_it(browser: Browser, address: str) -> None:
    texts = []
    for has_script in (False, True):
        context = browser.new_context(java_script_enabled=has_script)
        page = context.new_page()
        page.goto(f"{address}/offers/index.html")
        rows = page.locator("#offers tbody tr")
        expect(rows).to_have_count(200)
        texts.append(rows.all_inner_texts())
        context.close()
    assert texts[0] == texts[1]


def test_without_a_script_the_table_is_there_and_the_controls_are_not(browser: Browser, address: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/offers/index.html")
    expect(page.locator("#offers tbody tr").first).to_be_visible()
    expect(page.get_by_text("Sorting and filters need JavaScript.")).to_be_visible()
    for hidden in ("#q", "#csv", "#theme", "details.pop >> nth=0"):
        expect(page.locator(hidden)).to_be_hidden()
    context.close()


def test_sorting_keeps_missing_prices_last_both_ways(page: Page, address: str) -> None:
    page.goto(f"{address}/offers/index.html")
    page.locator("#more").click()
    prices = sorted(
        row["price_usd_per_gpu_hour"] for row in DECK if row["price_usd_per_gpu_hour"] is not None
    )
    assert cells(page, "gh")[-1] == "ask"
    header = page.locator("th[data-k=gh]")
    assert header.get_attribute("aria-sort") == "ascending"
    header.get_by_role("button").click()
    page.locator("#more").click()
    assert header.get_attribute("aria-sort") == "descending"
    descending = cells(page, "gh")
    assert (descending[0], descending[-1]) == (f"${prices[-1]:.2f}", "ask")
    assert page.locator("th[aria-sort]").count() == 1
    page.locator("th[data-k=vram] button").click()
    expect(page.locator("#live")).to_have_text("Offers: 260 of 260. Sorted by Memory, GiB, ascending.")
    page.locator("#more").click()
    memory = cells(page, "vram")
    assert memory[-1] == "–"
    assert memory[:-1] == sorted(memory[:-1], key=float)


def test_filters_are_in_the_address_and_come_back_with_it(page: Page, address: str) -> None:
    page.goto(f"{address}/offers/index.html")
    choose(page, "area", "eu_member")
    choose(page, "pay", "spot")
    wanted = [row for row in DECK if row["is_eu"] and row["purchase"] == "spot"]
    assert shown(page) == len(wanted) > 0
    page.locator("th[data-k=age] button").click()
    page.locator("#q").fill("verda")
    few = [row for row in wanted if row["provider"] == "verda"]
    assert shown(page) == len(few) > 0
    rows, view = page.locator("#offers tbody").inner_text(), page.url
    page.goto(f"{address}/index.html")
    page.goto(view)
    assert page.locator("#offers tbody").inner_text() == rows
    assert page.locator("th[data-k=age]").get_attribute("aria-sort") == "ascending"
    assert page.locator(".pill").all_inner_texts() == ["Spot", "European Union"]
    page.get_by_role("button", name="Remove filter Spot").click()
    assert page.evaluate("document.activeElement.textContent") == "European Union"
    page.locator("#clear").click()
    assert shown(page) == 260
    assert page.url == f"{address}/offers/index.html?sort=age"


def test_a_limit_reads_dot_and_comma_and_shows_what_it_understood(page: Page, address: str) -> None:
    page.goto(f"{address}/offers/index.html")
    page.locator("details[data-limits] > summary").click()
    understood = {
        "0.5": "≤ $0.50 an hour",
        "0,5": "≤ $0.50 an hour",
        "1.234": "≤ $1.23 an hour",
        "1,234": "≤ $1,234.00 an hour",
        "1.234,5": "≤ $1,234.50 an hour",
        "1,234.5": "≤ $1,234.50 an hour",
        "1,234,567": "≤ $1,234,567.00 an hour",
        "cheap": "“cheap” is not a number",
    }
    said = {}
    for typed in understood:
        page.locator("#max").fill(typed)
        said[typed] = page.locator(".pill").inner_text()
        if typed in ("0.5", "0,5"):
            assert shown(page) == sum((row["price_usd_per_gpu_hour"] or 9) <= 0.5 for row in DECK) > 0
    assert said == understood
    assert page.locator("#max").get_attribute("aria-invalid") == "true"
    assert shown(page) == 260


def test_an_empty_result_says_so(page: Page, address: str) -> None:
    page.goto(f"{address}/offers/index.html?q=nosuchgpu")
    expect(page.get_by_text("No offer passes these filters.")).to_be_visible()
    assert page.locator("#n").inner_text() == "0"


def test_a_broken_address_shows_everything(page: Page, address: str) -> None:
    page.goto(f"{address}/offers/index.html?sort=-nothing&age=x&gpu=none&cols=&max=abc")
    assert shown(page) == 260
    expect(page.locator(".pill")).to_have_count(0)


def test_columns_are_chosen_and_kept_in_the_address(page: Page, address: str) -> None:
    page.goto(f"{address}/offers/index.html")
    expect(page.locator("th[data-k=tf]")).to_be_hidden()
    page.locator("details.pop.end > summary").click()
    page.locator("input[data-column=tf]").check()
    page.locator("input[data-column=region]").uncheck()
    page.goto(page.url)
    expect(page.locator("th[data-k=tf]")).to_be_visible()
    expect(page.locator("th[data-k=region]")).to_be_hidden()
    visible = page.locator("#offers thead tr >> nth=0").locator("th:visible")
    assert (
        sum(visible.evaluate_all("all => all.map(th => th.colSpan)"))
        == page.locator("th[data-k]:visible").count()
    )


def test_escape_closes_a_pop_up_and_gives_the_focus_back(page: Page, address: str) -> None:
    page.goto(f"{address}/offers/index.html")
    summary = page.locator("details[data-facet=gpu] > summary")
    summary.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.type") == "checkbox"
    page.keyboard.press("Escape")
    expect(page.locator("details.pop[open]")).to_have_count(0)
    assert page.evaluate("document.activeElement.textContent") == "GPU"
    summary.click()
    page.locator("details[data-facet=prov] > summary").click()
    expect(page.locator("details.pop[open]")).to_have_count(1)
    page.locator("h1").click()
    expect(page.locator("details.pop[open]")).to_have_count(0)


def test_exports_hold_the_rows_and_columns_that_are_shown(page: Page, address: str) -> None:
    page.goto(f"{address}/offers/index.html?q=scaleway&cols=gpu.prov.gh.inc")
    with page.expect_download() as waiting:
        page.locator("#csv").click()
    lines = Path(waiting.value.path()).read_text().splitlines()
    wanted = [row for row in DECK if row["provider"] == "scaleway"]
    assert lines[0] == "# GPU Almanac, night of 2026-11-30, CC BY 4.0, prices in USD without VAT"
    assert lines[1] == "gpu,prov,plan,gh,inc"
    assert len(lines) == 2 + len(wanted)
    cheapest = min(wanted, key=lambda row: row["price_usd_per_gpu_hour"])
    gpu = cheapest["gpu_name"]
    increment = cheapest["billing_increment_s"] or ""
    assert lines[2] == f"{gpu},Scaleway,{cheapest['plan']},{cheapest['price_usd_per_gpu_hour']},{increment}"
    with page.expect_download() as waiting:
        page.locator("#json").click()
    records = json.loads(Path(waiting.value.path()).read_text())["offers"]
    assert sorted(record["gh"] for record in records) == sorted(
        row["price_usd_per_gpu_hour"] for row in wanted
    )


def test_an_exported_cell_is_never_a_formula(page: Page, address: str) -> None:
    page.goto(f"{address}/offers/index.html?q=hyperlink")
    with page.expect_download() as waiting:
        page.locator("#csv").click()
    assert ",'=HYPERLINK(1)," in Path(waiting.value.path()).read_text()


def test_the_policy_stops_a_script_and_a_style_that_were_slipped_in(browser: Browser, address: str) -> None:
    page = browser.new_page()
    page.goto(f"{address}/index.html")
    blocked = page.evaluate(
        """() => new Promise(done => {
            const seen = [];
            document.addEventListener('securitypolicyviolation', event => {
                seen.push(event.effectiveDirective);
                if (seen.length === 3) done(seen.sort());
            });
            const script = document.createElement('script');
            script.textContent = 'window.slipped = 1';
            const style = document.createElement('style');
            style.textContent = 'body { color: red }';
            const image = document.createElement('img');
            image.src = 'https://elsewhere.example/x.png';
            document.body.append(script, style, image);
        })"""
    )
    assert blocked == ["img-src", "script-src-elem", "style-src-elem"]
    assert page.evaluate("window.slipped") is None
    page.close()


def test_it_works_from_a_disk(page: Page, public: Path) -> None:
    page.goto((public / "site/index.html").as_uri())
    page.get_by_role("link", name="Offers", exact=True).click()
    expect(page.locator("#offers tbody tr")).to_have_count(200)
    choose(page, "seg", "peer_host")
    assert shown(page) == sum(row["segment"] == "peer_host" for row in DECK)


def test_the_picker_opens_the_page_of_a_job(page: Page, address: str) -> None:
    page.goto(f"{address}/index.html")
    page.locator("#picker select").select_option("qlora-8b")
    page.get_by_role("button", name="Show answer").click()
    page.wait_for_url("**/jobs/qlora-8b/index.html")
    expect(page.get_by_role("heading", level=1)).to_contain_text("QLoRA on an 8B model")


def test_the_theme_is_remembered(page: Page, address: str) -> None:
    page.goto(f"{address}/index.html")
    button = page.get_by_role("button", name="Dark mode")
    assert button.get_attribute("aria-pressed") == "false"
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    button.click()
    page.goto(f"{address}/offers/index.html")
    assert page.get_by_role("button", name="Dark mode").get_attribute("aria-pressed") == "true"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light


def test_on_a_phone_the_first_column_names_gpu_and_provider(page: Page, address: str) -> None:
    page.set_viewport_size({"width": 360, "height": 800})
    page.goto(f"{address}/offers/index.html")
    assert "Salad" in page.locator("#offers tbody th").first.inner_text()
