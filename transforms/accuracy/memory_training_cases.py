"""Cases of the memory of all but inference: LoRA, QLoRA, full tuning and pretraining of text models, and the rest.

What a row of training does not say is taken from the recipe of its framework (training_recipe.csv). Rows of pictures,
clips and sound go to memory_generation_cases.
"""

from __future__ import annotations

import polars as pl

from transforms.accuracy import memory_generation_cases, names
from transforms.accuracy.cases import CASE
from transforms.reference import tables
from transforms.workloads import formats, precision, training_memory
from transforms.workloads.coefficients import coefficient
from transforms.workloads.models import TEXT_MODALITIES, geometry

WORKLOADS = {"lora": "lora", "qlora": "qlora", "full_ft": "full", "pretrain": "pretrain"}
_GB_PER_GIB = 2**30 / 1e9

_MEASURED = pl.col("evidence").is_in(["measured", "reported_run", "reported_oom", "published_config"])
_NOTES = pl.col("notes").fill_null("").str.to_lowercase()
_ENGINE = pl.col("engine").fill_null("").str.to_lowercase()
_LAYOUT = pl.col("parallelism").fill_null("").str.to_lowercase()
_PRECISION = pl.col("precision").fill_null("").str.to_lowercase()
_OPTIMIZER = pl.col("optimizer").fill_null("").str.to_lowercase()
_RECOMPUTE = pl.col("gradient_checkpointing").fill_null("").str.to_lowercase().str.strip_chars()
_IS_ADAPTER = pl.col("task").is_in(["lora", "qlora"])


def prepare(measured: pl.DataFrame) -> pl.DataFrame:
    """Returns all rows with what no coefficient changes; `is_text_training` tells which of the two kinds each is."""
    rows = _with_model(measured)
    makes_no_text = ~pl.col("modality").is_in(TEXT_MODALITIES)
    is_training = pl.col("workload").is_in(list(WORKLOADS)) & ~makes_no_text.fill_null(False)
    rows = rows.with_columns(is_text_training=is_training.fill_null(False))
    training = rows.filter("is_text_training")
    others = measured.join(training.select("case_id"), on="case_id", how="anti")
    return pl.concat(
        [
            _prepare_training(training),
            memory_generation_cases.prepare(others).with_columns(is_text_training=pl.lit(False)),
        ],
        how="diagonal_relaxed",
    )


def _prepare_training(rows: pl.DataFrame) -> pl.DataFrame:
    rows = rows.with_columns(
        task=pl.col("workload").replace_strict(WORKLOADS),
        micro_batch=pl.col("batch"),
        step_seq_len=_tokens(),
    )
    rows = formats.with_weight_precision(_with_recipe(rows), "precision")
    rows = training_memory.with_optimizer(_with_choices(rows))
    rows = precision.with_formats(_with_layout(rows))
    return _with_capacity(rows).with_columns(no_proof=_no_proof(), refusal=_refusal())


def _tokens() -> pl.Expr:
    """Tokens of a sequence, from a text such as 4096, 8k or 2048 tokens; null for a shape."""
    found = pl.col("seq_len").str.to_lowercase().str.extract_groups(r"^(\d+(?:\.\d+)?) ?(k?)(?: tokens)?$")
    thousands = pl.when(found.struct.field("2") == "k").then(1024.0).otherwise(1.0)
    return found.struct.field("1").cast(pl.Float64) * thousands


def _with_model(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds the geometry of the model: by its id in the catalogue where that is stated, else by its name."""
    rows = names.with_model_id(rows.drop("model_id", strict=False), "model", "params_b")
    known = geometry()["model_id"].to_list()
    stated = pl.when(pl.col("catalog_id").is_in(known)).then("catalog_id")
    rows = rows.with_columns(model_id=pl.coalesce(stated, "model_id"))
    return _with_stated_geometry(rows.join(geometry(), on="model_id", how="left"))


def _with_stated_geometry(rows: pl.DataFrame) -> pl.DataFrame:
    """Fills the geometry of a model that is not in the catalogue from a row that states it.

    As in `d_model 5120, 40 layers, vocab 50368, ffn 4x`: plain multi-head attention, tied embedding, no experts.
    """
    number = {
        "hidden_size": r"d_model (\d+)",
        "num_layers": r"(\d+) layers",
        "vocab_size": r"vocab (\d+)",
        "ffn": r"ffn (\d+(?:\.\d+)?)x",
    }
    found = {name: _NOTES.str.extract(pattern).cast(pl.Float64) for name, pattern in number.items()}
    hidden = found["hidden_size"]
    geometry_of_row = {
        "model_id": pl.col("model").str.to_lowercase(),
        "modality": pl.lit("llm"),
        "attention": pl.lit("mha"),
        "is_moe": pl.lit(False),
        "params_total": pl.col("params_b") * 1e9,
        "params_embed": hidden * found["vocab_size"],
        "params_routed": pl.lit(0.0),
        "params_vision": pl.lit(0.0),
        "params_vision_extra": pl.lit(0.0),
        "params_draft": pl.lit(0.0),
        "hidden_size": hidden,
        "intermediate_size": hidden * found["ffn"],
        "num_layers": found["num_layers"],
        "vocab_size": found["vocab_size"],
        "num_attention_heads": hidden / 128,
        "num_kv_heads": hidden / 128,
        "head_dim": pl.lit(128.0),
    }
    is_stated = pl.col("model_id").is_null() & pl.all_horizontal(v.is_not_null() for v in found.values())
    return rows.with_columns(
        pl.when(is_stated).then(value).otherwise(pl.col(name)).alias(name)
        for name, value in geometry_of_row.items()
    )


def _with_recipe(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds the row of training_recipe.csv whose pattern the engine matches first, of the time of the row."""
    recipes = tables.read("training_recipe").to_dicts()
    day = pl.col("date").fill_null("9999").str.slice(0, 7)
    fits = [
        pl.when(_ENGINE.str.contains(recipe["pattern"]) & (day < (recipe["until"] or "99999"))).then(
            pl.lit(recipe["recipe"])
        )
        for recipe in recipes
    ]
    table = tables.read("training_recipe").drop("pattern", "until", "source", "as_of", "note")
    table = table.rename(
        {name: f"recipe_{name}" for name in ("lora_rank", "lora_targets", "recompute", "loss")}
    )
    return rows.with_columns(recipe=pl.coalesce(fits)).join(table, on="recipe", how="left")


def _with_choices(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds optimizer, recompute, loss, adapters and weight format: what the row says, else the recipe."""
    is_compiled = _NOTES.str.contains("compile")
    usual_loss = pl.when(is_compiled).then("compiled_loss").otherwise("recipe_loss")
    loss = (
        pl.when(_NOTES.str.contains(r"no liger|plain (?:ce|cross)"))
        .then(pl.lit("plain"))
        .when(_NOTES.str.contains(r"liger|chunked|cut.?cross|fused ce|fused cross"))
        .then(pl.lit("chunked"))
        .otherwise(usual_loss)
    )
    return rows.with_columns(
        optimizer=_optimizer(),
        recompute=_recompute(),
        loss=loss,
        is_compiled=is_compiled,
        lora_rank=pl.coalesce("lora_rank", pl.col("recipe_lora_rank").cast(pl.Float64)),
        lora_targets=_targets(),
        weight_precision=_weight_precision(),
        adapter_input_bytes=pl.col("adapter_input_bytes").cast(pl.Float64),
        has_8bit_inputs=pl.col("has_8bit_inputs") & ~_IS_ADAPTER & _PRECISION.str.contains("fp8|float8"),
        is_padded_to_longest=pl.col("is_padded_to_longest")
        & ~_NOTES.str.contains("pack|synthetic|full.length"),
    )


def _optimizer() -> pl.Expr:
    """The optimizer of optimizer.csv; null for one that is not an Adam."""
    said = pl.concat_str(_OPTIMIZER, pl.lit(" "), _PRECISION, pl.lit(" "), _NOTES)
    is_16bit = said.str.contains("all states bf16|everything bf16|bf16 states|bf16-true|pure.?bf16")
    is_mixed = _PRECISION.str.contains("mixed|fp32") & (pl.col("full_optimizer") == "adamw_bf16")
    usual = (
        pl.when(_IS_ADAPTER)
        .then("adapter_optimizer")
        .when(is_16bit)
        .then(pl.lit("adamw_bf16"))
        .when(is_mixed)
        .then(pl.lit("adamw_mixed_16B"))
        .when(_LAYOUT.str.contains("zero"))
        .then("sharded_optimizer")
        .otherwise("full_optimizer")
    )
    in_backward = _OPTIMIZER.str.contains("bwd|backward")
    return (
        pl.when(_OPTIMIZER.str.contains("8.?bit"))
        .then(pl.when(in_backward).then(pl.lit("adamw_8bit_in_backward")).otherwise(pl.lit("adamw_8bit")))
        .when(_OPTIMIZER.str.contains("4.?bit"))
        .then(pl.lit("adamw_4bit"))
        .when(in_backward)
        .then(pl.lit("adamw_bf16_in_backward"))
        .when((_OPTIMIZER == "") | _OPTIMIZER.str.contains("adam"))
        .then(usual)
    )


def _recompute() -> pl.Expr:
    """The policy of `training_memory.activations_gib`; null for a text that is not understood."""
    return (
        pl.when(_RECOMPUTE == "")
        .then("recipe_recompute")
        .when(_RECOMPUTE.str.contains("offload|unsloth"))
        .then(pl.lit("offload"))
        .when(_RECOMPUTE.str.contains(r"per.?op"))
        .then(pl.lit("per_op"))
        .when(_RECOMPUTE.str.contains(r"^selective: ?mlp"))
        .then(pl.lit("mlp"))
        .when(_RECOMPUTE.str.contains("^selective:|gather"))
        .then(pl.lit("none"))
        .when(_RECOMPUTE.str.contains("selective"))
        .then("selective_policy")
        .when(_RECOMPUTE.str.contains("^(?:no|none|false|off)"))
        .then(pl.lit("none"))
        .when(_RECOMPUTE.str.contains("^(?:yes|full|true|on)"))
        .then(pl.lit("full"))
    )


def _targets() -> pl.Expr:
    return (
        pl.when(_NOTES.str.contains(r"\bq ?, ?v\b|q_proj, ?v_proj"))
        .then(pl.lit("query and value"))
        .when(_NOTES.str.contains(r"^(?:lora )?mlp\b"))
        .then(pl.lit("feed-forward"))
        .when(_NOTES.str.contains("all.?linear"))
        .then(pl.lit("all linear layers"))
        .when(_NOTES.str.contains("attention only|attention/linear|attention projections"))
        .then(pl.lit("attention projections"))
        .otherwise("recipe_lora_targets")
    )


def _weight_precision() -> pl.Expr:
    """The format of a frozen base: unpacked ones are 16 bit, QLoRA is NF4 unless stated. Trained weights are 16 bit."""
    usual = pl.when(pl.col("task") == "qlora").then(pl.lit("nf4")).otherwise(pl.lit("bf16"))
    frozen = (
        pl.when(_PRECISION.str.contains("dequant"))
        .then(pl.lit("bf16"))
        .when(_PRECISION == "")
        .then(usual)
        .otherwise("weight_precision")
    )
    return pl.when(_IS_ADAPTER).then(frozen).otherwise(pl.lit("bf16"))


def _degree(name: str) -> pl.Expr:
    """The number behind a kind of parallelism, as in `tp4 pp2`; 1 where it is not named."""
    return _LAYOUT.str.extract(rf"\b(?:te-)?{name}[ =]?(\d+)").cast(pl.Float64).fill_null(1.0)


def _with_layout(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds the columns of a layout that `training_memory` reads, from the text of the parallelism and the GPUs."""
    rows = rows.with_columns(
        t=_degree("tp"), p=_degree("pp"), c=_degree("cp") * _degree("sp"), e=_degree("ep"), v=_degree("vpp")
    )
    split = pl.col("t") * pl.col("p")
    stated = pl.coalesce("gpu_count", _LAYOUT.str.extract(r"(?:fsdp|zero\d?) ?(\d{2,})").cast(pl.Float64))
    degrees = split * pl.col("c") * _degree("dp")
    gpus = pl.max_horizontal(stated, degrees, pl.col("e") * pl.col("p"))
    is_host = _LAYOUT.str.contains("offload")
    has_stage_3 = _LAYOUT.str.contains(r"fsdp|zero.?3|hsdp|full.?shard|deepspeed")
    has_stage_2 = has_stage_3 | _LAYOUT.str.contains("zero.?2|shard.?grad")
    has_stage_1 = has_stage_2 | _LAYOUT.str.contains("zero") | pl.col("recipe").str.starts_with("megatron")
    expert_split = pl.max_horizontal(pl.col("e") * pl.col("p"), pl.when(pl.col("e") == 1).then(split))
    rows = rows.with_columns(gpus=gpus, is_host=is_host)
    host = pl.when(is_host).then(float("inf"))
    kinds = {"weight": has_stage_3, "gradient": has_stage_2, "moment": has_stage_1}
    shards = {
        f"{prefix}{kind}_shards": pl.coalesce(host, pl.when(is_shared).then("gpus").otherwise(whole))
        for kind, is_shared in kinds.items()
        for prefix, whole in (("", split), ("expert_", expert_split))
    }
    bubble = pl.when((pl.col("p") > 1) & (pl.col("v") > 1)).then(
        (pl.col("p") - 1) / (pl.col("p") * pl.col("v"))
    )
    is_whole = pl.col("keeps_embedding_gathered") & _LAYOUT.str.contains("fsdp")
    return rows.with_columns(
        **shards,
        keeps_embedding_gathered=is_whole,
        is_gathered=has_stage_3 & (pl.col("gpus") > 1),
        tensor_split=pl.col("t"),
        sequence_split=pl.col("t") * pl.col("c"),
        # the first stage of a pipeline holds as many micro batches as there are stages, and no logits
        layers_held=pl.col("num_layers") * (1 + bubble.fill_null(0.0)),
        has_logits=pl.col("p") == 1,
    )


def _with_capacity(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds gpu_key and usable_gib: of the card, or as its text states it; cards are named in powers of two."""
    rows = names.with_gpu_key(rows.drop("gpu_key", strict=False), "gpu", "gpu")
    facts = tables.read("gpu").select("gpu_key", "usable_gib", nominal_gib=pl.col("vram_gb").cast(pl.Float64))
    stated = pl.col("gpu").str.extract(r"(\d+(?:\.\d+)?) ?GB\b").cast(pl.Float64)
    rows = rows.join(facts, on="gpu_key", how="left")
    return rows.with_columns(usable_gib=pl.coalesce("usable_gib", "nominal_gib", stated)).drop("nominal_gib")


def _no_proof() -> pl.Expr:
    is_peak = pl.col("kind") == "peak"
    is_short = _NOTES.str.contains("short inputs|short samples|shorter than the")
    is_fit = pl.col("kind").is_in(["fits_yes", "fits_no"])
    return (
        pl.when(~(is_peak | is_fit))
        .then(pl.format("a {} of training is not compared", "kind"))
        .when(~_MEASURED)
        .then(pl.format("{}: not a measurement", "evidence"))
        .when(is_peak & pl.col("measured_gb").is_null())
        .then(pl.lit("no figure"))
        .when(pl.col("step_seq_len").is_null() | pl.col("micro_batch").is_null())
        .then(pl.lit("length or batch of a step is not stated"))
        .when(is_short & ~_NOTES.str.contains("sets the peak"))
        .then(pl.lit("the samples are shorter than the stated length"))
    )


def _refusal() -> pl.Expr:
    return (
        pl.when(pl.col("model_id").is_null())
        .then(pl.coalesce("model_problem", pl.lit("not a model of model.csv")))
        .when(pl.col("num_layers").is_null() | pl.col("hidden_size").is_null())
        .then(pl.format("the geometry of {} is not known", "model_id"))
        .when(pl.col("optimizer").is_null() | pl.col("moment_bytes").is_null())
        .then(pl.lit("an optimizer that is not modelled"))
        .when(pl.col("recompute").is_null())
        .then(pl.lit("a recompute policy that is not modelled"))
        .when(pl.col("load_factor").is_null())
        .then(pl.lit("a weight format that is not modelled"))
        .when(pl.col("kind").is_in(["fits_yes", "fits_no"]) & pl.col("usable_gib").is_null())
        .then(pl.lit("the memory of the GPU is not known"))
    )


def predict(prepared: pl.DataFrame) -> pl.DataFrame:
    """Returns CASE rows: the peak in the unit of the row, or 1 and 0 for what fits and what does not."""
    is_training = pl.col("is_text_training").fill_null(False)
    return pl.concat(
        [
            _predict_training(prepared.filter(is_training)),
            memory_generation_cases.predict(prepared.filter(~is_training)),
        ]
    )


def _predict_training(prepared: pl.DataFrame) -> pl.DataFrame:
    shares = {
        "plain": 1.0,
        "chunked": coefficient("chunked_loss_share"),
        "fused": coefficient("fused_loss_share"),
    }
    loss = pl.col("loss").replace_strict(shares, default=None, return_dtype=pl.Float64)
    is_fused = pl.col("is_compiled") | pl.col("recipe").str.starts_with("megatron")
    fused = pl.lit(coefficient("compiled_activation_share"))
    rows = prepared.with_columns(
        loss_share=pl.when("has_logits").then(loss).otherwise(0.0),
        activation_share=pl.when(is_fused).then(fused).otherwise(1.0),
        # a batch is padded to its longest sample, which is shorter than the longest that may come
        seq_len=pl.col("step_seq_len")
        * pl.when("is_padded_to_longest").then(coefficient("longest_sample_share")).otherwise(1.0),
    )
    rows = rows.with_columns(need_gib=training_memory.need_gib())
    is_fit = pl.col("kind").is_in(["fits_yes", "fits_no"])
    in_unit = _as_reported() * pl.when(pl.col("unit") == "GiB").then(1.0).otherwise(_GB_PER_GIB)
    fits = (pl.col("need_gib") <= coefficient("tight_load_limit") * pl.col("usable_gib")).cast(pl.Float64)
    band = coefficient("training_memory_band")
    predicted = pl.when(pl.col("refusal").is_null()).then(pl.when(is_fit).then(fits).otherwise(in_unit))
    rows = rows.with_columns(
        part=pl.lit("memory"),
        case_class=pl.when(is_fit).then(pl.lit("fits")).otherwise(pl.format("{}_peak", "task")),
        also_in=pl.lit(["training"]),
        measured=pl.when(is_fit)
        .then((pl.col("kind") == "fits_yes").cast(pl.Float64))
        .otherwise("measured_gb"),
        predicted=predicted,
        low=pl.when(is_fit).then(predicted).otherwise(predicted / band),
        high=pl.when(is_fit).then(predicted).otherwise(predicted * band),
        is_calibrated=pl.col("recipe") != "other",
        source_group=pl.col("source").str.extract(r"^(\S+)"),
        pair_group=pl.lit(None, pl.String),
    )
    return rows.select(pl.col(name).cast(dtype) for name, dtype in CASE.items())


def _as_reported() -> pl.Expr:
    """The peak as the framework reports it: what its allocator has reserved, or what tensors were given of it."""
    reserved = pl.col("need_gib") * coefficient("reserved_memory_ratio")
    given = pl.col("need_gib") - coefficient("training_context_gib")
    is_reserved = (
        pl.when(_NOTES.str.contains("allocated"))
        .then(pl.lit(False))
        .when(_NOTES.str.contains("reserved|nvidia-smi"))
        .then(pl.lit(True))
        .otherwise("reports_reserved")
    )
    return pl.when(is_reserved).then(reserved).otherwise(given)
