"""Memory: what measurements of inference say of a model on a GPU, and what the formulas say. Training has its module.

Classes: weights, kv_cache, hf_inference_peak (transformers), other_inference_peak (other plain loops), min_gpus and
fits. The peak of a serving engine is no proof of a need: it fills the card.
"""

from __future__ import annotations

import polars as pl

from transforms.accuracy import memory_training_cases, names
from transforms.accuracy.cases import CASE
from transforms.reference import tables
from transforms.workloads import eager, formats, precision, sizing
from transforms.workloads.coefficients import coefficient, coefficients
from transforms.workloads.models import geometry

GB_PER_GIB = 2**30 / 1e9
LARGEST_SPLIT = 7  # a minimum of more than 2 ** 7 GPUs is not looked for
COUNTS = ["min_gpus", "fits"]
_ENGINE_FILLS = r"vllm|sglang|tensorrt|trt|tgi|lmdeploy|nim"
_LOCAL = r"llama\.?cpp|ollama|gguf|kobold|lm studio|exllama|mlc"
_ENGINES = pl.col("engine").str.to_lowercase()
_NOTES = pl.col("notes").fill_null("")


def prepare(measured: pl.DataFrame) -> pl.DataFrame:
    """Returns one row per measurement with all that no coefficient changes, inference and training apart."""
    inference = pl.col("workload") == "inference"
    return pl.concat(
        [
            _prepare_inference(measured.filter(inference)),
            memory_training_cases.prepare(measured.filter(~inference.fill_null(False))),
        ],
        how="diagonal_relaxed",
    )


def predict(prepared: pl.DataFrame) -> pl.DataFrame:
    """Returns CASE rows of prepared rows, under the coefficients in force."""
    inference = pl.col("workload") == "inference"
    return pl.concat(
        [
            _predict_inference(prepared.filter(inference)),
            memory_training_cases.predict(prepared.filter(~inference.fill_null(False))),
        ]
    )


def weights(prepared: pl.DataFrame) -> pl.Series:
    """Returns what each case counts in a fit: each the same."""
    return pl.Series("weight", [1.0] * prepared.height, dtype=pl.Float64)


def _prepare_inference(measured: pl.DataFrame) -> pl.DataFrame:
    rows = names.with_gpu_key(measured, "gpu", "gpu")
    rows = names.with_model_id(rows, "model", "params_b")
    rows = formats.with_weight_precision(rows, "precision")
    known = tables.read("model")["model_id"].implode()
    stated = pl.when(pl.col("catalog_id").is_in(known)).then("catalog_id")
    rows = rows.with_columns(model_id=pl.coalesce(stated, "model_id")).with_columns(
        model_problem=pl.when(pl.col("model_id").is_null()).then("model_problem"),
        **_layout(),
        **_load(),
        case_class=_case_class(),
    )
    rows = rows.join(geometry(), on="model_id", how="left")
    rows = precision.with_formats(rows).join(_memory(), on="gpu_key", how="left")
    rows = rows.with_columns(
        usable_gib=pl.coalesce(_stated_gib("GiB"), "usable_gib", "nominal_gib", _stated_gib("GB")),
        layer_width=pl.when(pl.col("is_moe").fill_null(False))
        .then("expert_width")
        .otherwise("intermediate_size"),
    )
    return rows.with_columns(no_proof=_no_proof(), known_refusal=_refusal())


def _memory() -> pl.DataFrame:
    nominal = pl.col("vram_gb").cast(pl.Float64)
    return tables.read("gpu").select("gpu_key", "usable_gib", nominal_gib=nominal)


def _stated_gib(unit: str) -> pl.Expr:
    """GiB that the text of the GPU states; cards are named in powers of two, so 16 GB means 16 GiB."""
    return pl.col("gpu").str.extract(rf"(\d+(?:\.\d+)?) ?{unit}\b").cast(pl.Float64)


def _layout() -> dict[str, pl.Expr]:
    """GPUs and tensor split of a row; layers in sequence are a pipeline, and a sum over GPUs is that of one."""
    is_sum = _NOTES.str.contains(r"summed|total over|sum of all") | _ENGINES.str.contains("transformers")
    stated = pl.col("gpu_count").fill_null(1.0).clip(lower_bound=1.0)
    gpus = pl.when((pl.col("kind") == "peak") & is_sum.fill_null(False)).then(1.0).otherwise(stated)
    text = pl.col("parallelism").fill_null("").str.to_lowercase()
    stages = text.str.extract(r"pp ?(\d+)").cast(pl.Float64)
    split = text.str.extract(r"tp ?(\d+)").cast(pl.Float64)
    in_sequence = text.str.contains("layer") | (stages.is_not_null() & split.is_null())
    tensor = pl.when(in_sequence).then(1.0).otherwise(pl.min_horizontal(split.fill_null(gpus), gpus))
    return {"gpus": gpus, "gpus_per_replica": tensor.clip(lower_bound=1.0)}


def _load() -> dict[str, pl.Expr]:
    """Tokens, sequences, cache, engine version and extra weights of a row."""
    dtype = pl.col("kv_dtype").fill_null("").str.to_lowercase()
    length = pl.col("seq_len").cast(pl.Float64, strict=False)
    prompt = _NOTES.str.extract(r"input (\d+) \+ \d+").cast(pl.Float64)
    version = _ENGINES.str.extract_groups(r"(\d+)\.(\d+)")
    number = version.struct["1"].cast(pl.Float64) + version.struct["2"].cast(pl.Float64) / 100
    return {
        "kv_precision": pl.when(dtype.str.contains("q8"))
        .then(pl.lit("q8_0"))
        .when(dtype.str.contains("q4|int4|fp4"))
        .then(pl.lit("q4_0"))
        .when(dtype.str.contains("8") & ~dtype.str.contains("bf16|fp16"))
        .then(pl.lit("fp8"))
        .otherwise(pl.lit("bf16")),
        "length": length,
        "total_tokens": length.fill_null(0.0),
        "prompt_tokens": pl.coalesce(prompt, length, 0.0),
        "sequences": pl.col("batch").fill_null(1.0).clip(lower_bound=1.0),
        "engine_version": pl.when(_ENGINES.str.contains("transformers")).then(number),
        "added_gib": pl.col("model").str.extract(r"\+ ?([\d.]+) ?GB").cast(pl.Float64) / GB_PER_GIB,
        "utilisation": _NOTES.str.extract(r"(?:gmu|utili[sz]ation|mem.fraction.static)\D{0,3}(0?\.\d+)").cast(
            pl.Float64
        ),
        "is_local": _ENGINES.str.contains(_LOCAL).fill_null(False),
        "is_loop": ~_ENGINES.str.contains(rf"{_ENGINE_FILLS}|{_LOCAL}").fill_null(True),
        "is_loaded": (pl.col("evidence") == "measured") & _ENGINES.str.contains(_ENGINE_FILLS),
    }


def _case_class() -> pl.Expr:
    kind = pl.col("kind")
    peak = (
        pl.when(_ENGINES.str.contains("transformers|^hf"))
        .then(pl.lit("hf_inference_peak"))
        .otherwise(pl.lit("other_inference_peak"))
    )
    return (
        pl.when(kind.is_in(["weights", "kv_cache"]))
        .then(kind)
        .when(kind.is_in(["fits_yes", "fits_no"]))
        .then(pl.lit("fits"))
        .when((kind == "min_required") & pl.col("measured_gb").is_null())
        .then(pl.lit("min_gpus"))
        .otherwise(peak)
    )


def _no_proof() -> pl.Expr:
    """Why a row is nothing to be held to, by what its columns say."""
    is_pool = (pl.col("kind") == "kv_cache") & pl.col("kv_tokens").is_null()
    fills = (pl.col("kind") == "peak") & _ENGINES.str.contains(_ENGINE_FILLS)
    checks = {
        "a rule of thumb, no measurement": pl.col("evidence") == "rule_of_thumb",
        "the figure of the table comes from this row": _NOTES.str.contains("CIRCULAR"),
        "the directory holds further copies of the weights": (pl.col("kind") == "weights")
        & _NOTES.str.contains("cop(y|ies)")
        & (pl.col("evidence") == "file_size"),
        "what the engine left for the cache, not what tokens need": is_pool,
        "the engine fills the card whatever the need": fills,
        "a requirement in the size of a card, no measurement": (pl.col("kind") == "min_required")
        & pl.col("measured_gb").is_not_null(),
        "no GPU is stated": (pl.col("case_class").is_in(COUNTS))
        & (
            pl.col("gpu").is_null()
            | pl.col("gpu").str.to_lowercase().is_in(["any", "unspecified", "unknown"])
        ),
    }
    return pl.coalesce(pl.when(is_true.fill_null(False)).then(pl.lit(why)) for why, is_true in checks.items())


def _refusal() -> pl.Expr:
    """Why the model cannot predict a row, whatever the coefficients."""
    is_count = pl.col("case_class").is_in(COUNTS)
    needs_cache = pl.col("case_class") != "weights"
    no_cache = needs_cache & pl.col("state_bytes").is_null()
    return pl.coalesce(
        "model_problem",
        pl.when(pl.col("case_class") != "kv_cache").then("precision_problem"),
        pl.when(is_count & pl.col("usable_gib").is_null()).then(
            pl.coalesce("gpu_problem", pl.lit("the memory of the GPU is not known"))
        ),
        pl.when(no_cache).then(pl.format("{}: what its layers keep of a text is not published", "model_id")),
    )


def _predict_inference(rows: pl.DataFrame) -> pl.DataFrame:
    rows = rows.with_columns(
        usable_gib=pl.when(pl.col("usable_gib") == pl.col("nominal_gib"))
        .then(pl.col("usable_gib") * coefficient("usable_share_of_nominal"))
        .otherwise("usable_gib")
    )
    by_class = {
        "weights": _weights_gib(),
        "kv_cache": _cache_gib(),
        "hf_inference_peak": eager.peak_gib(),
        "other_inference_peak": pl.when("is_local")
        .then(_need_gib(pl.col("total_tokens")))
        .otherwise(eager.peak_gib()),
        "fits": _fits(),
    }
    case_class = pl.col("case_class")
    predicted = pl.coalesce(pl.when(case_class == name).then(value) for name, value in by_class.items())
    rows = rows.with_columns(predicted=predicted).join(_minimum_gpus(rows), on="case_id", how="left")
    is_count = case_class == "min_gpus"
    is_fit = case_class == "fits"
    band = case_class.replace_strict(coefficients("memory_band"), default=0.0, return_dtype=pl.Float64)
    measured_gib = pl.col("measured_gb") / pl.when(pl.col("unit") == "GB").then(GB_PER_GIB).otherwise(1.0)
    answer = pl.when(pl.col("kind") == "fits_yes").then(1.0).otherwise(0.0)
    rows = rows.with_columns(
        part=pl.lit("memory"),
        also_in=pl.concat_list(pl.when("is_moe").then(pl.lit("moe"))).list.drop_nulls(),
        unit=pl.when(is_count).then(pl.lit("GPUs")).when(is_fit).then(pl.lit("1")).otherwise(pl.lit("GiB")),
        measured=pl.when(is_count).then("gpu_count").when(is_fit).then(answer).otherwise(measured_gib),
        predicted=pl.when(is_count).then("minimum_gpus").otherwise("predicted"),
    )
    unknown = pl.format("{} in {}: a class of its tensors is not known", "model_id", "weight_precision")
    rows = rows.with_columns(
        low=pl.col("predicted") / (1 + band),
        high=pl.col("predicted") * (1 + band),
        refusal=pl.coalesce("known_refusal", pl.when(pl.col("predicted").is_null()).then(unknown)),
        is_calibrated=pl.lit(True),
        source_group=pl.col("source").str.extract(r"^((?:https?://)?[^\s@/]*(?:/[^\s@/]+){0,2})"),
        pair_group=pl.lit(None, pl.String),
    )
    is_counted = pl.col("no_proof").is_null()
    return rows.with_columns(refusal=pl.when(is_counted).then("refusal")).select(CASE.names()).cast(CASE)


def _weights_gib() -> pl.Expr:
    """GiB of the weights, per GPU where several hold them; an engine pads what it loads."""
    gib = pl.when("is_loaded").then(sizing.weights_gib()).otherwise(sizing.weight_bytes() / sizing.GIB)
    return gib / pl.col("gpus")


def _cache_gib() -> pl.Expr:
    """GiB per GPU of a pool of so many tokens: each GPU has the latents of the tokens that it counts."""
    tokens = pl.coalesce("kv_tokens", pl.col("length") * pl.col("sequences"))
    per_token = sizing.kv_bytes_per_token() * pl.when(pl.col("latent_layers") > 0).then(1.0).otherwise(
        sizing.kv_share()
    )
    return tokens * per_token / sizing.GIB


def _need_gib(tokens: pl.Expr) -> pl.Expr:
    """GiB per GPU of a configuration: a serving engine, or llama.cpp and plain loops, which take what they need."""
    # a latent lies whole on the GPU that has its sequence, so each GPU of a split has room for one
    spread = pl.when((pl.col("latent_layers") > 0) & pl.col("is_moe")).then("gpus_per_replica").otherwise(1.0)
    sequences = pl.max_horizontal("sequences", spread)
    held = sizing.state_reserved_gib(sequences, tokens) * pl.col("gpus_per_replica") / pl.col("gpus")
    on_host = pl.when("is_local").then(_token_table_gib()).otherwise(0.0)
    stored = (sizing.weights_gib() + pl.col("added_gib").fill_null(0.0) - on_host) / pl.col("gpus")
    runs_alone = pl.col("is_local") | pl.col("is_loop")
    own = (
        pl.when(runs_alone)
        .then(coefficient("runtime_local_gib"))
        .otherwise(sizing.runtime_gib() + sizing.activation_gib())
    )
    return stored + held + own


def _token_table_gib() -> pl.Expr:
    table = pl.col("params_embed") - pl.col("params_head")
    return table * pl.col("embedding_bits") / 8 / sizing.GIB


def _fits() -> pl.Expr:
    """1 where the need is within what the engine may use of the card, else 0; null where the need is unknown."""
    tokens = pl.coalesce("length", pl.lit(coefficient("unstated_context_tokens")))
    runs_alone = pl.col("is_local") | pl.col("is_loop")
    limit = (
        pl.when(runs_alone)
        .then(coefficient("local_load_limit"))
        .otherwise(pl.coalesce("utilisation", pl.lit(coefficient("tight_load_limit"))))
    )
    return (_need_gib(tokens) <= limit * pl.col("usable_gib")).cast(pl.Float64)


def _minimum_gpus(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns case_id and minimum_gpus: the smallest power of two that holds the configuration."""
    sizes = pl.lit([2.0**k for k in range(LARGEST_SPLIT + 1)])
    tried = rows.filter(pl.col("case_class") == "min_gpus").with_columns(gpus=sizes).explode("gpus")
    tokens = pl.coalesce("length", pl.lit(coefficient("unstated_context_tokens")))
    heads = pl.col("num_attention_heads").fill_null(0.0) % pl.col("gpus") == 0
    holds = _need_gib(tokens) <= coefficient("minimum_load_limit") * pl.col("usable_gib")
    tried = tried.with_columns(gpus_per_replica=pl.col("gpus"))
    return tried.filter(holds & heads).group_by("case_id").agg(minimum_gpus=pl.col("gpus").min())
