"""The site: what it says is what the database says, in every language, and nothing from outside runs in it."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import Any, get_args

import duckdb
import pytest
from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po
from emitted_codes import column_codes, reason_codes, returned_codes, sources
from lxml import html
from site_night import HOSTILE_NAME, PROVIDERS, offers, write

from page import accuracy, reasons, runs, words
from page.build import build, phase
from page.data import read
from page.errors import PageError
from page.figures import Band, band_ruler, memory_ruler
from page.messages import extract
from page.offers import table, web
from page.texts import LOCALES, Texts, load
from scrapers import contract
from transforms.reference.tables import read as facts
from transforms.workloads.engines import DEFAULT

PUBLIC = ("gpu_almanac.duckdb", "offers.csv", "offers.parquet", "rankings.csv", "rankings.parquet")


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("night") / "gpu_almanac.duckdb")


@pytest.fixture(scope="module")
def site(night: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("public") / "site"
    build(night, out)
    return out


@pytest.fixture(scope="module")
def pseudo(night: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site in English and in a language whose messages have no ASCII letter."""
    folder = tmp_path_factory.mktemp("pseudo")
    write_pseudo_catalogue(folder / "locales")
    build(night, folder / "site", languages=("en", "zh"), locales=folder / "locales")
    return folder / "site"


def foreign(message: str) -> str:
    """Returns a message with full-width letters in place of its letters; its named values stay."""
    parts = re.split(r"(%\(\w+\)s|%%)", message)
    wide = {code: code + 0xFEE0 for code in range(33, 127) if chr(code).isalpha()}
    return "".join(part if part.startswith("%") else part.translate(wide) for part in parts)


def write_pseudo_catalogue(locales: Path) -> None:
    catalog = Catalog(locale="zh_Hans")
    with (LOCALES / "messages.pot").open("rb") as file:
        for message in read_po(file):
            if isinstance(message.id, tuple):
                catalog.add(message.id, (foreign(message.id[1]),), flags=message.flags)
            elif message.id:
                catalog.add(message.id, foreign(message.id), flags=message.flags)
    path = locales / "zh/LC_MESSAGES/messages.po"
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        write_po(file, catalog)


def pages(site: Path) -> Iterator[tuple[Path, html.HtmlElement]]:
    for path in sorted(site.rglob("*.html")):
        yield path, html.document_fromstring(path.read_bytes())


def page(site: Path, address: str) -> html.HtmlElement:
    return html.document_fromstring((site / address).read_bytes())


def words_of(element: html.HtmlElement) -> str:
    text = " ".join(" ".join(element.itertext()).split())
    return re.sub(r" ([.,:;])", r"\1", text)


def data_file(path: Path) -> dict[str, Any]:
    text = path.read_text()
    assert text.startswith("almanac.offers(")
    assert text.endswith(");\n")
    parsed: dict[str, Any] = json.loads(text[len("almanac.offers(") : -3])
    return parsed


# The build


def test_every_tier_has_a_page_and_nothing_else_is_written(site: Path) -> None:
    tiers = set(facts("tier")["tier_id"])
    assert len(tiers) == 37
    assert {path.name for path in (site / "jobs").iterdir()} == tiers | {"index.html"}
    assert {path.name for path in site.iterdir()} == {
        *("index.html", "offers", "jobs", "sources", "method"),
        *("style.css", "app.js", "offers.js", "favicon.svg"),
    }


def test_the_same_database_gives_the_same_bytes(night: Path, site: Path, tmp_path: Path) -> None:
    build(night, tmp_path / "again")
    first = {path.relative_to(site): path.read_bytes() for path in site.rglob("*") if path.is_file()}
    again = tmp_path / "again"
    assert first == {
        path.relative_to(again): path.read_bytes() for path in again.rglob("*") if path.is_file()
    }


def test_the_database_is_not_changed(night: Path, tmp_path: Path) -> None:
    before = night.read_bytes()
    build(night, tmp_path / "site")
    assert night.read_bytes() == before


def test_a_folder_that_is_not_empty_is_refused(night: Path, tmp_path: Path) -> None:
    (tmp_path / "old.html").write_text("old")
    with pytest.raises(PageError, match="not empty"):
        build(night, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["old.html"]


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("UPDATE tier_exclusion_count SET reason = 'bad_luck' WHERE tier_id = 'qlora-8b'", "bad_luck"),
        ("UPDATE tier_ranking SET verdict = 'maybe' WHERE rank = 1", "maybe"),
        ("UPDATE tier_ranking SET limiting_factor = 'mood' WHERE rank = 1", "mood"),
        ("UPDATE tier_ranking SET engine = 'steam' WHERE rank = 1", "steam"),
        ("UPDATE tier_ranking SET bill_state = 'lost' WHERE rank = 1", "lost"),
        ("UPDATE current_offering SET availability = 'soon' WHERE gpu_count = 8", "soon"),
        ("UPDATE source_health SET outcome = 'tired' WHERE outcome = 'ok'", "tired"),
        ("UPDATE tier_ranking SET would_lead_if = 'second_hand|wet' WHERE rank = 2", "wet"),
    ],
)
def test_a_code_without_words_stops_the_build(
    night: Path, tmp_path: Path, statement: str, named: str
) -> None:
    database = Path(shutil.copy(night, tmp_path / "n.duckdb"))
    with duckdb.connect(str(database)) as connection:
        connection.execute(statement)
    with pytest.raises(PageError, match=named):
        build(database, tmp_path / "site")


def test_a_file_without_a_release_is_refused(night: Path, tmp_path: Path) -> None:
    database = Path(shutil.copy(night, tmp_path / "n.duckdb"))
    with duckdb.connect(str(database)) as connection:
        connection.execute("DELETE FROM release")
    with pytest.raises(PageError, match="no release"):
        build(database, tmp_path / "site")


def test_a_language_without_a_catalogue_is_refused(night: Path, tmp_path: Path) -> None:
    with pytest.raises(PageError, match="no catalogue"):
        build(night, tmp_path / "site", languages=("en", "de"), locales=tmp_path)
    with pytest.raises(PageError, match="unknown"):
        build(night, tmp_path / "site", languages=("xx",))


def test_a_night_with_one_offer_and_no_ranking_is_a_whole_site(tmp_path: Path) -> None:
    build(write(tmp_path / "n.duckdb", count=10), tmp_path / "site")
    start = page(tmp_path / "site", "index.html")
    assert len(start.xpath("//table//tr[td]")) == 37
    assert all("No answer." in words_of(row) for row in start.xpath("//table//tr[td]"))
    assert "No offers were looked at." in words_of(page(tmp_path / "site", "jobs/qlora-8b/index.html"))


# What the pages say


def test_the_entry_adds_up(site: Path) -> None:
    # deck[1]: MI300X, 192 GiB: 192 / 60 + 0.11 + 0.001 = 3.311 an hour; 730 h, a quarter hour start-up, 20 storage
    entry = page(site, "index.html").xpath("//section[@class='entry']")[0]
    text = words_of(entry)
    assert "Rent one MI300X 192GB at Scaleway." in text
    assert [words_of(line) for line in entry.xpath(".//dl[@class='bill']/div")] == [
        "730 h × $3.31 $2,417.03",
        "Start-up $0.83",
        "Storage, 200 GB $20.00",
        "Outgoing data, 39 GB $0.00",
        "Total $2,437.86",
    ]
    assert "$15.46 " in " ".join(words_of(cost) + " " for cost in entry.xpath(".//dl[@class='cost']//dd"))
    assert "82.7 of 191 GiB usable, 43%" in text
    assert "35 tokens/s, 80% band 24\u2060–\u206047, limited by memory bandwidth" in text
    assert "Certain to keep up: 0.5 × H200 SXM 141GB at Scaleway for $2,466, price: tonight." in text


def test_the_time_is_told_by_its_parts(site: Path) -> None:
    # 0.6 + 0.2 + 0.001 + 0 + 0.1 + 0.099 = 1; a thousandth is drawn and needs no word
    job = page(site, "jobs/rt-chat-70b/index.html")
    figure = next(f for f in job.xpath("//figure") if "Where the time goes" in words_of(f))
    assert [words_of(item) for item in figure.xpath(".//li")] == [
        "Reading weights 60%",
        "Reading the cache 20%",
        "Overhead 10%",
        "Reading the input 10%",
    ]
    drawn = [(bar.get("class"), bar.get("x"), bar.get("width")) for bar in figure.xpath(".//svg/rect")]
    assert drawn == [
        ("a1", "0.00%", "60.00%"),
        ("a2", "60.00%", "20.00%"),
        ("a3", "80.00%", "0.10%"),
        ("a5", "80.10%", "10.00%"),
        ("a6", "90.10%", "9.90%"),
    ]
    assert "vLLM 0.8 and later" in words_of(figure)


def test_the_page_says_how_firm_place_1_is(site: Path) -> None:
    job = page(site, "jobs/rt-chat-70b/index.html")
    rows = [[words_of(cell) for cell in row] for row in job.xpath("//div[@class='split2']//tbody/tr")]
    assert ["every speed is 20% lower", "Another GPU, or none"] in rows
    assert ["every speed is 25% higher", "The same GPU"] in rows
    assert any(row[0] == "the winner is gone" and row[1].endswith(", the same GPU") for row in rows)
    assert "at the slow end no number of copies carries the job" in words_of(job)


def test_a_bill_with_unstated_terms_shows_its_ends_where_they_are_far_apart(
    night: Path, tmp_path: Path
) -> None:
    def told(change: str) -> str:
        database = Path(shutil.copy(night, tmp_path / "n.duckdb"))
        with duckdb.connect(str(database)) as connection:
            connection.execute(f"UPDATE tier_ranking SET {change} WHERE tier_id = 'rt-chat-70b' AND rank = 1")
        shutil.rmtree(tmp_path / "site", ignore_errors=True)
        build(database, tmp_path / "site")
        return words_of(page(tmp_path / "site", "jobs/rt-chat-70b/index.html").xpath("//section")[0])

    ends = "Read for and against the offer: $2,000\u2060–\u2060$2,201."
    assert ends in told("bill_state = 'bounded', total_low_usd = 2000, total_high_usd = 2201")
    close = told("bill_state = 'bounded', total_low_usd = 2000, total_high_usd = 2199")
    assert "$2,199" not in close
    assert "that moves the total by less than a tenth" in close
    assert "Every term of the bill is stated." in told("bill_state = 'exact'")


def test_reserved_and_spot_rows_say_what_they_ask_for(site: Path) -> None:
    rows = [words_of(row) for row in page(site, "jobs/rt-chat-70b/index.html").xpath("//table//tr[td]")]
    reserved, spot = [row for row in rows if "Reserved" in row], [row for row in rows if "Spot" in row]
    assert reserved
    assert all("pays from 5,256 h of its term on (60%)" in row for row in reserved)
    assert spot
    advice = "a checkpoint every 32 min loses least its place hangs on the assumed rate of losses"
    assert all(advice in row for row in spot)
    assert not any("checkpoint" in row for row in rows if "On-demand" in row)


def test_the_method_page_shows_how_far_the_model_is_off(site: Path) -> None:
    method = page(site, "method/index.html")
    rows = [[words_of(cell) for cell in row] for row in method.xpath("//table[@class='accuracy']//tr[td]")]
    assert rows == [
        ["Weights", "0.079%", "–", "83%", "–", "98%", "100"],
        ["Fits or does not", "100% right", "–", "–", "–", "98%", "100"],
        ["All measurements", "11%", "14%", "80%", "95%", "98%", "100"],
    ]
    assert words_of(method).count("No rows are stored for this part.") == 2


def test_a_method_page_without_any_score_is_a_whole_page(night: Path, tmp_path: Path) -> None:
    database = Path(shutil.copy(night, tmp_path / "n.duckdb"))
    with duckdb.connect(str(database)) as connection:
        connection.execute("DELETE FROM accuracy_score")
    build(database, tmp_path / "site")
    method = page(tmp_path / "site", "method/index.html")
    assert words_of(method).count("No rows are stored for this part.") == 4


def test_a_lower_bound_says_at_least_and_an_unknown_line_is_not_zero(night: Path, tmp_path: Path) -> None:
    database = Path(shutil.copy(night, tmp_path / "n.duckdb"))
    with duckdb.connect(str(database)) as connection:
        connection.execute("UPDATE tier_ranking SET storage_usd = NULL, is_lower_bound = true WHERE rank = 1")
    build(database, tmp_path / "site")
    text = words_of(page(tmp_path / "site", "jobs/rt-chat-70b/index.html"))
    assert "Storage, 200 GB not stated" in text
    assert "Total, at least $" in text
    assert "at least $2,438" in text


def test_a_job_without_a_leader_says_why(site: Path) -> None:
    text = words_of(page(site, "jobs/qlora-8b/index.html"))
    assert "No answer tonight." in text
    assert "Would lead but for a second-hand price and an old price" in text
    assert "Link or network not stated: 10 offers." in words_of(page(site, "jobs/pre-7b-1t/index.html"))


def test_ranked_and_excluded_offers_add_up(site: Path) -> None:
    job = page(site, "jobs/rt-chat-70b/index.html")
    counts = [int(words_of(row.xpath("*[2]")[0])) for row in job.xpath("//div[@class='sumrow']")]
    assert counts == [64, 10, 10, 10, 10]
    assert "104 offers were looked at." in words_of(job)


def test_a_job_page_names_cheaper_losers_and_near_misses_with_their_margin(site: Path) -> None:
    job = page(site, "jobs/rt-chat-70b/index.html")
    cheaper, near = job.xpath("//ul[@class='lost']")
    assert {words_of(item) for item in cheaper.xpath(".//em")} == {
        "Not enough memory.",
        "Too slow.",
        "Way to pay not allowed.",
        "Link or network not stated.",
    }
    assert all(float(words_of(price).split()[0][1:]) < 3.311 for price in cheaper.xpath(".//*[@class='p']"))
    assert "Missed by 40%." in words_of(cheaper)
    assert len(near.xpath("li")) == 4


def test_every_price_in_a_ranking_has_its_age(site: Path) -> None:
    rows = [
        row
        for _, tree in pages(site)
        for row in tree.xpath("//table[contains(@class, 'ranked') or contains(@class, 'jobs')]//tr[td]")
        if "$" in words_of(row)
    ]
    assert len(rows) > 40
    assert all(re.search(r"tonight|\d+ days?$", words_of(row)) for row in rows)
    assert all(row.xpath(".//*[contains(@class, 'moon')]") for row in rows)


def test_a_price_without_a_date_is_shown_without_an_age(night: Path, tmp_path: Path) -> None:
    database = Path(shutil.copy(night, tmp_path / "n.duckdb"))
    with duckdb.connect(str(database)) as connection:
        for view in ("current_offering", "tier_ranking", "tier_exclusion"):
            connection.execute(f"UPDATE {view} SET age_days = NULL, price_date = NULL")
    build(database, tmp_path / "site")
    job = words_of(page(tmp_path / "site", "jobs/rt-chat-70b/index.html"))
    assert "as of day not stated, age not known" in job
    assert "tonight 0" not in job
    columns = data_file(tmp_path / "site/offers/data.js")["columns"]
    assert set(columns["age"]["cells"]) == set(columns["date"]["cells"]) == {None}


def test_a_night_without_live_prices_says_so_on_every_page(night: Path, site: Path, tmp_path: Path) -> None:
    build(write(tmp_path / "n.duckdb", live=False), tmp_path / "site")
    notice = "No live price tonight. Ranked on bundled list prices, 9 to 170 days old."
    assert all(notice in words_of(tree) for _, tree in pages(tmp_path / "site"))
    assert not any("No live price" in words_of(tree) for _, tree in pages(site))


def test_sources_show_every_outcome_with_its_reason(site: Path) -> None:
    rows = [words_of(row) for row in page(site, "sources/index.html").xpath("//tbody/tr")]
    assert len(rows) == 11
    stale = next(row for row in rows if row.startswith("AWS"))
    assert "Last good night scaleway: 503 three times; try later – – – Nov 28, 2026 2 days" in stale
    failed = next(row for row in rows if "Failed" in row)
    assert "– – –" in failed
    assert rows[-2].startswith("Acecloud source_bundled Neocloud Bundled list only why – 3 – none yet")
    assert rows[-1].startswith("IBM Cloud source_not_asked Neocloud Not collected why – – – none yet")


# The offers table


def test_the_table_has_its_first_rows_without_a_script(site: Path) -> None:
    tree = page(site, "offers/index.html")
    rows = tree.xpath("//table[@id='offers']/tbody/tr")
    assert len(rows) == 200
    assert "These are the cheapest 200 of 260 offers" in words_of(tree.xpath("//p[@data-plain]")[0])
    price = {row["offering_id"]: row["price_usd_per_gpu_hour"] for row in offers()}
    cheapest = sorted(value for value in price.values() if value is not None)[:3]
    shown = [words_of(row.xpath("td[4]")[0]) for row in rows[:3]]
    assert shown == ["at least $0.0123", f"${cheapest[1]:.2f}", f"${cheapest[2]:.2f}"]


def test_the_data_file_holds_every_offer_and_null_for_what_is_not_stated(site: Path) -> None:
    data = data_file(site / "offers/data.js")
    columns = data["columns"]
    assert data["rows"] == 260
    assert all(len(column["cells"]) == 260 for column in columns.values())
    prices = columns["gh"]["cells"]
    assert prices == [*sorted(prices[:-1]), None]
    assert columns["state"]["codes"][columns["state"]["cells"][-1]] == "contact_sales"
    assert None in columns["inc"]["cells"]
    assert 0 not in prices
    assert columns["inc"]["codes"] == ["1", "60", "3600"]
    assert columns["inc"]["labels"] == ["1 s", "1 min", "1 h"]
    gpus = columns["gpu"]["labels"]
    assert "H100 SXM5 80GB or H200 SXM 141GB" in gpus
    assert gpus.index("RTX 4090 24GB") > gpus.index("L40S 48GB")


def test_a_price_in_another_currency_is_shown_as_it_was_listed_with_its_rate(site: Path) -> None:
    listed = data_file(site / "offers/data.js")["columns"]["listed"]
    assert listed["codes"] == ["2.5 EUR/gpu/hour at 1.0842 of 2026-11-27"]
    assert listed["labels"] == ["2.5 EUR per GPU and hour, at 1.0842 USD of Nov 27, 2026"]
    assert sum(cell is not None for cell in listed["cells"]) == 1


# Hostile text


def test_nothing_from_outside_becomes_markup(site: Path) -> None:
    allowed = {"app.js", "offers.js", "data.js"}
    for path, tree in pages(site):
        assert not tree.xpath("//*[@style] | //style | //img | //iframe | //b[.='x']"), path
        assert not [name for element in tree.iter() for name in element.attrib if name.startswith("on")], path
        scripts = tree.xpath("//script")
        assert all(script.get("src", "").rsplit("/")[-1] in allowed for script in scripts), path
        assert all(not (script.text or "").strip() for script in scripts), path
    assert HOSTILE_NAME in words_of(page(site, "offers/index.html"))


def test_links_lead_to_web_pages_or_to_files_that_are_there(site: Path) -> None:
    for path, tree in pages(site):
        for address in tree.xpath("//@href | //@src"):
            if address.startswith(("https://", "#")):
                continue
            assert ":" not in address, (path, address)
            target = (path.parent / address).resolve()
            is_download = target.parent == site.resolve().parent and target.name in PUBLIC
            assert is_download or target.is_file(), (path, address)


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://a.example/x?y=1", True),
        ("http://a.example", True),
        ("javascript:alert(1)", False),
        ("data:text/html,x", False),
        ("//a.example/x", False),
        ("https://", False),
        ("https://a.example/ x", False),
        ('https://a.example/"onclick', False),
        ("http://[bad", False),
        (None, False),
    ],
)
def test_only_web_addresses_are_links(url: str | None, kept: bool) -> None:
    assert (web(url) == url) is (kept or url is None)


# Size


def test_the_pages_stay_within_their_budget(site: Path) -> None:
    def size(*names: str) -> int:
        return sum(len(gzip.compress((site / name).read_bytes(), 9, mtime=0)) for name in names)

    assert size("index.html", "style.css", "app.js") <= 60_000
    assert size("offers/index.html", "style.css", "app.js", "offers.js") <= 40_000
    assert size("app.js", "offers.js") <= 12_000


# Languages


def visible(tree: html.HtmlElement) -> Iterator[str]:
    """Yields what a reader sees or hears and a translator must have touched: text and labels without names."""
    for element in tree.iter():
        if not isinstance(element.tag, str) or element.tag in ("script", "style"):
            continue
        is_name = element.xpath("boolean(ancestor-or-self::*[@translate='no'])")
        if element.text and not is_name:
            yield element.text
        if element.tail and not element.xpath("boolean(ancestor::*[@translate='no'])"):
            yield element.tail
        for name in ("aria-label", "title", "placeholder", "alt"):
            if element.get(name) and not is_name:
                yield element.get(name)


def untranslated(tree: html.HtmlElement, names: list[str]) -> list[str]:
    """Returns the visible texts that still hold an ASCII letter once names and the dollar are taken out."""
    left = []
    for text in visible(tree):
        bare = text.replace("US$", "$")
        for known in names:
            bare = bare.replace(known, "")
        if re.search("[A-Za-z]", bare):
            left.append(text)
    return left


def test_every_visible_text_goes_through_the_catalogue(pseudo: Path) -> None:
    names = ["EUR", *(provider[1] for provider in PROVIDERS)]
    names += [Texts.gpu.__get__(load("en"))(row["gpu_name"]).striptags() for row in offers(40)]
    found = {str(path): untranslated(tree, names) for path, tree in pages(pseudo / "zh")}
    assert len(found) == 37 + 5
    assert {path: texts for path, texts in found.items() if texts} == {}


def test_a_hard_coded_text_would_be_found(pseudo: Path) -> None:
    tree = page(pseudo, "zh/index.html")
    tree.xpath("//h1")[0].text = "Which GPU?"
    tree.xpath("//nav")[0].set("aria-label", "Main")
    assert untranslated(tree, []) == ["Main", "Which GPU?"]


def test_the_words_of_the_data_file_are_translated(pseudo: Path) -> None:
    data = data_file(pseudo / "zh/offers/data.js")
    labels = [label for key in ("kind", "pay", "seg", "state", "stock", "fresh", "proof", "inc", "area", "link")
              for label in data["columns"][key].get("labels", data["columns"][key]["codes"])]  # fmt: skip
    texts = [re.sub(r"%\(\w+\)s", "", text) for text in data["texts"].values()]
    assert len(labels) > 20
    assert [text for text in labels + texts if re.search("[A-Za-z]", text)] == []
    english = data_file(pseudo / "offers/data.js")
    assert english["columns"]["seg"]["codes"] == data["columns"]["seg"]["codes"] or sorted(
        english["columns"]["seg"]["codes"]
    ) == sorted(data["columns"]["seg"]["codes"])


def test_each_page_knows_its_language_and_the_others(pseudo: Path) -> None:
    for path, tree in pages(pseudo):
        is_chinese = "zh" in path.relative_to(pseudo).parts
        assert tree.get("lang") == ("zh-Hans" if is_chinese else "en")
        alternates = tree.xpath("//link[@rel='alternate']/@hreflang")
        assert alternates == ["en", "x-default", "zh-Hans"]
        current = tree.xpath("//nav[@class='langs']/a[@aria-current]/text()")
        assert [name.strip() for name in current] == ["简体中文" if is_chinese else "English"]
        for address in tree.xpath("//link[@rel='alternate']/@href"):
            assert (path.parent / address).resolve().is_file()


def test_one_language_needs_no_switch(site: Path) -> None:
    assert not page(site, "index.html").xpath("//nav[@class='langs'] | //link[@rel='alternate']")


def test_the_message_template_is_up_to_date() -> None:
    with (LOCALES / "messages.pot").open("rb") as file:
        written = {message.id for message in read_po(file)}
    assert {message.id for message in extract()} - {""} == written - {""}


@pytest.mark.parametrize(
    ("key", "price", "small", "total", "share", "day"),
    [
        ("en", "$3.20", "$0.0123", "$12,346", "43%", "Nov 30, 2026"),
        ("de", "3,20\xa0$", "0,0123\xa0$", "12.346\xa0$", "43\xa0%", "30.11.2026"),
        ("fil", "$3.20", "$0.0123", "$12,346", "43%", "Nob 30, 2026"),
        ("zh", "US$3.20", "US$0.0123", "US$12,346", "43%", "2026年11月30日"),
    ],
)
def test_numbers_follow_the_language(
    tmp_path: Path, key: str, price: str, small: str, total: str, share: str, day: str
) -> None:
    path = tmp_path / key / "LC_MESSAGES/messages.po"
    path.parent.mkdir(parents=True)
    path.write_text('msgid ""\nmsgstr "Content-Type: text/plain; charset=utf-8\\n"\n')
    t = load(key, tmp_path)
    assert (t.money(3.2), t.money(0.0123), t.total(12345.678), t.percent(0.43)) == (
        price,
        small,
        total,
        share,
    )
    assert t.day(date(2026, 11, 30)).striptags() == day
    assert t.money(0.00045).endswith(("0.000450", "0,000450\xa0$"))


def test_filipino_plurals_follow_the_spoken_number(tmp_path: Path) -> None:
    path = tmp_path / "fil/LC_MESSAGES/messages.po"
    path.parent.mkdir(parents=True)
    path.write_text(
        'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=utf-8\\n"\n'
        '"Plural-Forms: nplurals=2; plural=(n==1 || n==2 || n==3 || (n%10!=4 && n%10!=6 && n%10!=9)) ? 0 : 1;\\n"\n\n'
        'msgid "%(num)s offer"\nmsgid_plural "%(num)s offers"\n'
        'msgstr[0] "%(num)s alok"\nmsgstr[1] "%(num)s na alok"\n'
    )
    t = load("fil", tmp_path)
    said = {count: t.say_n("%(num)s offer", "%(num)s offers", count) for count in (1, 4, 5, 14, 21)}
    assert said == {1: "1 alok", 4: "4 na alok", 5: "5 alok", 14: "14 na alok", 21: "21 alok"}


def test_a_moment_is_told_in_utc() -> None:
    said = load("en").stamp(datetime(2026, 11, 30, 6, 5, tzinfo=UTC))
    assert said == '<time datetime="2026-11-30T06:05Z">Nov 30, 2026 06:05 UTC</time>'


# Words and rulers


@pytest.mark.parametrize(
    ("family", "codes"),
    [
        (words.segment, get_args(contract.Segment)),
        (words.purchase, get_args(contract.PurchaseKind)),
        (words.price_state, get_args(contract.PriceState)),
        (words.availability, get_args(contract.Availability)),
        (lambda t, unit: words.price_basis(t, "gpu", unit, "1"), get_args(contract.PriceUnit)),
        (lambda t, per: words.price_basis(t, per, "hour", "1"), ("gpu", "instance")),
        (words.evidence, get_args(contract.Evidence)),
        (words.terms, get_args(contract.Terms)),
        (words.objective, {*facts("tier")["objective"], *facts("tier")["secondary_objective"]}),
        (words.group, set(facts("tier")["group"])),
        (words.fabric, set(facts("tier")["required_fabric"])),
        (words.hosts, set(facts("tier")["hosts_allowed"])),
        (words.work_unit, set(facts("tier")["work_unit"])),
        (words.outcome, ["ok", "unchanged", "stale", "blocked", "skipped", "failed", "held", "off", "never"]),
        (
            words.verdict,
            ["fits", "tight", "loads_but_cannot_serve", "does_not_fit", "unsupported_precision", "unknown"],
        ),
        (words.link, ["nvlink", "pcie", "xgmi", "none", "unknown"]),
    ],
)
def test_every_code_of_the_almanac_has_words(family: Any, codes: Any) -> None:
    t = load("en")
    said = {code: str(family(t, code)) for code in codes}
    assert said
    assert all(said.values())
    assert len(set(said.values())) == len(said)


def without_words(family: Callable[[Texts, str], object], codes: Iterable[str]) -> list[str]:
    """Returns the codes that a family has no words for."""
    t = load("en")
    missing = []
    for code in sorted(codes):
        try:
            assert str(family(t, code))
        except PageError:
            missing.append(code)
    return missing


def known_or_not(t: Texts, code: str) -> str:
    return f"{reasons.reason(t, code, False)} {reasons.reason(t, code, True)}"


# What the model writes into a ranking: its words, its codes as the source of the model has them, and one among them.
EMITTED: list[tuple[Callable[[Texts, str], object], Callable[[list[str]], set[str]], str]] = [
    (runs.flag, lambda m: column_codes("flags", m) | returned_codes("flags", m), "stated_peak"),
    (runs.limiting_factor, partial(column_codes, "limiting_factor"), "cache_capacity"),
    (words.bill_state, partial(column_codes, "bill_state"), "bounded"),
    (words.certainty, partial(column_codes, "certainty"), "likely"),
    (words.constraint, partial(column_codes, "tightest_constraint"), "ttft"),
    (words.verdict, partial(column_codes, "verdict"), "loads_but_cannot_serve"),
    (lambda t, code: words.speed(t, code, 1), partial(column_codes, "speed_unit"), "audio s/s"),
    (runs.engine, partial(column_codes, "engine"), "hf peft"),
    (reasons.would_lead_if, partial(column_codes, "obstacle"), "uncalibrated"),
    (known_or_not, reason_codes, "layout"),
]


@pytest.mark.parametrize(("family", "codes", "one"), EMITTED)
def test_every_code_that_the_model_can_emit_has_words(family: Any, codes: Any, one: str) -> None:
    emitted = codes(sources())
    assert one in emitted  # the reader of the source sees it
    assert without_words(family, emitted) == []


def test_the_engine_that_offers_are_ranked_with_has_words() -> None:
    label = facts("engine").filter(engine_id=DEFAULT)["label"][0]
    assert without_words(runs.engine, [label]) == []


NEW_CODES = """
def flags():
    return pl.concat_list(pl.when(odd()).then(pl.lit("odd_cache")))

def outcome(rows):
    limits = zip(parts(), ("compute", "cosmic_rays"), strict=True)
    limiting = pl.coalesce(*(pl.when(part).then(pl.lit(name)) for part, name in limits))
    noted = pl.when(is_x()).then(pl.lit(["odd_peak"])).otherwise(pl.lit([]))
    failures = [Failure("weather", pl.col("speed") > 1), below("mood", pl.col("speed"), floor, "x")]
    rule = Rule(pl.coalesce("layout_reason", pl.lit("tide")), pl.col("speed"))
    return rows.with_columns(limiting_factor=limiting, flags=noted, engine=pl.col("task").replace_strict(ENGINES))

ENGINES = {"serve": "steam"}
"""


def test_a_new_code_without_words_would_be_found() -> None:
    new = [NEW_CODES]
    found = {
        "flag": without_words(runs.flag, column_codes("flags", new) | returned_codes("flags", new)),
        "limit": without_words(runs.limiting_factor, column_codes("limiting_factor", new)),
        "engine": without_words(runs.engine, column_codes("engine", new)),
        "reason": without_words(known_or_not, reason_codes(new)),
    }
    assert found == {
        "flag": ["odd_cache", "odd_peak"],
        "limit": ["cosmic_rays"],
        "engine": ["steam"],
        "reason": ["mood", "tide", "weather"],
    }


def test_a_missing_fact_has_other_words_than_a_failed_test() -> None:
    t = load("en")
    assert reasons.reason(t, "fabric", True) != reasons.reason(t, "fabric", False)


def test_every_class_and_part_of_the_accuracy_has_words_and_is_a_class_of_the_scores() -> None:
    t = load("en")
    stored = facts("accuracy_score")
    for part, classes in accuracy.CLASSES.items():
        assert accuracy.part_title(t, part)
        assert all(accuracy.case_class(t, code) for code in classes)
        known = set(stored.filter(part=part)["case_class"])
        assert not known or set(classes) <= known, part


def test_candidates_show_what_they_have_in_common() -> None:
    t = load("en")
    said = {
        "NVIDIA H100 SXM5 80GB": "H100 SXM5 80GB",
        "NVIDIA H100 PCIe 80GB or NVIDIA H100 SXM5 80GB": "H100 (PCIe 80GB or SXM5 80GB)",
        "NVIDIA L40 48GB or NVIDIA L40S 48GB": "L40 48GB or L40S 48GB",
        "NVIDIA RTX PRO 6000 A or NVIDIA RTX PRO 6000 B or NVIDIA RTX PRO 6000 C": "RTX PRO 6000, one of 3 kinds",
        "NVIDIA GeForce RTX 3090 24GB or NVIDIA L4 24GB or NVIDIA T4": "RTX 3090 24GB, L4 24GB, or T4",
    }
    assert {text: t.gpu(text).striptags() for text in said} == said


def test_every_precision_of_a_tier_has_a_name() -> None:
    codes = {*facts("tier")["weight_precision"], *facts("tier")["kv_precision"]}
    assert all(words.precision(code) for code in codes)


@pytest.mark.parametrize(
    ("days", "number"), [(0, 0), (1, 1), (14, 1), (15, 2), (60, 2), (61, 3), (120, 3), (121, 4)]
)
def test_the_moon_shows_the_age(days: int, number: int) -> None:
    assert phase(days) == number


def test_the_memory_ruler_lays_its_parts_end_to_end() -> None:
    ruler = memory_ruler([50.0, 25.0, None, 5.0], 100.0)
    assert [(part.number, part.x, part.width) for part in ruler.parts] == [
        (1, "0.00%", "50.00%"),
        (2, "50.00%", "25.00%"),
        (4, "75.00%", "5.00%"),
    ]
    assert ruler.limit == "92.00%"


def test_the_speed_ruler_holds_band_and_limit_on_a_round_scale() -> None:
    ruler = band_ruler(Band(24.0, 35.0, 47.0, 25.0))
    assert ruler.end == 50
    assert (ruler.band.x, ruler.band.width) == ("48.00%", "46.00%")  # type: ignore[union-attr]
    assert (ruler.point, ruler.limit) == ("70.00%", "50.00%")
    assert [tick.value for tick in ruler.ticks] == [0, 10, 20, 30, 40, 50]


def test_a_limit_above_the_band_is_on_the_scale_and_its_label_stays_inside() -> None:
    assert band_ruler(Band(1.0, 1.1, 1.4, 12.0)).end >= 12
    near_zero = band_ruler(Band(900.0, 1000.0, 1100.0, 25.0))
    assert near_zero.limit_anchor == "start"


def test_unknown_values_never_turn_into_numbers(night: Path) -> None:
    t = load("en")
    columns = table(t, read(night).offers)
    at = next(i for i, cell in enumerate(columns.column("gh").cells) if cell is None)
    assert columns.column("ih").cells[at] is None
    assert columns.column("pgb").cells[at] is None
