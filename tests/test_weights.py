"""Bytes of the weights against published checkpoints, figures by hand, and what must hold for every format."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transforms.reference import tables
from transforms.workloads import formats, precision, weights
from transforms.workloads.models import geometry

GIB = 2**30
FORMATS = tables.read("quant_format")
TEXT_MODELS = ["llama-3.1-8b", "qwen3-4b", "qwen3-235b-a22b", "qwen3.8-27b", "gpt-oss-120b", "deepseek-v3.2"]


def row(model_id, weight_precision="bf16", **changes):
    found = geometry().filter(pl.col("model_id") == model_id)
    assert found.height == 1, model_id
    found = found.with_columns(weight_precision=pl.lit(weight_precision), **changes)
    return precision.with_formats(found)


def stored(model_id, weight_precision="bf16", **changes):
    return row(model_id, weight_precision, **changes).select(weights.weight_bytes()).item()


def loaded(model_id, weight_precision):
    return row(model_id, weight_precision).select(weights.loaded_bytes()).item()


def test_weights_at_16_bit_are_two_bytes_a_parameter():
    """8,030,261,248 parameters are 16,060,522,496 bytes."""
    assert stored("llama-3.1-8b") == 16_060_522_496


# Sizes of published checkpoints, GiB: sums of their files. The sizes from which the table of models itself was
# filled are not among them.
@pytest.mark.parametrize(
    ("model_id", "weight_precision", "gib", "tolerance"),
    [
        ("llama-3.3-70b", "bf16", 131.42, 0.0001),
        ("qwen2.5-32b", "bf16", 61.03, 0.0003),
        ("deepseek-r1", "fp8", 641.3, 0.003),
        ("deepseek-v3.2", "fp8", 642.14, 0.004),
        ("minimax-m2", "fp8", 214.32, 0.001),
        ("qwen3.6-35b-a3b", "fp8", 34.9, 0.003),
        ("qwen3.8-27b", "fp8", 28.7, 0.002),
        ("qwen3-8b", "awq-int4", 5.68, 0.001),
        ("qwen3.5-122b-a10b", "gptq-int4", 73.47, 0.002),
        ("qwen3.5-397b-a17b", "gptq-int4", 219.56, 0.002),
        ("kimi-k2.5", "int4-g32", 554.32, 0.001),
        ("deepseek-v4-pro", "fp4-experts-fp8", 805.34, 0.003),
        ("llama-3.1-8b", "gguf-iq2-xxs", 2.23, 0.003),
        ("llama-3.1-8b", "gguf-q3-k-l", 4.02, 0.002),
        ("llama-3.1-8b", "gguf-q4-k-m", 4.58, 0.002),
        ("llama-3.1-8b", "gguf-q8-0", 7.95, 0.001),
        ("qwen2.5-7b", "gguf-q4-k-m", 4.36, 0.004),
        ("llama-3.1-70b", "gguf-q4-0", 37.22, 0.003),
    ],
)
def test_published_checkpoints(model_id, weight_precision, gib, tolerance):
    assert stored(model_id, weight_precision) / GIB == pytest.approx(gib, rel=tolerance)


def test_bits_times_parameters_would_miss_these_checkpoints():
    """The control: nominal bits for every parameter are off by a third for a small model with a large table."""
    nominal = 8_190_735_360 * 4 / 8 / GIB
    assert abs(nominal / 5.68 - 1) > 0.3


def test_experts_of_gpt_oss_are_padded_by_the_kernels():
    """By hand: 114.7e9 x 4.25 bits and 2.13e9 x 16 bits are 60.7 GiB; 2,880 padded to 3,072 makes 64.5 GiB."""
    by_hand = (114_701_598_720 * 4.25 + (116_829_156_672 - 114_701_598_720) * 16) / 8
    assert stored("gpt-oss-120b", "mxfp4") == pytest.approx(by_hand)
    padding = 114_701_598_720 * 4.25 / 8 * (3072 / 2880 - 1)
    assert loaded("gpt-oss-120b", "mxfp4") == pytest.approx(by_hand + padding)
    # two engines report 64.4 and 66.0 GiB
    assert loaded("gpt-oss-120b", "mxfp4") / GIB == pytest.approx(65.2, rel=0.02)


def test_a_width_that_the_tile_divides_is_not_padded():
    assert loaded("deepseek-v4-pro", "mxfp4") == pytest.approx(
        stored("deepseek-v4-pro", "mxfp4") - 25.8e9 * 16 / 8
    )


def test_a_small_fp8_release_unties_its_head():
    """Qwen3-4B in FP8 has 0.72 GiB more: 151,936 x 2,560 x 2 bytes."""
    assert stored("qwen3-4b", "fp8") - stored("qwen3-4b", "fp8-tensor") == pytest.approx(
        151_936 * 2_560 * 2 + 3_633_511_936 * 0.002 / 8, rel=1e-3
    )
    assert stored("qwen3-8b", "fp8") - stored("qwen3-8b", "fp8-tensor") < 3e6


def test_a_draft_head_is_stored_and_not_loaded():
    assert stored("qwen3.8-27b") - loaded("qwen3.8-27b", "bf16") == pytest.approx(2 * 424.7e6)


def test_a_gguf_file_holds_the_decoder_alone():
    """Qwen3.8-27B in Q8_0: 26.9e9 parameters of the text decoder in 8.5 bits; the tower is in a file of its own."""
    assert stored("qwen3.8-27b", "gguf-q8-0") == pytest.approx(26_895_998_464 * 8.5 / 8)


def test_a_published_size_goes_before_the_classes():
    assert stored("mistral-large-3-675b", "fp8") == pytest.approx(634.70 * GIB, rel=1e-9)
    # without one, and without the classes of tensors, the format is unknown
    assert stored("mistral-large-3-675b", "nvfp4") is None


def test_bytes_of_a_file_go_first():
    given_bytes = {"file_bytes": pl.lit(123.0), "file_precision": pl.lit("fp8")}
    assert stored("llama-3.1-8b", "fp8", **given_bytes) == 123.0
    assert stored("llama-3.1-8b", "bf16", **given_bytes) == 16_060_522_496


def test_every_model_has_weights():
    """Each model of the table, in the format that it is released in or at 16 bit."""
    models = geometry().with_columns(weight_precision=pl.lit("bf16"))
    sizes = precision.with_formats(models).select("model_id", size=weights.weight_bytes())
    assert sizes.height >= 200
    assert sizes.filter(pl.col("size").is_null() | (pl.col("size") <= 0))["model_id"].to_list() == []


def test_text_models_have_weights_in_every_format():
    """Null only where the routed experts or the embeddings of a model are not published."""
    pairs = (
        geometry()
        .filter(pl.col("modality").is_in(["llm", "vlm"]))
        .join(FORMATS.select("weight_precision"), how="cross")
    )
    sizes = precision.with_formats(pairs).select("model_id", size=weights.weight_bytes())
    unknown = set(sizes.filter(pl.col("size").is_null())["model_id"])
    assert unknown <= {"kimi-k3", "qwen3.8-2.4t-a95b", "ling-3.0-flash-124b", "mistral-large-3-675b"}


def test_fewer_bits_never_need_more_bytes():
    kinds = [name for name in FORMATS.columns if name.endswith("_bits") or name.startswith("other_bits")]
    assert len(kinds) == 7
    pairs = FORMATS.join(FORMATS, how="cross").filter(
        pl.all_horizontal(pl.col(kind) <= pl.col(f"{kind}_right") for kind in kinds)
        # an untied head is a further tensor
        & (~pl.col("unties_head") | pl.col("unties_head_right"))
    )
    assert pairs.height > 400
    for model_id in TEXT_MODELS:
        size = {name: stored(model_id, name) for name in FORMATS["weight_precision"]}
        for fewer, more in pairs.select("weight_precision", "weight_precision_right").iter_rows():
            assert size[fewer] <= size[more], (model_id, fewer, more)


@settings(max_examples=30)
@given(
    st.sampled_from(TEXT_MODELS), st.sampled_from(FORMATS["weight_precision"].to_list()), st.floats(1.01, 3)
)
def test_more_parameters_never_need_fewer_bytes(model_id, name, factor):
    more = {"params_total": pl.col("params_total") * factor}
    assert stored(model_id, name, **more) > stored(model_id, name)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("awq", "awq-int4"),
        ("AWQ 4bit", "awq-int4"),
        ("gptq-int8", "gptq-int8"),
        ("GPTQ-4bit", "gptq-int4"),
        ("bnb.nf4", "nf4-single"),
        ("bnb.nf4-dq", "nf4"),
        ("gguf Q4_K_M", "gguf-q4-k-m"),
        ("Q5_K_S", "gguf-q5-k-s"),
        ("IQ2_XXS", "gguf-iq2-xxs"),
        ("gguf F16", "fp16"),
        ("fp4 experts + fp8", "fp4-experts-fp8"),
        ("bf16 (mxfp4 dequantised)", "bf16"),
        ("torchao int8wo", "w8a8-int8"),
        ("pack-quantized", "int4-g32"),
        ("FP8", "fp8"),
        ("fp8_e4m3", "fp8"),
        ("float8 tensorwise", "fp8-tensor"),
        ("MXFP8", "mxfp8"),
        ("w4a8", "w4a8"),
        ("exl2 4.25bpw", "exl2-4.25"),
        ("32-bit", "fp32"),
        ("BF16", "bf16"),
    ],
)
def test_spellings_of_a_precision(text, name):
    assert formats.resolve(text) == name


@pytest.mark.parametrize("text", ["", "Q", "int7", "ternary", "\N{SNOWMAN}", "x" * 5000])
def test_an_unknown_precision_is_refused_with_its_name(text):
    with pytest.raises(formats.UnknownFormatError, match="no weight format"):
        formats.resolve(text)


def test_a_frame_of_spellings_keeps_its_rows():
    frame = pl.DataFrame({"precision": ["fp8", None, "odd", "fp8", " "]}, schema={"precision": pl.String})
    found = formats.with_weight_precision(frame, "precision")
    assert found["weight_precision"].to_list() == ["fp8", None, None, "fp8", None]
    assert found["precision_problem"].null_count() == 2
    assert found.filter(pl.col("precision").is_null())["precision_problem"].item() == "no precision is stated"


@given(st.text(max_size=60))
def test_no_text_breaks_the_resolver(text):
    frame = pl.DataFrame({"precision": [text]})
    found = formats.with_weight_precision(frame, "precision").row(0, named=True)
    assert (found["weight_precision"] is None) != (found["precision_problem"] is None)
    assert found["weight_precision"] in {None, *FORMATS["weight_precision"]}
