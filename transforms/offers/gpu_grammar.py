"""Reads a GPU name that is on no list: family, memory, form factor, edition, count and share, each as a word.

`gpu_slips` makes the text plain, `gpu_families` finds the families of gpu.csv and `gpu_words` reads the other words;
here they are put together.
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
from transforms.offers.gpu_families import TOKEN, Families, families_in, marks
from transforms.offers.gpu_slices import cut_of, has_mig, of_board, share_of
from transforms.offers.gpu_slips import clean, is_of_laptop, names_no_card, small
from transforms.offers.gpu_words import MEMORY, Words, words_of

MACHINE_GPUS = (8, 4)  # of a DGX or HGX machine, whose memory is printed as one number
STATION_GPUS = (4,)  # of a DGX Station

# Joins the cards of one machine; "/" and "or" say a choice.
MIXED = re.compile(r"[+,;&]|\b(?:and|plus|with)\b")
EITHER = re.compile(r"\s/\s|\bor\b")
GENERATIONS = frozenset(
    {"kepler", "maxwell", "pascal", "volta", "turing", "ampere", "ada", "hopper", "blackwell"}
)
BRACKETED = re.compile(r"[(\[]\s?(\d{1,2})\s?[)\]]")  # H100 (8); RTX 3060 (12)
TPU_TYPE = re.compile(r"(?<![a-z0-9.])(tpu[\s\-]?)?v(\d)(e|p|litepod)?-(\d{1,4})(?![a-z0-9])")
CORES = re.compile(r"\b(\d{1,2})[\s\-]?cores?(?:\s+gpu)?\b")  # of an Apple chip, which has one GPU

# Cards whose edition is always part of their name; the plain name means another card.
NAMED_EDITIONS = ("SFF", "FHHL")
# Families whose name is so short that other words must be plain for it to count.
WEAK = re.compile(r"[a-z]{1,2}\d{1,2}|t4g|\d{3,4}[a-z]{0,4}|(?:a770|b580|[np]\d{3}[ds]?|pro\w+|rubin|gaudi)")
# Families that are not clear beside strange words, unless something else tells of a card.
SHORT = re.compile(r"[a-z]{1,2}\d{2,3}[a-z]{0,2}")
OF_A_CARD = re.compile(
    r"\b(?:nvidia|amd|intel|google|aws|habana|huawei|tenstorrent|tesla|quadro|geforce|instinct|radeon|gpus?|cards?"
    r"|hgx|dgx|vram|volta|turing|ampere|hopper|blackwell)\b"
)
STRANGE = re.compile(r"(?<!\S)[a-z]{3,}(?![^\s,;:.)])")

PLAIN_WORDS = frozenset(
    re.findall(
        r"\S+",
        """nvidia amd intel google aws habana huawei qualcomm tenstorrent tesla geforce radeon instinct
        quadro rtx generation gen gpu gpus card cards tensor core cores accelerator accelerators instance
        instances vm vms bare metal cloud on demand spot dedicated serverless virtual machine with and or
        the of for x memory vram ram blackwell hopper ampere ada lovelace turing volta pascal grace
        superchip edition data center datacenter pod pods node nodes single multi cluster preemptible
        reserved secure community cpu interruptible per hour a an r tm mod modded g gb new compute grid
        server servers infiniband ethernet system systems baseboard chip chips price pricing hourly monthly
        from only available ¦""",
    )
)
# Words of plans that say nothing of a card, and nothing against it but beside the shortest names.
PLAN_WORDS = PLAIN_WORDS | frozenset(
    re.findall(r"\S+", "pro premium standard basic small medium large series plan family")
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
    if marks().isdisjoint(TOKEN.findall(text)) or names_no_card(text := clean(text)):
        return NOTHING
    if _is_mixed(text):
        return REFUSED
    if found := _apple(text) or _tpu(text) or _either(text):
        return found
    words = words_of(text)
    families = families_in(words.plain)
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
        return _slice(choice if words.sizes else usual, words, memory_gib)
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
    machine = STATION_GPUS if "station" in words.plain else MACHINE_GPUS
    counts = (words.count,) if words.count else machine if words.is_machine else ()
    return [size / float(count) for size, _ in words.sizes for count in counts]


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


def _either(text: str) -> Reading | None:
    """Returns the cards of "L4 24GB / T4 16GB", whose parts are a card with its own memory each."""
    parts = EITHER.split(text) if " / " in text or " or " in text else []
    readings = [read_name(part) for part in parts if MEMORY.search(part)]
    if len(readings) < 2 or len(readings) < len(parts) or not all(each.candidates for each in readings):
        return None
    keys = {key for each in readings for key in each.candidates}
    counts, sizes = {each.count for each in readings}, {each.memory_gib for each in readings}
    return Reading(
        tuple(sorted(keys)),
        count=counts.pop() if len(counts) == 1 else None,
        memory_gib=sizes.pop() if len(sizes) == 1 else None,
    )


def _apple(text: str) -> Reading | None:
    """Returns the Apple chips of a name; the number of GPU cores tells two of one name apart."""
    if "apple" not in text:
        return None
    cores, left = CORES.search(text), CORES.sub(" ¦ ", text)
    words = words_of(left)
    names = families_in(words.plain).names
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


def _slice(choice: list[Card], words: Words, memory_gib: float | None) -> Reading:
    """Returns the cards that can be cut into the stated slice, its share and its memory.

    Memory that is that of a whole card names the card. A profile names the memory of the slice; without one, memory
    that no whole card has is that of the slice, be it in the name or beside one that tells nothing else of the slice.
    """
    profile = words.profile
    memories = [size for size, _ in words.sizes]
    is_bare = not (profile or memories or words.amount or words.part)
    if is_bare and memory_gib is not None and not of_memory(choice, [memory_gib]):
        memories = [memory_gib]
    whole = of_memory(choice, memories)
    choice = whole or choice
    part = profile.memory_gb if profile else None
    memory = part if part is not None or whole else next(iter(memories), None)
    is_mig = profile is not None and profile.slices is not None
    choice = [card for card in of_board(choice, profile) if has_mig(card) or not is_mig]
    if not choice:
        return REFUSED
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
