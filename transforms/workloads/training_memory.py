"""Memory of training on a layout: LoRA, QLoRA, full fine-tuning and pretraining of text models, in GiB per GPU.

need = weights + gradients + moments, each over the GPUs that share it, + saved activations by recompute policy
     + logits of the loss + layers that are gathered or unpacked + reserve.

Every function returns an expression over one row per job and layout; a null figure makes the result null. Columns
read, beside those of `models.geometry()` and quant_format.csv:

task                lora, qlora, full or pretrain
micro_batch, seq_len, lora_rank, lora_targets, recompute
weight_copy_bytes, gradient_bytes, moment_bytes, adapter_state_bytes   of optimizer.csv
and the layout:
weight_shards, gradient_shards, moment_shards                  GPUs that share what is not a routed expert
expert_weight_shards, expert_gradient_shards, expert_moment_shards   the same of the routed experts
is_gathered         weights are gathered layer by layer (FSDP, ZeRO-3)
tensor_split        GPUs that share each matrix, and so what is gathered of a layer
sequence_split      GPUs that share the tokens of a sequence (tensor x context parallel)
layers_held         layers whose activations are held at once
loss_share          of the logits of a plain cross-entropy: 1, or less with a chunked or fused loss
activation_share    of the activations of an eager run: 1, or less where a compiler fuses them
adapter_input_bytes     that each adapted matrix keeps of an element of its own input
has_8bit_inputs     products keep their input in 8 bit
keeps_embedding_gathered   embedding and head stay gathered through the step

Formulas: memory sizing study, sections 8 and 9.
"""

from __future__ import annotations

import polars as pl

from transforms.reference import tables
from transforms.workloads import weights
from transforms.workloads.coefficients import coefficient, coefficients
from transforms.workloads.sizing import GIB

_GPUS = pl.col("gpus_per_replica")
_IS_ADAPTER = pl.col("task").is_in(["lora", "qlora"])
_HIDDEN, _WIDTH = pl.col("hidden_size"), pl.col("intermediate_size")


def step_tokens() -> pl.Expr:
    """Tokens that one GPU holds at once: micro batch times sequence."""
    return pl.col("micro_batch") * pl.col("seq_len")


def query_width() -> pl.Expr:
    """Query heads times head size."""
    return pl.col("num_attention_heads") * pl.col("head_dim")


def _kv_width() -> pl.Expr:
    """Width of keys; a latent cache is spread to all heads in training."""
    heads = pl.when(pl.col("attention") == "mla").then("num_attention_heads").otherwise("num_kv_heads")
    return heads * pl.col("head_dim")


def ffn_matrices() -> pl.Expr:
    """Matrices of a feed-forward block: 3 with a gate, 2 without, told from the count of parameters."""
    body = pl.col("params_total") - pl.col("params_embed") - pl.col("params_vision")
    attention = 2 * _HIDDEN * (query_width() + _kv_width())
    matrices = (body / pl.col("num_layers") - attention) / (_HIDDEN * _WIDTH)
    return pl.when(~pl.col("is_moe") & (matrices < 2.5)).then(2.0).otherwise(3.0)


def _adapted_widths() -> tuple[pl.Expr, pl.Expr]:
    """Sums of the input and of the output widths of the matrices of a layer that adapters are put on.

    "All linear layers" of a mixture of experts leaves the experts out: releases store them as one tensor and not
    as linear layers, which is what the rule of PEFT matches.
    """
    hidden, queries, keys = _HIDDEN, query_width(), _kv_width()
    gates = ffn_matrices() - 1
    feed_in = pl.when("is_moe").then(0.0).otherwise(gates * hidden + _WIDTH)
    feed_out = pl.when("is_moe").then(0.0).otherwise(gates * _WIDTH + hidden)
    inputs = {
        "query and value": 2 * hidden,
        "attention projections": 3 * hidden + queries,
        "feed-forward": feed_in,
        "all linear layers": 3 * hidden + queries + feed_in,
    }
    outputs = {
        "query and value": queries + keys,
        "attention projections": queries + 2 * keys + hidden,
        "feed-forward": feed_out,
        "all linear layers": queries + 2 * keys + hidden + feed_out,
    }
    return _by_target(inputs), _by_target(outputs)


def _by_target(widths: dict[str, pl.Expr]) -> pl.Expr:
    return pl.coalesce(pl.when(pl.col("lora_targets") == name).then(width) for name, width in widths.items())


def adapter_params() -> pl.Expr:
    """Parameters of the adapters: rank x (in + out) over the target matrices of all layers."""
    inputs, outputs = _adapted_widths()
    return pl.col("lora_rank") * (inputs + outputs) * pl.col("num_layers")


def _share_of_gpu(kind: str) -> pl.Expr:
    """Part of all parameters of which a GPU holds the `kind`: weight, gradient or moment."""
    routed = pl.col("params_routed") / pl.col("params_total")
    return (1 - routed) / pl.col(f"{kind}_shards") + routed / pl.col(f"expert_{kind}_shards")


def weights_gib() -> pl.Expr:
    """GiB of the weights: the frozen base of an adapter in its format, or the copy that is trained."""
    trained = pl.col("weight_copy_bytes") * pl.col("params_total")
    stored = pl.when(_IS_ADAPTER).then(weights.weight_bytes()).otherwise(trained)
    return stored * _share_of_gpu("weight") / GIB


def states_gib() -> pl.Expr:
    """GiB of gradients, moments and 32-bit copies by optimizer; all states of the adapters for LoRA."""
    adapters = adapter_params() * pl.col("adapter_state_bytes") / pl.col("moment_shards")
    gradients = pl.col("gradient_bytes") * _share_of_gpu("gradient")
    moments = pl.col("moment_bytes") * _share_of_gpu("moment")
    trained = pl.col("params_total") * (gradients + moments)
    return pl.when(_IS_ADAPTER).then(adapters).otherwise(trained) / GIB


def _layer_bytes() -> pl.Expr:
    """Bytes that one layer saves of a token for its backward pass, nothing recomputed (section 8).

    8 H of norms and residuals, 4 bytes of each query and of each key width (with values and output), 4 bytes of I
    for each feed-forward matrix but the last; experts also keep the tokens that are sent to them.
    """
    experts_of_a_token = _WIDTH / pl.col("expert_width")
    sent = pl.when("is_moe").then(2 * experts_of_a_token * _HIDDEN).otherwise(0.0)
    whole = 8 * _HIDDEN + 4 * query_width() + 4 * _kv_width() + _feed_forward_bytes() + sent
    return whole - _frozen_saving() - _8bit_saving() + _adapter_copies()


def _feed_forward_bytes() -> pl.Expr:
    """Bytes of a token and layer of a feed-forward block: what its gate needs, and the input of the last matrix."""
    saved = pl.when("has_8bit_inputs").then(_WIDTH).otherwise(0.0)
    return 4 * (ffn_matrices() - 1) * _WIDTH - saved


def _frozen_saving() -> pl.Expr:
    """Bytes of a token and layer that frozen 16-bit matrices need not keep: the inputs of the products.

    The norm of a gated block works in 32 bit and keeps as much as it and its output would have.
    """
    after_norm = pl.when(ffn_matrices() == 3).then(0.0).otherwise(4 * _HIDDEN)
    return pl.when(pl.col("task") == "lora").then(after_norm + 2 * _WIDTH).otherwise(0.0)


def _8bit_saving() -> pl.Expr:
    """Bytes of a token and layer that products save which keep their input in 8 bit; feed-forward apart."""
    inputs = 2 * _HIDDEN + query_width()
    return pl.when("has_8bit_inputs").then(inputs).otherwise(0.0)


def _adapter_copies() -> pl.Expr:
    """Bytes of a token and layer that adapters keep of their own input: dropped out, or in 32 bit."""
    inputs, _ = _adapted_widths()
    return pl.when(_IS_ADAPTER).then(pl.col("adapter_input_bytes") * inputs).otherwise(0.0)


def _kept_products_bytes() -> pl.Expr:
    """Bytes of a token and layer under per-operator recompute: its input, attention, and every other product."""
    products = 2 * (query_width() + 2 * _kv_width() + 2 * _HIDDEN + (ffn_matrices() - 1) * _WIDTH)
    return 2 * _HIDDEN + 2 * query_width() + products / 2


def activations_gib() -> pl.Expr:
    """GiB of saved activations by recompute policy; null for a policy that is not known.

    none       everything is kept
    full       the input of each layer, and one layer at work
    selective  every other layer is recomputed
    per_op     every other matrix product is kept, the rest recomputed
    mlp        the feed-forward blocks are recomputed
    offload    the inputs of the layers wait in host memory, two of them and one layer are on the GPU
    """
    one, layers = _layer_bytes() * pl.col("activation_share"), pl.col("layers_held")
    kept, recomputed = one * layers, 2 * _HIDDEN * layers + one
    by_policy = {
        "none": kept,
        "full": recomputed,
        "selective": (kept + recomputed) / 2,
        "per_op": _kept_products_bytes() * layers + one,
        "mlp": (one - _feed_forward_bytes() * pl.col("activation_share")) * layers + one,
        "offload": 4 * _HIDDEN + one,
    }
    per_token = pl.coalesce(pl.when(pl.col("recompute") == name).then(v) for name, v in by_policy.items())
    return per_token * _tokens_of_gpu() / GIB


def _tokens_of_gpu() -> pl.Expr:
    return step_tokens() / pl.col("sequence_split")


def logits_gib() -> pl.Expr:
    """GiB of the logits: 16-bit values, a 32-bit copy and its gradient, less what the kernel of the loss saves."""
    plain = coefficient("logits_bytes_per_vocab") * pl.col("vocab_size") * _tokens_of_gpu() / GIB
    return plain * pl.col("loss_share")


def gathered_gib() -> pl.Expr:
    """GiB of layers at 16 bit: gathered ahead and with their gradient when weights are sharded, or unpacked.

    Some recipes wrap only the layers: embedding and head then stay whole through the step.
    """
    layers = coefficients("gathered_layers")
    layer = (pl.col("params_total") - pl.col("params_embed")) / pl.col("num_layers") * 2 / GIB
    count = (
        pl.when("is_gathered")
        .then(pl.when(_IS_ADAPTER).then(layers["adapter"]).otherwise(layers["full"]))
        .when(pl.col("task") == "qlora")
        .then(layers["unpacked"])
        .otherwise(0.0)
    )
    copies = pl.when(_IS_ADAPTER).then(1.0).otherwise(2.0)
    whole = pl.col("params_embed") * 2 * copies / GIB
    is_whole = pl.col("is_gathered") & pl.col("keeps_embedding_gathered")
    return (layer * count + pl.when(is_whole).then(whole).otherwise(0.0)) / pl.col("tensor_split")


def need_gib() -> pl.Expr:
    """GiB per GPU at the peak of a step."""
    parts = weights_gib() + states_gib() + activations_gib() + logits_gib() + gathered_gib()
    return parts + coefficient("training_reserve_gib")


def need_gib_with_chunked_loss() -> pl.Expr:
    """The same when the loss is computed in chunks, so that only a part of the logits exists at once."""
    saved = 1 - coefficient("chunked_loss_share")
    return need_gib() - logits_gib() * saved


def need_gib_with_host_optimizer() -> pl.Expr:
    """The same with the moments in host memory: on the GPU stay weights and gradients; for full training."""
    moments = pl.col("params_total") * pl.col("moment_bytes") * _share_of_gpu("moment") / GIB
    return pl.when(~_IS_ADAPTER).then(need_gib() - moments)


def with_optimizer(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds the bytes per parameter of `optimizer`; null for one that is not known."""
    bytes_of = ("weight_copy_bytes", "gradient_bytes", "moment_bytes", "adapter_state_bytes")
    optimizers = tables.read("optimizer").select("optimizer", *(pl.col(n).cast(pl.Float64) for n in bytes_of))
    return rows.join(optimizers, on="optimizer", how="left")


def _adapter_input_bytes() -> float:
    """Bytes of the loop that the ranking assumes for adapters, PEFT."""
    recipe = tables.read("training_recipe").filter(pl.col("recipe") == "peft")
    return float(recipe["adapter_input_bytes"].item())


def _with_full_sharding(rows: pl.DataFrame) -> pl.DataFrame:
    """The layout of the ranking: everything shared by all GPUs, plain loss, eager, adapters planned at 100 %."""
    shards = ("weight", "gradient", "moment", "expert_weight", "expert_gradient", "expert_moment")
    return rows.with_columns(
        *(_GPUS.alias(f"{kind}_shards") for kind in shards),
        is_gathered=_GPUS > 1,
        tensor_split=pl.lit(1.0),
        sequence_split=pl.lit(1.0),
        layers_held=pl.col("num_layers"),
        loss_share=pl.lit(1.0),
        activation_share=pl.lit(1.0),
        adapter_input_bytes=pl.lit(_adapter_input_bytes()),
        has_8bit_inputs=pl.lit(False),
        keeps_embedding_gathered=pl.lit(False),
    )


def with_need(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds the memory per GPU by parts, need_gib and load_ratio of jobs on layouts that share all of it."""
    rows = _with_full_sharding(with_optimizer(rows)).with_columns(
        weights_gib=weights_gib(),
        state_gib=states_gib(),
        activation_gib=activations_gib() + logits_gib() + gathered_gib(),
        runtime_gib=pl.lit(coefficient("training_reserve_gib")),
        base_ratio=pl.lit(None, pl.Float64),
        kv_falls_back=False,
    )
    need = pl.col("weights_gib") + pl.col("state_gib") + pl.col("activation_gib") + pl.col("runtime_gib")
    return rows.with_columns(
        need_gib=need,
        load_ratio=need / pl.col("usable_gib"),
        need_chunked_loss_gib=need_gib_with_chunked_loss(),
        need_host_optimizer_gib=need_gib_with_host_optimizer(),
    )
