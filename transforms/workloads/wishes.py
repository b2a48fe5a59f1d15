"""The words of a question: what each wish is called, what may be said, and what it means in a JOB row."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from transforms.reference import tables
from transforms.workloads.ranking import QUANTITY

NAMES_LISTED = 12
TRAINING = ("lora", "qlora", "full", "pretrain")


class JobError(ValueError):
    """A job that cannot be. The message is one line: the value, what is allowed, and the nearest name."""


@dataclass(frozen=True, slots=True)
class Number:
    """A wish that is a number: its JOB column, the tasks that know it, its limits, and how people write it.

    `written` is length (32k is 32,768 tokens), count (5M is five million) or plain.
    """

    column: str
    tasks: tuple[str, ...]
    low: float
    high: float
    written: str = "plain"
    is_whole: bool = False


def _length(column: str, *tasks: str) -> Number:
    return Number(column, tasks, 1, 1e9, "length", is_whole=True)


def _count(column: str, *tasks: str, low: float = 1, high: float = 1e15) -> Number:
    return Number(column, tasks, low, high, "count", is_whole=True)


# "demand" is every service, whatever its task, and "job" everything that ends.
NUMBERS: dict[str, Number] = {
    "context": _length("context_tokens", "serve", "batch"),
    "input": _length("input_tokens", "serve", "batch", "embed"),
    "output": _length("output_tokens", "serve", "batch"),
    "cached_input": Number("cached_input_share", ("serve", "batch"), 0, 1),
    "users": _count("concurrent_users", "demand", high=1e6),
    "min_tok_s": Number("min_tokens_per_s_per_user", ("serve",), 1e-3, 1e5),
    "max_ttft_ms": Number("max_ttft_ms", ("serve",), 1, 1e7),
    "max_latency_s": Number("max_latency_s", ("image", "video"), 1e-3, 1e6),
    "hours_per_month": Number("hours_per_month", ("demand",), 0.01, 744),
    "load": Number("mean_load", ("demand",), 1e-3, 1),
    "sessions_per_month": _count("sessions_per_month", "demand", high=1e5),
    "session_minutes": Number("session_minutes", ("demand",), 0.01, 44_640),
    "tokens": _count("work_quantity", "batch"),
    "pages": _count("work_quantity", "batch"),
    "passages": _count("work_quantity", "embed"),
    "images": _count("work_quantity", "image", high=1e12),
    "clips": _count("work_quantity", "video", high=1e12),
    "audio_hours": Number("work_quantity", ("audio",), 1e-3, 1e9),
    "train_tokens": _count("train_tokens", *TRAINING, high=1e16),
    "train_samples": _count("train_samples", "lora", high=1e12),
    "frames": _count("frames", "video", high=1e5),
    "clip_seconds": Number("clip_seconds", ("video",), 0.01, 1e4),
    "steps": _count("steps", "image", "video", "audio", high=1e4),
    "guidance_passes": _count("guidance_passes", "image", "video", high=3),
    "batch": _count("batch", "image", "video", "audio", high=1e4),
    "peak_gib": Number("assumed_peak_gib", ("image", "video", "audio"), 0.01, 1e5),
    "seq_len": _length("seq_len", *TRAINING),
    "micro_batch": _count("micro_batch", *TRAINING, high=1e4),
    "global_batch": _length("global_batch_tokens", *TRAINING),
    "lora_rank": _count("lora_rank", "lora", "qlora", high=1e4),
    "deadline_hours": Number("deadline_hours", ("job",), 0.01, 87_600),
    "checkpoint_min": Number("checkpoint_interval_min", ("job",), 0.01, 1e5),
    "max_gpus": _count("max_gpus", high=1e5),
    "start_minutes": Number("start_minutes", (), 0, 1e4),
    "storage_gb": Number("storage_gb", (), 0, 1e9),
    "egress_gb": Number("egress_gb_per_month", (), 0, 1e9),
}
PURCHASES = {"on-demand": "on_demand", "spot": "spot", "reserved": "reserved"}
BILLING_STEPS_S = {"second": 1.0, "minute": 60.0, "hour": 3600.0}
# `eu` alone means the member states of the European Union; the continent is called europe.
CONTINENTS = {
    "africa": "AF",
    "asia": "AS",
    "europe": "EU",
    "north america": "NA",
    "oceania": "OC",
    "south america": "SA",
}
# The column, the words people write with what JOB calls them, and the tasks that know the wish.
CHOICES: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    "kv_precision": ("kv_precision", {n: n for n in ("bf16", "fp16", "fp8", "int8")}, ("serve", "batch")),
    "lora_targets": (
        "lora_targets",
        {"attention": "attention projections", "all": "all linear layers"},
        ("lora", "qlora"),
    ),
    "recompute": ("recompute", {n: n for n in ("none", "selective", "full")}, TRAINING),
    "billing": ("max_billing_increment_s", BILLING_STEPS_S, ()),
    "hosts": ("hosts_allowed", {"any": "any", "no-peer": "no_peer"}, ()),
    "objective": ("objective", {name.replace("_", "-"): name for name in QUANTITY}, ()),
}
# What an objective counts is there in some tasks only; the others count in all.
OBJECTIVE_TASKS = {
    "usd_per_month": ("demand",),
    "usd_per_job": ("job",),
    "usd_per_million_output_tokens": ("serve", "batch"),
    "usd_per_1000_images": ("image", "batch"),
    "usd_per_audio_hour": ("audio",),
    "usd_per_video_second": ("video",),
    "usd_per_billion_train_tokens": TRAINING,
}


def place(text: object) -> str:
    """Returns what a job asks for as its region: eu, a continent, a country or a region key. Raises JobError."""
    wish = str(text).strip().lower()
    regions = tables.read("region")
    codes: list[str] = regions["country_iso2"].drop_nulls().unique().sort().to_list()
    known: dict[str, str] = {"eu": "eu", **CONTINENTS, **{code.lower(): code for code in codes}}
    known |= {key.lower(): key for key in regions["region_key"].drop_nulls().unique().sort()}
    if wish in known:
        return known[wish]
    # few words are names of countries, and their table is slow to import
    from babel import Locale

    names = {str(Locale("en").territories[code]).lower(): code for code in codes}
    if wish in names:
        return names[wish]
    allowed = "must be eu, a continent, a country such as DE, or a region key"
    raise JobError(f"region {text!r:.60}: {allowed}{nearest(wish, [*names, *known])}")


def nearest(value: str, known: Iterable[str]) -> str:
    """Returns "; did you mean x?" with the nearest of the known names, or nothing."""
    spelled = {name.lower(): name for name in known}
    found = get_close_matches(value.lower(), list(spelled), n=1, cutoff=0.5)
    return f"; did you mean {spelled[found[0]]}?" if found else ""


def said(name: str) -> str:
    """Returns the name of a wish as it is written in flags."""
    return name.replace("_", "-")


def one_of(name: str, value: object, known: Mapping[str, Any], *, listed: str | None = None) -> Any:
    """Returns what a word means. Raises JobError with the allowed ones, or where they are listed."""
    word = value.strip().lower().replace("_", "-") if isinstance(value, str) else ""
    meaning = {spelling.lower().replace("_", "-"): meant for spelling, meant in known.items()}
    if word in meaning:
        return meaning[word]
    few, more = list(known)[:NAMES_LISTED], len(known) - NAMES_LISTED
    allowed = listed or f"one of {', '.join(few)}" + (f" and {more} others" if more > 0 else "")
    raise JobError(f"{said(name)} {value!r:.60}: must be {allowed}{nearest(word, known)}")


LARGEST = 1e300


def number_of(name: str, value: object) -> float:
    """Returns the number of a wish within its limits. Raises JobError for one outside, and for what is none."""
    wish = NUMBERS[name]
    limits = f"{wish.low:,.10g} to {wish.high:,.10g}"
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # neither NaN nor infinite, nor a whole number too large to become a float
    if not is_number or not abs(value) < LARGEST:  # type: ignore[arg-type]
        raise JobError(f"{said(name)} {value!r:.40}: must be a number from {limits}")
    if not wish.low <= value <= wish.high:  # type: ignore[operator]
        raise JobError(f"{said(name)} {value:.12g}: must be from {limits}")
    if wish.is_whole and value != int(value):  # type: ignore[call-overload]
        raise JobError(f"{said(name)} {value:.12g}: must be a whole number")
    return float(value)  # type: ignore[arg-type]


def pixels(text: object) -> tuple[float, float]:
    """Returns width and height of a text such as 1024x1024. Raises JobError."""
    match = re.fullmatch(r"(\d{2,5})\s*[xX×]\s*(\d{2,5})", str(text).strip())
    if not match:
        raise JobError(f"resolution {text!r:.40}: must be width x height in pixels, such as 1024x1024")
    return float(match.group(1)), float(match.group(2))
