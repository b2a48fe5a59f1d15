"""Builds the static site of one night from the published database: the same database gives the same bytes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from page import accuracy, figures, jobs, offers, phrases, reasons, runs, words
from page.data import Night, Row, read
from page.errors import PageError
from page.texts import LOCALES, Language, Texts, load, name

HERE = Path(__file__).parent
STATIC = ("style.css", "app.js", "offers.js", "favicon.svg")


def build(database: Path, out: Path, *, languages: Sequence[str] = ("en",), locales: Path = LOCALES) -> None:
    """Writes the site of the night in `database` into the empty folder `out`, once in each language.

    Args:
        database: The published DuckDB file; it is opened for reading only.
        out: A folder that is empty or does not exist.
        languages: Keys of `page.texts.LANGUAGES`. Pages link only to the languages that are built.
        locales: Where the message catalogues lie.

    Raises:
        PageError: `out` is not empty, a language has no catalogue, or the database holds a code without words.
    """
    if out.exists() and any(out.iterdir()):
        raise PageError(f"{out}: not empty; give an empty folder for the site")
    texts = [load(key, locales) for key in languages]
    night = read(database)
    out.mkdir(parents=True, exist_ok=True)
    for file in STATIC:
        shutil.copyfile(HERE / "static" / file, out / file)
    for t in texts:
        _build_language(night, t, out, [each.language for each in texts])


def _build_language(night: Night, t: Texts, out: Path, languages: Sequence[Language]) -> None:
    """Writes the pages and the data file of one language."""
    environment = _environment(t)
    for path, template, values in _pages(night, t):
        folder = t.language.folder
        up = "../" * path.count("/")
        shared: dict[str, Any] = {
            "night": night,
            "path": path,
            "section": path if path.count("/") < 2 else "jobs/index.html",
            "home": up,
            "root": up + ("../" if folder else ""),
            "languages": languages,
            "is_wide": template == "offers.j2",
        }
        html = environment.get_template(template).render(shared | values)
        _write(out / folder / path, html)
    table = offers.table(t, night.offers)
    _write(
        out / t.language.folder / "offers/data.js",
        offers.script(t, table, night.release["night"].isoformat()),
    )


def _pages(night: Night, t: Texts) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yields address, template and values of every page of one language."""
    described = [jobs.describe(t, night, tier) for tier in night.tiers]
    answered = [job for job in described if job.answer is not None]
    featured = next((job for job in answered if job.tier["tier_id"] == jobs.FEATURED), None)
    groups = jobs.grouped(described)
    yield (
        "index.html",
        "index.j2",
        {"groups": groups, "featured": featured or (answered[0] if answered else None)},
    )
    yield "jobs/index.html", "jobs.j2", {"groups": groups}
    for job in described:
        yield (
            f"jobs/{job.tier['tier_id']}/index.html",
            "job.j2",
            {
                "job": job,
                "firmness": jobs.firmness(t, job),
                "looked_at": jobs.looked_at(job),
                "next_lost": jobs.why_the_next_lost(t, job.runner_up) if job.runner_up else [],
            },
        )
    table = offers.table(t, night.offers)
    yield "offers/index.html", "offers.j2", {"table": table, "first_rows": offers.FIRST_ROWS}
    yield "sources/index.html", "sources.j2", {}
    yield "method/index.html", "method.j2", {"accuracy": accuracy.parts(t, night.accuracy)}


def _environment(t: Texts) -> Environment:
    """Returns the templates with the words and formats of one language. Everything is escaped."""
    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        extensions=["jinja2.ext.i18n"],
    )
    environment.install_gettext_translations(t.translations, newstyle=True)  # type: ignore[attr-defined]
    environment.globals.update(
        t=t,
        language=t.language,
        words=words,
        reasons=reasons,
        runs=runs,
        name=name,
        hardware=phrases.hardware,
        offer_at=phrases.offer_at,
        bill_amount=phrases.bill_amount,
        phase=phase,
        web=offers.web,
        host=offers.host,
        per_cent=figures.per_cent,
        fits_up_to=figures.FITS_UP_TO,
        phases=_phases,
    )
    return environment


def phase(days: int | None) -> int:
    """Returns the phase of the moon for the age of a price: 0 tonight to 4 too old to lead, or without a date."""
    return 4 if days is None else sum(days > limit for limit in (0, 14, 60, 120))


def _phases(t: Texts, ages: Row) -> list[tuple[int, int, str]]:
    """Returns number, count of offers and name of each phase."""
    return [
        (0, ages["tonight"], t.say("tonight")),
        (1, ages["days_14"], t.say("up to 14 days")),
        (2, ages["days_60"], t.say("up to 60 days")),
        (3, ages["days_120"], t.say("up to 120 days")),
        (4, ages["older"], t.say("older or not dated")),
    ]


def _write(path: Path, text: str) -> None:
    """Writes UTF-8 with Unix line ends on every system."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
