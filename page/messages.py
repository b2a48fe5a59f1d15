"""Collects every message of the site into messages.pot: `python -m page.messages`."""

from __future__ import annotations

from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import write_po

from page.texts import LOCALES
from transforms.reference.tables import read

HERE = Path(__file__).parent
METHODS = [("templates/**.j2", "jinja2"), ("**.py", "python")]
OPTIONS = {"templates/**.j2": {"newstyle_gettext": "true", "silent": "false"}}
KEYWORDS = {"_": None, "gettext": None, "ngettext": (1, 2), "say": None, "say_n": (1, 2)}


def extract() -> Catalog:
    """Returns the messages of templates and modules, and the titles of the tiers."""
    catalog = Catalog(
        project="GPU Almanac",
        version="",
        header_comment="# Messages of the site. Names and units that stay as they are lie in %(name)s.",
        msgid_bugs_address="none",
        charset="utf-8",
    )
    found = extract_from_dir(HERE, METHODS, OPTIONS, KEYWORDS)
    for file, _line, message, comments, _context in found:
        catalog.add(message, locations=[(Path(file).as_posix(), 0)], auto_comments=comments)
    for title in read("tier")["title_en"]:
        catalog.add(title, locations=[("tier.csv", 0)])
    return catalog


def main() -> None:
    """Writes messages.pot."""
    with (LOCALES / "messages.pot").open("wb") as file:
        write_po(file, extract(), width=0, sort_output=True, include_lineno=False)


if __name__ == "__main__":
    main()
