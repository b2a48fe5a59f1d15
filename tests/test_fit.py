"""What a model needs on every GPU: the fewest cards, all users in one copy, the bar by parts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from flows.fit import fitted, in_short, memory_bar
from transforms.reference import tables
from transforms.workloads.ask import Job, JobError
from transforms.workloads.asked_job import job_row
from transforms.workloads.fit import FIT, VERDICTS, fit, variants
from transforms.workloads.model_config import geometry_of_config
from transforms.workloads.models import also


def on(job: Job, gpu: str) -> dict[str, Any]:
    return fit(job_row(job), [gpu]).row(0, named=True)


def test_every_gpu_has_one_row_and_those_that_do_it_come_first() -> None:
    rows = fit(job_row(Job(model="llama-3.1-70b", precision="fp8", context=8192, users=4)))
    assert rows.schema == FIT
    left_out = set(tables.read("gpu")["gpu_key"]) - set(rows["gpu_key"])
    assert rows["gpu_key"].is_unique().all()
    assert {"GB10-128GB", "JETSON-ORIN-64GB"} <= left_out
    assert not any(key.startswith(("H100", "RTX", "MI", "TPU", "T4")) for key in left_out)
    places = [VERDICTS.index(verdict) for verdict in rows["verdict"]]
    assert places == sorted(places)
    fits = rows.filter(pl.col("verdict") == "fits")
    memory = (fits["usable_gib"] * fits["gpu_count"]).to_list()
    assert memory == sorted(memory)
    assert rows.filter(pl.col("verdict") == "unknown")["reason_detail"].null_count() == 0


def test_the_fewest_cards_that_hold_it_and_no_fewer() -> None:
    """70.6e9 parameters at 16 bit are 131.5 GiB: two 80 GB cards with little cache, four with much, one of 192 GB."""
    few, many = Job(model="llama-3.1-70b", context=4096), Job(model="llama-3.1-70b", context=32_768, users=8)
    assert on(few, "H100-SXM5-80GB")["gpu_count"] == 2
    assert on(many, "H100-SXM5-80GB")["gpu_count"] == 4
    assert on(few, "MI300X-192GB")["gpu_count"] == 1
    small = on(few, "T4-16GB")
    assert (small["verdict"], small["reason"]) == ("does_not_fit", "memory")
    assert small["reason_detail"].endswith("more than 92 % of 15.0 usable")


def test_a_figure_that_is_not_known_is_said_of_the_fewest_cards_that_hold_it() -> None:
    row = on(Job(model="llama-3.1-8b"), "TT-N300-24GB")
    assert (row["gpu_count"], row["verdict"], row["reason"]) == (1, "unknown", "gpu_figures")


@pytest.mark.parametrize("users", [1, 7, 40])
def test_all_users_are_in_the_one_copy(users: int) -> None:
    """131,072 bytes of cache a token at 16 bit."""
    row = on(Job(model="llama-3.1-8b", precision="bf16", context=8192, users=users), "H100-SXM5-80GB")
    assert row["state_gib"] * 2**30 * row["gpu_count"] == pytest.approx(users * 8192 * 131_072, rel=1e-6)
    parts = sum(row[name] for name in ("weights_gib", "state_gib", "activation_gib", "runtime_gib"))
    assert row["need_gib"] == pytest.approx(parts)
    assert row["load_ratio"] == pytest.approx(row["need_gib"] / row["usable_gib"])


def test_the_users_that_fit_fit_and_one_more_does_not() -> None:
    def asked(users: int) -> dict[str, Any]:
        return on(Job(model="llama-3.1-8b", precision="bf16", context=8192, users=users), "RTX4090-24GB")

    held = int(asked(1)["users_that_fit"])
    assert held > 1
    assert (asked(held)["gpu_count"], asked(held)["verdict"]) == (1, "fits")
    assert asked(held + 1)["gpu_count"] == 2
    assert asked(held)["load_ratio"] <= 0.92


def test_a_floor_that_memory_holds_and_speed_does_not_is_said() -> None:
    row = on(Job(model="llama-3.1-8b", context=2048, users=64, min_tok_s=150), "L40S-48GB")
    assert row["reason"] in ("users", "speed")
    assert row["verdict"] == "fits"


@pytest.mark.parametrize(
    ("gpu", "link"),
    [
        ("H100-SXM5-80GB", "nvlink"),
        ("H100-PCIE-80GB", "pcie"),
        ("RTX3090-24GB", "pcie"),
        ("MI300X-192GB", "xgmi"),
        ("TPU-V5E", "unknown"),
    ],
)
def test_cards_are_joined_as_clouds_join_them(gpu: str, link: str) -> None:
    row = on(Job(model="llama-3.1-70b", precision="bf16", context=131_072, users=3), gpu)
    assert row["gpu_count"] > 1 or row["verdict"] == "unknown"
    assert row["link"] == link or row["gpu_count"] == 1


def test_the_bar_adds_up_and_names_what_is_missing() -> None:
    fits = on(Job(model="llama-3.1-8b", users=4), "L40S-48GB")
    head, *parts, times = memory_bar(fits, "serve")
    assert head == f"1 x L40S-48GB: GiB of one GPU, 48 nominal, {fits['usable_gib']:.4g} usable: fits"
    assert [line.split("  ")[1].strip() for line in parts] == [
        "weights",
        "cache",
        "activations",
        "runtime",
        "free",
    ]
    numbers = [float(line[22:].split()[0]) for line in parts]
    assert sum(numbers) == pytest.approx(fits["usable_gib"], abs=0.05)
    shares = [int(share) for share in re.findall(r"(\d+)%", times)]
    assert sum(shares) == pytest.approx(100, abs=3)
    full = on(Job(model="llama-3.1-405b", precision="bf16"), "L40S-48GB")
    assert any(line.startswith("  missing") for line in memory_bar(full, "serve"))
    unknown = on(Job(model="qwen3.8-2.4t-a95b", precision="fp8"), "L40S-48GB")
    assert "not known" in memory_bar(unknown, "serve")[0]
    trained = on(Job(task="lora", model="llama-3.1-8b", train_tokens=1), "H100-SXM5-80GB")
    assert any("gradients, states" in line for line in memory_bar(trained, "lora"))


def test_other_ways_to_train_are_told() -> None:
    """16 bytes a parameter with Adam, 6 with 8-bit moments and all at 16 bit: 128.5 and 48.2e9 for an 8B."""
    job = job_row(Job(task="full", model="llama-3.1-8b", train_tokens=1, recompute="full"))
    asked = fit(job, ["B300-SXM-288GB"]).row(0, named=True)
    told = variants(job, "B300-SXM-288GB", 1)
    saved = (asked["need_gib"] - told["with an 8-bit optimizer"]) * 2**30
    assert saved == pytest.approx(10 * 8.03e9, rel=0.05)
    assert "with all layers computed again" not in told
    assert (
        told["with all activations kept"] > told["with every second layer computed again"] > asked["need_gib"]
    )
    assert variants(job_row(Job(model="llama-3.1-8b")), "L40S-48GB", 1) == {}
    bar = fitted({"model": "llama-3.1-8b", "task": "full"}, None, ["H100 SXM"]).bar
    assert any(line.startswith("  with an 8-bit optimizer: ") for line in bar)


def test_what_is_asked_is_answered_without_an_amount_of_work() -> None:
    for wishes in (
        {"model": "llama-3.1-8b", "task": "qlora", "seq_len": "2k"},
        {"model": "z-image-turbo"},
        {"model": "whisper-large-v3-turbo"},
        {"model": "llama-3.1-8b", "users": "8", "context": "8k"},
    ):
        answer = fitted(wishes, None, ["L40S"])
        assert [row["gpu_key"] for row in answer.rows] == ["L40S-48GB"]
        assert in_short(answer.rows)[0]["gpu"].endswith("L40S-48GB")
        assert answer.notes[0].startswith("asked: ")


def test_a_name_of_several_gpus_shows_them_all() -> None:
    keys = {row["gpu_key"] for row in fitted({"model": "llama-3.1-8b"}, None, ["H100"]).rows}
    assert len(keys) > 1
    assert all(key.startswith("H100") for key in keys)


def config_of(folder: Path, **changes: object) -> Path:
    """Writes the config.json of Llama-3.1-8B as its makers publish it, with some fields changed."""
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "vocab_size": 128256,
        "max_position_embeddings": 131072,
        "torch_dtype": "bfloat16",
        "tie_word_embeddings": False,
    }
    folder.mkdir(exist_ok=True)
    path = folder / "config.json"
    path.write_text(json.dumps(config | changes), encoding="utf-8")
    return path


def test_a_config_of_a_known_model_gives_what_the_known_model_gives(tmp_path: Path) -> None:
    """Also where the folder has the name of another model."""
    known = fitted({"model": "llama-3.1-8b", "users": "4"}, None, ["L40S"]).rows[0]
    for folder in ("mine", "phi-2"):
        (given,) = fitted({"users": "4"}, config_of(tmp_path / folder), ["L40S"]).rows
        for name in ("need_gib", "weights_gib", "state_gib", "speed", "verdict"):
            assert given[name] == (
                pytest.approx(known[name], rel=1e-3) if name != "verdict" else known[name]
            ), name
    assert fitted({"model": "phi-2"}, None, ["L40S"]).rows[0]["weights_gib"] < 0.5 * known["weights_gib"]


def test_a_config_has_its_own_longest_context(tmp_path: Path) -> None:
    path = config_of(tmp_path / "short", max_position_embeddings=4096)
    with pytest.raises(JobError, match="context 8192: above the 4096 tokens that short can read"):
        fitted({"context": "8k"}, path, ["L40S"])
    with pytest.raises(JobError, match="and not both"):
        fitted({"model": "phi-2"}, path, ["L40S"])


def test_weights_alone_show_what_is_known(tmp_path: Path) -> None:
    """A header of one 2 x 2 tensor in 16 bit: eight bytes, and no architecture, so no cache and no speed."""
    header = json.dumps({"a.weight": {"dtype": "BF16", "shape": [2, 2], "data_offsets": [0, 8]}}).encode()
    path = tmp_path / "own.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(8))
    model = geometry_of_config(path)
    with also(model):
        rows = fit(job_row(Job(model=model["model_id"][0])), ["H100-SXM5-80GB"])
    assert rows["verdict"].to_list() == ["unknown"]
