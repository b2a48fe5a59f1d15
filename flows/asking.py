"""The commands that ask: which offer for a job, and what a model needs on every GPU."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from flows.settings import read_settings
from flows.show import Format, lines, out, say

# Values stay text until the job is read, so that every mistake is one line of ours.
Text = str | None
FormatOption = Annotated[Format, Option("--format", help="How to print the rows.")]
ModelOption = Annotated[Text, Option(help="Model id such as llama-3.1-70b.")]
TaskOption = Annotated[
    Text, Option(help="serve, batch, embed, image, video, audio, lora, qlora, full, pretrain.")
]
PrecisionOption = Annotated[Text, Option(help="Weights: bf16, fp8, awq-int4 ...")]
KvPrecisionOption = Annotated[Text, Option(help="Cache: bf16, fp16, fp8, int8; kept on every GPU.")]
ContextOption = Annotated[Text, Option(help="Tokens per person, such as 32k.")]
InputOption = Annotated[Text, Option(help="Tokens of a prompt.")]
OutputOption = Annotated[Text, Option(help="Tokens of an answer.")]
CachedOption = Annotated[Text, Option(help="Share of a prompt that a prefix cache serves, 0 to 1.")]
UsersOption = Annotated[Text, Option(help="People at once.")]
SpeedOption = Annotated[Text, Option(help="Floor speed for each person, tokens per second.")]
FirstTokenOption = Annotated[Text, Option(help="Longest wait for the first token, ms.")]
ResolutionOption = Annotated[Text, Option(help="Width x height such as 1024x1024.")]
FramesOption = Annotated[Text, Option(help="Frames of a clip.")]
StepsOption = Annotated[Text, Option(help="Denoising steps.")]
GuidanceOption = Annotated[Text, Option(help="Passes of a step: 2 with guidance.")]
BatchOption = Annotated[Text, Option(help="Pictures, clips or streams at once.")]
PeakOption = Annotated[Text, Option(help="Measured peak memory, GiB.")]
SeqLenOption = Annotated[Text, Option(help="Tokens of a training sequence.")]
MicroBatchOption = Annotated[Text, Option(help="Sequences that a GPU holds at once.")]
GlobalBatchOption = Annotated[Text, Option(help="Tokens of an optimizer step.")]
LoraRankOption = Annotated[Text, Option(help="Rank of the adapters.")]
LoraTargetsOption = Annotated[Text, Option(help="attention or all linear layers: attention, all.")]
OptimizerOption = Annotated[Text, Option(help="adamw_mixed_16B, paged_adamw_8bit ...")]
RecomputeOption = Annotated[Text, Option(help="Activations computed again: none, selective, full.")]
MaxGpusOption = Annotated[Text, Option(help="Most GPUs that may be rented.")]


def rank(
    tier: Annotated[Text, Option(help="Tier id; `gpu-almanac tiers` lists them.")] = None,
    job: Annotated[Path | None, Option(help="Job file, .json or .toml, with the names of the flags.")] = None,
    task: TaskOption = None,
    model: ModelOption = None,
    precision: PrecisionOption = None,
    kv_precision: KvPrecisionOption = None,
    context: ContextOption = None,
    input: InputOption = None,
    output: OutputOption = None,
    cached_input: CachedOption = None,
    users: UsersOption = None,
    min_tok_s: SpeedOption = None,
    max_ttft_ms: FirstTokenOption = None,
    max_latency_s: Annotated[Text, Option(help="Longest wait for a picture or clip, s.")] = None,
    hours_per_month: Annotated[Text, Option(help="Hours that a service runs.")] = None,
    load: Annotated[Text, Option(help="Mean share of the promised users, 0 to 1.")] = None,
    sessions_per_month: Annotated[Text, Option(help="Starts of a service.")] = None,
    session_minutes: Annotated[Text, Option(help="Minutes that it then runs.")] = None,
    tokens: Annotated[Text, Option(help="Output tokens of a batch job.")] = None,
    pages: Annotated[Text, Option(help="Pages to read, of a tier that reads pages.")] = None,
    passages: Annotated[Text, Option(help="Passages to embed.")] = None,
    images: Annotated[Text, Option(help="Pictures to make.")] = None,
    clips: Annotated[Text, Option(help="Clips to make.")] = None,
    audio_hours: Annotated[Text, Option(help="Hours of sound to make or to read.")] = None,
    train_tokens: Annotated[Text, Option(help="Tokens to train on, such as 30M.")] = None,
    train_samples: Annotated[Text, Option(help="Pictures to train an adapter on.")] = None,
    resolution: ResolutionOption = None,
    frames: FramesOption = None,
    clip_seconds: Annotated[Text, Option(help="Seconds of a clip.")] = None,
    steps: StepsOption = None,
    guidance_passes: GuidanceOption = None,
    batch: BatchOption = None,
    peak_gib: PeakOption = None,
    seq_len: SeqLenOption = None,
    micro_batch: MicroBatchOption = None,
    global_batch: GlobalBatchOption = None,
    lora_rank: LoraRankOption = None,
    lora_targets: LoraTargetsOption = None,
    optimizer: OptimizerOption = None,
    recompute: RecomputeOption = None,
    deadline_hours: Annotated[Text, Option(help="Hours until all must be done.")] = None,
    checkpoint_min: Annotated[Text, Option(help="Minutes between two safe points.")] = None,
    max_gpus: MaxGpusOption = None,
    multi_node: Annotated[bool | None, Option("--multi-node", help="One run may span nodes.")] = None,
    fabric: Annotated[Text, Option(help="any, nvlink_if_split, nvlink_node ...")] = None,
    hosts: Annotated[Text, Option(help="any or no-peer.")] = None,
    tight: Annotated[bool | None, Option("--tight", help="Less than 8 % of spare memory will do.")] = None,
    region: Annotated[Text, Option(help="eu, a continent, a country such as DE ...")] = None,
    purchase: Annotated[
        list[str] | None, Option(help="on-demand, spot or reserved; may be repeated.")
    ] = None,
    billing: Annotated[Text, Option(help="Billed by second, minute or hour, or finer.")] = None,
    start_minutes: Annotated[Text, Option(help="Minutes from rent to work.")] = None,
    storage_gb: Annotated[Text, Option(help="Data kept.")] = None,
    egress_gb: Annotated[Text, Option(help="Data sent out, in a month or by the job.")] = None,
    objective: Annotated[Text, Option(help="usd-per-month, usd-per-job, usd-per-hour ...")] = None,
    limit: Annotated[int, Option(min=1, help="Rows to print.")] = 20,
    form: FormatOption = Format.table,
) -> None:
    """Rank the offers for a tier, for a job given in flags, or for a job file; flags change a tier or a file."""
    wishes = _given(locals(), "job", "limit", "form")
    from flows.answers import in_short

    answer = _ranked(wishes, job)
    for line in answer.notes:
        say(line)
    rows = answer.rows[:limit]
    out(in_short(rows) if form is Format.table else rows, form, title=answer.title)


def fit(
    model: Annotated[Text, typer.Argument(help="Model id such as llama-3.1-70b.")] = None,
    config: Annotated[
        Path | None, Option(help="config.json or safetensors header of a model that is not known.")
    ] = None,
    gpu: Annotated[list[str] | None, Option(help="Only this GPU; may be repeated.")] = None,
    task: TaskOption = None,
    precision: PrecisionOption = None,
    kv_precision: KvPrecisionOption = None,
    context: ContextOption = None,
    input: InputOption = None,
    output: OutputOption = None,
    cached_input: CachedOption = None,
    users: UsersOption = None,
    min_tok_s: SpeedOption = None,
    max_ttft_ms: FirstTokenOption = None,
    resolution: ResolutionOption = None,
    frames: FramesOption = None,
    steps: StepsOption = None,
    guidance_passes: GuidanceOption = None,
    batch: BatchOption = None,
    peak_gib: PeakOption = None,
    seq_len: SeqLenOption = None,
    micro_batch: MicroBatchOption = None,
    global_batch: GlobalBatchOption = None,
    lora_rank: LoraRankOption = None,
    lora_targets: LoraTargetsOption = None,
    optimizer: OptimizerOption = None,
    recompute: RecomputeOption = None,
    form: FormatOption = Format.table,
) -> None:
    """Show what a model needs and how fast it runs on every GPU, without prices: the memory bar and the speed."""
    wishes = _given(locals(), "config", "gpu", "form")
    from flows.fit import fitted, in_short

    answer = fitted(wishes, config, gpu or ())
    for line in answer.notes:
        say(line)
    if form is not Format.table:
        out(answer.rows, form)
        return
    lines(answer.bar)
    out(in_short(answer.rows), form, title=answer.title)


def _given(arguments: Mapping[str, Any], *own: str) -> dict[str, Any]:
    """Returns the arguments of a command that are wishes and were given; `own` are those of the command itself."""
    return {n: value for n, value in arguments.items() if n not in own and value is not None and value != []}


def _ranked(flags: dict[str, Any], file: Path | None) -> Any:
    from flows.answers import ranked_job, ranked_tier

    settings = read_settings()
    if file is None and not flags:
        raise typer.BadParameter(
            "name a --tier or a --job file, or describe a job with --model and further flags"
        )
    if file is None and set(flags) == {"tier"}:
        return ranked_tier(settings, flags["tier"])
    if file is None:
        return ranked_job(settings, flags)
    from flows.job_file import job_file

    of_file = {name: value for name, value in job_file(file).items() if name.replace("-", "_") not in flags}
    return ranked_job(settings, of_file | flags)
