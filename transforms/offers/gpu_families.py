"""The families of gpu.csv that a text names, and the words around them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from transforms.offers.gpu_cards import spellings

TOKEN = re.compile(r"\d+|[a-z]+|[^\sa-z\d_\-.,;:()/+|\[\]=]")
VARIANTS = frozenset({"ti", "super", "xt", "xtx", "gre"})  # behind a family that has none: another card
# A T4 that is a Tesla is no tax form.
BRANDS = frozenset({"tesla", "quadro", "geforce", "instinct", "radeon"})


@dataclass(frozen=True, slots=True)
class Families:
    """The spellings of families in a text and the words left over.

    `number` stands alone right behind one. `is_branded` tells that a brand stands right before one, `is_other` that a
    word behind one makes it another card.
    """

    names: tuple[str, ...]
    rest: tuple[str, ...]
    number: str | None = None
    is_branded: bool = False
    is_other: bool = False


@lru_cache
def _beginnings() -> frozenset[str]:
    """Returns every text that a spelling of a family begins with."""
    return frozenset(name[:size] for name in spellings() for size in range(1, len(name) + 1))


@lru_cache
def marks() -> frozenset[str]:
    """Returns the words of which every name of a card has one: a number, or the beginning of a name without any."""
    numbers = {word for name in spellings() for word in TOKEN.findall(name) if word.isdigit()}
    names = [name for name in spellings() if name.isalpha()]
    return frozenset(numbers | {name[:size] for name in names for size in range(3, len(name) + 1)})


def families_in(text: str) -> Families:
    """Returns the families in the text, longest first at each place."""
    tokens = [(found[0], found.start(), found.end()) for found in TOKEN.finditer(text)]
    names: list[str] = []
    rest: list[str] = []
    number, is_branded, is_other = None, False, False
    at = 0
    while at < len(tokens):
        name, size = _family_at(tokens, at)
        if name:
            names.append(name)
            behind, beyond = ([token for token, _, _ in tokens[at + size : at + size + 2]] + [""] * 2)[:2]
            number = behind if behind.isdigit() and not beyond.isalnum() else number
            is_branded |= at > 0 and tokens[at - 1][0] in BRANDS
            is_other |= _is_variant(name, behind)
        else:
            rest.append(tokens[at][0])
        at += size
    return Families(tuple(names), tuple(rest), number, is_branded, is_other)


def _family_at(tokens: list[tuple[str, int, int]], at: int) -> tuple[str | None, int]:
    """Returns the longest family that starts at a token and ends where a word ends, and how many tokens it takes."""
    best: tuple[str | None, int] = (None, 1)
    if at and tokens[at - 1][2] == tokens[at][1]:
        return best
    name = ""
    for end in range(at, len(tokens)):
        token = tokens[end][0]
        if end > at and _are_two_numbers(tokens[end - 1][0], token):
            break
        name += "s" if token == "super" else token
        if name not in _beginnings():
            break
        is_word_end = end + 1 == len(tokens) or tokens[end][2] != tokens[end + 1][1]
        if is_word_end and name in spellings():
            best = (name, end - at + 1)
    return best


def _is_variant(name: str, word: str) -> bool:
    """Returns whether a word behind a family makes it another card: RTX 4090 Ti, RTX 4080 D, RTX 5090 D V2."""
    return (
        word in VARIANTS or (word == "d" and name[-4:].isdigit()) or (word == "v" and name.endswith("090d"))
    )


def _are_two_numbers(one: str, other: str) -> bool:
    """Returns whether two words are numbers that are not one name: RTX 40 90, 208.0; H20-3e is one."""
    return one.isdigit() and other.isdigit() and (len(one) > 2 or len(other) > 1)
