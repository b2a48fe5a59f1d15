"""Names in measurement files: which model and which GPU a row is about, or why none."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transforms.accuracy.names import with_gpu_key, with_model_id
from transforms.reference.tables import read

GPUS = frozenset(read("gpu")["gpu_key"])

# Canonical spelling and text of the source, as the measurement files and others of their kind write them.
GPU_MEANINGS = (
    ("H200-SXM5-141GB", "NVIDIA H200-SXM-141GB-CTS", "H200-SXM-141GB"),
    ("H200-NVL", "NVIDIA H200-NVL-141GB", "H200-NVL-141GB"),
    ("A100-PCIe-80GB", "A100 PCIe 80GB * 4", "A100-PCIE-80GB"),
    ("A100-SXM4-80GB", "A100-80GB (330 W limit)", "A100-SXM4-80GB"),
    ("A100-80GB", "A100 80GB", "A100-SXM4-80GB"),
    ("A100-40GB", "A100 40GB", "A100-SXM4-40GB"),
    ("V100-16GB", "V100 16GB", "V100-SXM2-16GB"),
    ("P100-16GB", "Tesla P100-PCIE-16GB", "P100-PCIE-16GB"),
    ("H100-SXM-80GB", "H800/H100", "H100-SXM5-80GB"),
    ("B200", "B200 (source row labelled H200; text says B200)", "B200-SXM-180GB"),
    ("RTXA6000-48GB", "RTX A6000 48GB * 4", "RTXA6000-48GB"),
    ("RTX-4000-Ada", "RTX4000", "RTX4000ADA-20GB"),
    ("RTXPRO6000-96GB", "pro6000", "RTXPRO6000-SE-96GB"),
    ("RTX-4060-Ti", "NVIDIA GeForce RTX 4060 Ti", "RTX4060TI-16GB"),
    ("RTX-4060-Ti", "NVIDIA GeForce RTX 4060 Ti 8GB", "RTX4060TI-8GB"),
    ("RTX-2060", "NVIDIA GeForce RTX 2060", "RTX2060-6GB"),
    ("Gaudi2-96GB", "Habana Gaudi2", "GAUDI2-96GB"),
    ("Gaudi3-128GB", "Gaudi 3 HL-325L", "GAUDI3-128GB"),
    ("TPU7x-192GB", "TPU7x (Ironwood)", "TPU-V7X"),
    ("TPU-v6e", "TPU v6", "TPU-V6E"),
    ("Trainium1-32GB", "trn1.32xlarge", "TRAINIUM1-32GB"),
    ("Inferentia2-32GB", "inf2.48xlarge (TP8 = 4 chips)", "INFERENTIA2-32GB"),
    ("DGX-Spark-GB10", "NVIDIA DGX Spark", "GB10-128GB"),
    ("M1-7c", "M1 7\u2011Core GPU 8GB", "APPLE-M1-7C-16GB"),
    ("M1Max-32c", "M1 Max 32\u2011Core GPU 64GB", "APPLE-M1MAX-32C-64GB"),
    ("M2Ultra", "M2 Ultra 76-Core GPU 192GB", "APPLE-M2ULTRA-76C-192GB"),
    # parts and spellings that other files may have
    ("L40S-48GB", "NVIDIA L40S", "L40S-48GB"),
    ("L4-24GB", "L4", "L4-24GB"),
    ("A10G-24GB", "A10G", "A10G-24GB"),
    ("RTX4080-16GB", "4080 16GB", "RTX4080-16GB"),
    ("RTX-3080", "NVIDIA GeForce RTX 3080", "RTX3080-10GB"),
    ("RTX3080-12GB", "RTX 3080 12GB", "RTX3080-12GB"),
    ("MI325X-256GB", "AMD Instinct MI325X 256GB HBM3E", "MI325X-256GB"),
    ("MI355X-288GB", "8x MI355X", "MI355X-288GB"),
    ("B300-SXM-288GB", "NVIDIA B300", "B300-SXM-288GB"),
    ("GB200", "NVIDIA GB200 NVL72", "GB200-186GB"),
    ("GH200-96GB", "GH200", "GH200-96GB"),
    ("H100-NVL-94GB", "H100 NVL", "H100-NVL-94GB"),
    ("M3Ultra-80c", "M3 Ultra 80-Core GPU 512GB", "APPLE-M3ULTRA-80C-512GB"),
    ("M4Max-40c", "M4 Max 40-Core GPU 128GB", "APPLE-M4MAX-40C-128GB"),
    ("TPU-v5e", "TPU v5e", "TPU-V5E"),
    ("Trainium2-96GB", "trn2", "TRAINIUM2-96GB"),
    ("Arc-A770", "Intel Arc A770 16GB", "ARC-A770-16GB"),
    (None, "A10G 24GB", "A10G-24GB"),
    ("", "RTX 5090 32GB", "RTX5090-32GB"),
    (None, "H100 80GB", "H100-SXM5-80GB"),
    (None, "GB10 128GB unified", "GB10-128GB"),
    ("no such part", "RTX 4090 24GB", "RTX4090-24GB"),
)

NO_GPU = (
    (None, None),
    ("", " "),
    ("not stated", "not stated"),
    ("any", "any"),
    ("80GB", "80GB GPU"),
    ("A100", "A100"),  # 40 or 80 GB, and not equally fast
    ("A100/H100", "A100/H100"),
    ("A100 MIG 1g.10gb", "A100 MIG 1g.10gb"),
    (None, "MacBook M2 Max"),  # 30 or 38 cores
)

# Names of the bundled files that mean no one part, or no model with a known geometry.
OPEN_GPUS = {"any", "unspecified", "not", "4GB", "8GB", "16GB", "24GB", "48GB", "80GB"} | {
    "A100",
    "A100/H100",
    "H100-class",
    "MacBook",
}
OPEN_TEXT_MODELS = {"Carnice-9b", "LFM2.5-8B-A1B", "MiniCPM5-1B-GGUF", "Ornstein3.6-35B-A3B", "Qwen3.6-27B"}


def _measured(name: str) -> pl.DataFrame:
    path = files("transforms.reference.measurements").joinpath(f"{name}.csv")
    return pl.read_csv(path.read_bytes(), infer_schema=False)


def _gpu(canonical: str | None, text: str | None) -> dict[str, Any]:
    frame = pl.DataFrame(
        {"canonical": [canonical], "text": [text]},
        schema_overrides={"canonical": pl.String, "text": pl.String},
    )
    return with_gpu_key(frame, "canonical", "text").row(0, named=True)


def _model(name: str | None, params_b: object = None) -> dict[str, Any]:
    frame = pl.DataFrame({"model": [name], "params_b": [params_b]}, schema_overrides={"model": pl.String})
    return with_model_id(frame, "model", "params_b").row(0, named=True)


@pytest.mark.parametrize(("canonical", "text", "key"), GPU_MEANINGS)
def test_a_gpu_is_read_from_the_canonical_spelling_and_the_text(
    canonical: str | None, text: str, key: str
) -> None:
    assert key in GPUS
    found = _gpu(canonical, text)
    assert (found["gpu_key"], found["gpu_problem"]) == (key, None)


@pytest.mark.parametrize(("canonical", "text"), NO_GPU)
def test_what_names_no_one_gpu_has_a_reason(canonical: str | None, text: str | None) -> None:
    found = _gpu(canonical, text)
    assert found["gpu_key"] is None
    assert found["gpu_problem"]


def test_every_gpu_key_means_itself() -> None:
    frame = pl.DataFrame({"canonical": sorted(GPUS)})
    assert with_gpu_key(frame, "canonical", "canonical")["gpu_key"].to_list() == sorted(GPUS)


@pytest.mark.parametrize(
    ("name", "params_b", "model_id"),
    [
        ("Llama-3.1-8B", 8.03, "llama-3.1-8b"),
        ("Llama-3.1-8B", "8.03", "llama-3.1-8b"),
        ("Llama-3.1-8B", None, "llama-3.1-8b"),
        ("Llama-3.1-8B", "", "llama-3.1-8b"),
        ("Qwen3-0.6B", 1, "qwen3-0.6b"),  # rounded to whole billions
        ("qwen3-30b-a3b", 3.3, "qwen3-30b-a3b"),  # the parameters at work
        ("FLUX.1-dev", 11.9, "flux.1-dev"),  # the transformer alone
        ("mpt-125m", 0.174, "mpt-125m"),  # with the positions of 65,536 tokens
        ("Qwen3.6-27B", 6, None),  # what is stored packed is no count of parameters
        ("vicuna-7b", 13.0, None),
        ("Llama-3.1-9B", 9, None),
        (None, 8, None),
    ],
)
def test_a_model_that_has_another_size_is_not_the_one_measured(
    name: str | None, params_b: object, model_id: str | None
) -> None:
    found = _model(name, params_b)
    assert found["model_id"] == model_id
    assert (found["model_problem"] is None) == (model_id is not None)


def test_names_add_two_columns_and_keep_the_rows() -> None:
    frame = pl.DataFrame(
        {
            "case_id": ["a", "b", "c", "d"],
            "model": ["Llama 3.1 8B", None, "nothing", "Llama 3.1 8B"],
            "params_b": [8.03, None, 7.0, 70.0],
            "gpu": ["B200", "B200", None, "B200"],
        }
    )
    found = with_gpu_key(with_model_id(frame, "model", "params_b"), "gpu", "gpu")
    assert found.drop("model_id", "model_problem", "gpu_key", "gpu_problem").equals(frame)
    assert found["model_id"].to_list() == ["llama-3.1-8b", None, None, None]
    assert found["gpu_key"].to_list() == ["B200-SXM-180GB", "B200-SXM-180GB", None, "B200-SXM-180GB"]
    empty = with_gpu_key(with_model_id(frame.clear(), "model"), "gpu", "gpu")
    assert (empty.height, empty.width) == (0, 8)


@given(st.text(max_size=60) | st.none(), st.text(max_size=60) | st.none(), st.floats() | st.none())
@settings(max_examples=200, deadline=None, derandomize=True)
def test_no_text_breaks_the_frames(name: str | None, text: str | None, number: float | None) -> None:
    assert _gpu(name, text)["gpu_key"] in {None, *GPUS}
    found = _model(name, number)
    assert (found["model_id"] is None) != (found["model_problem"] is None)


def unread(frame: pl.DataFrame, key: str, name: str, known: set[str]) -> set[str]:
    """Returns the names of rows without a key that are not among the known open ones, by their first word."""
    names = frame.filter(pl.col(key).is_null() & pl.col(name).is_not_null())[name].to_list()
    return {text for text in names if text.split(" ")[0] not in known}


@pytest.mark.parametrize(
    ("file", "canonical"),
    [
        ("throughput_llm", "gpu_canonical"),
        ("throughput_training", "gpu_canonical"),
        ("throughput_generation", "gpu_canonical"),
        ("memory_truth", "gpu"),
    ],
)
def test_every_gpu_of_the_bundled_measurements_is_read(file: str, canonical: str) -> None:
    rows = with_gpu_key(_measured(file), canonical, "gpu")
    assert unread(rows, "gpu_key", "gpu", OPEN_GPUS) == set()
    # the accelerator that the file itself names is the same, but where the text says the form factor
    if "accelerator_id" in rows.columns:
        apart = rows.filter(pl.col("gpu_key") != pl.col("accelerator_id"))
        assert set(apart["gpu"]) <= {"Tesla P100-PCIE-16GB"}
    odd = pl.DataFrame({"gpu": ["H100", "H1000"], "gpu_key": ["H100-SXM5-80GB", None]})
    assert unread(odd, "gpu_key", "gpu", OPEN_GPUS) == {"H1000"}


def test_every_text_model_of_the_bundled_measurements_is_read() -> None:
    rows = with_model_id(_measured("throughput_llm"), "model", "params_b")
    assert unread(rows, "model_id", "model", OPEN_TEXT_MODELS) == set()


def test_the_catalogue_of_the_memory_file_names_the_same_models() -> None:
    """Where the file names a row of the catalogue, the name means it, or nothing: never another model."""
    rows = with_model_id(_measured("memory_truth"), "model", "params_b")
    apart = rows.filter(pl.col("model_id") != pl.col("catalog_id"))
    assert apart.select("model", "model_id", "catalog_id").unique().rows() == []
