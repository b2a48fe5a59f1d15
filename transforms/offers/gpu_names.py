"""What a GPU spelling means: the set of GPUs it can be, how many, and what share of one.

The order is: the exact spelling in the provider's own contexts, the provider's own plan patterns, the family of its
instance type, the exact spelling in contexts that hold for everybody, the grammar of `gpu_grammar`, the exact spelling
at other providers. Where the plan of a listing has a meaning of its own at the provider, it goes before a printed name
that says another GPU. Without a provider the readings of all providers and of the grammar are one set, but for the
modified card that a provider leaves open. The count that a provider's spelling has holds for nobody else where the
grammar reads the name, and for no other provider. A set is narrowed by memory and form factor, and stays a set where
these do not decide. A form factor is never guessed. An unknown name has no candidates, nor has one that the grammar
refuses: unlike cards in one machine, or a memory or generation that no card of the family has.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from transforms.offers.gpu_cards import cards, memory_fits, of_memory
from transforms.offers.gpu_grammar import Reading, read_name
from transforms.offers.gpu_words import form_of
from transforms.reference.tables import read

EVERYBODY = "*"
LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class GpuMatch:
    """What a spelling means.

    `candidates` are gpu keys: one when certain, several when ambiguous, none when unknown. `count` is of whole
    cards or of slices, 1.5 where the name says so, None where it does not say it. `fraction` is the share of one GPU
    that a slice is, None where the name of a slice does not say it.
    `memory_gib` is the memory of one GPU, or of the slice, where the name states it. `contradicted` are the keys that
    the printed name alone would mean, where the plan says another GPU.
    """

    candidates: tuple[str, ...]
    count: Decimal | None = None
    fraction: Decimal | None = None
    rule: str = "unknown"
    memory_gib: Decimal | None = None
    is_slice: bool = False
    contradicted: tuple[str, ...] = ()


UNKNOWN = GpuMatch(candidates=())


@dataclass(frozen=True, slots=True)
class PlanPattern:
    """A family of plan names whose number says how many GPUs, or what share of one, the plan has."""

    pattern: re.Pattern[str]
    candidates: tuple[str, ...]
    units_per_gpu: int | None
    count: Decimal | None

    def read(self, text: str) -> GpuMatch | None:
        """Returns what the plan name means, or None when it is not of this family. It has no spaces or underlines."""
        found = self.pattern.fullmatch(text)
        if not found:
            return None
        if self.units_per_gpu is None:
            return GpuMatch(self.candidates, count=self.count, rule="plan pattern")
        share = Fraction(int(found["units"]), self.units_per_gpu)
        if share >= 1:
            return GpuMatch(self.candidates, count=decimal_of(share), rule="plan pattern")
        return GpuMatch(
            self.candidates, count=Decimal(1), fraction=decimal_of(share), rule="plan pattern", is_slice=True
        )


def decimal_of(share: Fraction) -> Decimal:
    """Returns the share with ten digits after the point, a whole number without a point."""
    number = round(Decimal(share.numerator) / Decimal(share.denominator), 10)
    return number.normalize() if number % 1 else number.to_integral_value()


def squeezed_plan(text: str) -> str:
    """Returns a folded plan name as the patterns know it, without spaces and underlines."""
    return re.sub(r"[\s_]", "", text)


def folded(text: str) -> str:
    """Returns the spelling in lower case with single spaces."""
    return " ".join(text.casefold().split())


def _share(text: str | None) -> Decimal | None:
    """Returns the share of a fraction cell such as `1/8` or `1/7 compute, 34 GB`; words give None."""
    found = re.match(r"(\d+)/(\d+)", text or "")
    return decimal_of(Fraction(int(found[1]), int(found[2]))) if found else None


def _slice_memory(text: str | None) -> Decimal | None:
    """Returns the memory of a fraction cell such as `slice (14 GB)`."""
    found = re.search(r"(\d+) GB", text or "")
    return Decimal(found[1]) if found else None


@lru_cache
def _aliases() -> dict[tuple[str, str], GpuMatch]:
    """Returns the known spellings by (provider or *, folded spelling)."""
    owners = {
        row["context"]: row["providers"].split("|") for row in read("alias_context").iter_rows(named=True)
    }
    table: dict[tuple[str, str], GpuMatch] = {}
    for row in read("gpu_alias").iter_rows(named=True):
        match = GpuMatch(
            candidates=tuple(sorted(row["gpu_keys"].split("|"))),
            count=None if row["gpu_count"] is None else Decimal(str(row["gpu_count"])),
            fraction=_share(row["gpu_fraction"]),
            memory_gib=_slice_memory(row["gpu_fraction"]),
            is_slice=row["gpu_fraction"] is not None,
            rule=f"alias: {row['context']}",
        )
        for owner in owners[row["context"]]:
            table[owner, folded(row["gpu_text"])] = match
    return table


@lru_cache
def _patterns() -> dict[str, list[PlanPattern]]:
    table: dict[str, list[PlanPattern]] = {}
    for row in read("plan_pattern").iter_rows(named=True):
        pattern = PlanPattern(
            pattern=re.compile(row["pattern"], re.ASCII),
            candidates=tuple(sorted(row["gpu_keys"].split("|"))),
            units_per_gpu=row["units_per_gpu"],
            count=None if row["gpu_count"] is None else Decimal(row["gpu_count"]),
        )
        table.setdefault(row["provider"], []).append(pattern)
    return table


@lru_cache
def _any_pattern() -> dict[str, re.Pattern[str]]:
    """Returns for each provider what any of its plan patterns matches, so that most names are asked once."""
    return {
        provider: re.compile(
            "|".join(f"(?:{found.pattern.pattern})" for found in own).replace("?P<units>", "?:"), re.ASCII
        )
        for provider, own in _patterns().items()
    }


def _known(text: str, owner: str) -> GpuMatch | None:
    """Returns what a folded spelling means in the owner's contexts: itself, its pattern, or its family.

    A pattern goes before the family, which says the GPU without its count.
    """
    if found := _aliases().get((owner, text)):
        return found
    squeezed = squeezed_plan(text)
    of_any = _any_pattern().get(owner)
    for pattern in _patterns()[owner] if of_any and of_any.fullmatch(squeezed) else ():
        if match := pattern.read(squeezed):
            return match
    return _aliases().get((owner, f"{text.removeprefix('ml.').partition('.')[0]}.*"))


def is_known_plan(plan: str, provider: str | None) -> bool:
    """Returns whether a plan's name is one of the provider's known spellings or patterns."""
    return provider is not None and len(plan) <= LONGEST_NAME and _known(folded(plan), provider) is not None


@lru_cache
def _meanings() -> dict[str, list[GpuMatch]]:
    """Returns what each folded spelling means at the providers that use it."""
    meanings: dict[str, list[GpuMatch]] = {}
    for (_, spelling), match in _aliases().items():
        meanings.setdefault(spelling, []).append(match)
    return meanings


def _any_of(found: list[GpuMatch]) -> GpuMatch:
    """Returns the union of the meanings of one spelling."""
    keys = tuple(sorted({key for match in found for key in match.candidates}))
    counts = {match.count for match in found}
    return replace(
        found[0],
        candidates=keys,
        count=counts.pop() if len(counts) == 1 else None,
        rule=f"{found[0].rule}, used by another provider",
    )


def _with_meanings(read: GpuMatch, meanings: list[GpuMatch]) -> GpuMatch:
    """Returns the reading with the cards that providers mean by the name, and the share where it is one of a slice.

    Its count is that of the name. A modified card that a provider only leaves open is not one of them.
    """
    keys = {*read.candidates}
    for match in meanings:
        is_open = len(match.candidates) > 1
        keys |= {key for key in match.candidates if not (is_open and cards()[key].is_modified)}
    slices = [match for match in meanings if match.is_slice]
    if slices and not read.is_slice:
        read = replace(read, is_slice=True, fraction=slices[0].fraction, memory_gib=slices[0].memory_gib)
    return replace(read, candidates=tuple(sorted(keys)))


def narrow(match: GpuMatch, memory_gib: Decimal | None, form: str | None) -> GpuMatch:
    """Returns the match with the candidates that agree with the stated memory and form factor.

    What would leave no candidate is a contradiction, and changes nothing.
    """
    named = [cards()[key] for key in match.candidates]
    kept = named
    if len(named) > 1 and memory_gib is not None:
        stated = [float(memory_gib)] + ([float(memory_gib / match.fraction)] if match.fraction else [])
        kept = of_memory(named, stated) or named
    if len(kept) > 1 and form:
        kept = [card for card in kept if card.form == form] or kept
    return replace(match, candidates=tuple(sorted(card.key for card in kept)))


@lru_cache(maxsize=200_000)
def resolve_gpu(
    text: str,
    provider: str | None = None,
    memory_gib: Decimal | None = None,
    form_factor_text: str | None = None,
    link_text: str | None = None,
    plan: str | None = None,
) -> GpuMatch:
    """Returns what a GPU spelling means at a provider.

    Args:
        text: the name of the GPU, or of the plan, as the source wrote it.
        provider: provider id, for spellings that mean different things at different places.
        memory_gib: memory of one GPU as listed, whether the source meant GB or GiB.
        form_factor_text: such as SXM5, PCIe, HGX.
        link_text: such as NVLink, NVL72.
        plan: name of the plan, read where the name of the GPU leaves something open.
    """
    spelling = folded(text)
    match = _match(spelling, provider, memory_gib) if len(spelling) <= LONGEST_NAME else UNKNOWN
    if plan and len(plan) <= LONGEST_NAME and folded(plan) != spelling:
        match = _with_plan(match, folded(plan), provider)
    if len(match.candidates) < 2:
        return match
    form = form_of(form_factor_text) or form_of(link_text)
    return narrow(match, memory_gib, form)


def _match(text: str, provider: str | None, memory_gib: Decimal | None) -> GpuMatch:
    memory = None if memory_gib is None else float(memory_gib)
    if provider and (own := _known(text, provider)):
        return own
    generic = _aliases().get((EVERYBODY, text))
    if generic and (generic.fraction or memory is None or _has_memory(generic.candidates, memory)):
        return generic
    reading = read_name(text, memory)
    if generic:
        return _of_reading(reading) if _has_memory(reading.candidates, memory) else generic
    meanings = _meanings().get(text, [])
    if not reading.candidates:
        return UNKNOWN if provider and reading.is_refused else _elsewhere(meanings, provider)
    read_as = _of_reading(reading)
    return _with_meanings(read_as, meanings) if provider is None else read_as


def _elsewhere(meanings: list[GpuMatch], provider: str | None) -> GpuMatch:
    """Returns what other providers mean by a spelling that nothing else reads: their cards, never their count."""
    if not meanings:
        return UNKNOWN
    found = _any_of(meanings)
    return found if provider is None else replace(found, count=None)


def _has_memory(candidates: tuple[str, ...], memory: float | None) -> bool:
    return memory is not None and any(memory_fits(cards()[key], memory) for key in candidates)


def _of_reading(reading: Reading) -> GpuMatch:
    return GpuMatch(
        candidates=reading.candidates,
        count=reading.count,
        fraction=None if reading.share is None else decimal_of(reading.share),
        rule="grammar",
        memory_gib=reading.memory_gib,
        is_slice=reading.is_slice,
    )


def _with_plan(match: GpuMatch, plan: str, provider: str | None) -> GpuMatch:
    """Returns the match with what the plan's name adds: a smaller set, the count, the share.

    A plan that says another GPU than the printed name wins, since the provider's own plans are exact.
    """
    if provider is None:
        return match
    found = _known(plan, provider)
    if found is None:
        return match
    if not match.candidates:
        return found
    both = tuple(key for key in match.candidates if key in found.candidates)
    if not both:
        return replace(found, contradicted=match.candidates, rule=f"plan against name: {found.rule}")
    return replace(
        match,
        candidates=both,
        count=match.count if match.count is not None else found.count,
        fraction=match.fraction if match.fraction is not None else found.fraction,
        is_slice=match.is_slice or found.is_slice,
        rule=f"{match.rule}; plan: {found.rule}",
    )
