"""Asking in Python and in text: what a job means, what it costs to get a word wrong, and that no offer is lost."""

from __future__ import annotations

import contextlib
import io
import re
import tomllib
from dataclasses import FrozenInstanceError, fields
from datetime import timedelta
from typing import Any

import polars as pl
import pytest
from conftest import NIGHT, ROOT
from hypothesis import given, settings
from hypothesis import strategies as st
from story_offers import some, story_offers

from flows import asking
from flows.job_flags import described_job, number
from transforms.workloads.ask import Job, JobError, rank_offers
from transforms.workloads.asked_job import assumed, job_row
from transforms.workloads.jobs import tier_jobs
from transforms.workloads.schema import JOB
from transforms.workloads.wishes import CHOICES, NUMBERS

# A job of each task that says no more than it must.
LEAST: dict[str, dict[str, Any]] = {
    "serve": {"model": "llama-3.1-8b"},
    "batch": {"task": "batch", "model": "llama-3.1-8b", "tokens": 1e6},
    "embed": {"task": "embed", "model": "qwen3-0.6b", "passages": 1e6},
    "image": {"model": "flux.1-dev", "images": 1000, "resolution": "1024x1024", "steps": 28, "peak_gib": 36},
    "video": {"model": "wan2.2-ti2v-5b", "clips": 20},
    "audio": {"model": "whisper-large-v3-turbo", "audio_hours": 100},
    "lora": {"task": "lora", "model": "llama-3.1-8b", "train_tokens": 1e7},
    "qlora": {"task": "qlora", "model": "llama-3.1-8b", "train_tokens": 1e7},
    "full": {"task": "full", "model": "llama-3.2-1b", "train_tokens": 1e7},
    "pretrain": {"task": "pretrain", "model": "smollm2-1.7b", "train_tokens": 1e10},
}


@pytest.mark.parametrize("task", LEAST)
def test_a_job_of_each_task_is_ranked_and_loses_no_offer(task: str) -> None:
    answer = rank_offers(Job(**LEAST[task]), story_offers())
    assert job_row(Job(**LEAST[task]))["task"].item() == task
    assert answer.ranked
    assert answer.assumed.startswith(f"{task} {LEAST[task]['model']}")
    ids = [one.offering_id for one in (*answer.ranked, *answer.excluded)]
    assert sorted(ids) == sorted(story_offers()["offering_id"])
    assert all(one.total_usd for one in answer.ranked)


def test_spot_is_for_work_that_ends_and_for_those_who_ask() -> None:
    def bought(job: Job) -> set[str]:
        return {one.purchase for one in rank_offers(job, story_offers()).ranked}

    assert "spot" not in bought(Job(**LEAST["serve"]))
    assert bought(Job(**LEAST["serve"], purchase=("spot",))) == {"spot"}
    for task in ("batch", "image", "qlora"):
        assert "spot" in bought(Job(**LEAST[task])), task


@pytest.mark.parametrize("tier_id", tier_jobs()["tier_id"].to_list())
def test_a_tier_is_asked_as_it_is(tier_id: str) -> None:
    """A tier without changes has the figures of its row, and says all that its kind of work can be asked."""
    row = job_row(Job(tier=tier_id))
    assert row.equals(tier_jobs().filter(tier_id=tier_id))
    assert row["model_id"].item() in assumed(row.row(0, named=True))


def test_a_changed_tier_keeps_the_rest() -> None:
    """40 users at 25 tokens/s, 730 h at 0.3: 788,400,000 tokens a month."""
    row = job_row(Job(tier="rt-chat-70b", users=40)).row(0, named=True)
    tier = tier_jobs().row(by_predicate=pl.col("tier_id") == "rt-chat-70b", named=True)
    changes = {name for name in JOB if row[name] != tier[name]}
    assert changes == {"tier_id", "concurrent_users", "work_quantity"}
    assert row["work_quantity"] == pytest.approx(40 * 25 * 3600 * 730 * 0.3)
    songs = job_row(Job(tier="music-song-batch", audio_hours=3)).row(0, named=True)
    assert (songs["work_quantity"], songs["work_unit"]) == (3, "audio_hours")


def test_lengths_that_are_not_said_go_together() -> None:
    for wishes, expected in (
        ({}, (8192, 1024, 256)),
        ({"context": 500}, (500, 375, 125)),
        ({"context": 2}, (2, 1, 1)),
        ({"input": 20_000}, (20_256, 20_000, 256)),
        ({"input": 8000, "context": 8192}, (8192, 8000, 192)),
        ({"output": 9000}, (10_024, 1024, 9000)),
        ({"model": "phi-2"}, (2048, 1024, 256)),
    ):
        row = job_row(Job(**({"model": "llama-3.1-8b"} | wishes))).row(0, named=True)
        found = row["context_tokens"], row["input_tokens"], row["output_tokens"]
        assert sum(found[1:]) <= found[0], wishes
        assert found == expected, wishes


def test_what_is_said_of_cache_and_peak_is_kept() -> None:
    asked, open_wish = job_row(Job(model="phi-2", kv_precision="fp8")), job_row(Job(model="phi-2"))
    assert (asked["is_kv_fixed"].item(), open_wish["is_kv_fixed"].item()) == (True, False)
    image = LEAST["image"]
    assert job_row(Job(**image))["is_peak_fixed"].item()
    unsaid = {name: value for name, value in image.items() if name != "peak_gib"}
    row = job_row(Job(**unsaid)).row(0, named=True)
    assert (row["is_peak_fixed"], row["assumed_peak_gib"]) == (False, None)
    # the peak that a tier assumes holds at its own size only
    tier_peak = job_row(Job(model="z-image-turbo", images=5))["assumed_peak_gib"].item()
    assert tier_peak == tier_jobs().filter(tier_id="img-6b-ui")["assumed_peak_gib"].item()
    assert (
        job_row(Job(model="z-image-turbo", images=5, resolution="512x512"))["assumed_peak_gib"].item() is None
    )


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("context", "32k", 32_768),
        ("context", "32K", 32_768),
        ("context", "32768", 32_768),
        ("context", "32 Ki", 32_768),
        ("context", " 32,768 ", 32_768),
        ("context", "32_768", 32_768),
        ("context", "1.5M", 1_572_864),
        ("context", "0.5k", 512),
        ("train_tokens", "30M", 30_000_000),
        ("train_tokens", "1.5B", 1_500_000_000),
        ("train_tokens", "1T", 1e12),
        ("train_tokens", "1e12", 1e12),
        ("images", "5k", 5000),
        ("users", "2 Ki", 2048),
        ("min_tok_s", "0.5", 0.5),
        ("max_ttft_ms", "450", 450),
    ],
)
def test_numbers_as_people_write_them(name: str, text: str, value: float) -> None:
    assert number(name, text) == value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("context", ""),
        ("context", "k"),
        ("context", "32 kB"),
        ("context", "3,2"),
        ("context", "1,00,000"),
        ("context", "0x10"),
        ("context", "1 2"),
        ("context", "nan"),
        ("context", "-inf"),
        ("context", "k32"),
        ("min_tok_s", "30k"),
        ("users", "ten"),
    ],
)
def test_what_is_no_number(name: str, text: str) -> None:
    with pytest.raises(JobError, match=r"must be a number such as") as caught:
        number(name, text)
    assert "\n" not in str(caught.value)


def test_numbers_have_limits_at_both_ends() -> None:
    """Each number just outside its limits is refused, and each limit itself is a number that can be said."""
    for name, wish in NUMBERS.items():
        for beyond in (wish.high * 1.01 + 1, wish.low - 1, float("nan"), float("inf"), True, "3", [3]):
            with pytest.raises(JobError, match=rf"^{name.replace('_', '-')} .*must be"):
                Job(tier="rt-chat-70b", **{name: beyond})


def test_every_wish_has_a_flag_a_field_and_a_line_in_the_page() -> None:
    wishes = {field.name for field in fields(Job)}
    own = {"job", "limit", "form", "return"}
    assert set(asking.rank.__annotations__) - own == wishes
    assert set(asking.fit.__annotations__) - wishes == {"config", "gpu", "form", "return"}
    assert set(NUMBERS) | set(CHOICES) <= wishes
    page = (ROOT / "docs" / "asking.md").read_text(encoding="utf-8")
    table = "".join(line for line in page.splitlines() if line.startswith("| `"))
    told = {word.replace("-", "_") for word in re.findall(r"`([a-z-]+)`", table)}
    assert wishes - told == {"tier"}


def test_the_example_of_the_page_runs() -> None:
    page = (ROOT / "docs" / "asking.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(program, "asking.md", "exec"), {"offers": story_offers()})
    first, *others = printed.getvalue().splitlines()
    assert first.startswith("host 1.0 ['RTX4090-24GB']")
    assert any("price_state" in line for line in others)
    (toml,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert job_row(described_job(tomllib.loads(toml)))["work_quantity"].item() == 500e6


def test_an_answer_can_be_compared_and_not_changed() -> None:
    job = Job(model="llama-3.1-8b")
    assert rank_offers(job, some("F03", "F07")) == rank_offers(job, some("F07", "F03"))
    with pytest.raises(FrozenInstanceError):
        job.users = 3  # type: ignore[misc]
    nothing = rank_offers(job, some("F18"))
    assert (nothing.headline, len(nothing.excluded)) == (None, 1)


def test_prices_age_to_the_night_that_is_said() -> None:
    job, offers = Job(model="llama-3.1-8b"), some("F03")
    assert rank_offers(job, offers).headline
    later = rank_offers(job, offers, night=NIGHT + timedelta(days=300))
    assert [one.reason for one in later.excluded] == ["price_age"]
    with pytest.raises(ValueError, match="no offer has a price_date"):
        rank_offers(job, offers.head(0))


ODD = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        [
            "32k",
            "-1",
            "1e999",
            "0",
            "nan",
            "fp8",
            "llama-3.1-8b",
            "serve",
            "image",
            "eu",
            "spot",
            "1024x1024",
            "full",
        ]
    ),
    st.integers(),
    st.floats(),
    st.booleans(),
    st.none(),
    st.lists(st.text(max_size=3), max_size=2),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=1),
)


@settings(max_examples=150)
@given(
    st.dictionaries(st.sampled_from([field.name for field in fields(Job)]), ODD, max_size=5),
    st.sampled_from([{}, {"model": "llama-3.1-8b"}, {"tier": "rt-chat-70b"}, *LEAST.values()]),
)
def test_whatever_is_asked_is_a_job_or_one_line(odd: dict[str, Any], base: dict[str, Any]) -> None:
    told, row = "", None
    try:
        row = job_row(described_job(base | odd))
    except JobError as error:
        told = str(error)
    if row is None:
        assert told
        assert "\n" not in told
        assert len(told) < 300
    else:
        assert row.schema == JOB
        assert assumed(row.row(0, named=True))
