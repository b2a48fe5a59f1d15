"""The slices of GPUs: of which cards a slice can be cut, and what share of one it is."""

from __future__ import annotations

from fractions import Fraction

from transforms.offers.gpu_cards import Card
from transforms.offers.gpu_words import Profile

SLICE_TOLERANCE = 0.08  # MIG profiles round their memory: B300 1g.34gb is 33.5 of 268 GiB
CUT_IN_FOUR = ("a30", "rtxpro6000")  # families whose MIG slices are quarters; of the others they are sevenths
# Eighths of the memory that a MIG profile of N compute slices has. Source: NVIDIA MIG User Guide.
PROFILE_EIGHTHS = {1: 1, 2: 2, 3: 4, 4: 4, 7: 8}


def of_board(choice: list[Card], profile: Profile | None) -> list[Card]:
    """Returns the cards of the memory that the board of a vGPU says: the larger with D, else the smaller."""
    if profile is None or profile.board is None or not choice:
        return choice
    sizes = sorted({card.vram_gb for card in choice if card.vram_gb >= (profile.memory_gb or 0)})
    if not sizes:
        return choice
    size = sizes[-1] if "d" in profile.board.partition("-")[2] else sizes[0]
    return [card for card in choice if card.vram_gb == size]


def cut_of(choice: list[Card], profile: Profile | None, memory: float | None) -> list[Card]:
    """Returns the cards of which a slice can have this memory: its profile's share, else whole eighths."""
    if memory is None:
        return choice
    eighths = {card.key: memory * 8 / card.vram_gb for card in choice}
    if profile and profile.slices:
        usual = {card.key: _usual_eighths(card, profile.slices) for card in choice}
        fitting = [
            card
            for card in choice
            if min(abs(eighths[card.key] - part) for part in usual[card.key]) < SLICE_TOLERANCE
        ]
        if fitting:
            return fitting
    return [card for card in choice if _is_whole(eighths[card.key])] or choice


def _usual_eighths(card: Card, slices: int) -> set[int]:
    """Returns the eighths of the memory that so many slices of a card have; one slice is also sold with twice its own.

    Source: NVIDIA MIG User Guide, supported profiles.
    """
    if card.family in CUT_IN_FOUR:
        return {slices * 2}
    return {PROFILE_EIGHTHS.get(slices, 0), *([2] if slices == 1 else [])}


def has_mig(card: Card) -> bool:
    """Returns whether a card can be cut by MIG.

    Source: NVIDIA MIG User Guide, supported GPUs: of Ampere the A100 and A30, and the data centre cards since Hopper.
    """
    if card.architecture == "ampere":
        return card.family in ("a100", "a100x", "a800", "a30")
    is_workstation = card.family.startswith("rtx") and not card.family.startswith("rtxpro")
    return any(name in card.architecture for name in ("hopper", "blackwell", "rubin")) and not is_workstation


def _is_whole(number: float) -> bool:
    return number >= 0.5 and abs(number - round(number)) <= SLICE_TOLERANCE


def share_of(
    choice: list[Card], profile: Profile | None, share: Fraction | None, memory: float | None
) -> Fraction | None:
    """Returns the share of one GPU.

    A MIG profile Ng.MMgb has N of 7 compute slices, or N of 4 of the cards that are cut in four.
    Source: NVIDIA MIG User Guide, supported profiles.
    """
    if share is not None and 0 < share < 1:
        return share
    if profile and profile.slices:
        parts = {4 if card.family in CUT_IN_FOUR else 7 for card in choice}
        return Fraction(profile.slices, parts.pop()) if len(parts) == 1 else None
    sizes = {card.vram_gb for card in choice}
    if len(sizes) != 1 or memory is None:
        return None
    by_memory = Fraction(int(memory), int(sizes.pop()))
    return by_memory if by_memory < 1 else None
