"""Bytes to text: the charset of a payload, by what it says of itself and by what its bytes can be."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

from charset_normalizer import from_bytes

from scrapers.contract import Payload
from scrapers.errors import PayloadShapeError

# The larger charset that servers mean by the smaller name (https://encoding.spec.whatwg.org/#names-and-labels).
MEANT = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}
# Codecs of Python that no server means: they read escapes in the bytes, and make halves of characters of them.
NO_CHARSETS = frozenset({"unicode-escape", "raw-unicode-escape", "utf-7", "idna", "punycode"})
BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
SNIFFED = ["cp1252", "gb18030", "cp932", "euc_jp", "cp949", "big5", "cp1251"]
CHARSET_IN_HEADER = re.compile(r"charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
CHARSET_IN_BODY = re.compile(
    rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([\w.:-]+)|^\s*<\?xml[^>]{0,200}encoding\s*=\s*[\"']([\w.:-]+)",
    re.IGNORECASE,
)
HEAD_BYTES = 4096
SNIFF_BYTES = 200_000


def _known_charset(name: str) -> str | None:
    try:
        found = codecs.lookup(name).name
    except LookupError:
        return None
    return None if found.replace("_", "-") in NO_CHARSETS else MEANT.get(found, found)


def _declared_charsets(payload: Payload) -> Iterator[str]:
    header = CHARSET_IN_HEADER.search(payload.content_type)
    names = [header[1]] if header else []
    names += [charset for bom, charset in BOMS if payload.body.startswith(bom)]
    body = CHARSET_IN_BODY.search(payload.body[:HEAD_BYTES])
    names += [(body[1] or body[2]).decode("ascii")] if body else []
    for name in names:
        if charset := _known_charset(name):
            yield charset


def _nearly_utf8(body: bytes) -> str | None:
    """UTF-8 with a few broken characters, as cut-off fields leave them; None where most of it is broken."""
    read = body.decode("utf-8", "replace")
    broken = read.count("\ufffd")
    whole = len(read) - len(read.encode("ascii", "ignore")) - broken
    return read if broken * 10 <= whole else None


def decode(payload: Payload) -> str:
    """The text of a payload.

    The charset is the first that fits the bytes of: Content-Type header, byte order mark, <meta> or XML
    declaration, UTF-8, and a guess by the statistics of the letters.

    Raises:
        PayloadShapeError: No charset fits.
    """
    for charset in (*_declared_charsets(payload), "utf-8"):
        try:
            return payload.body.decode(charset).removeprefix("\ufeff")
        except (UnicodeError, LookupError):  # LookupError: a codec that is not of text, such as "hex"
            continue
    if (read := _nearly_utf8(payload.body)) is not None:
        return read.removeprefix("\ufeff")
    guess = from_bytes(payload.body[:SNIFF_BYTES], cp_isolation=SNIFFED).best()
    if guess is None:
        raise PayloadShapeError(payload.part, "charset", "the bytes are of no charset that is known here")
    return payload.body.decode(guess.encoding, "replace")
