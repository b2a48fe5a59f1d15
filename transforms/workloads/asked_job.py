"""A job as a person asks for it: each wish has one name, the same in flags, in a job file and in Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import polars as pl

from transforms.reference import tables
from transforms.workloads.jobs import job as job_of_columns
from transforms.workloads.jobs import tier_jobs
from transforms.workloads.models import geometry
from transforms.workloads.plain_job import (
    ADAPTED_MODALITIES,
    AMOUNTS,
    BASE_TIER,
    MODALITIES,
    amount,
    base_tier,
    plain_job,
)
from transforms.workloads.ranking import QUANTITY
from transforms.workloads.wishes import (
    CHOICES,
    NUMBERS,
    OBJECTIVE_TASKS,
    PURCHASES,
    TRAINING,
    JobError,
    number_of,
    one_of,
    pixels,
    place,
    said,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is to be done, for whom, how fast, where, and how it is paid. A wish that is None is left open.

    Open wishes are those of `tier`; without a tier, those of a plain job of the same task, of which the model and
    the amount of work must be said. Lengths are tokens, shares lie between 0 and 1, units stand in the names.

    Raises:
        JobError: a name that is not known, a number outside its limits, or wishes that contradict each other.
    """

    tier: str | None = None
    task: str | None = None
    model: str | None = None
    precision: str | None = None
    kv_precision: str | None = None
    context: float | None = None
    input: float | None = None
    output: float | None = None
    cached_input: float | None = None
    users: float | None = None
    min_tok_s: float | None = None
    max_ttft_ms: float | None = None
    max_latency_s: float | None = None
    hours_per_month: float | None = None
    load: float | None = None
    sessions_per_month: float | None = None
    session_minutes: float | None = None
    tokens: float | None = None
    pages: float | None = None
    passages: float | None = None
    images: float | None = None
    clips: float | None = None
    audio_hours: float | None = None
    train_tokens: float | None = None
    train_samples: float | None = None
    resolution: str | None = None
    frames: float | None = None
    clip_seconds: float | None = None
    steps: float | None = None
    guidance_passes: float | None = None
    batch: float | None = None
    peak_gib: float | None = None
    seq_len: float | None = None
    micro_batch: float | None = None
    global_batch: float | None = None
    lora_rank: float | None = None
    lora_targets: str | None = None
    optimizer: str | None = None
    recompute: str | None = None
    deadline_hours: float | None = None
    checkpoint_min: float | None = None
    max_gpus: float | None = None
    multi_node: bool | None = None
    fabric: str | None = None
    hosts: str | None = None
    tight: bool | None = None
    region: str | None = None
    purchase: tuple[str, ...] | None = None
    billing: str | None = None
    start_minutes: float | None = None
    storage_gb: float | None = None
    egress_gb: float | None = None
    objective: str | None = None

    def __post_init__(self) -> None:
        job_row(self)


# What a user says of these is kept, where a tier only assumes it.
FIXED = {"kv_precision": "is_kv_fixed", "peak_gib": "is_peak_fixed"}
NAMES = tuple(field.name for field in fields(Job))


def job_row(job: Job) -> pl.DataFrame:
    """Returns the job as one JOB row. Raises JobError."""
    wishes = {name: getattr(job, name) for name in NAMES if getattr(job, name) is not None}
    tier_id, task = _tier_and_task(wishes)
    columns = _columns(wishes)
    if tier_id is None:
        base = _tier(base_tier(task, _model(columns["model_id"])["modality"]))
    else:
        base = _tier(tier_id)
    _check_known(wishes, base)
    _check_model(task, columns.get("model_id", base["model_id"]), columns.get("weight_precision"))
    if tier_id is None:
        columns = plain_job(base, columns["model_id"], columns)
    _check_lengths(base | columns)
    try:
        row = job_of_columns(base["tier_id"], **(columns | _hours(wishes, base)))
    except ValueError as error:
        raise JobError(str(error)) from error
    _check_objective(row)
    return row


def assumed(row: Mapping[str, Any]) -> str:
    """Returns what a JOB row asks in one line, with the names of the wishes: also what nobody said."""
    task, unit = row["task"], amount(row)
    words = [f"{task} {row['model_id']} in {row['weight_precision']}"]
    words += [f"cache {row['kv_precision']}"] if task in ("serve", "batch") else []
    for name, number in NUMBERS.items():
        value = row[number.column]
        is_for_it = not number.tasks or {task, row["kind"]} & set(number.tasks)
        is_other_amount = number.column == "work_quantity" and name != unit
        if value is not None and is_for_it and not is_other_amount:
            words.append(f"{said(name)} {value:.12g}")
    if row["width_px"] is not None:
        words.append(f"resolution {row['width_px']:.0f}x{row['height_px']:.0f}")
    for name in ("optimizer", "recompute", "lora_targets", "region"):
        words += [f"{said(name)} {row[name]}"] if row[name] else []
    words.append(f"purchase {' or '.join(row['purchase_kinds'])}")
    if row["max_billing_increment_s"] is not None:
        words.append(f"billing by {row['max_billing_increment_s']:g} s or less")
    words += ["no peer hosts"] if row["hosts_allowed"] == "no_peer" else []
    words += [f"fabric {row['required_fabric']}"] if row["required_fabric"] != "any" else []
    words += ["several nodes"] if row["allow_multi_node"] else []
    words += ["tight memory allowed"] if row["worst_verdict_allowed"] == "tight" else []
    words.append(f"objective {row['objective']}")
    return ", ".join(words)


def amount_wish(wishes: Mapping[str, Any]) -> str | None:
    """Returns the wish that says how much there is to do in a job of these wishes; None for a service."""
    tier_id, task = _tier_and_task(wishes)
    return amount(_tier(tier_id or base_tier(task, _model(wishes["model"])["modality"])))


def _tier(tier_id: str) -> dict[str, Any]:
    return tier_jobs().row(by_predicate=pl.col("tier_id") == tier_id, named=True)


def _tier_and_task(wishes: Mapping[str, Any]) -> tuple[str | None, str]:
    """Returns the tier, if one is named, and the task: as said, as in the tier, or what the model is for."""
    task = wishes.get("task")
    if task is not None:
        task = one_of("task", task, {name: name for name in BASE_TIER})
    if "tier" in wishes:
        tiers = dict(tier_jobs().select("tier_id", "task").iter_rows())
        known = {name: name for name in tiers}
        tier_id = one_of("tier", wishes["tier"], known, listed="a tier of `gpu-almanac tiers`")
        if task not in (None, tiers[tier_id]):
            raise JobError(f"task {task}: tier {tier_id} is of task {tiers[tier_id]}; leave one of them out")
        return tier_id, tiers[tier_id]
    if "model" not in wishes:
        raise JobError("model: not said; name a model such as llama-3.1-70b, or a tier")
    modality = _model(wishes["model"])["modality"]
    of_model = [name for name, modalities in MODALITIES.items() if modality in modalities]
    return None, task or ("serve" if "serve" in of_model else of_model[0])


def _model(name: object) -> dict[str, Any]:
    known = {model_id: model_id for model_id in geometry()["model_id"]}
    model_id = one_of("model", name, known, listed="one of the known models")
    return geometry().row(by_predicate=pl.col("model_id") == model_id, named=True)


def _columns(wishes: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the wishes as JOB columns, each checked by itself."""
    columns = {
        NUMBERS[name].column: number_of(name, value) for name, value in wishes.items() if name in NUMBERS
    }
    for name, (column, known, _) in CHOICES.items():
        if name in wishes:
            columns[column] = one_of(name, wishes[name], known)
    return columns | _of_tables(wishes) | _of_other_kinds(wishes, columns)


def _of_tables(wishes: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the columns of the wishes whose words stand in the reference facts."""
    columns: dict[str, Any] = {}
    if "model" in wishes:
        columns["model_id"] = _model(wishes["model"])["model_id"]
    if "precision" in wishes:
        known = {name: name for name in tables.read("quant_format")["weight_precision"]}
        columns["weight_precision"] = one_of("precision", wishes["precision"], known)
    if "optimizer" in wishes:
        known = {name: name for name in tables.read("optimizer")["optimizer"]}
        columns["optimizer"] = one_of("optimizer", wishes["optimizer"], known)
    if "fabric" in wishes:
        known = {name: name for name in sorted(tier_jobs()["required_fabric"].unique())}
        columns["required_fabric"] = one_of("fabric", wishes["fabric"], known)
    if "region" in wishes:
        columns["region"] = place(wishes["region"])
    return columns


def _of_other_kinds(wishes: Mapping[str, Any], columns: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the columns of lists, sizes, yes and no, and what one wish says beside its own column."""
    also: dict[str, Any] = {}
    for name in ("multi_node", "tight"):
        if not isinstance(wishes.get(name, False), bool):
            raise JobError(f"{said(name)} {wishes[name]!r:.40}: must be true or false")
    if "multi_node" in wishes:
        also["allow_multi_node"] = wishes["multi_node"]
    if "tight" in wishes:
        also["worst_verdict_allowed"] = "tight" if wishes["tight"] else "fits"
    if "purchase" in wishes:
        kinds = wishes["purchase"]
        kinds = kinds if isinstance(kinds, list | tuple) and kinds else (kinds,)
        also["purchase_kinds"] = [one_of("purchase", kind, PURCHASES) for kind in kinds]
    if "resolution" in wishes:
        also["width_px"], also["height_px"] = pixels(wishes["resolution"])
    also |= {flag: True for name, flag in FIXED.items() if name in wishes}
    for name in ("train_tokens", "train_samples"):
        if name in wishes:
            also["work_quantity"] = columns[name]
    if "audio_hours" in wishes:
        also |= {"audio_hours": columns["work_quantity"], "work_unit": "audio_hours"}
    return also


def _check_known(wishes: Mapping[str, Any], base: Mapping[str, Any]) -> None:
    """Raises JobError for a wish that says nothing about such a job."""
    tasks = {name: number.tasks for name, number in NUMBERS.items()}
    tasks |= {name: known for name, (_, _, known) in CHOICES.items()}
    tasks |= {"resolution": ("image", "video"), "optimizer": TRAINING, "multi_node": TRAINING}
    words = {"demand": "services", "job": "work that ends"}
    task, kind = base["task"], base["kind"]
    for name in wishes:
        known = tasks.get(name, ())
        if name in AMOUNTS and kind == "job" and name != amount(base):
            raise JobError(f"{said(name)}: does not go with task {task}; say {said(amount(base) or 'hours')}")
        if known and not {task, kind} & set(known):
            meant = ", ".join(words.get(one, one) for one in known)
            raise JobError(f"{said(name)}: does not go with task {task}; it is for {meant}")


def _check_model(task: str, model_id: str, precision: str | None) -> None:
    """Raises JobError for a model of another kind than the task, and for the base precision of the other method."""
    modality = _model(model_id)["modality"]
    allowed = (*MODALITIES.get(task, (modality,)), *(ADAPTED_MODALITIES if task == "lora" else ()))
    if modality not in allowed:
        raise JobError(
            f"task {task}: {model_id} is a model for {modality}, the task needs {', '.join(allowed)}"
        )
    if precision is None:
        return
    bits = tables.read("quant_format").filter(weight_precision=precision)["other_bits_dense"].item()
    if task == "qlora" and bits > 9:
        raise JobError(
            f"precision {precision}: qlora keeps its base quantised, as nf4; in {precision} it is lora"
        )
    if task == "lora" and bits < 8:
        raise JobError(f"precision {precision}: a base in {precision} makes it qlora; say task qlora")


def _check_lengths(row: Mapping[str, Any]) -> None:
    """Raises JobError for texts longer than the context, or a context longer than the model can read."""
    longest = _model(row["model_id"])["max_context"]
    for name in ("context", "seq_len"):
        tokens = row[NUMBERS[name].column]
        if tokens is not None and longest is not None and tokens > longest:
            text = (
                f"{said(name)} {tokens:.0f}: above the {longest:.0f} tokens that {row['model_id']} can read"
            )
            raise JobError(text)
    texts = (row["input_tokens"] or 0) + (row["output_tokens"] or 0)
    if row["context_tokens"] is not None and texts > row["context_tokens"]:
        raise JobError(
            f"context {row['context_tokens']:.0f}: shorter than input {row['input_tokens']:.0f}"
            f" and output {row['output_tokens']:.0f} together"
        )
    step, whole = (row["micro_batch"] or 0) * (row["seq_len"] or 0), row["global_batch_tokens"]
    if whole is not None and step > whole:
        raise JobError(f"global-batch {whole:.0f}: less than the {step:.0f} tokens of one micro batch")


def _check_objective(row: pl.DataFrame) -> None:
    """Raises JobError where what the objective counts is not there."""
    objective, task, kind = row.select("objective", "task", "kind").row(0)
    if not {task, kind} & set(OBJECTIVE_TASKS.get(objective, (task,))):
        raise JobError(f"objective {said(objective)}: cannot be counted for task {task}")
    if row.with_columns(elapsed_hours=1.0).select(QUANTITY[objective]).item() is None:
        needed = "min-tok-s" if task == "serve" else "clip-seconds"
        raise JobError(f"objective {said(objective)}: cannot be counted without {needed}")


def _hours(wishes: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, float]:
    """Returns the hours of a month and of a session, which follow from each other."""
    sessions, minutes = wishes.get("sessions_per_month"), wishes.get("session_minutes")
    hours = wishes.get("hours_per_month")
    if sessions is None and minutes is None:
        if hours is None:
            return {}
        return {"hours_per_month": hours, "session_minutes": hours * 60 / base["sessions_per_month"]}
    sessions = sessions or base["sessions_per_month"]
    minutes = minutes or base["session_minutes"]
    spent = sessions * minutes / 60
    if hours is not None and abs(hours - spent) > 0.01 * spent:
        raise JobError(f"hours-per-month {hours:g}: the sessions make {spent:g} hours; leave one of them out")
    if spent > NUMBERS["hours_per_month"].high:
        raise JobError(
            f"session-minutes {minutes:g}: {sessions:g} sessions make {spent:g} hours, more than a month has"
        )
    return {
        "hours_per_month": spent,
        "sessions_per_month": float(sessions),
        "session_minutes": float(minutes),
    }
