"""How far the model is off, as the method page tells it: one table for each part of the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from page.data import Row
from page.texts import Texts
from page.words import word

# The classes of measurements that say most to a reader; docs/accuracy.md has all of them.
CLASSES = {
    "memory": (
        "all",
        "weights",
        "kv_cache",
        "hf_inference_peak",
        "diffusion_peak",
        "lora_peak",
        "qlora_peak",
        "full_peak",
        "pretrain_peak",
        "min_gpus",
        "fits",
    ),
    "text": (
        "all",
        "single_stream_decode",
        "batched_decode",
        "offline_throughput",
        "server",
        "prefill",
        "dense",
        "moe",
    ),
    "training": ("all", "pretrain", "full", "lora", "qlora", "experts"),
    "generation": ("all", "image", "video", "audio"),
}
NO_FIGURE = "–"


@dataclass(frozen=True, slots=True)
class Score:
    """One class of measurements: how many, how many of them are predicted, and how well."""

    what: Markup
    rows: str
    coverage: str
    error: str | Markup
    blind_error: str
    in_band: str
    order: str


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the model with its scores; without any where none is stored."""

    title: Markup
    scores: list[Score]


def parts(t: Texts, rows: Sequence[Row]) -> list[Part]:
    """Returns all parts of the model with the scores that `rows` of accuracy_score hold of their main classes."""
    stored = {(row["part"], row["case_class"], row["held_out"]): row for row in rows}
    told = []
    for part, classes in CLASSES.items():
        scores = []
        for code in classes:
            known, blind = stored.get((part, code, "none")), stored.get((part, code, "gpu"))
            if known or blind:
                scores.append(_score(t, code, known, blind))
        told.append(Part(part_title(t, part), scores))
    return told


def _score(t: Texts, code: str, known: Row | None, blind: Row | None) -> Score:
    """Returns a class: the error with all measurements at hand, the rest with each GPU left out where that is told."""
    row = blind or known or {}
    scored, refused = row["scored"], row["refused"]
    return Score(
        what=case_class(t, code),
        rows=t.number(scored + refused),
        coverage=_percent(t, row["coverage"]),
        error=_error(t, known),
        blind_error=_percent(t, blind["median_error"] if blind else None),
        in_band=_percent(t, row["in_band_share"]),
        order=_percent(t, row["right_pairs_share"]),
    )


def _error(t: Texts, known: Row | None) -> str | Markup:
    """Returns the median error; for a class of answers the share of right ones."""
    if known and known["right_share"] is not None and known["median_error"] is None:
        return t.say("%(share)s right", share=t.percent(known["right_share"]))
    return _percent(t, known["median_error"] if known else None)


def _percent(t: Texts, share: float | None) -> str:
    """Returns a share in per cent, or a dash for what nobody measured."""
    return NO_FIGURE if share is None else t.fine_percent(share)


def part_title(t: Texts, code: str) -> Markup:
    """The name of a part of the model."""
    return word(
        "part of the model",
        code,
        {
            "memory": t.say("Memory"),
            "text": t.say("Speed of text models"),
            "training": t.say("Speed of training"),
            "generation": t.say("Speed of images, video and sound"),
        },
    )


def case_class(t: Texts, code: str) -> Markup:
    """What a class of measurements is of."""
    return word(
        "class of measurements",
        code,
        {
            "all": t.say("All measurements"),
            "weights": t.say("Weights"),
            "kv_cache": t.say("KV cache"),
            "hf_inference_peak": t.say("Peak of inference"),
            "diffusion_peak": t.say("Peak of making images"),
            "lora_peak": t.say("Peak of LoRA"),
            "qlora_peak": t.say("Peak of QLoRA"),
            "full_peak": t.say("Peak of full fine-tuning"),
            "pretrain_peak": t.say("Peak of pretraining"),
            "min_gpus": t.say("Fewest GPUs"),
            "fits": t.say("Fits or does not"),
            "single_stream_decode": t.say("One person at a time"),
            "batched_decode": t.say("Several at a time"),
            "offline_throughput": t.say("Batch work"),
            "server": t.say("A server under load"),
            "prefill": t.say("Reading the input"),
            "dense": t.say("Dense models"),
            "moe": t.say("Mixtures of experts"),
            "pretrain": t.say("Pretraining"),
            "full": t.say("Full fine-tuning"),
            "lora": t.say("LoRA"),
            "qlora": t.say("QLoRA"),
            "experts": t.say("Mixtures of experts"),
            "image": t.say("Images"),
            "video": t.say("Video"),
            "audio": t.say("Sound"),
        },
    )
