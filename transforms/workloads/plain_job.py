"""What a job without a tier leaves open: a plain job of its task, on demand or for as long as it takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from transforms.reference.tables import assumption
from transforms.workloads.jobs import tier_jobs
from transforms.workloads.models import TEXT_MODALITIES, geometry
from transforms.workloads.wishes import TRAINING, JobError, said

# The tier that fills what a job of a task leaves open, and the wish that says how much work it is.
BASE_TIER = {
    "serve": "text-8b-int4-team",
    "batch": "batch-8b-fp8",
    "embed": "embed-10b-tokens",
    "image": "img-12b-batch",
    "video": "vid-5b-720p-batch",
    "audio": "asr-batch-1000h",
    "lora": "lora-8b-bf16",
    "qlora": "qlora-8b",
    "full": "full-8b",
    "pretrain": "pre-1b7-100b",
}
PICTURE_ADAPTER_TIER = "lora-img-6b"
AMOUNT = {
    "batch": "tokens",
    "embed": "passages",
    "image": "images",
    "video": "clips",
    "audio": "audio_hours",
    **dict.fromkeys(TRAINING, "train_tokens"),
}
AMOUNT_OF_UNIT = {"samples": "train_samples", "pages": "pages"}
AMOUNTS = frozenset((*AMOUNT.values(), *AMOUNT_OF_UNIT.values()))
MODALITIES = {
    "image": ("image",),
    "video": ("video", "video+audio"),
    "audio": ("asr", "tts", "music", "audio"),
    **dict.fromkeys(("serve", "batch", "embed", *TRAINING), TEXT_MODALITIES),
}
ADAPTED_MODALITIES = ("image",)
NODE_GPUS = 8.0
CONTEXT_TOKENS, INPUT_TOKENS, OUTPUT_TOKENS = 8192.0, 1024.0, 256.0


def base_tier(task: str, modality: str) -> str:
    """Returns the tier whose columns fill a plain job of a task on a model of this kind."""
    learns_pictures = task == "lora" and modality in ADAPTED_MODALITIES
    return PICTURE_ADAPTER_TIER if learns_pictures else BASE_TIER[task]


def amount(row: Mapping[str, Any]) -> str | None:
    """Returns the wish that says how much there is to do in a JOB row; None for a service, which has users."""
    if row["kind"] == "demand":
        return None
    return AMOUNT_OF_UNIT.get(row["work_unit"], AMOUNT.get(row["task"]))


def plain_job(base: Mapping[str, Any], model_id: str, columns: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the JOB columns of a job: those that are said, and those of a plain job of its task.

    It is like the JOB row `base` without its limits. Size, steps and stated peak of pictures, clips and sound
    come from the first tier of the same model, if there is one: the peak only where nothing is changed that
    sets it. Raises JobError where the amount of work or the size of a picture is not said.
    """
    task = base["task"]
    same = tier_jobs().filter(pl.col("task") == task, pl.col("model_id") == model_id)
    like = same.row(0, named=True) if same.height else dict.fromkeys(tier_jobs().columns)
    is_service = task == "serve"
    plain: dict[str, Any] = {
        "tier_id": "own-job",
        "title_en": "own job",
        "weight_precision": "nf4" if task == "qlora" else "bf16",
        "kv_precision": "bf16" if task in ("serve", "batch") else "none",
        "hosts_allowed": "any",
        # Spot machines may vanish: a service gets them only if it asks.
        "purchase_kinds": ["on_demand", "reserved"] if is_service else ["on_demand", "spot", "reserved"],
        "max_gpus": NODE_GPUS,
        "allow_multi_node": columns.get("max_gpus", NODE_GPUS) > NODE_GPUS,
        "required_fabric": "nvlink_node" if task == "pretrain" else "any",
        "worst_verdict_allowed": "fits",
        **dict.fromkeys(("min_tokens_per_s_per_user", "max_ttft_ms", "max_latency_s", "deadline_hours")),
        **dict.fromkeys(("storage_gb", "egress_gb_per_month")),
    }
    if not is_service:
        # that of a service follows from its users and their floor
        plain["work_quantity"] = None
    else:
        plain |= {"concurrent_users": 1.0, "cached_input_share": 0.0}
    if task == "batch":
        # Fewer sequences at once are slower, not impossible.
        plain["concurrent_users"] = 1.0
    if task in ("serve", "batch", "embed"):
        plain |= _lengths(task, model_id, columns)
    if task in ("image", "video", "audio") or base["tier_id"] == PICTURE_ADAPTER_TIER:
        plain |= _of_model(task, like, columns)
    job = plain | dict(columns)
    _check_complete(dict(base) | job)
    return job


def _lengths(task: str, model_id: str, columns: Mapping[str, Any]) -> dict[str, float]:
    """Returns lengths that go together: those of the common tier, shorter where the context is.

    A service of which only the context is said is a conversation that fills it, as in the table fit.
    """
    said_input, said_output = columns.get("input_tokens"), columns.get("output_tokens")
    if task == "serve" and said_input is None and "context_tokens" in columns:
        return _full_conversation(columns["context_tokens"], said_output)
    if task == "embed":
        length = said_input or INPUT_TOKENS / 2
        return {"input_tokens": length, "context_tokens": length}
    longest = geometry().row(by_predicate=pl.col("model_id") == model_id, named=True)["max_context"]
    texts = (said_input or INPUT_TOKENS) + (said_output or OUTPUT_TOKENS)
    usual = texts if task == "batch" else max(CONTEXT_TOKENS, texts)
    context = columns.get("context_tokens") or min(longest or usual, usual)
    room = max(context - (said_input or 1), 1)
    output = said_output or min(OUTPUT_TOKENS, max(context // 4, 1), room)
    return {
        "context_tokens": context,
        "output_tokens": output,
        "input_tokens": said_input or min(INPUT_TOKENS, max(context - output, 1)),
    }


def _full_conversation(context: float, said_output: float | None) -> dict[str, float]:
    """Returns the lengths of a turn at full context: some new tokens, the rest cached, and the answer."""
    output = min(said_output or assumption("fit_answer_tokens"), max(context // 4, 1))
    prompt = max(context - output, 1)
    return {
        "context_tokens": context,
        "output_tokens": output,
        "input_tokens": prompt,
        "cached_input_share": 1 - min(assumption("fit_new_tokens"), prompt) / prompt,
    }


def _of_model(task: str, like: Mapping[str, Any], columns: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what belongs to a model of pictures, clips or sound."""
    names = ("width_px", "height_px", "frames", "clip_seconds", "steps")
    of_model = {name: like[name] for name in names}
    of_model |= {name: like[name] or 1.0 for name in ("guidance_passes", "batch")}
    sets_peak = ("width_px", "height_px", "frames", "batch", "weight_precision")
    is_same = all(columns.get(name, like[name]) == like[name] for name in sets_peak)
    of_model["assumed_peak_gib"] = like["assumed_peak_gib"] if is_same else None
    if task == "audio":
        of_model["work_unit"] = "audio_hours"
    if task == "video":
        of_model |= {"objective": "usd_per_job", "secondary_objective": None}
    return of_model


def _check_complete(job: Mapping[str, Any]) -> None:
    task, wish = job["task"], amount(job)
    if wish is not None and job["work_quantity"] is None:
        raise JobError(f"{said(wish)}: not said; a job of task {task} needs how much there is to do")
    sizes = {"image": ("width_px", "steps"), "video": ("width_px", "frames", "steps")}
    for column in sizes.get(task, ()):
        if job[column] is None:
            wish = "resolution" if column == "width_px" else column
            raise JobError(f"{wish}: not said; no tier has {job['model_id']} to take it from")
