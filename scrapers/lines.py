"""A large text that streams by, and the few lines of it that are kept.

    sieve = Sieve("index.csv", LineFilter(head=6, any_of=(b'"GPU instance"',), all_of=((b'"Linux"',),)))
    for block in blocks:
        kept += sieve.add(block)
    kept += sieve.end()

The whole block is searched at once for each of `any_of`, which is quick where they are rare; a line is cut out only
where one was found. So choose `any_of` as what few lines have, and long rather than short, and put what many lines
have into `all_of`. How the text is cut into blocks makes no difference to what is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from scrapers.contract import LineFilter
from scrapers.errors import PayloadShapeError

LONGEST_LINE_BYTES = 65_536
FILE_BLOCK_BYTES = 1 << 18  # as much as stays in the cache of a core


class Sieve:
    """The lines that a filter keeps of a text that comes in blocks. `name` says in errors which text it is."""

    def __init__(self, name: str, lines: LineFilter) -> None:
        self._name = name
        self._lines = lines
        self._head_left = lines.head
        self._seen_bytes = 0
        self._rest = bytearray()  # a line whose end has not come yet

    def add(self, block: bytes) -> bytes:
        """Returns what is kept of the lines that end in this block, each with its line end.

        Raises:
            PayloadShapeError: A line is longer than `LONGEST_LINE_BYTES`.
        """
        last = block.rfind(b"\n")
        if last < 0:
            self._keep_rest(block)
            return b""
        text = bytes(self._rest) + block if self._rest else block
        end = len(self._rest) + last + 1
        kept = self._sift(text, end)
        self._rest.clear()
        self._seen_bytes += end
        self._keep_rest(text[end:])
        return kept

    def end(self) -> bytes:
        """Returns the last line, where it has no line end and is kept."""
        return self._sift(bytes(self._rest), len(self._rest))

    def _keep_rest(self, piece: bytes) -> None:
        if len(self._rest) + len(piece) > LONGEST_LINE_BYTES:
            raise self._too_long(self._seen_bytes)
        self._rest += piece

    def _too_long(self, at_byte: int) -> PayloadShapeError:
        problem = (
            f"a line of more than {LONGEST_LINE_BYTES} bytes begins here; this is not the text that is due"
        )
        return PayloadShapeError(self._name, f"byte {at_byte}", problem)

    def _sift(self, text: bytes, end: int) -> bytes:
        """What is kept of the whole lines up to `end`."""
        self._check_lengths(text, end)
        start = 0
        while self._head_left and start < end:
            start = text.find(b"\n", start, end) + 1 or end
            self._head_left -= 1
        found: dict[int, int] = {}  # begin and end of each line with one of any_of
        for word in self._lines.any_of:
            at = text.find(word, start, end)
            while at >= 0:
                line_end = text.find(b"\n", at, end) + 1 or end
                found[text.rfind(b"\n", start, at) + 1 or start] = line_end
                at = text.find(word, line_end, end)
        lines = [text[begin:line_end] for begin, line_end in sorted(found.items())]
        for group in self._lines.all_of:
            lines = [line for line in lines if any(word in line for word in group)]
        return text[:start] + b"".join(lines)

    def _check_lengths(self, text: bytes, end: int) -> None:
        """Raises where a line is too long, from one line end to the last one within reach of it."""
        begin = 0
        while end - begin > LONGEST_LINE_BYTES:
            last = text.rfind(b"\n", begin, begin + LONGEST_LINE_BYTES + 1)
            if last < 0:
                raise self._too_long(self._seen_bytes + begin)
            begin = last + 1


def kept_lines(name: str, blocks: Iterable[bytes], lines: LineFilter) -> Iterator[bytes]:
    """The kept lines of a text, joined block by block. Raises PayloadShapeError for a line that is too long."""
    sieve = Sieve(name, lines)
    for block in blocks:
        yield sieve.add(block)
    yield sieve.end()


def file_blocks(path: Path) -> Iterator[bytes]:
    """The bytes of a file, block by block. Raises OSError."""
    with path.open("rb", buffering=0) as file:
        while block := file.read(FILE_BLOCK_BYTES):
            yield block
