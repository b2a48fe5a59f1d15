"""Which model and which GPU of the reference tables a measurement is about; null with the reason where none is.

Sources spell them in their own way, and often leave something open. Two rules close it: a data-centre part whose form
factor is not stated is the socketed one (SXM, OAM), and a card whose memory is not stated is the first of its name, or
the larger of two that are equally fast. What is still open stays null.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

import polars as pl

from transforms.offers.gpu_cards import Card, cards, of_memory
from transforms.offers.gpu_names import resolve_gpu
from transforms.reference.tables import read
from transforms.workloads.model_names import resolve

# A stated count of parameters is rounded, or counts embeddings and heads in another way.
COUNT_TOLERANCE = 0.12
# A name that states the size of its model stands against a count of packed or further weights up to this factor.
NAMED_SIZE_FACTOR = 1.5

_NAMED_SIZE = re.compile(r"(?<![a-z\d.])(?:(\d+)x)?(\d+(?:\.\d+)?)\s?(b|m)(?![a-z\d])", re.IGNORECASE)
_MEMORY = re.compile(r"(?<![\d.])(\d{1,3})\s?GB?\b", re.IGNORECASE)
_UNIFIED = re.compile(r"\bunified\b", re.IGNORECASE)
_APPLE = re.compile(r"(?<![a-z\d])m([1-9])\s*-?(pro|max|ultra)?(?![a-z\d])")
_APPLE_CORES = re.compile(r"(\d{1,2})\s*-?\s*c(?:ore)?(?![a-z\d])")


def with_model_id(frame: pl.DataFrame, model_column: str, params_b_column: str | None = None) -> pl.DataFrame:
    """Returns the frame with model_id and model_problem: one of the two is null in each row.

    `params_b_column` has the parameters in billions that the source states. A model that has another number of them,
    in all, at work, in its checkpoint or in one of its components, is not the one that was measured.
    """
    columns = [model_column] if params_b_column is None else [model_column, params_b_column]
    asked = frame.select(columns).unique()
    found = [_model(*row) for row in asked.iter_rows()]
    answers = asked.with_columns(
        pl.Series("model_id", [model_id for model_id, _ in found], dtype=pl.String),
        pl.Series("model_problem", [problem for _, problem in found], dtype=pl.String),
    )
    return frame.join(answers, on=columns, how="left", nulls_equal=True, maintain_order="left")


def with_gpu_key(frame: pl.DataFrame, gpu_canonical_column: str, gpu_text_column: str) -> pl.DataFrame:
    """Returns the frame with gpu_key and gpu_problem: one of the two is null in each row.

    The canonical spelling goes first; the text of the source narrows it, and stands in where it is blank or unknown.
    """
    columns = list(dict.fromkeys((gpu_canonical_column, gpu_text_column)))
    asked = frame.select(columns).unique()
    found = [_gpu(row[0], row[-1]) for row in asked.iter_rows()]
    answers = asked.with_columns(
        pl.Series("gpu_key", [key for key, _ in found], dtype=pl.String),
        pl.Series("gpu_problem", [problem for _, problem in found], dtype=pl.String),
    )
    return frame.join(answers, on=columns, how="left", nulls_equal=True, maintain_order="left")


def _model(name: str | None, params_b: object = None) -> tuple[str | None, str | None]:
    if not name or not name.strip():
        return None, "no model is stated"
    model_id = resolve(name)
    if model_id is None:
        return None, f"{name:.60}: not a model of model.csv"
    count = _number(params_b)
    if count is None or _has_count(model_id, count) or _has_named_size(model_id, name, count):
        return model_id, None
    return None, f"{name:.60}: {count:g} billion parameters are not those of {model_id}"


def _number(value: object) -> float | None:
    """Returns a positive number in a cell of any type; None for anything else."""
    try:
        number = float(str(value))
    except ValueError:
        return None
    return number if 0 < number < float("inf") else None


@lru_cache
def _counts() -> dict[str, tuple[float, ...]]:
    """Returns the numbers of parameters, in billions, that a model can be said to have: the total first."""
    stored = ("params_total", "params_active", "params_checkpoint")
    table = {}
    for row in read("model").iter_rows(named=True):
        parts = [float(size) for size in re.findall(r":(\d+)", row["component_params"] or "")]
        sizes = [*(float(row[name]) for name in stored if row[name] is not None), *parts]
        table[row["model_id"]] = tuple(size / 1e9 for size in sizes)
    return table


def _is_near(count: float, size: float) -> bool:
    """Returns whether a stated count, in billions, can be that of a model; a whole number is a rounded one."""
    rounding = 0.5 if count.is_integer() else 0.0
    return abs(count - size) <= max(COUNT_TOLERANCE * max(count, size), rounding)


def _has_count(model_id: str, count: float) -> bool:
    """Returns whether the model has this many billion parameters, or is not known to have another number."""
    known = _counts()[model_id]
    return not known or any(_is_near(count, size) for size in known)


def _has_named_size(model_id: str, name: str, count: float) -> bool:
    """Returns whether the name itself states the size of the model, and the count is at least of its order."""
    known = _counts()[model_id]
    sizes = [
        float(size) * float(times or 1) * (1.0 if unit.casefold() == "b" else 1e-3)
        for times, size, unit in _NAMED_SIZE.findall(name)
    ]
    is_named = any(_is_near(size, known[0]) for size in sizes)
    return is_named and 1 / NAMED_SIZE_FACTOR <= count / known[0] <= NAMED_SIZE_FACTOR


@lru_cache(maxsize=20_000)
def _gpu(canonical: str | None, text: str | None) -> tuple[str | None, str | None]:
    spelt = [name for name in (canonical, text) if name and name.strip()]
    if not spelt:
        return None, "no GPU is stated"
    readings = [_candidates(name) for name in spelt]
    known = [keys for keys in readings if keys]
    if not known:
        return None, f"{spelt[0]:.60}: not a GPU of gpu.csv"
    both = known[0] & known[-1] or known[0]
    usual = _usual([cards()[key] for key in sorted(both)])
    if len(usual) == 1:
        return usual[0].key, None
    return None, f"{spelt[0]:.60}: can be {', '.join(card.key for card in usual[:4])}"


def _candidates(name: str) -> frozenset[str]:
    """Returns the GPUs that a spelling can mean; none for a slice, which is no whole card."""
    if name in cards():
        return frozenset((name,))
    if apple := _apple(name):
        return apple
    match = resolve_gpu(_UNIFIED.sub(" ", name))
    if match.is_slice:
        return frozenset()
    memories = [float(size) for size in _MEMORY.findall(name)]
    named = of_memory([cards()[key] for key in match.candidates], memories)
    return frozenset(card.key for card in named) or frozenset(match.candidates)


def _apple(name: str) -> frozenset[str]:
    """Returns the Apple chips of a name such as M2 Ultra 76-Core GPU 192GB or M3Max-40c."""
    plain = unicodedata.normalize("NFKC", name).casefold().replace("\u2011", "-").replace("\u2010", "-")
    chip = _APPLE.search(plain)
    if chip is None:
        return frozenset()
    prefix = f"APPLE-M{chip[1]}{(chip[2] or '').upper()}-"
    keys = [key for key in cards() if key.startswith(prefix)]
    cores = _APPLE_CORES.search(plain[chip.end() :])
    exact = [key for key in keys if cores and key.startswith(f"{prefix}{cores[1]}C-")]
    return frozenset(exact or keys)


def _usual(choice: list[Card]) -> list[Card]:
    """Returns the cards that a source means which does not state form factor, edition or memory."""
    choice = [card for card in choice if not card.is_modified] or choice
    choice = [card for card in choice if card.form in ("SXM", "OAM")] or choice
    choice = [card for card in choice if card.edition == "SE"] or choice
    if len({card.family for card in choice}) > 1:
        return choice
    first = min(_release_years()[card.key] for card in choice)
    choice = [card for card in choice if _release_years()[card.key] == first]
    if len({_speed()[card.key] for card in choice}) > 1:
        return choice
    most = max(card.vram_gb for card in choice)
    return [card for card in choice if card.vram_gb == most]


@lru_cache
def _release_years() -> dict[str, int]:
    return dict(read("gpu").select("gpu_key", pl.col("release_year").fill_null(9999)).iter_rows())


@lru_cache
def _speed() -> dict[str, tuple[float | None, float | None]]:
    rows = read("gpu").select("gpu_key", "memory_bandwidth_gb_per_s", "fp16_dense_tflops").iter_rows()
    return {key: (bandwidth, rate) for key, bandwidth, rate in rows}
