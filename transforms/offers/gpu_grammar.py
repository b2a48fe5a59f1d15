"""Reads a GPU name that is on no list: family, memory, form factor, edition, count and share, each as a word.

The families come from gpu.csv, the other words from `gpu_words`; here they are put together.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
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
from transforms.offers.gpu_slices import cut_of, of_board, share_of
from transforms.offers.gpu_words import Words, clean, is_of_laptop, names_no_card, small, words_of

MACHINE_GPUS = (8, 4)  # of a DGX or HGX machine, whose memory is printed as one number

MIXED = re.compile(
    r"[+,;&]|\b(?:and|plus|with)\b"
)  # joins the cards of one machine; "/" and "or" say a choice
GENERATIONS = frozenset(
    {"kepler", "maxwell", "pascal", "volta", "turing", "ampere", "ada", "hopper", "blackwell"}
)
TOKEN = re.compile(r"\d+|[a-z]+|[^\sa-z\d_\-.,;:()/+|\[\]=]")
VARIANTS = frozenset({"ti", "super", "xt", "xtx", "gre"})  # behind a family that has none: another card
BRACKETED = re.compile(r"[(\[]\s?(\d{1,2})\s?[)\]]")  # H100 (8); RTX 3060 (12)
TPU_TYPE = re.compile(r"(?<![a-z0-9.])(tpu[\s\-]?)?v(\d)(e|p|litepod)?-(\d{1,4})(?![a-z0-9])")
CORES = re.compile(r"\b(\d{1,2})[\s\-]?cores?(?:\s+gpu)?\b")  # of an Apple chip, which has one GPU

# Cards whose edition is always part of their name; the plain name means another card.
NAMED_EDITIONS = ("SFF", "FHHL")
# Families whose name is so short that other words must be plain for it to count.
WEAK = re.compile(r"[a-z]{1,2}\d{1,2}|t4g|\d{3,4}[a-z]{0,4}|(?:a770|b580|[np]\d{3}|pro\w+|rubin|gaudi)")
# Families that are not clear beside strange words, unless something else tells of a card.
SHORT = re.compile(r"[a-z]{1,2}\d{2,3}[a-z]{0,2}")
BRANDS = frozenset(
    {"tesla", "quadro", "geforce", "instinct", "radeon"}
)  # A T4 that is a Tesla is no tax form
OF_A_CARD = re.compile(
    r"\b(?:nvidia|amd|intel|google|aws|habana|huawei|tesla|quadro|geforce|instinct|radeon|gpus?|cards?|hgx|dgx|vram"
    r"|volta|turing|ampere|hopper|blackwell)\b"
)
STRANGE = re.compile(r"(?<!\S)[a-z]{3,}(?![^\s,;:.)])")

PLAIN_WORDS = frozenset(
    re.findall(
        r"\S+",
        """nvidia amd intel google aws habana huawei qualcomm tesla geforce radeon instinct quadro rtx generation gen
        gpu gpus card cards tensor core cores accelerator accelerators instance instances vm vms bare metal cloud on
        demand spot dedicated serverless virtual machine with and or the of for x memory vram ram blackwell hopper
        ampere ada lovelace turing volta pascal grace superchip edition data center datacenter pod pods node nodes
        single multi cluster preemptible reserved secure community cpu interruptible per hour a an r tm mod modded
        g gb new compute grid server servers infiniband ethernet system systems baseboard chip chips price pricing
        hourly monthly from only available ¦""",
    )
)
# Words of plans that say nothing of a card, and nothing against it but beside the shortest names.
PLAN_WORDS = PLAIN_WORDS | {
    "pro",
    "premium",
    "standard",
    "basic",
    "small",
    "medium",
    "large",
    "series",
    "plan",
    "family",
}


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
def _marks() -> frozenset[str]:
    """Returns the words of which every name of a card has one: a number, or the beginning of a name without any."""
    numbers = {word for name in spellings() for word in TOKEN.findall(name) if word.isdigit()}
    names = [name for name in spellings() if name.isalpha()]
    return frozenset(numbers | {name[:size] for name in names for size in range(3, len(name) + 1)})


def _families(text: str) -> Families:
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


@lru_cache(maxsize=50_000)
def read_name(name: str, memory_gib: float | None = None) -> Reading:
    """Returns what a GPU name says.

    The candidates are empty when no family is named, when the name denies one, when it names a machine of unlike
    cards, and when it contradicts itself: a memory or a generation that no card of the family has.

    Args:
        name: the text, as the source wrote it.
        memory_gib: memory of one GPU where it is stated beside the name; the name's own goes before it.
    """
    text = small(name)
    if _marks().isdisjoint(TOKEN.findall(text)) or names_no_card(text := clean(text)):
        return NOTHING
    if _is_mixed(text):
        return REFUSED
    if found := _apple(text) or _tpu(text):
        return found
    words = words_of(text)
    families = _families(words.plain)
    if not families.names or _is_doubtful(families, words, text):
        return NOTHING
    if families.is_other or is_of_laptop(text):
        return REFUSED
    return _of_families(families, _with_bare_numbers(families, words), memory_gib)


def _of_families(families: Families, words: Words, memory_gib: float | None) -> Reading:
    """Returns the cards of the families that the other words of the name leave."""
    family, others = _of_generation(families)
    if words.is_rack:
        family += [
            card for card in cards().values() if card.family in {f"g{name}" for name in families.names}
        ]
    choice = _of_form(family, words)
    if not choice:
        return REFUSED
    usual = [card for card in choice if card.is_modified == words.is_modified] or choice
    if words.is_slice:
        return _slice(choice if words.sizes else usual, words)
    if either := [card for size in words.choices for card in of_memory(choice, [size])]:
        return _whole(either, words.count, [])
    memories = [size for size, _ in words.sizes]
    told = [*memories, *_shares_of_machine(words)]
    beside = told if memory_gib is None else [*told, memory_gib]
    kept = of_memory(choice, beside) or of_memory(_of_form(others, words), beside)
    if kept and all(card.is_modified for card in kept) and words.count:
        kept = [*kept, *of_memory(usual, told[len(memories) :])]  # 2x RTX 4090 48GB: each, or both together
    if not kept and any(_is_of_card(*size) for size in words.sizes) and not words.has_host:
        kept, usual = _against_memory(family, choice, told), []
    return _whole(kept or usual, words.count, memories)


def _shares_of_machine(words: Words) -> list[float]:
    """Returns what one GPU has where a stated memory is that of all of them."""
    counts = [float(words.count)] if words.count else list(MACHINE_GPUS) if words.is_machine else []
    return [size / count for size, _ in words.sizes for count in counts]


def _is_doubtful(families: Families, words: Words, text: str) -> bool:
    """Returns whether short names stand among words that need not be about a card: T4 tax form, A100 highway."""
    if families.is_branded:
        return False
    if all(WEAK.fullmatch(name) for name in families.names):
        plain = PLAN_WORDS if words.count or OF_A_CARD.search(text) else PLAIN_WORDS
        return not all(word in plain or _is_size(word, families) for word in families.rest)
    if not all(SHORT.fullmatch(name) for name in families.names):
        return False
    is_told = (
        words.sizes or words.count or words.forms or words.is_slice or words.memory_type or words.is_rack
    )
    if is_told or OF_A_CARD.search(text) or any(word.isdigit() for word in families.rest):
        return False
    return any(word not in PLAN_WORDS for word in STRANGE.findall(words.plain) if word not in families.names)


def _is_size(word: str | None, families: Families) -> bool:
    """Returns whether a number without a unit is the memory of a card of the families."""
    sizes = {cards()[key].vram_gb for name in families.names for key in spellings()[name]}
    return word is not None and word.isdigit() and float(word) in sizes


def _with_bare_numbers(families: Families, words: Words) -> Words:
    """Returns the words with the memory that stands without its unit, and the count that stands in brackets."""
    if _is_size(families.number, families) and not words.sizes:
        words = replace(words, sizes=((float(families.number or 0), ""),))
    bracketed = BRACKETED.search(words.plain) if words.count is None else None
    if bracketed and int(bracketed[1]) and not _is_size(bracketed[1], families):
        words = replace(words, count=Decimal(bracketed[1]))
    return words


def _is_of_card(size: float, unit: str) -> bool:
    """Returns whether a stated size is meant as memory of a card: a lone g and what no card has can be the host's."""
    return unit != "g" and size <= _largest_memory()


@lru_cache
def _largest_memory() -> float:
    return max(card.vram_gb for card in cards().values())


def _against_memory(family: list[Card], choice: list[Card], told: list[float]) -> list[Card]:
    """Returns what a name can mean whose memory none of the cards of its form factor has.

    Where a card of another form factor has it, one of the two words is wrong: the cards of either stay. Where no card
    of the family has it, nothing stays, unless the memory can be that of a board or of a machine.
    """
    if any(memory_can_stand_beside(card, size) for card in choice for size in told):
        return choice
    other_form = of_memory(family, told)
    return [*choice, *other_form] if other_form else []


def _is_mixed(text: str) -> bool:
    """Returns whether the text joins cards that are not alike, or states several counts of cards."""
    if not MIXED.search(text):
        return False
    readings = [reading for part in MIXED.split(text) if (reading := read_name(part)).candidates]
    keys = [set(reading.candidates) for reading in readings]
    is_apart = any(one.isdisjoint(other) for one in keys for other in keys)
    return is_apart or sum(reading.count is not None for reading in readings) > 1


def _apple(text: str) -> Reading | None:
    """Returns the Apple chips of a name; the number of GPU cores tells two of one name apart."""
    if "apple" not in text:
        return None
    cores, left = CORES.search(text), CORES.sub(" ¦ ", text)
    words = words_of(left)
    names = _families(words.plain).names
    keys = sorted({key for name in names for key in spellings()[name]})
    exact = [key for key in keys if cores and f"-{cores[1]}C-" in key] or keys
    own = of_memory([cards()[key] for key in exact], [size for size, _ in words.sizes])
    return Reading(tuple(card.key for card in own) or tuple(exact), count=words.count) if keys else None


def _tpu(text: str) -> Reading | None:
    """Returns the TPU of an accelerator type such as v5litepod-16 or TPU v4-128, and how many chips it has.

    The number is of chips where the name of the version ends in e, else of cores, of which a chip has two.
    """
    found = TPU_TYPE.search(text)
    if found is None or not (found[1] or found[3]):
        return None
    keys = spellings().get(f"tpuv{found[2]}{found[3] or ''}", ())
    chips = Fraction(int(found[4]), 2 if found[3] in (None, "p") else 1)
    is_all = not words_of(TPU_TYPE.sub(" ", text)).count and chips.denominator == 1 and chips
    return Reading(keys, count=Decimal(chips.numerator) if is_all else None) if keys else None


def _of_generation(families: Families) -> tuple[list[Card], list[Card]]:
    """Returns the cards of the families, and those that the names can mean where memory leaves nothing else.

    A generation beside one family decides: RTX 6000 Blackwell is none of the older cards of that number.
    """
    generations = GENERATIONS.intersection(families.rest)
    family = [cards()[key] for key in sorted({key for name in families.names for key in spellings()[name]})]
    others = [cards()[key] for name in families.names for key in last_spellings().get(name, ())]
    if len(set(families.names)) > 1 or not generations:
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


def _of_form(choice: list[Card], words: Words) -> list[Card]:
    """Returns the cards of the stated form factor, edition and memory type; one that no card has says nothing.

    Max-Q is an edition of few families; of the others it is a chip of laptops, and no card stays.
    """
    if len(words.forms) == 1:
        named = [card for card in choice if card.form == words.forms[0]]
        if not named and words.forms == ("PCIE",):
            named = [card for card in choice if card.form == "NVL"]  # H200 NVL is the PCIe card
        choice = named or choice
    if words.editions:
        named = [card for card in choice if card.edition == words.editions[0]]
        choice = named if named or words.editions[0] == "MAXQ" else choice
    else:
        unmarked = {*words.forms, ""}
        choice = [
            card for card in choice if not {card.edition, card.form} & set(NAMED_EDITIONS) - unmarked
        ] or choice
    return [card for card in choice if card.memory_type == words.memory_type] or choice


def _slice(choice: list[Card], words: Words) -> Reading:
    """Returns the cards that can be cut into the stated slice, its share and its memory.

    Memory that is that of a whole card names the card. A profile names the memory of the slice; without one, memory
    that no whole card has is that of the slice.
    """
    profile = words.profile
    memories = [size for size, _ in words.sizes]
    whole = of_memory(choice, memories)
    choice = whole or choice
    part = profile.memory_gb if profile else None
    memory = part if part is not None or whole else next(iter(memories), None)
    is_mig = profile is not None and profile.slices is not None
    choice = of_board(choice, profile)
    if memory is not None and not is_mig and (full := of_memory(choice, [memory])):
        return _whole(full, words.count, [memory])
    choice = cut_of(choice, profile, memory)
    share = share_of(choice, profile, words.amount or words.part, memory)
    return Reading(
        tuple(sorted(card.key for card in choice)),
        count=words.count,
        share=share if share != 1 else None,
        is_slice=share != 1,
        memory_gib=None if memory is None else Decimal(str(memory)),
    )
