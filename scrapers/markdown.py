"""Tables of documentation, which a site gives out as Markdown or as a page. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from scrapers.contract import Payload
from scrapers.readers import Table, decode, html, tables

HEADING = re.compile(r"(#{1,6}) ++(\S.*+)")
FENCE = re.compile(r"```|~~~")
PIPE = re.compile(r"(?<!\\)\|")
LINK = re.compile(r"\[([^\[\]]{0,200})\]\([^()\s]{0,1000}\)")
EMPHASIS = re.compile(r"(?<!\\)[*`]+")
MOST_COLUMNS = 60
ESCAPE = re.compile(r"\\([^\w\s])")


def doc_tables(payload: Payload) -> list[Table]:
    """The tables of a page of documentation, be it HTML or Markdown; empty where there are none.

    Raises:
        PayloadShapeError: The bytes are no text.
    """
    return tables(html(payload)) or markdown_tables(decode(payload))


def markdown_tables(content: str) -> list[Table]:
    """The tables of a Markdown text, in order, with the headings above each.

    Emphasis, links and backslashes are taken out of cells. Code blocks are not read. A row with more cells than
    the header keeps them: columns without a name are "".
    """
    found: list[Table] = []
    headings: dict[int, str] = {}
    lines = list(_text_lines(content))
    index = 0
    while index < len(lines):
        line = lines[index]
        if heading := HEADING.fullmatch(line):
            level = len(heading[1])
            headings = {upper: title for upper, title in headings.items() if upper < level}
            headings[level] = _plain(heading[2].rstrip("# "))
        is_table = "|" in line and index + 1 < len(lines) and _is_rule(lines[index + 1])
        end = index + 2 if is_table else index + 1
        while is_table and end < len(lines) and "|" in lines[end]:
            end += 1
        if is_table:
            found.append(_table(tuple(headings.values()), [line, *lines[index + 2 : end]]))
        index = end
    return found


def _text_lines(content: str) -> Iterator[str]:
    """The lines that are not in a code block, without the spaces around them."""
    is_code = False
    for line in content.splitlines():
        line = line.strip()
        if FENCE.match(line):
            is_code = not is_code
        elif not is_code:
            yield line


def _is_rule(line: str) -> bool:
    """Whether it is the line of dashes between the header of a table and its rows."""
    return "-" in line and "|" in line and not line.strip("|:- ")


def _table(headings: tuple[str, ...], lines: list[str]) -> Table:
    grid = [
        [_plain(cell) for cell in PIPE.split(line.removeprefix("|").removesuffix("|"), MOST_COLUMNS)]
        for line in lines
    ]
    width = max(len(row) for row in grid)
    header, *rows = (tuple(row + [""] * (width - len(row))) for row in grid)
    return Table(headings, header, tuple(rows))


def _plain(cell: str) -> str:
    return " ".join(ESCAPE.sub(r"\1", EMPHASIS.sub("", LINK.sub(r"\1", cell))).split())
