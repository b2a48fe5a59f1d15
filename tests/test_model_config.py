"""A model given by its files: shapes and counts of real configs against the table of models, and files that lie."""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flows.fit import fitted
from transforms.workloads import cache, precision, weights
from transforms.workloads.model_config import ConfigError, geometry_of_config, unknown_format
from transforms.workloads.models import geometry
from transforms.workloads.wishes import JobError

CONFIGS = json.loads(Path(__file__).with_name("model_configs.json").read_text())
DEEPSEEK = CONFIGS["deepseek-v3"]


def llama(**changes):
    return CONFIGS["llama-3.1-8b"] | changes


def moe(**changes):
    return CONFIGS["qwen3-30b-a3b"] | changes


def written(folder, config, name="config.json"):
    path = folder / name
    path.write_text(config if isinstance(config, str) else json.dumps(config))
    return path


def model_of(folder, config):
    return geometry_of_config(written(folder, config))


def catalogue(model_id):
    return geometry().filter(pl.col("model_id") == model_id).row(0, named=True)


@pytest.mark.parametrize("model_id", CONFIGS)
def test_a_config_gives_the_parameters_and_the_cache_of_the_catalogue(tmp_path, model_id):
    """Two ways: the shapes of the config, and the counts and sums that were published for the model."""
    ours, stated = model_of(tmp_path, CONFIGS[model_id]).row(0, named=True), catalogue(model_id)
    decoder = stated["params_total"] - stated["params_vision"]
    assert ours["params_total"] == pytest.approx(decoder, rel=0.0005)
    assert ours["params_active"] == pytest.approx(
        stated["params_active"] - stated["params_vision"], rel=0.0005
    )
    for name in (
        "attention", "is_moe", "kv_bytes_per_token", "window_bytes_per_token", "window_tokens", "latent_layers",
        "kv_index_bytes_per_token", "state_bytes", "cross_bytes", "padded_bytes_per_token", "num_kv_heads",
        "expert_width", "hidden_size", "num_attention_heads", "vocab_size",
    ):  # fmt: skip
        assert ours[name] == stated[name], name
    if stated["params_routed"]:
        assert ours["params_routed"] == pytest.approx(stated["params_routed"], rel=1e-6)


def test_enough_kinds_of_models_are_compared():
    kinds = {CONFIGS[name].get("text_config", CONFIGS[name])["model_type"] for name in CONFIGS}
    assert len(kinds) >= 25


def test_another_layer_or_head_is_seen(tmp_path):
    """The control: the comparison above is not true of any config."""
    for change in ({"num_hidden_layers": 33}, {"num_key_value_heads": 4}, {"intermediate_size": 14000}):
        ours = model_of(tmp_path, llama(**change)).row(0, named=True)
        stated = catalogue("llama-3.1-8b")
        same_count = ours["params_total"] == pytest.approx(stated["params_total"], rel=0.0005)
        assert not (same_count and ours["kv_bytes_per_token"] == stated["kv_bytes_per_token"])


def test_a_row_has_the_columns_of_the_catalogue(tmp_path):
    row = model_of(tmp_path, llama())
    assert row.schema == geometry().schema
    assert row["model_id"].item() == tmp_path.name
    assert row["file_precision"].item() == "bf16"


def compressed(packed, **weights):
    return {
        "quant_method": "compressed-tensors",
        "format": packed,
        "config_groups": {"group_0": {"weights": weights}},
    }


@pytest.mark.parametrize(
    ("stated", "name"),
    [
        ({"torch_dtype": "float16"}, "fp16"),
        ({"dtype": "float32"}, "fp32"),
        ({"quantization_config": {"quant_method": "awq", "bits": 4}}, "awq-int4"),
        ({"quantization_config": {"quant_method": "gptq", "bits": 8}}, "gptq-int8"),
        ({"quantization_config": {"quant_method": "fp8"}}, "fp8"),
        ({"quantization_config": {"quant_method": "something new"}}, None),
        (
            {
                "quantization_config": {
                    "quant_method": "hqq",
                    "quant_config": {"weight_quant_params": {"nbits": 4}},
                }
            },
            "int4-g64",
        ),
        ({"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"}}, "nvfp4"),
        ({"quantization_config": {"quant_method": "bitsandbytes", "load_in_8bit": True}}, "bnb-int8"),
        ({"quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": True}}, "nf4-single"),
        (
            {
                "quantization_config": {
                    "quant_method": "bitsandbytes",
                    "load_in_4bit": True,
                    "bnb_4bit_use_double_quant": True,
                }
            },
            "nf4",
        ),
        (
            {"quantization_config": compressed("pack-quantized", type="int", num_bits=4, group_size=32)},
            "int4-g32",
        ),
        (
            {"quantization_config": compressed("pack-quantized", type="int", num_bits=4, group_size=128)},
            "awq-int4",
        ),
        (
            {
                "quantization_config": compressed(
                    "float-quantized", type="float", num_bits=8, strategy="channel"
                )
            },
            "fp8-tensor",
        ),
        (
            {
                "quantization_config": compressed(
                    "nvfp4-pack-quantized", type="float", num_bits=4, group_size=16
                )
            },
            "nvfp4",
        ),
        ({"quantization_config": None, "torch_dtype": "float16"}, "fp16"),
        ({"torch_dtype": 5}, None),
    ],
)
def test_the_format_that_a_config_names(tmp_path, stated, name):
    config = {key: value for key, value in llama().items() if key != "torch_dtype"}
    assert model_of(tmp_path, config | stated)["file_precision"].item() == name


UNKNOWN_FORMATS = [
    *({"quant_method": name} for name in ("aqlm", "eetq", "bitnet", "quark", "torchao", "quanto", "vptq")),
    {"quant_method": "aqlm", "bits": 4},
    {"quant_method": "gptq", "bits": 3},
    {"quant_method": "gptq", "bits": True},
    {"quant_method": "gptq"},
    {"quant_method": "awq", "bits": 2},
    {"quant_method": "auto-round", "bits": 2},
    {"quant_method": "hqq", "bits": 3},
    {"quant_method": "hqq", "quant_config": {"weight_quant_params": {"nbits": 3}}},
    {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"},
    {"quant_method": "bitsandbytes"},
    compressed("pack-quantized", type="int", num_bits=3, group_size=128),
    compressed("marlin-24", type="int", num_bits=2, group_size=128),
    compressed("float-quantized"),
    {"quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups": {"a": 5}},
    {"quant_method": ["gptq"], "bits": {}},
    {"bits": 4},
]


@pytest.mark.parametrize("quantised", UNKNOWN_FORMATS)
def test_a_format_that_is_not_known_must_be_said(tmp_path, quantised):
    path = written(tmp_path, llama(quantization_config=quantised))
    assert geometry_of_config(path)["file_precision"].item() is None
    for given_as in (path, tmp_path):
        with pytest.raises(JobError, match="say --precision") as caught:
            fitted({}, given_as, ["L40S"])
        assert "\n" not in str(caught.value)
        assert str(quantised.get("quant_method"))[:12] in str(caught.value)


def test_a_format_that_is_said_is_taken(tmp_path):
    path = written(tmp_path, llama(quantization_config={"quant_method": "aqlm"}))
    row = fitted({"precision": "fp8"}, path, ["L40S"]).rows[0]
    assert row["weights_gib"] == pytest.approx(8.46, rel=2e-3)  # 6.98e9 of a byte, tables 1.05e9 of two


def test_a_format_that_is_known_need_not_be_said(tmp_path):
    """The control: 8.03e9 parameters of 4 bit, tables of 16 bit, and a config without a word on its format."""
    path = written(tmp_path, llama(quantization_config={"quant_method": "gptq", "bits": 4}))
    assert unknown_format(path) is None
    assert 5.2 < fitted({}, path, ["L40S"]).rows[0]["weights_gib"] < 5.6
    plain = {key: value for key, value in llama().items() if key != "torch_dtype"}
    assert unknown_format(written(tmp_path, plain)) is None


def test_a_large_table_does_not_hide_that_weights_are_packed(tmp_path):
    """The table of embeddings has most bytes of this file, in 16 bit; the config tells of 4 bit."""
    safetensors(tmp_path / "model.safetensors", TENSORS | {"packed": ("I32", [100], 400)})
    written(tmp_path, llama())
    assert geometry_of_config(tmp_path)["file_precision"].item() == "bf16"
    written(tmp_path, llama(quantization_config={"quant_method": "awq", "bits": 4}))
    assert geometry_of_config(tmp_path)["file_precision"].item() == "awq-int4"


def safetensors(path, tensors, data=True, length=None, extra=0):
    """Writes a file of tensors {name: (dtype, shape, bytes)}, with its data as zeros or the header alone."""
    at, header = 0, {"__metadata__": {"format": "pt"}}
    for name, (dtype, shape, size) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", length or len(text)) + text + bytes(at + extra if data else 0))
    return path


TENSORS = {
    "model.embed_tokens.weight": ("BF16", [100, 16], 3200),
    "model.layers.0.mlp.up_proj.weight": ("BF16", [64, 16], 2048),
    "model.norm.weight": ("F32", [16], 64),
}


@pytest.mark.parametrize("data", [True, False])
def test_a_header_gives_the_exact_bytes(tmp_path, data):
    row = geometry_of_config(safetensors(tmp_path / "model.safetensors", TENSORS, data))
    assert row["file_bytes"].item() == 3200 + 2048 + 64
    assert row["params_total"].item() == 1600 + 1024 + 16
    assert row["file_precision"].item() == "bf16"
    sized = precision.with_formats(row.with_columns(weight_precision=pl.lit("bf16")))
    assert sized.select(weights.weight_bytes()).item() == 5312
    # shapes are not in it, so the cache is unknown rather than none
    held = row.with_columns(kv_precision=pl.lit("bf16"), gpus_per_replica=1.0).select(
        cache.held_bytes(pl.lit(1.0))
    )
    assert held.item() is None


def test_packed_tensors_have_bytes_and_no_count(tmp_path):
    tensors = TENSORS | {"experts.blocks": ("U8", [32, 1000], 32_000)}
    row = geometry_of_config(safetensors(tmp_path / "model.safetensors", tensors))
    assert row["file_bytes"].item() == 5312 + 32_000
    assert row["params_total"].item() is None
    assert row["file_precision"].item() is None


def test_an_index_and_a_folder(tmp_path):
    index = {
        "metadata": {"total_size": 16_060_522_496},
        "weight_map": {"a": "model-00001-of-00004.safetensors"},
    }
    path = written(tmp_path, index, "model.safetensors.index.json")
    assert geometry_of_config(path)["file_bytes"].item() == 16_060_522_496
    written(tmp_path, llama())
    both = geometry_of_config(tmp_path).row(0, named=True)
    assert both["file_bytes"] == 16_060_522_496
    assert both["params_total"] == 8_030_261_248
    assert both["file_precision"] == "bf16"


@pytest.mark.parametrize(
    ("config", "what"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("\x00\xff", "not JSON"),
        ("[1, 2]", "not an object"),
        ("3", "not an object"),
        ("[" * 100_000, "not JSON"),
        ('{"model_type": "llama", "hidden_size": NaN}', "NaN is no number"),
        ('{"model_type": "llama", "hidden_size": Infinity}', "Infinity is no number"),
        ({}, "model_type None is not known"),
        ({"model_type": "rwkv9"}, "model_type 'rwkv9' is not known"),
        ({"model_type": ["llama"]}, "is not known"),
        (llama(hidden_size=-1), "hidden_size = -1"),
        (llama(hidden_size=0), "no hidden_size"),
        (llama(hidden_size=1e30), "hidden_size = 1e"),
        (llama(hidden_size=10**40), "hidden_size = 1000"),
        (llama(hidden_size="4096"), "hidden_size = '4096'"),
        (llama(hidden_size=True), "hidden_size = True"),
        (llama(hidden_size=4096.5), "hidden_size = 4096.5"),
        (llama(num_hidden_layers=10**9), "num_hidden_layers"),
        (llama(num_hidden_layers=None), "no num_hidden_layers"),
        (llama(vocab_size=None), "no vocab_size"),
        (llama(num_attention_heads=None), "no num_attention_heads"),
        (llama(layer_types=["full_attention"]), "layer_types has 1 entries for 32 layers"),
        (llama(layer_types=["odd"] * 32), "layer_types: 'odd' is not known"),
        (llama(layer_types=[["full_attention"]] * 32), "is not known"),
        (llama(layer_types=["sliding_attention"] * 32), "no sliding_window"),
        ({key: value for key, value in DEEPSEEK.items() if key != "kv_lora_rank"}, "no kv_lora_rank"),
        (CONFIGS["gemma-3-1b"] | {"hidden_size_per_layer_input": 256}, "embeddings per layer"),
        (llama(index_n_heads=4, index_head_dim=64), "index_n_heads without latent attention"),
        (llama(hidden_size=[4096]), "hidden_size = [4096]"),
        (llama(num_attention_heads=5000, head_dim=None), "hidden size 4096 for 5000 heads"),
        (llama(num_kv_shared_layers=32), "num_kv_shared_layers = 32 of 32 layers"),
        (llama(num_kv_shared_layers=99), "num_kv_shared_layers = 99 of 32 layers"),
        (llama(num_kv_shared_layers=-1), "num_kv_shared_layers = -1"),
        (llama(layer_types="full"), "layer_types = 'full'"),
        (llama(attention_bias="no"), "attention_bias = 'no': give true or false"),
        (llama(text_config=[1]), "text_config = [1]: give an object"),
        (llama(attn_config=3), "attn_config = 3: give an object"),
        (llama(quantization_config="awq"), "quantization_config = 'awq': give an object"),
        (moe(mlp_only_layers=5), "mlp_only_layers = 5: give a list of whole numbers"),
        (moe(mlp_only_layers=[True]), "mlp_only_layers = [True]"),
        (moe(mlp_only_layers=[[1]]), "mlp_only_layers = [[1]]"),
        (moe(moe_layers="1,2"), "moe_layers = '1,2': give a list of whole numbers"),
        (moe(num_experts_per_tok=200), "200 experts of a token, 128 in all"),
        (CONFIGS["gemma-3-1b"] | {"sliding_window_pattern": "LLLG"}, "sliding_window_pattern = 'LLLG'"),
        (
            DEEPSEEK | {"layer_types": ["sliding_attention"] * 61},
            "latent attention is known as full_attention",
        ),
    ],
)
def test_a_broken_config_is_refused_in_one_line(tmp_path, config, what):
    path = written(tmp_path, config)
    with pytest.raises(ConfigError) as caught:
        geometry_of_config(path)
    message = str(caught.value)
    assert what in message
    assert str(path) in message
    assert "\n" not in message
    assert len(message) < 400 + len(str(path))


def test_files_that_are_not_there_or_too_large(tmp_path):
    for name in ("config.json", "model.safetensors", "model.safetensors.index.json"):
        with pytest.raises(ConfigError, match="no such file"):
            geometry_of_config(tmp_path / name)
    with pytest.raises(ConfigError, match="no such file"):
        geometry_of_config(tmp_path)
    with pytest.raises(ConfigError, match="more than 4,000,000 bytes"):
        geometry_of_config(written(tmp_path, " " * 4_000_001))


@pytest.mark.parametrize("size", [0, -5, 1e40, "9", True, None, 2.5])
def test_an_index_with_a_size_that_cannot_be(tmp_path, size):
    path = written(tmp_path, {"metadata": {"total_size": size}}, "model.safetensors.index.json")
    with pytest.raises(ConfigError, match="total_size"):
        geometry_of_config(path)


@pytest.mark.parametrize("metadata", [None, [], 3])
def test_an_index_without_metadata(tmp_path, metadata):
    path = written(tmp_path, {"metadata": metadata}, "model.safetensors.index.json")
    with pytest.raises(ConfigError, match="total_size"):
        geometry_of_config(path)


@pytest.mark.parametrize(
    ("tensors", "options", "what"),
    [
        (TENSORS, {"length": 10**12}, "not a safetensors file"),
        (TENSORS, {"length": 1}, "not a safetensors file"),
        (TENSORS, {"length": 40}, "not JSON"),
        (TENSORS, {"extra": 7}, "give the whole file"),
        ({}, {}, "lists no tensor"),
        ({"a": ("BF16", [4, 4], 31)}, {}, "the header lies"),
        ({"a": ("BF17", [4, 4], 32)}, {}, "no known dtype"),
        ({"a": (["BF16"], [4, 4], 32)}, {}, "no known dtype"),
        ({"a": ("BF16", [4, -4], 32)}, {}, "whole numbers from 0 up"),
        ({"a": ("BF16", [4, True], 8)}, {}, "whole numbers from 0 up"),
        ({"a": ("BF16", "44", 32)}, {}, "whole numbers from 0 up"),
        ({"a": ("BF16", [1] * 99, 2)}, {}, "whole numbers from 0 up"),
        ({"a": ("BF16", [10**15, 10**15], 32)}, {}, "the header lies"),
        ({"a": ("BF16", [10**30], 32)}, {}, "whole numbers from 0 up"),
    ],
)
def test_a_header_that_lies_is_refused(tmp_path, tensors, options, what):
    path = safetensors(tmp_path / "model.safetensors", tensors, **options)
    with pytest.raises(ConfigError, match=what):
        geometry_of_config(path)


@pytest.mark.parametrize("content", [b"", b"1234567", b"\xff" * 8, b"\x02" + bytes(7) + b"[]"])
def test_bytes_that_are_no_safetensors_file(tmp_path, content):
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    with pytest.raises(ConfigError):
        geometry_of_config(path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=200)
@given(
    st.sampled_from(sorted(CONFIGS)),
    st.dictionaries(st.sampled_from(["hidden_size", "layer_types", "num_experts", "text_config", "model_type",
                                     "head_dim", "moe_layers", "mlp_only_layers", "quantization_config",
                                     "num_key_value_heads", "sliding_window", "attn_config"]), JSON, max_size=3),
)  # fmt: skip
def test_no_value_of_a_config_breaks_the_reader(tmp_path_factory, model_id, changes):
    """Every config is read or refused with one line; nothing else is raised."""
    folder = tmp_path_factory.mktemp("config")
    try:
        row = model_of(folder, CONFIGS[model_id] | changes)
    except ConfigError as error:
        message = str(error)
    else:
        message = ""
        assert row.schema == geometry().schema
    assert "\n" not in message


ODD = (None, True, -1, 0, 1e308, "NaN", "x", [], {}, [[]], 5)
# Keys that are read and that few or none of the configs state.
MORE_KEYS = ("mlp_only_layers", "moe_layers", "layer_types", "max_window_layers", "sliding_window_pattern",
             "num_kv_shared_layers", "index_n_heads", "attn_config", "text_config", "quantization_config",
             "decoder_sparse_step", "hidden_size_per_layer_input", "torch_dtype", "use_sliding_window")  # fmt: skip


def replaced(config, keys):
    return [config | {key: value} for key in keys for value in ODD]


def odd_configs():
    """Returns keys replaced by odd values: all of MORE_KEYS in one config of experts, a sample in each config."""
    draw, found = random.Random(20261130), replaced(moe(), MORE_KEYS)
    for config in CONFIGS.values():
        inner = config.get("text_config", {})
        texts = [config | {"text_config": text} for text in replaced(inner, inner)]
        found += draw.sample(replaced(config, config) + texts, 2)
    return found


def test_no_key_of_a_config_breaks_the_reader(tmp_path):
    """Keys replaced one by one: a row with finite numbers from zero up, or a refusal of one line."""
    rows, refusals = 0, []
    numbers = pl.col(pl.Float64, pl.Int64)
    for config in odd_configs():
        try:
            row = model_of(tmp_path, config)
        except ConfigError as error:
            refusals.append(str(error))
        else:
            rows += 1
            assert row.schema == geometry().schema
            assert row.select(
                pl.all_horizontal((numbers.is_finite() & (numbers >= 0)).fill_null(True))
            ).item()
    assert all("\n" not in refusal for refusal in refusals)
    assert min(rows, len(refusals)) > 50
