"""Readers of formats, without knowledge of any provider. All of them are pure.

Bytes to data: `decode`, `read_json`, `read_jsonp`, `read_csv`, `read_yaml`, `html`. What is not of the format
raises PayloadShapeError.

Data to fields: `At` walks data of JSON and YAML and knows where it stands, so that the first field that
breaks is named in the error:

    for product in At(payload.part, read_json(payload))["products"]:
        price = product["price"]["retail"].decimal()             # required: missing or not a number raises
        stock = product.get("stock").integer_or_none()           # missing and null are None
        place = product.place                                    # products[3]

HTML to text: `text`, `tables`, `embedded_json`, `json_ld`.

Text to values: `money`, `quantity`, `number`. These never raise: what cannot be read has the amount None, and
it is for the parser to say whether that is an error there.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

import yaml
from bs4 import BeautifulSoup, Tag
from bs4.element import NavigableString

from scrapers.charset import decode
from scrapers.contract import Payload
from scrapers.errors import PayloadShapeError
from scrapers.fields import At, short
from scrapers.money import Money, money, number, quantity

__all__ = [
    "At",
    "Money",
    "Table",
    "decode",
    "embedded_json",
    "holds_json",
    "html",
    "json_ld",
    "money",
    "number",
    "quantity",
    "read_csv",
    "read_json",
    "read_jsonp",
    "read_yaml",
    "tables",
    "text",
]

# Bytes to data


def holds_json(payload: Payload) -> bool:
    """Whether a payload begins as JSON does, in whatever charset; a page or a table does not."""
    return decode(payload).lstrip()[:1] in ("{", "[")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


DECODER = json.JSONDecoder(
    parse_float=Decimal, parse_int=Decimal, parse_constant=_refuse_constant, strict=False
)


ESCAPE = re.compile(
    r"\\\\|(\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2})|(\\u[dD][89a-fA-F][\da-fA-F]{2})"
)


def _without_halves(content: str) -> str:
    """JSON with the sign for a broken letter, U+FFFD, where an escape is half of a character ("\\ud800").

    Such a text can be written nowhere. The sign loses one letter; an error would lose the prices of a night.
    """
    if "\\ud" not in content and "\\uD" not in content:
        return content
    return ESCAPE.sub(lambda found: "\\ufffd" if found[2] else found[0], content)


def _parse_json(part: str, content: str, start: int | None = None) -> Any:
    """The JSON value that `content` is, or with `start` the one that begins there, with Decimal numbers."""
    content = _without_halves(content)
    if start is None and not content.strip():
        raise PayloadShapeError(part, "character 0", "empty where JSON is due")
    if start is None and content.lstrip().startswith("<"):
        raise PayloadShapeError(part, "character 0", "HTML where JSON is due")
    try:
        return DECODER.decode(content) if start is None else DECODER.raw_decode(content, start)[0]
    except json.JSONDecodeError as error:
        cut = error.pos >= len(content.rstrip()) or error.msg.startswith("Unterminated")
        problem = "JSON is cut off" if cut else f"not JSON ({error.msg})"
        raise PayloadShapeError(part, f"character {error.pos}", problem) from None
    except (ValueError, InvalidOperation, RecursionError) as error:
        problem = {RecursionError: "nested too deep", InvalidOperation: "a number of absurd size"}.get(
            type(error), str(error)
        )
        raise PayloadShapeError(part, "JSON", problem) from None


def read_json(payload: Payload) -> Any:
    """The JSON value of a payload. Every number is a Decimal, whole ones too.

    Raises:
        PayloadShapeError: Not JSON: cut off, a page, empty. The place is the character.
    """
    return _parse_json(payload.part, decode(payload))


CALL = re.compile(r"\s*(?:/\*.*?\*/\s*)?[A-Za-z_$][\w$.]*+\s*\(", re.DOTALL)
TEXT_OR_WORD = re.compile(r'("(?:\\.|[^"\\])*+")|([A-Za-z_$][\w$]*+)(\s*:)?')


def read_jsonp(payload: Payload) -> Any:
    """The value in `callback({...});`, whose keys may stand without quotes. Numbers are Decimal.

    Raises:
        PayloadShapeError: No call with one value.
    """
    content = decode(payload)
    call = CALL.match(content)
    end = content.rstrip().removesuffix(";").rstrip()
    if not call or not end.endswith(")"):
        raise PayloadShapeError(payload.part, f"character {len(content)}", "no JSONP call, or it is cut off")

    def quoted(match: re.Match[str]) -> str:
        return f'"{match[2]}":' if match[3] else match[0]

    return _parse_json(payload.part, TEXT_OR_WORD.sub(quoted, end[call.end() : -1]))


def read_csv(payload: Payload, delimiter: str = ",") -> Iterator[dict[str, str]]:
    """The rows of a CSV payload by the names of its first row.

    Raises:
        PayloadShapeError: A row with more or fewer cells than the first, a name twice, a page.
    """
    content = decode(payload)
    if content.lstrip().startswith("<"):
        raise PayloadShapeError(payload.part, "line 1", "HTML where CSV is due")
    reader = csv.reader(io.StringIO(content, newline=""), delimiter=delimiter, strict=True)
    try:
        names = next(reader, [])
        if not any(names) or len(set(names)) != len(names):
            raise PayloadShapeError(payload.part, "line 1", f"not a row of column names: {short(names)}")
        for row in reader:
            if row and len(row) != len(names):
                problem = f"{len(row)} cells where the first row has {len(names)}"
                raise PayloadShapeError(payload.part, f"line {reader.line_num}", problem)
            if row:
                yield dict(zip(names, row, strict=True))
    except csv.Error as error:
        raise PayloadShapeError(payload.part, f"line {reader.line_num}", str(error)) from None


class _PlainYaml(yaml.CSafeLoader):
    """YAML of plain scalars: numbers are Decimal; dates, `no`, `on` and `1:30` stay text; no merge keys."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Merge keys are not followed, for a few of them can grow without bound."""

    def construct_number(self, node: yaml.ScalarNode) -> Decimal:
        return Decimal(node.value)


YAML_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d{1,3})?\Z")
_PlainYaml.yaml_implicit_resolvers = {}
_PlainYaml.add_implicit_resolver("tag:yaml.org,2002:float", YAML_NUMBER, list("-+.0123456789"))
_PlainYaml.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"(true|false)\Z"), ["t", "f"])
_PlainYaml.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"(~|null|)\Z"), ["~", "n", ""])
_PlainYaml.add_constructor("tag:yaml.org,2002:float", _PlainYaml.construct_number)


def read_yaml(payload: Payload) -> Any:
    """The value of a YAML payload. Numbers are Decimal; dates stay text.

    Raises:
        PayloadShapeError: Not YAML, or a tag, a merge key or a second document in it.
    """
    try:
        return yaml.load(decode(payload), Loader=_PlainYaml)
    except (yaml.YAMLError, ValueError, RecursionError, InvalidOperation) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}" if mark else "YAML"
        problem = getattr(error, "problem", None) or type(error).__name__
        raise PayloadShapeError(payload.part, place, f"not YAML ({problem})") from None


# HTML to text

BLOCKS = re.compile(
    "address|article|aside|br|button|dd|details|div|dl|dt|fieldset|figcaption|figure|footer|form|h[1-6r]|header|li"
    "|main|nav|ol|option|p|pre|section|summary|table|tbody|td|tfoot|th|thead|tr|ul"
)
UNREAD = frozenset({"script", "style", "template", "noscript", "svg", "s", "strike", "del"})


DEEPEST_PAGE = 256  # tags open at once; the recorded pages have less than 20


class _Page(BeautifulSoup):
    """A page whose reading stops where more tags are open at once than in any page, which would take minutes."""

    def pushTag(self, tag: Tag) -> None:  # noqa: N802 - the name that Beautiful Soup calls
        super().pushTag(tag)
        if len(self.tagStack) > DEEPEST_PAGE:
            raise RecursionError


def html(payload: Payload) -> BeautifulSoup:
    """The tree of a page, read by lxml.

    Raises:
        PayloadShapeError: More tags are open at once than in any page.
    """
    try:
        return _Page(decode(payload).replace("\0", ""), "lxml")
    except RecursionError:
        raise PayloadShapeError(payload.part, "HTML", "nested too deep for a page") from None


def _pieces(tag: Tag) -> Iterator[str]:
    """The strings of an element in order, with marks and spaces; without recursion, for pages may nest deep."""
    waiting: list[Any] = list(reversed(tag.contents))
    while waiting:
        item = waiting.pop()
        if type(item) in (str, NavigableString):
            yield str(item)
        elif isinstance(item, Tag) and item.name not in UNREAD:
            edge = " " if BLOCKS.fullmatch(item.name) else ""
            before = "^" if item.name == "sup" and item.get_text(strip=True) else edge
            waiting += [edge, *reversed(item.contents), before]


def text(tag: Tag) -> str:
    """What a reader sees of an element, on one line.

    Blocks are apart by a space and inline parts are not, so that `$<!-- -->1.99` is "$1.99". A superscript is
    marked, "4^1", and what is struck through (<s>, <del>) is left out, for it is not the price.
    """
    return " ".join("".join(_pieces(tag)).split())


@dataclass(frozen=True, slots=True)
class Table:
    """A <table>: the headings above it from h1 down, the names of its columns, and its rows.

    Cells that span columns or rows are repeated. Rows are as long as the widest row of the table.
    """

    headings: tuple[str, ...]
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def records(self) -> Iterator[dict[str, str]]:
        """The rows by the names of the columns; of columns with one name, the first."""
        for row in self.rows:
            yield dict(reversed(list(zip(self.header, row, strict=False))))


def _span(cell: Tag, name: str) -> int:
    value = str(cell.get(name, "1")).strip()
    return min(int(value), 100) if re.fullmatch(r"[1-9]\d{0,3}", value) else 1


def _grid(rows: list[Tag]) -> list[list[str]]:
    """The texts of the cells with spans filled in."""
    grid: list[list[str]] = []
    falling: dict[int, tuple[int, str]] = {}
    for row in rows:
        line: list[str] = []
        cells = iter(row.find_all(["td", "th"], recursive=False))
        cell = next(cells, None)
        while cell is not None or len(line) in falling:
            if len(line) in falling:
                left, content = falling.pop(len(line))
                if left > 1:
                    falling[len(line)] = (left - 1, content)
                line.append(content)
                continue
            assert cell is not None
            content, down = text(cell), _span(cell, "rowspan")
            for _ in range(_span(cell, "colspan")):
                if down > 1:
                    falling[len(line)] = (down - 1, content)
                line.append(content)
            cell = next(cells, None)
        grid.append(line)
    width = max((len(line) for line in grid), default=0)
    return [line + [""] * (width - len(line)) for line in grid]


def _rows(table: Tag) -> Iterator[Tag]:
    for child in table.find_all(["thead", "tbody", "tfoot", "tr"], recursive=False):
        yield from [child] if child.name == "tr" else child.find_all("tr", recursive=False)


def _table(table: Tag, headings: tuple[str, ...]) -> Table:
    rows = list(_rows(table))
    in_head = [row.parent is not None and row.parent.name == "thead" for row in rows]
    is_head = [above or not row.find("td", recursive=False) for above, row in zip(in_head, rows, strict=True)]
    head_rows = is_head.index(False) if False in is_head else len(rows)
    grid = _grid(rows)
    columns = zip(*grid[:head_rows], strict=True)
    header = tuple(" ".join(dict.fromkeys(filter(None, column))) for column in columns)
    return Table(headings, header, tuple(tuple(row) for row in grid[head_rows:]))


DEEPEST_TABLE = 8


def tables(soup: Tag) -> list[Table]:
    """The tables below an element, in order. A table within a table is read as one of its own, to a depth of 8."""
    found: list[Table] = []
    headings: dict[int, str] = {}
    for tag in soup.find_all(re.compile(r"^(h[1-6]|table)$")):
        if tag.name == "table":
            if len(tag.find_parents("table", limit=DEEPEST_TABLE)) < DEEPEST_TABLE:
                found.append(_table(tag, tuple(headings.values())))
            continue
        level = int(tag.name[1])
        headings = {upper: heading for upper, heading in headings.items() if upper < level}
        headings[level] = text(tag)
    return found


def embedded_json(part: str, content: str, marker: str) -> Any:
    """The JSON value that follows `marker` in the text of a script or page. Numbers are Decimal.

    Found as JSON (`marker = {...}`), as a string that holds JSON (`marker: "{\\"a\\":1}"`), and inside of a
    script string, where the marker and the value are escaped once (`\\"marker\\":[...]`).

    Raises:
        PayloadShapeError: No marker, or no JSON after it.
    """
    at = content.find(marker)
    if at < 0:
        escaped = json.dumps(marker)[1:-1]
        at = content.find(escaped)
        if at < 0:
            raise PayloadShapeError(part, marker, "not in the page")
        return _parse_escaped(part, content, at + len(escaped), marker)
    start = re.compile(r'\\?"|[\[{]').search(content, at + len(marker))
    if not start:
        raise PayloadShapeError(part, marker, "no JSON after it")
    if start[0] == '\\"':
        return _parse_escaped(part, content, at + len(marker), marker)
    value = _parse_json(part, content, start.start())
    return _parse_json(part, value) if isinstance(value, str) else value


def _parse_escaped(part: str, content: str, start: int, marker: str) -> Any:
    """The JSON value in the rest of the script string that `start` stands in."""
    rest = re.compile(r'(?:\\.|[^"\\])*', re.DOTALL).match(content, start)
    unescaped = _parse_json(part, f'"{rest[0] if rest else ""}"')
    found = re.search(r"[\[{]", unescaped)
    if not found:
        raise PayloadShapeError(part, marker, "no JSON after it")
    return _parse_json(part, unescaped, found.start())


def json_ld(part: str, soup: Tag) -> list[dict[str, Any]]:
    """The nodes of all JSON-LD blocks of a page, with `@graph` and lists taken apart.

    Raises:
        PayloadShapeError: A block that is not JSON.
    """
    nodes: list[dict[str, Any]] = []
    for script in soup.find_all("script", type="application/ld+json"):
        value = _parse_json(part, script.string or "")
        for node in value if isinstance(value, list) else [value]:
            if isinstance(node, dict):
                graph = node.get("@graph", [node])
                nodes += [inner for inner in graph if isinstance(inner, dict)]
    return nodes
