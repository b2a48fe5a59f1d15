"""Reads a GPU name that is on no list: family, memory, form factor, edition, count and share, each as a word.

The families come from gpu.csv; what is written here is how names are spelt, not which GPUs exist.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from transforms.offers.gpu_cards import Card, cards, memory_fits, of_memory, spellings, spellings_by_memory

SLICE_TOLERANCE = 0.08  # MIG profiles round their memory: B300 1g.34gb is 33.5 of 268 GiB
MOST_GPUS = 1024


TRADEMARK = re.compile(r"[®™©]|\((?:r|tm|c)\)", re.IGNORECASE)
DENIAL = re.compile(
    r"\b(?:not|no|non|without|except|instead|equivalent|comparable|similar|than|vs|versus|like)\b"
)
PROFILE = re.compile(r"(?<![a-z0-9])(\d)g\.(\d{1,3})gb(?![a-z0-9])")
VGPU_PROFILE = re.compile(r"(?<=[a-z0-9])-(\d{1,3})q(?![a-z0-9])")  # A40-8Q is 8 GB of an A40
SHARE = re.compile(r"(?<![\d.])(\d{1,2})/(\d{1,2})(?![\d.])")
SLICE = re.compile(r"\b(?:mig|vgpu|slice|sliced|fraction|fractional|partition)\b")
WITHOUT_LINK = re.compile(r"\b(?:no|non|without)[\s-]+(?:nvlink|nvswitch|infiniband|ib|sxm|bridge)\b")
COUNTS = (
    re.compile(r"(?<![a-z0-9.])(\d{1,4})\s?x[\s_\-]?(?=[a-z])"),  # 8xh100, 8 x h100, 1x-rtx_5090
    re.compile(r"(?<![a-z0-9.])(\d{1,3})\s?x\s?(?=(?:\d{4}|nvidia|amd)\b)"),  # 4x3090
    re.compile(r"(?<![a-z0-9.])(\d{1,3})x(?![a-z0-9])"),  # a100.8x
    re.compile(r"(?<=[a-z0-9])x(\d{1,2})(?![a-z0-9])"),  # h100x8
    re.compile(r"(?<![a-z0-9])x\s?(\d{1,3})(?![a-z0-9])"),  # h100 x 8
    re.compile(r"[*:]\s?(\d{1,3})(?![a-z0-9.])"),  # 4090 * 4, h100:4
    re.compile(r"(?<![a-z0-9.])(\d{1,3})[\s\-]?(?:gpus?|cards?)\b"),  # 8 gpus
    re.compile(r"^(\d{1,2})(?=[a-z]{1,6}\d)"),  # 8h100.80s.176v
)
MEMORY = re.compile(r"(?<![a-z0-9.])(\d{1,4})\s?(?:gib|gb|g)(?![a-z0-9])")
FORM = (
    (re.compile(r"(?<![a-z])(?:sxm\s?\d?|hgx|dgx(?!\s?spark)|mega)(?![a-z0-9])"), "SXM"),
    (re.compile(r"(?<![a-z])pcie?(?:\s?gen\s?\d|\s?[345](?:\.0)?)?(?![a-z0-9])"), "PCIE"),
    (re.compile(r"(?<![a-z])nvl(?![a-z0-9])"), "NVL"),
    (re.compile(r"(?<![a-z])oam(?![a-z0-9])"), "OAM"),
    (re.compile(r"(?<![a-z])fhhl(?![a-z0-9])"), "FHHL"),
)
EDITION = (
    (re.compile(r"(?<![a-z])max\s?-?\s?q(?![a-z0-9])"), "MAXQ"),
    (re.compile(r"(?<![a-z])(?:server|se|bse)(?![a-z0-9])"), "SE"),
    (re.compile(r"(?<![a-z])(?:workstation|ws|we|wk)(?![a-z0-9])"), "WS"),
    (re.compile(r"(?<![a-z])sff(?![a-z0-9])"), "SFF"),
)
RACK = re.compile(r"(?<![a-z])nvl\s?-?(?:72|36|144)(?![a-z0-9])")
MEMORY_TYPE = re.compile(r"(?<![a-z])(?:hbm\d?e?|gddr\dx?)(?![a-z0-9])")
DRESSING = re.compile(r"(?<![a-z])(?:nvlink|nvswitch|infinityfabric)(?![a-z0-9])")
LONE_X = re.compile(r"(?<![a-z0-9])x(?![a-z0-9])")
BARRIER = " ¦ "  # words on both sides of a removed memory or count are not one name
MODDED = re.compile(r"\bmod(?:ded|ified)?\b")
TOKEN = re.compile(r"\d+|[a-z]+|[^\sa-z\d_\-.,;:()/+|\[\]]")

# Cards whose edition is always part of their name; the plain name means another card.
NAMED_EDITIONS = ("SFF", "FHHL")
# Families whose name is so short that other words must be plain for it to count.
WEAK = re.compile(r"[a-z]{1,2}\d{1,2}|\d{3,4}[a-z]{0,4}|(?:a770|b580|[np]\d{3}|pro\w+|rubin|gaudi)")

PLAIN_WORDS = frozenset(
    re.findall(
        r"\S+",
        """nvidia amd intel google aws habana huawei qualcomm tesla geforce radeon instinct quadro rtx generation gen
        gpu gpus card cards tensor core cores accelerator accelerators instance instances vm vms bare metal cloud on
        demand spot dedicated serverless virtual machine with and or the of for x memory vram ram blackwell hopper
        ampere ada lovelace turing volta pascal grace superchip edition data center datacenter pod pods node nodes
        single multi cluster preemptible reserved secure community cpu interruptible per hour a an r tm mod modded
        g gb new compute ¦""",
    )
)


@dataclass(frozen=True, slots=True)
class Reading:
    """What the grammar found in a name. A slice whose name does not say its share has `share` None."""

    candidates: tuple[str, ...]
    count: Decimal | None = None
    share: Fraction | None = None
    is_slice: bool = False
    memory_gib: Decimal | None = None


NOTHING = Reading(candidates=())


def form_of(text: str | None) -> str | None:
    """Returns SXM, PCIE, NVL, OAM or FHHL as named in a form factor text; None when it names none or two."""
    named = {form for pattern, form in FORM if pattern.search((text or "").casefold().replace("_", " "))}
    return named.pop() if len(named) == 1 else None


@lru_cache
def _longest_spelling() -> int:
    return max(len(name) for name in spellings())


def _take(pattern: re.Pattern[str], text: str) -> tuple[re.Match[str] | None, str]:
    """Returns the first match, and the text with a space in its place."""
    found = pattern.search(text)
    if not found:
        return None, text
    return found, f"{text[: found.start()]} {text[found.end() :]}"


def _families(text: str) -> tuple[list[str], list[str]]:
    """Returns the spellings of families in the text, longest first at each place, and the words left over."""
    tokens = [(found[0], found.start(), found.end()) for found in TOKEN.finditer(text)]
    names: list[str] = []
    rest: list[str] = []
    at = 0
    while at < len(tokens):
        name, size = _family_at(tokens, at)
        if name:
            names.append(name)
        else:
            rest.append(tokens[at][0])
        at += size
    return names, rest


def _family_at(tokens: list[tuple[str, int, int]], at: int) -> tuple[str | None, int]:
    """Returns the longest family that starts at a token and ends where a word ends, and how many tokens it takes."""
    best: tuple[str | None, int] = (None, 1)
    if at and tokens[at - 1][2] == tokens[at][1]:
        return best
    name = ""
    for end in range(at, len(tokens)):
        name += "s" if tokens[end][0] == "super" else tokens[end][0]
        if len(name) > _longest_spelling():
            break
        is_word_end = end + 1 == len(tokens) or tokens[end][2] != tokens[end + 1][1]
        if is_word_end and name in spellings():
            best = (name, end - at + 1)
    return best


def _taken_all(patterns: Iterable[tuple[re.Pattern[str], str]], text: str) -> tuple[list[str], str]:
    """Returns the labels of the patterns that the text holds, and the text without them."""
    labels = []
    for pattern, label in patterns:
        found, text = _take(pattern, text)
        if found:
            labels.append(label)
    return labels, text


@lru_cache(maxsize=50_000)
def read_name(name: str, memory_gib: float | None = None) -> Reading:
    """Returns what a GPU name says. The candidates are empty when no family is named, or when the name denies one.

    Args:
        name: the text, as the source wrote it.
        memory_gib: memory of one GPU where it is stated beside the name; the name's own goes before it.
    """
    text = (
        unicodedata.normalize("NFKC", TRADEMARK.sub(" ", name)).casefold().replace("×", "x").replace("_", " ")
    )
    text = WITHOUT_LINK.sub(" ", text)
    if DENIAL.search(text):
        return NOTHING
    profile, text = _take(PROFILE, text)
    vgpu, text = _take(VGPU_PROFILE, text)
    share, text = _take(SHARE, text)
    is_slice = bool(profile or vgpu or share or SLICE.search(text))
    is_rack, text = _take(RACK, SLICE.sub(" ", text))
    memories = [float(found[1]) for found in MEMORY.finditer(text)]
    count, text = _count(MEMORY.sub(BARRIER, text))
    kind, text = _take(MEMORY_TYPE, LONE_X.sub(BARRIER, text))
    forms, text = _taken_all(FORM, text)
    editions, plain = _taken_all(EDITION, text)
    names, rest = _families(DRESSING.sub(" ", plain))
    if not names or (_is_weak(names) and not set(rest) <= PLAIN_WORDS):
        return NOTHING
    choice = [cards()[key] for key in sorted({key for name in names for key in spellings()[name]})]
    if is_rack:
        choice += [card for card in cards().values() if card.family in {f"g{name}" for name in names}]
    choice = _of_form(choice, forms, editions)
    if kind:
        choice = [card for card in choice if card.memory_type == kind[0]] or choice
    if is_slice:
        part = float(profile[2]) if profile else float(vgpu[1]) if vgpu else None
        return _slice(choice, count, profile, share, memories, part)
    others = [cards()[key] for name in names for key in spellings_by_memory().get(name, ())]
    told = memories if memory_gib is None else [*memories, memory_gib]
    kept = of_memory(choice, told) or of_memory(_of_form(others, forms, editions), told)
    if not kept:
        kept = [card for card in choice if card.is_modified == bool(MODDED.search(text))] or choice
    return _whole(kept, count, memories)


def _whole(choice: list[Card], count: Decimal | None, memories: list[float]) -> Reading:
    """Returns the reading of whole cards, with the first stated memory that one of them has."""
    own = next(
        (Decimal(str(size)) for size in memories if any(memory_fits(card, size) for card in choice)), None
    )
    return Reading(tuple(sorted(card.key for card in choice)), count=count, memory_gib=own)


def _is_weak(names: list[str]) -> bool:
    return all(WEAK.fullmatch(name) for name in names)


def _count(text: str) -> tuple[Decimal | None, str]:
    for pattern in COUNTS:
        found = pattern.search(text)
        if found and 1 <= int(found[1]) <= MOST_GPUS:
            return Decimal(found[1]), f"{text[: found.start()]}{BARRIER}{text[found.end() :]}"
    return None, text


def _of_form(choice: list[Card], forms: list[str], editions: list[str]) -> list[Card]:
    """Returns the cards of the stated form factor and edition; one that no card has says nothing."""
    if len(forms) == 1:
        named = [card for card in choice if card.form == forms[0]]
        if not named and forms == ["PCIE"]:
            named = [card for card in choice if card.form == "NVL"]  # H200 NVL is the PCIe card
        choice = named or choice
    if editions:
        return [card for card in choice if card.edition == editions[0]] or choice
    unmarked = {*forms, ""}
    return [
        card for card in choice if not {card.edition, card.form} & set(NAMED_EDITIONS) - unmarked
    ] or choice


def _slice(
    choice: list[Card],
    count: Decimal | None,
    profile: re.Match[str] | None,
    share: re.Match[str] | None,
    memories: list[float],
    part: float | None,
) -> Reading:
    """Returns the cards that can be cut into the stated slice, its share and its memory.

    Memory that is that of a whole card names the card. `part` is the memory that a profile names; without one,
    memory that no whole card has is that of the slice.
    """
    whole = of_memory(choice, memories)
    choice = whole or choice
    memory = part if part is not None or whole else next(iter(memories), None)
    if memory is not None and not profile and of_memory(choice, [memory]):
        return _whole(of_memory(choice, [memory]), count, [memory])
    choice = _cut(choice, profile, memory)
    return Reading(
        tuple(sorted(card.key for card in choice)),
        count=count,
        share=_share_of(choice, profile, share, memory),
        is_slice=True,
        memory_gib=None if memory is None else Decimal(str(memory)),
    )


# Eighths of the memory that a MIG profile of N compute slices has. Source: NVIDIA MIG User Guide.
PROFILE_EIGHTHS = {1: 1, 2: 2, 3: 4, 4: 4, 7: 8}


def _cut(choice: list[Card], profile: re.Match[str] | None, memory: float | None) -> list[Card]:
    """Returns the cards of which a slice can have this memory: its profile's share, else whole eighths."""
    if memory is None:
        return choice
    eighths = {card.key: memory * 8 / card.vram_gb for card in choice}
    if profile:
        slices = int(profile[1])
        usual = {float(PROFILE_EIGHTHS.get(slices, 0)), slices * 2.0}
        fitting = [
            card for card in choice if min(abs(eighths[card.key] - part) for part in usual) < SLICE_TOLERANCE
        ]
        if fitting:
            return fitting
    return [card for card in choice if _is_whole(eighths[card.key])] or choice


def _is_whole(number: float) -> bool:
    return number >= 0.5 and abs(number - round(number)) <= SLICE_TOLERANCE


def _share_of(
    choice: list[Card], profile: re.Match[str] | None, share: re.Match[str] | None, memory: float | None
) -> Fraction | None:
    """Returns the share of one GPU.

    A MIG profile Ng.MMgb has N of 7 compute slices; cards that are cut in four (A30, RTX PRO 6000) show it by their
    memory, which is N quarters. Source: NVIDIA MIG User Guide, supported profiles.
    """
    if share and 0 < int(share[1]) < int(share[2]):
        return Fraction(int(share[1]), int(share[2]))
    sizes = {card.vram_gb for card in choice}
    if len(sizes) != 1 or memory is None:
        return None
    by_memory = Fraction(int(memory), int(sizes.pop()))
    if profile is None:
        return by_memory if by_memory < 1 else None
    quarters = Fraction(int(profile[1]), 4)
    return quarters if by_memory == quarters and quarters < 1 else Fraction(int(profile[1]), 7)
