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

from transforms.offers.gpu_cards import (
    Card,
    cards,
    last_spellings,
    memory_can_stand_beside,
    memory_fits,
    of_memory,
    spellings,
)

SLICE_TOLERANCE = 0.08  # MIG profiles round their memory: B300 1g.34gb is 33.5 of 268 GiB
MOST_GPUS = 1024


TRADEMARK = re.compile(r"[®™©]|\((?:r|tm|c)\)", re.IGNORECASE)
DENIAL = re.compile(
    r"\b(?:not|no|non|without|except|instead|equivalent|comparable|similar|than|vs|versus|like)\b"
)
PROFILE = re.compile(r"(?<![a-z0-9])(\d)g\.(\d{1,3})gb(?![a-z0-9])")
VGPU_PROFILE = re.compile(r"(?<=[a-z0-9])-(\d{1,3})q(?![a-z0-9])")  # A40-8Q is 8 GB of an A40
SHARE = re.compile(r"(?<![\d.])(\d{1,2})/(\d{1,2})(?![\d.])")
AMOUNTS = (
    re.compile(r"^\s*(\d{1,2}/[1-9]\d?)\s?x?[\s\-]?(?=[a-z]|\d{4})"),  # 1/2 H100, 1/2x H100
    re.compile(r"(?<![a-z0-9./])(0?\.\d{1,4})\s?x[\s\-]?(?=[a-z]|\d{4})"),  # 0.5x A100
    re.compile(r"(?<![a-z0-9./])(0?\.\d{1,4})[\s\-]?gpus?\b"),  # 0.5 GPU
    re.compile(r"(?<=[\sa-z0-9])[x*:]\s?(0?\.\d{1,4})(?![a-z0-9.])"),  # a100 x 0.5, h100:0.5
    re.compile(  # half an H100; half height is no amount
        r"\b(half|quarter)[\s\-]+(?:(?:an?|of)\s+)*(?=(?:nvidia|amd|tesla|geforce|rtx|gpu)\b|[a-z]{0,3}\d)"
    ),
)
WORDS_OF_SHARE = {"half": "1/2", "quarter": "1/4"}
SLICE = re.compile(r"\b(?:mig|vgpu|slice|sliced|fraction|fractional|partition)\b")
WITHOUT_LINK = re.compile(r"\b(?:no|non|without)[\s-]+(?:nvlink|nvswitch|infiniband|ib|sxm|bridge)\b")
COUNTS = (
    re.compile(r"(?<![a-z0-9.])(\d{1,4})\s?x[\s_\-]?(?!large)(?=[a-z])"),  # 8xh100, 8 x h100, not 8xlarge
    re.compile(r"(?<![a-z0-9.])(\d{1,3})\s?x\s?(?=(?:\d{4}|nvidia|amd)\b)"),  # 4x3090
    re.compile(r"(?<![a-z0-9.])(\d{1,3})x(?![a-z0-9])"),  # a100.8x
    re.compile(r"(?<=[a-z0-9])x(\d{1,2})(?![a-z0-9])"),  # h100x8
    re.compile(r"(?<![a-z0-9])x\s?(\d{1,3})(?![a-z0-9])"),  # h100 x 8
    re.compile(r"[*:]\s?(\d{1,3})(?![a-z0-9.])"),  # 4090 * 4, h100:4
    re.compile(r"(?<![a-z0-9.])(\d{1,3})[\s\-]?(?:gpus?|cards?)\b"),  # 8 gpus
    re.compile(r"^(\d{1,2})(?=[a-z]{1,6}\d)"),  # 8h100.80s.176v
)
MEMORY = re.compile(r"(?<![a-z0-9.])(\d{1,4})\s?(gib|gb|g)(?![a-z0-9])")
# Words that say that a memory can be the machine's; so does a plus sign behind it.
HOST = re.compile(r"(?<![a-z])(?:v?cpus?|ram|ssd|nvme|hdd|disk|storage|ddr\d)(?![a-z0-9])|¦\s*\+")
MIXED = re.compile(
    r"[+,;&]|\b(?:and|plus|with)\b"
)  # joins the cards of one machine; "/" and "or" say a choice
GENERATIONS = frozenset(
    {"kepler", "maxwell", "pascal", "volta", "turing", "ampere", "ada", "hopper", "blackwell"}
)
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
    """What the grammar found in a name. A slice whose name does not say its share has `share` None.

    `is_refused` tells a name of known families that can be no one card from a name of none.
    """

    candidates: tuple[str, ...]
    count: Decimal | None = None
    share: Fraction | None = None
    is_slice: bool = False
    memory_gib: Decimal | None = None
    is_refused: bool = False


NOTHING = Reading(candidates=())
REFUSED = Reading(candidates=(), is_refused=True)


def form_of(text: str | None) -> str | None:
    """Returns SXM, PCIE, NVL, OAM or FHHL as named in a form factor text; None when it names none or two."""
    named = {form for pattern, form in FORM if pattern.search((text or "").casefold().replace("_", " "))}
    return named.pop() if len(named) == 1 else None


@lru_cache
def _beginnings() -> frozenset[str]:
    """Returns every text that a spelling of a family begins with."""
    return frozenset(name[:size] for name in spellings() for size in range(1, len(name) + 1))


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
        if name not in _beginnings():
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
    """Returns what a GPU name says.

    The candidates are empty when no family is named, when the name denies one, when it names a machine of unlike
    cards, and when it contradicts itself: a memory or a generation that no card of the family has.

    Args:
        name: the text, as the source wrote it.
        memory_gib: memory of one GPU where it is stated beside the name; the name's own goes before it.
    """
    text = _clean(name)
    if DENIAL.search(text):
        return NOTHING
    if _is_mixed(text):
        return REFUSED
    profile, text = _take(PROFILE, text)
    vgpu, text = _take(VGPU_PROFILE, text)
    amount, text = _amount(text)
    part, text = _take(SHARE, text)
    is_slice = bool(profile or vgpu or part or SLICE.search(text)) or amount is not None
    is_rack, text = _take(RACK, SLICE.sub(" ", text))
    sizes = [(float(found[1]), str(found[2])) for found in MEMORY.finditer(text)]
    count, text = _count(MEMORY.sub(BARRIER, text))
    kind, text = _take(MEMORY_TYPE, LONE_X.sub(BARRIER, text))
    forms, text = _taken_all(FORM, text)
    editions, plain = _taken_all(EDITION, text)
    names, rest = _families(DRESSING.sub(" ", plain))
    if not names or (_is_weak(names) and not set(rest) <= PLAIN_WORDS):
        return NOTHING
    family, others = _of_generation(names, GENERATIONS.intersection(rest))
    if is_rack:
        family += [card for card in cards().values() if card.family in {f"g{name}" for name in names}]
    choice = _of_form(family, forms, editions)
    if kind:
        choice = [card for card in choice if card.memory_type == kind[0]] or choice
    usual = [card for card in choice if card.is_modified == bool(MODDED.search(text))] or choice
    memories = [size for size, _ in sizes]
    if is_slice:
        size = float(profile[2]) if profile else float(vgpu[1]) if vgpu else None
        share = amount if amount is not None else _fraction(part)
        count = count or (None if amount is None else Decimal(1))
        return _slice(choice if memories else usual, count, profile, share, memories, size)
    told = [*memories, *(size / int(count) for size in memories if count)]
    beside = told if memory_gib is None else [*told, memory_gib]
    kept = of_memory(choice, beside) or of_memory(_of_form(others, forms, editions), beside)
    if not kept and any(_is_of_card(*size) for size in sizes) and not HOST.search(text):
        kept, usual = _against_memory(family, choice, told), []
    return _whole(kept or usual, count, memories)


def _is_of_card(size: float, unit: str) -> bool:
    """Returns whether a stated size is meant as memory of a card: a lone g and what no card has can be the host's."""
    return unit != "g" and size <= max(card.vram_gb for card in cards().values())


def _against_memory(family: list[Card], choice: list[Card], told: list[float]) -> list[Card]:
    """Returns what a name can mean whose memory none of the cards of its form factor has.

    Where a card of another form factor has it, one of the two words is wrong: the cards of either stay. Where no card
    of the family has it, nothing stays, unless the memory can be that of a board or of a machine.
    """
    if any(memory_can_stand_beside(card, size) for card in choice for size in told):
        return choice
    other_form = of_memory(family, told)
    return [*choice, *other_form] if other_form else []


def _clean(name: str) -> str:
    """Returns the name in plain small letters, without trademarks and links that it denies."""
    text = unicodedata.normalize("NFKC", TRADEMARK.sub(" ", name)).casefold()
    return WITHOUT_LINK.sub(" ", text.replace("×", "x").replace("_", " ").replace("\u2044", "/"))


def _is_mixed(text: str) -> bool:
    """Returns whether the text joins cards that are not alike, or states several counts of cards."""
    if not MIXED.search(text):
        return False
    readings = [reading for part in MIXED.split(text) if (reading := read_name(part)).candidates]
    keys = [set(reading.candidates) for reading in readings]
    is_apart = any(one.isdisjoint(other) for one in keys for other in keys)
    return is_apart or sum(reading.count is not None for reading in readings) > 1


def _amount(text: str) -> tuple[Fraction | None, str]:
    """Returns how much of one GPU the text is about, and the text without it; None when it does not say so."""
    for pattern in AMOUNTS:
        found, left = _take(pattern, text)
        if found:
            return Fraction(WORDS_OF_SHARE.get(found[1], found[1])), left
    return None, text


def _fraction(part: re.Match[str] | None) -> Fraction | None:
    return Fraction(int(part[1]), int(part[2])) if part and int(part[2]) else None


def _of_generation(names: list[str], generations: frozenset[str]) -> tuple[list[Card], list[Card]]:
    """Returns the cards of the families, and those that the names can mean where memory leaves nothing else.

    A generation beside one family decides: RTX 6000 Blackwell is none of the older cards of that number.
    """
    family = [cards()[key] for key in sorted({key for name in names for key in spellings()[name]})]
    others = [cards()[key] for name in names for key in last_spellings().get(name, ())]
    if len(set(names)) > 1 or not generations:
        return family, others
    kept = [
        [card for card in choice if any(word in card.architecture for word in generations)]
        for choice in (family, others)
    ]
    return kept[0] or kept[1], []


def _whole(choice: list[Card], count: Decimal | None, memories: list[float]) -> Reading:
    """Returns the reading of whole cards, with the first stated memory that one of them has."""
    if not choice:
        return REFUSED
    own = next(
        (Decimal(str(size)) for size in memories if any(memory_fits(card, size) for card in choice)), None
    )
    return Reading(tuple(sorted({card.key for card in choice})), count=count, memory_gib=own)


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
    share: Fraction | None,
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
    choice: list[Card], profile: re.Match[str] | None, share: Fraction | None, memory: float | None
) -> Fraction | None:
    """Returns the share of one GPU.

    A MIG profile Ng.MMgb has N of 7 compute slices; cards that are cut in four (A30, RTX PRO 6000) show it by their
    memory, which is N quarters. Source: NVIDIA MIG User Guide, supported profiles.
    """
    if share is not None and 0 < share < 1:
        return share
    sizes = {card.vram_gb for card in choice}
    if len(sizes) != 1 or memory is None:
        return None
    by_memory = Fraction(int(memory), int(sizes.pop()))
    if profile is None:
        return by_memory if by_memory < 1 else None
    quarters = Fraction(int(profile[1]), 4)
    return quarters if by_memory == quarters and quarters < 1 else Fraction(int(profile[1]), 7)
