"""The numbers of a config.json under one name each, checked: model types spell them in different ways."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from transforms.workloads.model_files import ConfigError

# Spellings of a number, and the largest that is believed.
_SPELLINGS: dict[str, tuple[tuple[str, ...], float]] = {
    "layers": (("num_hidden_layers", "n_layer", "n_layers", "num_layers"), 1_000),
    "hidden": (("hidden_size", "n_embd", "d_model"), 1_000_000),
    "width": (("intermediate_size", "n_inner", "ffn_hidden_size"), 10_000_000),
    "heads": (("num_attention_heads", "n_head", "n_heads"), 10_000),
    "kv_heads": (("num_key_value_heads", "num_kv_heads", "multi_query_group_num", "n_head_kv"), 10_000),
    "head_dim": (("head_dim", "kv_channels"), 10_000),
    "vocabulary": (("vocab_size", "padded_vocab_size"), 100_000_000),
    "positions": (("max_position_embeddings", "n_positions", "max_seq_len", "seq_length"), 10**9),
    "window": (("sliding_window", "attention_chunk_size"), 10**9),
    "experts": (("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"), 100_000),
    "experts_of_a_token": (
        ("num_experts_per_tok", "moe_k", "num_experts_per_token", "top_k_experts"),
        10_000,
    ),
    "shared_experts": (("n_shared_experts", "moe_num_shared_experts"), 1_000),
    "expert_width": (("moe_intermediate_size",), 10_000_000),
    "shared_width": (("shared_expert_intermediate_size",), 10_000_000),
    "dense_width": (("intermediate_size_mlp",), 10_000_000),
    "first_dense": (("first_k_dense_replace", "moe_layer_start_index"), 1_000),
    "moe_step": (("decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_freq"), 1_000),
    "query_rank": (("q_lora_rank",), 1_000_000),
    "latent_rank": (("kv_lora_rank",), 1_000_000),
    "rope_dim": (("qk_rope_head_dim",), 10_000),
    "nope_dim": (("qk_nope_head_dim",), 10_000),
    "value_dim": (("v_head_dim",), 10_000),
    "index_heads": (("index_n_heads",), 10_000),
    "index_dim": (("index_head_dim",), 10_000),
    "state_key_heads": (("linear_num_key_heads",), 10_000),
    "state_value_heads": (("linear_num_value_heads",), 10_000),
    "state_key_dim": (("linear_key_head_dim",), 10_000),
    "state_value_dim": (("linear_value_head_dim",), 10_000),
    "convolution": (("linear_conv_kernel_dim",), 100),
    "full_every": (("full_attention_interval",), 1_000),
    "global_kv_heads": (("num_global_key_value_heads",), 10_000),
    "global_head_dim": (("global_head_dim",), 10_000),
    "shared_kv_layers": (("num_kv_shared_layers",), 1_000),
    "layer_input": (("hidden_size_per_layer_input",), 1_000_000),
    "window_step": (("sliding_window_pattern",), 1_000),
    "full_first": (("max_window_layers",), 1_000),
    "encoder_layers": (("encoder_layers",), 1_000),
    "decoder_layers": (("decoder_layers",), 1_000),
    "source_positions": (("max_source_positions",), 1_000_000),
    "target_positions": (("max_target_positions",), 1_000_000),
    "encoder_heads": (("encoder_attention_heads",), 10_000),
    "mel_bins": (("num_mel_bins",), 10_000),
}


@dataclass(frozen=True, slots=True)
class Fields:
    """The numbers of a config by our names, and the config itself for flags and lists.

    Attributes:
        place: the file, for messages.
        numbers: what is stated; nothing for what is not.
        raw: the object of the text decoder.
    """

    place: str
    numbers: Mapping[str, int]
    raw: Mapping[str, Any]

    def get(self, name: str, default: int = 0) -> int:
        """Returns a number, or the default where none is stated."""
        return self.numbers.get(name, default)

    def need(self, name: str) -> int:
        """Returns a number above zero that must be stated.

        Raises:
            ConfigError: the config does not state it, or states zero.
        """
        found = self.numbers.get(name, 0)
        if found <= 0:
            keys = " or ".join(_SPELLINGS[name][0][:2])
            raise ConfigError(f"{self.place}: no {keys} above zero; add it")
        return found

    def flag(self, name: str, default: bool) -> bool:
        """Returns a flag, or the default where it is not stated.

        Raises:
            ConfigError: anything but true, false or null.
        """
        found = self.raw.get(name)
        if found is not None and not isinstance(found, bool):
            raise ConfigError(f"{self.place}: {name} = {found!r:.40}: give true or false")
        return default if found is None else found

    def places(self, name: str) -> frozenset[int] | None:
        """Returns the layers that a list names, or None where it is not stated.

        Raises:
            ConfigError: no list, or an entry that is no whole number.
        """
        found = self.raw.get(name)
        if found is None:
            return None
        if not isinstance(found, list) or any(type(entry) is not int for entry in found):
            raise ConfigError(f"{self.place}: {name} = {found!r:.40}: give a list of whole numbers")
        return frozenset(found)


def read_fields(place: str, config: Mapping[str, Any]) -> Fields:
    """Returns the numbers of the text decoder of a config; vision and sound of a nested one are left out.

    Raises:
        ConfigError: a number that is none, below zero, not whole, or larger than any model has; a part that is
            no object.
    """
    parts = (part_of(place, config, name) for name in ("text_config", "llm_config", "thinker_config"))
    raw = next((part for part in parts if part), dict(config))
    raw = part_of(place, raw, "text_config") or raw
    raw.setdefault("model_type", config.get("model_type"))
    if "tie_word_embeddings" not in raw and "tie_word_embeddings" in config:
        raw["tie_word_embeddings"] = config["tie_word_embeddings"]
    attention = part_of(place, raw, "attn_config")
    if "kv_n_heads" in attention:
        raw.setdefault("num_key_value_heads", attention["kv_n_heads"])
    numbers = {}
    for name, (keys, largest) in _SPELLINGS.items():
        key = next((key for key in keys if raw.get(key) is not None), None)
        if key is not None:
            numbers[name] = _number(place, key, raw[key], largest)
    return Fields(place, numbers, raw)


def part_of(place: str, config: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Returns a copy of an object inside a config; empty where it is not stated.

    Raises:
        ConfigError: anything but an object or null.
    """
    found = config.get(name)
    if found is not None and not isinstance(found, dict):
        raise ConfigError(f"{place}: {name} = {found!r:.40}: give an object")
    return dict(found or {})


def _number(place: str, key: str, value: object, largest: float) -> int:
    is_whole = type(value) is int or (isinstance(value, float) and value.is_integer())
    if not is_whole or not 0 <= value <= largest:  # type: ignore[operator]
        raise ConfigError(f"{place}: {key} = {value!r:.40}: give a whole number from 0 to {largest:,.0f}")
    return int(value)  # type: ignore[call-overload, no-any-return]
