"""Names of models: what they mean, and what they must never mean."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transforms.reference.tables import read
from transforms.workloads.model_names import OFFERED_NAMES, model_ids, nearest, resolve

IDS = read("model")["model_id"].to_list()
TEXT_IDS = read("model").filter(pl.col("modality") == "llm")["model_id"].to_list()
ALIASES = dict(read("model_alias").select("alias", "model_id").iter_rows())

MEANINGS = {
    "meta-llama/Llama-3.1-8B-Instruct": "llama-3.1-8b",
    "Meta-Llama-3.1-70B-Instruct-AWQ-INT4": "llama-3.1-70b",
    "neuralmagic/Meta-Llama-3.1-8B-Instruct-quantized.w8a8": "llama-3.1-8b",
    "nvidia/Llama-3.1-405B-Instruct-FP8-KV": "llama-3.1-405b",
    "Llama 3.1 70B": "llama-3.1-70b",
    "llama31-8b": "llama-3.1-8b",
    "llama3.1_405b": "llama-3.1-405b",
    "unsloth/llama-3-8b-bnb-4bit": "llama-3-8b",
    "Llama-2-7b-chat-hf": "llama-2-7b",
    "llama2-70b-99.9": "llama-2-70b",
    "llama2_70b_lora": "llama-2-70b",
    "LLaMA-65B": "llama-65b",
    "Llama-4-Maverick-17B-128E-Instruct-FP8": "llama-4-maverick",
    "Qwen/Qwen3-30B-A3B-Instruct-2507-FP8": "qwen3-30b-a3b",
    "Qwen3-235B": "qwen3-235b-a22b",
    "Qwen/Qwen2.5-Coder-32B-Instruct": "qwen2.5-32b",
    "Qwen2.5-7B-Instruct-GPTQ-Int4": "qwen2.5-7b",
    "qwen1-14b": "qwen-14b",
    "deepseek-ai/DeepSeek-R1-0528": "deepseek-r1",
    "DeepSeek-R1-Distill-Llama-8B": "llama-3.1-8b",
    "DeepSeek-V3/R1": "deepseek-v3",
    "Mixtral 8x7B": "mixtral-8x7b",
    "mistralai/Mixtral-8x7B-Instruct-v0.1": "mixtral-8x7b",
    "Mistral-7B-Instruct-v0.3": "mistral-7b-v0.3",
    "mistral-7b": "mistral-7b-v0.2",
    "Mistral-Large-Instruct-2411": "mistral-large-2407",
    "Mistral-Small-3.1-24B-Instruct-2503": "mistral-small-24b",
    "gemma-4-26B-A4B-it-qat-q4_0-unquantized": "gemma-4-26b-a4b",
    "google/gemma-3-27b-it": "gemma-3-27b",
    "Phi-4-mini-reasoning": "phi-4-mini",
    "gptj-99": "gpt-j-6b",
    "bloomz-7b1": "bloom-7b1",
    "tiny-llama": "tinyllama-1.1b",
    "TinyLlama-1.1B-Chat-v1.0": "tinyllama-1.1b",
    "lmsys/vicuna-7b-v1.3": "llama-7b",
    "lmsys/vicuna-7b-v1.5": "llama-2-7b",
    "CodeLlama-13b-Python-hf": "codellama-13b",
    "HuggingFaceH4/zephyr-7b-beta": "mistral-7b-v0.1",
    "openai/gpt-oss-120b": "gpt-oss-120b",
    "NVIDIA-Nemotron-Nano-9B-v2": "nemotron-nano-9b-v2",
    "Qwen3.6-35B-A3B-UD-Q4_K_XL.gguf": "qwen3.6-35b-a3b",
    "sdxl": "sdxl-base-1.0",
    "stable-diffusion-xl": "sdxl-base-1.0",
    "black-forest-labs/FLUX.1-dev": "flux.1-dev",
    "flux1-schnell": "flux.1-schnell",
    "Wan2.1-T2V-14B": "wan2.1-t2v-14b",
    "consisid (cogvideox-5b)": "cogvideox-5b",
    "openai/whisper-small.en": "whisper-small",
    "CohereForAI/c4ai-command-r+": "command-r-plus",
    "meta-llama/Llama-3.2-90B-Vision-Instruct": "llama-3.2-90b-vision",
    "Devstral-24B": "mistral-small-24b",
    "MiniMaxAI/MiniMax-Text-01": "minimax-text-01",
    "MiniMax-M1-80k": "minimax-text-01",
    "stabilityai/stablelm-2-12b-chat": "stablelm-2-12b",
    "WizardLM-13B-V1.0": "llama-13b",
    "WizardLM-13B-V1.2": "llama-2-13b",
    "WizardLM-70B": "llama-2-70b",
    "Snowflake Arctic": "snowflake-arctic",
    "nvidia/Llama-3_3-Nemotron-Super-49B-v1": "llama-3.3-nemotron-super-49b",
    "Llama-3_1-Nemotron-Ultra-253B-v1-FP8": "llama-3.1-nemotron-ultra-253b",
    "baidu/ERNIE-4.5-300B-A47B-PT": "ernie-4.5-300b-a47b",
    "tencent/Hunyuan-A13B-Instruct": "hunyuan-a13b",
    "stepfun-ai/step3": "step-3",
    "LongCat-Flash-Chat": "longcat-flash",
    "inclusionAI/Ring-1T": "ling-1t",
    "rednote-hilab/dots.llm1.inst": "dots.llm1",
    "LGAI-EXAONE/EXAONE-4.0-32B-AWQ": "exaone-4.0-32b",
    "CohereLabs/c4ai-command-r7b-12-2024": "command-r7b",
    "c4ai-command-a-03-2025": "command-a-111b",
    "AI21-Jamba-1.5-Large": "jamba-1.5-large",
    "Pixtral-12B-2409": "pixtral-12b",
    "Pixtral-Large-Instruct-2411": "pixtral-large",
    "OpenGVLab/InternVL3-8B": "internvl3-8b",
    "Qwen/Qwen3-Omni-30B-A3B-Instruct": "qwen3-omni-30b-a3b",
    "Kimi-VL-A3B-Thinking-2506": "kimi-vl-16b-a3b",
    "allenai/Molmo-7B-D-0924": "molmo-7b-d",
    "microsoft/Phi-4-multimodal-instruct": "phi-4-multimodal",
    "bigscience/T0": "flan-t5-xxl",
    "bigscience/T0_3B": "flan-t5-xl",
}

NO_MODEL = (
    "",
    "   ",
    "generic 70B",
    "Llama-3.1-9B",
    "Llama-3.2-8B",
    "Llama-38B",
    "Llama-5-8B",
    "Qwen4-8B",
    "Qwen2.5-9B",
    "Qwen3-30B-A30B",
    "Mixtral-8x8B",
    "Mistral-7B-v0.9",
    "gemma-3-5b",
    "gpt-oss-12b",
    "vicuna-9b",
    "DeepSeek-V5",
    "DeepSeek-R1-Distill-Qwen-8B",
    "flux.1",
    "phi-5",
    "8B",
    "meta-llama/",
    "Llama-3-8B/Llama-3-70B",
    "snowflake-arctic-embed-l",
    "InternVL3-9B",
    "Nemotron-Ultra-153B",
    "Transformer-XL",
)

# Two names of other models each, which differ in size, generation or kind.
APART = (
    ("Llama-3-8B", "Llama-3.1-8B"),
    ("Llama-2-7B", "Llama-7B"),
    ("Qwen2-7B", "Qwen2.5-7B"),
    ("Qwen1.5-7B", "Qwen-7B"),
    ("Qwen3-8B", "Qwen3-VL-8B"),
    ("Gemma-2B", "Gemma-2-2B"),
    ("Mistral-7B-v0.1", "Mistral-7B-v0.3"),
    ("Phi-3-mini", "Phi-4-mini"),
    ("CodeLlama-7B", "Llama-2-7B"),
    ("Falcon-7B", "Falcon3-7B"),
    ("GLM-4.5", "GLM-4.5-Air"),
    ("StarCoder-15B", "StarCoder2-15B"),
    ("wan2.1-t2v-14b", "wan2.2-t2v-a14b"),
    ("whisper-large-v3", "whisper-large-v3-turbo"),
    ("SDXL", "SD1.5"),
    ("Phi-4-mini", "Phi-4-multimodal"),
    ("Command-R7B", "Command-R"),
    ("Step-3", "Step-3.7-Flash"),
    ("Jamba-1.5-Mini", "Jamba-1.5-Large"),
    ("Qwen3-Omni-30B-A3B", "Qwen3-30B-A3B"),
    ("Pixtral-12B", "Mistral-Nemo-12B"),
)

PACKING = ("", "-AWQ", "-GPTQ-Int4", "-FP8", ".Q4_K_M.gguf", "-hf", "-GGUF", "-bnb-4bit", "-quantized.w4a16")
TUNING = ("-Instruct", "-Chat", "-it", "-Instruct-2507", "-Chat-AWQ")
OWNERS = ("", "meta-llama/", "Qwen/", "neuralmagic/", "somebody/")


@pytest.mark.parametrize(("name", "model_id"), MEANINGS.items())
def test_a_name_means_its_model(name: str, model_id: str) -> None:
    assert resolve(name) == model_id


@pytest.mark.parametrize("name", NO_MODEL)
def test_a_name_of_no_model_of_the_table_means_none(name: str) -> None:
    assert resolve(name) is None


@pytest.mark.parametrize("pair", APART)
def test_another_size_or_generation_is_another_model(pair: tuple[str, str]) -> None:
    found = [resolve(name) for name in pair]
    assert None not in found
    assert found[0] != found[1]


def test_every_id_means_itself() -> None:
    assert {model_id: resolve(model_id) for model_id in IDS} == {model_id: model_id for model_id in IDS}


def misread(aliases: dict[str, str]) -> list[str]:
    """Returns the aliases that do not mean what their row says."""
    return [alias for alias, model_id in aliases.items() if resolve(alias) != model_id]


def test_every_alias_means_its_model() -> None:
    assert misread(ALIASES) == []
    assert misread({"llama-3-8b": "llama-3.1-8b"}) == ["llama-3-8b"]


@given(
    model_id=st.sampled_from(IDS),
    separator=st.sampled_from("-_ "),
    packing=st.sampled_from(PACKING),
    owner=st.sampled_from(OWNERS),
    upper=st.booleans(),
)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_spelling_owner_and_packing_change_nothing(
    model_id: str, separator: str, packing: str, owner: str, upper: bool
) -> None:
    name = model_id.replace("-", separator) + packing
    assert resolve(owner + (name.upper() if upper else name)) == model_id


@given(model_id=st.sampled_from(TEXT_IDS), tuning=st.sampled_from(TUNING))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_tuning_of_a_text_model_changes_nothing(model_id: str, tuning: str) -> None:
    assert resolve(model_id + tuning) == model_id


@given(st.text(max_size=200))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_no_text_breaks_the_names(text: str) -> None:
    found = resolve(text)
    assert found is None or found in IDS
    offered = nearest(text)
    assert len(offered) <= OFFERED_NAMES
    assert set(offered) <= set(IDS)


def test_the_nearest_names_are_offered_for_an_unknown_one() -> None:
    assert nearest("lama-3.1-8b")[0] == "llama-3.1-8b"
    assert {name.partition("-")[0] for name in nearest("Qwen/Qwen2.5-9B-Instruct")} <= {"qwen2.5", "qwen3.5"}
    assert "qwen2.5-7b" in nearest("Qwen/Qwen2.5-8B-Instruct-AWQ")
    assert nearest("xxxxxxxxxxxx") == []


def test_a_series_of_names_is_read_name_by_name() -> None:
    names = pl.Series("model", ["Llama 3.1 8B", None, "unknown", "Llama 3.1 8B"])
    found = model_ids(names)
    assert found.to_list() == ["llama-3.1-8b", None, None, "llama-3.1-8b"]
    assert found.name == "model"
    assert found.dtype == pl.String
