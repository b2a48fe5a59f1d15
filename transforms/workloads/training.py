"""Training on a layout: LoRA, QLoRA, full fine-tuning and pretraining of text models, sharded over the GPUs.

Memory: memory sizing study, section 8. Speed: training and generation study, section 2 (arithmetic) and 2.3
(multipliers). All functions of memory and speed return expressions over one row per job, hardware and layout.
"""

from __future__ import annotations

import polars as pl

from transforms.reference import tables
from transforms.workloads import outcome, precision, sizing
from transforms.workloads.coefficients import coefficient, coefficients

_GPUS = pl.col("gpus_per_replica")
_IS_ADAPTER = pl.col("task").is_in(["lora", "qlora"])
_STACK_OF_TASK = {"lora": "hf", "qlora": "hf", "full": "native", "pretrain": "tuned"}
_ENGINE_OF_TASK = {
    "lora": "hf peft",
    "qlora": "hf peft",
    "full": "pytorch fsdp",
    "pretrain": "megatron class",
}


def step_tokens() -> pl.Expr:
    """Tokens that one GPU holds at once: micro batch times sequence."""
    return pl.col("micro_batch") * pl.col("seq_len")


def attention_width() -> pl.Expr:
    """Query heads times head size."""
    return pl.col("num_attention_heads") * pl.col("head_dim")


def _kv_width() -> pl.Expr:
    """Width of keys; a latent cache is spread to all heads in training."""
    heads = pl.when(pl.col("attention") == "mla").then("num_attention_heads").otherwise("num_kv_heads")
    return heads * pl.col("head_dim")


def adapter_params() -> pl.Expr:
    """Parameters of the adapters: rank x (in + out) over the target matrices.

    Null for experts under "all linear layers": releases differ in what they adapt there.
    """
    hidden, queries, keys = pl.col("hidden_size"), attention_width(), _kv_width()
    attention = 2 * (hidden + queries) + 2 * (hidden + keys)
    feed_forward = pl.when(~pl.col("is_moe")).then(3 * (hidden + pl.col("intermediate_size")))
    widths = (
        pl.when(pl.col("lora_targets") == "attention projections")
        .then(attention)
        .when(pl.col("lora_targets") == "all linear layers")
        .then(attention + feed_forward)
    )
    return pl.col("lora_rank") * widths * pl.col("num_layers")


def frozen_weights_gib() -> pl.Expr:
    """GiB of the weights over all GPUs: the base of an adapter, or 16 bit of a model that is trained."""
    trained = 2 * pl.col("params_total")
    return pl.when(_IS_ADAPTER).then(sizing.weight_bytes()).otherwise(trained) / sizing.GIB


def states_gib() -> pl.Expr:
    """GiB of gradients, moments and 32-bit copies over all GPUs, by optimizer; adapters count whole."""
    adapters = adapter_params() * pl.col("adapter_state_bytes")
    trained = pl.col("params_total") * (pl.col("full_state_bytes") - 2)
    return pl.when(_IS_ADAPTER).then(adapters).otherwise(trained) / sizing.GIB


def activations_gib() -> pl.Expr:
    """GiB of saved activations per GPU, by recompute policy: none, full, or selective (every other layer)."""
    hidden = pl.col("hidden_size")
    one_layer = 8 * hidden + 4 * attention_width() + 4 * _kv_width() + 8 * pl.col("intermediate_size")
    kept = one_layer * pl.col("num_layers")
    recomputed = 2 * hidden * pl.col("num_layers") + one_layer
    per_token = (
        pl.when(pl.col("recompute") == "full")
        .then(recomputed)
        .when(pl.col("recompute") == "selective")
        .then((kept + recomputed) / 2)
        .when(pl.col("recompute") == "none")
        .then(kept)
    )
    return per_token * step_tokens() / sizing.GIB


def logits_gib() -> pl.Expr:
    """GiB per GPU of the logits of a plain cross-entropy: 16-bit values, a 32-bit copy and its gradient."""
    return coefficient("logits_bytes_per_vocab") * pl.col("vocab_size") * step_tokens() / sizing.GIB


def gathered_layer_gib() -> pl.Expr:
    """GiB of one layer at 16 bit: gathered when weights are sharded, or unpacked from 4 bit."""
    layer = (pl.col("params_total") - pl.col("params_embed")) / pl.col("num_layers") * 2 / sizing.GIB
    is_gathered = (_GPUS > 1) | (pl.col("task") == "qlora")
    return pl.when(is_gathered).then(layer).otherwise(0.0)


def need_gib() -> pl.Expr:
    """GiB per GPU, weights and states sharded over all of them."""
    sharded = (frozen_weights_gib() + states_gib()) / _GPUS
    reserve = coefficient("training_reserve_gib")
    return sharded + activations_gib() + logits_gib() + gathered_layer_gib() + reserve


def flops_per_token() -> pl.Expr:
    """Useful FLOPs of one token: 6 N, or 4 N where the weights are frozen, and causal attention."""
    per_parameter = pl.when(_IS_ADAPTER).then(4.0).otherwise(6.0)
    attention = 6 * pl.col("full_layers") * attention_width() * pl.col("seq_len")
    return per_parameter * pl.col("params_active") + attention


def efficiency() -> pl.Expr:
    """Share of the dense 16-bit peak that becomes useful FLOPs: base of the GPU times the factors that apply."""
    is_hf = _IS_ADAPTER
    stacks = coefficients("training_stack")
    stack = pl.col("task").replace_strict({t: stacks[s] for t, s in _STACK_OF_TASK.items()}, default=None)
    recompute = pl.col("recompute").replace_strict(coefficients("recompute_factor"), default=1.0)
    decades_below = (coefficient("small_model_params") / pl.col("params_active")).log10().clip(lower_bound=0)
    reference_tokens = coefficient("reference_step_tokens")
    doublings_above = (pl.col("seq_len") / reference_tokens).log(2).clip(lower_bound=0)
    # Gradient accumulation counts as one step: what suffers from few tokens is the step of the optimizer.
    tokens = pl.max_horizontal(step_tokens(), pl.col("global_batch_tokens") / _GPUS)
    halvings = (reference_tokens / tokens).log(2).clip(lower_bound=0)
    small_step = coefficient("hf_small_step_factor") ** halvings
    loop = pl.when(is_hf).then(coefficient("lora_factor") * small_step).otherwise(recompute)
    small_model = coefficient("small_model_factor") ** decades_below
    long_sequence = coefficient("long_sequence_factor") ** doublings_above
    return (
        pl.col("training_share")
        * stack
        * loop
        * small_model
        * long_sequence
        * _expert_factor()
        * _split_factor()
    )


def _expert_factor() -> pl.Expr:
    doublings = (pl.col("params_active") / coefficient("moe_size_params")).log(2).clip(-2, 2)
    factor = coefficient("moe_training_factor") * coefficient("moe_size_factor") ** doublings
    return pl.when("is_moe").then(factor).otherwise(1.0)


def _split_factor() -> pl.Expr:
    hf = pl.when(_IS_ADAPTER).then(coefficient("hf_multi_gpu_factor")).otherwise(1.0)
    by_link = {"nvlink": 1.0, "xgmi": 1.0, "pcie": coefficient("pcie_multi_gpu_factor"), "none": 1.0}
    link = pl.col("link").replace_strict(by_link, default=None, return_dtype=pl.Float64)
    nodes = coefficient("node_doubling_factor") ** pl.col("instances_per_replica").log(2)
    return pl.when(_GPUS > 1).then(hf * link * nodes).otherwise(1.0)


def tokens_per_s_per_gpu() -> pl.Expr:
    """Training tokens per second of one GPU of the layout."""
    return efficiency() * pl.col("sustained_16bit_tflops") * 1e12 / flops_per_token()


def train(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the outcome of training jobs on text models; one copy takes all GPUs of its layout."""
    optimizers = tables.read("optimizer").select(
        "optimizer", *(pl.col(n).cast(pl.Float64) for n in ("full_state_bytes", "adapter_state_bytes"))
    )
    rows = rows.join(optimizers, on="optimizer", how="left").with_columns(kv_falls_back=False)
    rows = rows.with_columns(
        weights_gib=frozen_weights_gib() / _GPUS,
        state_gib=states_gib() / _GPUS,
        activation_gib=activations_gib() + logits_gib() + gathered_layer_gib(),
        runtime_gib=pl.lit(coefficient("training_reserve_gib")),
        need_gib=need_gib(),
        load_ratio=need_gib() / pl.col("usable_gib"),
        base_ratio=pl.lit(None, pl.Float64),
        speed=tokens_per_s_per_gpu(),
        speed_unit=pl.lit("tokens/s/gpu"),
        limiting_factor=pl.lit("compute"),
        engine=pl.col("task").replace_strict(_ENGINE_OF_TASK, default=None),
        is_calibrated=pl.col("is_training_calibrated"),
        flags=precision.flags(),
        band_low=pl.lit(coefficient("band_training_low")),
        band_high=pl.lit(coefficient("band_training_high")),
    )
    rows = rows.with_columns(rate_per_hour=pl.col("speed") * _GPUS * 3600)
    return outcome.with_outcome(rows, _failures())


def _failures() -> list[outcome.Failure]:
    """What stops a training layout, in the order in which the first failure is the reason."""
    sequences = pl.col("global_batch_tokens") / pl.col("seq_len")
    too_many = outcome.Failure(
        "layout",
        sequences < _GPUS,
        pl.format(
            "a global batch of {} sequences cannot feed {} GPUs",
            sequences.floor().cast(pl.Int64),
            _GPUS.cast(pl.Int64),
        ),
        _GPUS / sequences - 1,
    )
    unmeasured = outcome.Failure(
        "performance",
        (pl.col("task") == "qlora") & pl.col("is_moe"),
        pl.lit("QLoRA of experts is off by more than 100 % in the measurements: not predicted"),
        verdict="unknown",
    )
    low_precision = outcome.Failure(
        "performance",
        ~_IS_ADAPTER & ~pl.col("weight_precision").is_in(["bf16", "fp16"]),
        pl.format("training in {} is not modelled, only in 16 bit", "weight_precision"),
        verdict="unknown",
    )
    return [
        *outcome.precision_failures(),
        low_precision,
        outcome.figure_failure("load_ratio", "architecture", "the size in training"),
        *outcome.fabric_failures(),
        outcome.memory_failure(),
        too_many,
        unmeasured,
        outcome.figure_failure("speed", "gpu_figures", "the training speed"),
    ]
