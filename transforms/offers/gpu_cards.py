"""The cards of gpu.csv as names are read: family, form factor, edition, memory, and how a family is spelt."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from transforms.reference.tables import read

MEMORY_TOLERANCE = 0.10  # B300: 262 usable of 288; B200: sold as 192, has 180
MACHINES = ("embedded", "pod")  # form factors of GPUs that are part of a machine
BOARDS = {"half board": 2, "quarter of": 4}  # how gpu.csv says that a board has several of the chips
FORMS = ("SXM", "PCIE", "NVL", "OAM", "FHHL")
EDITIONS = ("SE", "WS", "MAXQ", "SFF", "STD", "ULTRA")


@dataclass(frozen=True, slots=True)
class Card:
    """A row of gpu.csv as the grammar needs it. `family` is the name without memory, form factor and edition."""

    key: str
    family: str
    architecture: str
    form: str
    edition: str
    vram_gb: float
    memory_type: str
    form_factor: str
    link: str
    has_nvlink: bool
    is_modified: bool
    chips_per_board: int


def memory_fits(card: Card, memory_gib: float) -> bool:
    """Returns whether the stated memory can be that of the whole card, as marketed or as the driver shows it."""
    return abs(card.vram_gb - memory_gib) <= MEMORY_TOLERANCE * card.vram_gb


def memory_can_stand_beside(card: Card, memory_gib: float) -> bool:
    """Returns whether a name with this memory can mean the card.

    It is that of the card or of its board of several chips; a superchip and a pod also print that of the machine.
    """
    return card.form_factor in MACHINES or memory_fits(card, memory_gib / card.chips_per_board)


def of_memory(choice: Sequence[Card], memories: Iterable[float]) -> list[Card]:
    """Returns the cards of the first stated memory that any of them has, nearest first; none when there is none."""
    for memory in memories:
        if near := [card for card in choice if memory_fits(card, memory)]:
            best = min(abs(card.vram_gb - memory) for card in near)
            return [card for card in near if abs(card.vram_gb - memory) == best]
    return []


@lru_cache
def cards() -> dict[str, Card]:
    """Returns every row of gpu.csv by its key."""
    found = {}
    for row in read("gpu").iter_rows(named=True):
        parts = re.sub(r"-\d+GB$", "", row["gpu_key"]).split("-")
        form = next((part for part in parts[1:] if re.sub(r"\d$", "", part) in FORMS), "")
        edition = next((part for part in parts[1:] if part in EDITIONS), "")
        family = "".join(part for part in parts if part not in (form, edition)).casefold()
        if "sff" in family:
            edition, family = "SFF", family.replace("sff", "")
        found[row["gpu_key"]] = Card(
            key=row["gpu_key"],
            family=family,
            architecture=(row["architecture"] or "").casefold(),
            form=re.sub(r"\d$", "", form) or str(row["form_factor"]).upper(),
            edition=edition,
            vram_gb=float(row["vram_gb"]),
            memory_type=str(row["memory_type"]).casefold(),
            form_factor=row["form_factor"],
            link=row["link"] or "",
            has_nvlink=bool(row["has_nvlink"]),
            is_modified="aftermarket" in row["name"],
            chips_per_board=next((chips for words, chips in BOARDS.items() if words in row["name"]), 1),
        )
    return found


# How one family is also written. The left side is matched against the family or the key, the right side is a spelling.
SPELLINGS = (
    (r"(?:rtx|gtx)(\d{4}(?:ti|s|tis|d)?)", r"\1"),
    (r"(.+)tis", r"\1sti"),
    (r"rtx(a\d{4})", r"\1"),
    (r"rtx(\d{4})ada", r"\1ada"),
    (r"rtx(\d{4})ada", r"rtxada\1"),
    (r"rtx(\d{4})ada", r"ada\1"),
    (r"rtx(\d{4})ada", r"adartx\1"),
    (r"rtx(\d{4})ada", r"rtxa\1ada"),  # often written for the Ada card, though A marks the Ampere one
    (r"rtx(a\d000)", r"rtx\1ada"),
    (r"rtx(\d{4})ada", r"a\1ada"),
    (r"rtx(a\d000)", r"\1ada"),
    (r"rtx(\d{4})ada", r"rtx\1"),  # RTX 6000 alone: the Turing card or the Ada card
    (r"quadro(rtx\d{4})", r"\1"),
    (r"quadro(rtx\d{4})", r"q\1"),
    (r"quadro([pm]\d000|gv100)", r"\1"),
    (r"rtxpro(\d{4})", r"rtx\1pro"),
    (r"rtxpro(\d{4})", r"pro\1"),
    (r"rtxpro(\d{4})", r"\1pro"),
    (r"rtxpro(\d{4})", r"rtxp\1"),
    (r"rtxpro(\d{4})", r"rtxproa\1"),
    (r"rtx(a\d000)", r"rtxpro\1"),
    (r"rx(\d{4}(?:xtx|xt|gre))", r"\1"),
    (r"arc(a770|b580)", r"\1"),
    (r"arcpro(b\d0)", r"pro\1"),
    (r"h20-141gb", r"h203e"),
    (r"gaudi1", r"gaudi"),
    (r"trainium1", r"trainium"),
    (r"inferentia1", r"inferentia"),
    (r"tpuv(\d.?)", r"tpu\1"),
    (r"tpuv7x", r"ironwood"),
    (r"tpuv6e", r"trillium"),
    (r"tpuv5e", r"tpuv5litepod"),
    (r"tt([np]\d{3})", r"\1"),
    (r"tt(n\d{3})", r"\1s"),  # of servers
    (r"tt(n\d{3})", r"\1d"),  # of desktops
    (r"ascend(910[bc])", r"\1"),
    (r"jetsonorin", r"jetsonagxorin"),
    (r"gb10", r"dgxspark"),
    (r"apple(m\d(?:pro|max|ultra)?)\d{1,2}c", r"apple\1"),
    (r"tpuv(\d)e", r"tpuv\1lite"),  # how the driver prints it
    (r"tpuv(\d)e", r"tpuv\1litepodslice"),
)
# A spelling that counts for a family only where memory or generation leave nothing else: RTX 6000 with 96 GB.
LAST_SPELLINGS = ((r"rtxpro(\d{4})", r"rtx\1"),)


@lru_cache
def spellings() -> dict[str, tuple[str, ...]]:
    """Returns the keys that each squeezed spelling can stand for."""
    return _spelt((r"[^-]+", r"\g<0>"), *SPELLINGS)


@lru_cache
def last_spellings() -> dict[str, tuple[str, ...]]:
    """Returns the keys that a spelling stands for where memory or generation leave nothing else."""
    return _spelt(*LAST_SPELLINGS)


def _spelt(*ways: tuple[str, str]) -> dict[str, tuple[str, ...]]:
    names: dict[str, set[str]] = {}
    for card in cards().values():
        for pattern, other in ways:
            found = re.fullmatch(pattern, card.family) or re.fullmatch(pattern, card.key.casefold())
            if found:
                names.setdefault(found.expand(other), set()).add(card.key)
    return {name: tuple(sorted(keys)) for name, keys in names.items()}
