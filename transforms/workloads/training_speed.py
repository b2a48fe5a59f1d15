"""Seconds of training per token and GPU, as a sum of what they go to, and what slows the whole.

    token = (matrices / gain + attention x its cost) / reached rate  + moved bytes / bandwidth
          + (launches + unpacking) / tokens of a step + optimizer / tokens of an update + sent bytes / link

or the gathering of sharded weights over PCIe where that takes longer, and all of it slower by the losses of splitting
a sequence over GPUs and of spanning nodes. Training and generation study, sections 2.1 to 2.3, with these changes:
recomputation, memory traffic, launches, unpacking, optimizer and experts are work with a rate of its own in place of
flat factors, so that small models, small steps and long sequences need none.

Columns read, beside those of `training_work` and HARDWARE:

training_share        of the dense 16-bit peak that matrices reach in a tuned stack, by family of GPU
power_share           watts per FLOP against the best board of the generation
stack                 tuned (Megatron class), native (PyTorch) or hf (HF and PEFT)
matrix_format         16bit, 8bit or 4bit: what is multiplied
gain_class            row of training_8bit_gain; null where 16 bit is multiplied
attention_kernel      row of attention_cost
unpacked_params       stored in 4 bit and unpacked in every step; 0 for none
step_tokens           tokens that a GPU handles between two launches of the model
update_tokens         tokens of a GPU between two updates
update_shards         GPUs that share the optimizer
gpus_per_sequence     GPUs over sequences of an update
expert_gb_per_s       one way, between the GPUs that hold the experts; infinite where one GPU holds all
expert_years          of the stack after the spring of 2026, for experts
has_fused_kernels     HF only: fused norms, losses and adapters
has_known_fabric      false for several nodes on a network that is not stated
is_gathered           weights are sharded and gathered layer by layer (FSDP, ZeRO-3)
offload_s             per token, of an optimizer or of weights that lie in the memory of the host
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from transforms.workloads import training_work
from transforms.workloads.coefficients import coefficient, coefficients
from transforms.workloads.training_work import IS_ADAPTER

_GPUS = pl.col("gpus_per_replica")
_IS_HF = pl.col("stack") == "hf"
_IS_TUNED = pl.col("stack") == "tuned"
_BANDWIDTH = pl.col("memory_bandwidth_gb_per_s") * 1e9


def _by(key: str, values: Mapping[str, float]) -> pl.Expr:
    return pl.col(key).replace_strict(values, default=None, return_dtype=pl.Float64)


def reached_flops() -> pl.Expr:
    """FLOPs per second that 16-bit matrices reach; never more than the sustained peak."""
    shares = coefficients("adapter_share")
    beside = pl.when(_IS_TUNED).then(shares["tuned"]).otherwise(shares["hf"])
    adapter = pl.when(IS_ADAPTER).then(beside).otherwise(1.0)
    fused = pl.when(_IS_HF & pl.col("has_fused_kernels")).then(coefficient("fused_kernels_factor"))
    is_new = pl.col("architecture").str.starts_with("Blackwell") & (pl.col("hardware_class") == "nvidia_hbm")
    young = pl.when((pl.col("stack") == "native") & is_new & ~pl.col("is_moe")).then(
        coefficient("native_blackwell_factor")
    )
    held = pl.col("power_share") ** coefficient("training_power_exponent")
    stack = _by("stack", coefficients("training_stack"))
    share = held * pl.col("training_share") * stack * adapter * _expert_factor()
    share *= fused.fill_null(1.0) * young.fill_null(1.0)
    return share.clip(upper_bound=1.0) * pl.col("sustained_16bit_tflops") * 1e12


def _expert_factor() -> pl.Expr:
    """What is left of the rate where each expert has few tokens; larger experts lose less."""
    doublings = (pl.col("params_active") / coefficient("moe_size_params")).log(2).clip(-2, 2)
    factor = coefficient("expert_share") * coefficient("expert_size_factor") ** doublings
    return pl.when("is_moe").then(factor).otherwise(1.0)


def format_gain() -> pl.Expr:
    """Rate of the matrices in their format over that in 16 bit; experts keep a power of it, and gain none by 4 bit."""
    eight = _by("gain_class", coefficients("training_8bit_gain"))
    is_four = pl.col("matrix_format") == "4bit"
    gain = pl.when(is_four & ~pl.col("is_moe")).then(coefficient("training_4bit_gain")).otherwise(eight)
    gain = pl.when("is_moe").then(gain ** coefficient("expert_gain_power")).otherwise(gain)
    return pl.when(pl.col("matrix_format") == "16bit").then(1.0).otherwise(gain)


def compute_s() -> pl.Expr:
    """Seconds of matrices and attention per token."""
    attention = training_work.attention_run_flops() * _by("attention_kernel", coefficients("attention_cost"))
    return (training_work.matrix_flops() / format_gain() + attention) / reached_flops()


def memory_s() -> pl.Expr:
    """Seconds per token of moved values, of the optimizer, and of weights that are unpacked in every step."""
    moved = training_work.moved_bytes() / _BANDWIDTH
    unpacked = coefficient("unpacked_bytes") * pl.col("unpacked_params") / _BANDWIDTH / pl.col("step_tokens")
    # The HF loop adds gradients up in 32 bit after every step, others when they update.
    tokens = pl.when(_IS_HF).then("step_tokens").otherwise("update_tokens")
    state = pl.col("params_total") / pl.col("update_shards")
    update = coefficient("optimizer_bytes") * state / _BANDWIDTH / tokens
    is_updated = ~IS_ADAPTER & (pl.col("offload_s") == 0)
    return moved + unpacked + pl.when(is_updated).then(update).otherwise(0.0)


def overhead_s() -> pl.Expr:
    """Seconds per token of launches, and of what the host does."""
    each = _by("stack", {"tuned": 0.0, **coefficients("layer_launch_s")})
    launches = each * pl.col("num_layers") / pl.col("step_tokens")
    return launches * (1 + pl.col("recompute_share") / 3) + pl.col("offload_s")


def gather_s() -> pl.Expr:
    """Seconds per token of gathering sharded weights over PCIe: in each pass, and once more to add up gradients.

    Over NVLink it hides behind the work and is 0. Between cards without peer access it goes through the host.
    """
    passes = 2 + pl.col("recompute_share") + pl.when(IS_ADAPTER).then(0.0).otherwise(1.0)
    stored = 2 * pl.col("params_total") - 1.45 * pl.col("unpacked_params")
    received = passes * stored * (1 - 1 / _GPUS) / pl.col("step_tokens")
    is_slow = (pl.col("link") == "pcie") | (_IS_HF & ~pl.col("has_known_fabric"))
    return (
        pl.when(is_slow & pl.col("is_gathered") & (_GPUS > 1))
        .then(received / (coefficient("pcie_gather_gb_per_s") * 1e9))
        .otherwise(0.0)
    )


def expert_link_s() -> pl.Expr:
    """Seconds per token of sending to experts and back that is not hidden; null where the link is not known."""
    sent = training_work.sent_bytes() / (pl.col("expert_gb_per_s") * 1e9)
    return pl.when("is_moe").then(coefficient("expert_sent_share") * sent).otherwise(0.0)


def loss() -> pl.Expr:
    """Factor by which all of it is slower: sequences split over GPUs, slow links, nodes; above 1."""
    # 0.25 GPUs per sequence is where splitting starts to tell.
    split = (1 + pl.col("gpus_per_sequence") / 0.25) ** coefficient("sequence_split_power")
    is_split = _GPUS > 1
    by_link = {"nvlink": 1.0, "xgmi": 1.0, "pcie": coefficient("pcie_multi_gpu_factor"), "none": 1.0}
    nodes = coefficient("node_doubling_factor") ** pl.col("instances_per_replica").log(2)
    kept = pl.when(is_split).then(_by("link", by_link) * nodes).otherwise(1.0)
    newer = coefficient("expert_year_factor") ** pl.col("expert_years")
    aged = pl.when(pl.col("is_moe") & ~_IS_HF).then(newer).otherwise(1.0)
    return split / kept / aged


def with_training_speed(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds tokens_per_s_per_gpu, and what the time goes to as shares that add up to 1 and the largest of them.

    Columns: tokens_per_s_per_gpu; time_compute_share, time_weights_share (memory), time_overhead_share,
    time_link_share; limiting_factor.
    """
    rows = rows.with_columns(
        compute_s=compute_s(),
        memory_s=memory_s(),
        overhead_s=overhead_s(),
        sent_s=expert_link_s(),
        gather_s=gather_s(),
        loss=loss(),
    )
    alone = pl.col("compute_s") + pl.col("memory_s") + pl.col("overhead_s")
    # The longer of work and gathering hides the other.
    work = (alone**4 + pl.col("gather_s") ** 4) ** 0.25
    whole = (work + pl.col("sent_s")) * pl.col("loss")
    # What is above the sum of the parts is the price of splitting: it counts as link.
    shares = {
        "compute": pl.col("compute_s") / whole * pl.min_horizontal(pl.col("loss"), 1.0),
        "weights": pl.col("memory_s") / whole * pl.min_horizontal(pl.col("loss"), 1.0),
        "overhead": pl.col("overhead_s") / whole * pl.min_horizontal(pl.col("loss"), 1.0),
    }
    rows = rows.with_columns(
        *(share.alias(f"time_{name}_share") for name, share in shares.items()),
        tokens_per_s_per_gpu=1 / whole,
    )
    parts = [pl.col(f"time_{name}_share") for name in shares]
    rows = rows.with_columns(time_link_share=1 - pl.sum_horizontal(parts, ignore_nulls=False))
    named = [*parts, pl.col("time_link_share")]
    largest = pl.max_horizontal(named)
    limiting = pl.coalesce(
        *(
            pl.when(part == largest).then(pl.lit(name))
            for part, name in zip(named, ("compute", "bandwidth", "overhead", "link"), strict=True)
        )
    )
    return rows.with_columns(limiting_factor=limiting).drop(
        "compute_s", "memory_s", "overhead_s", "sent_s", "gather_s", "loss"
    )
