"""The command line as a user runs it, on one offline night."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import NIGHT, ROOT

from flows.cli import main
from transforms.offers.market import outside_market_band
from transforms.offers.schema import OFFERING
from transforms.workloads.ask import Job, rank_offers
from warehouse.connection import reading
from warehouse.load import frame

# What `rank` is given, and what the one line about it says.
BAD_JOBS = [
    (
        "--model llama-3.1-8 --users 1",
        "model 'llama-3.1-8': must be one of the known models; did you mean llama-3.1-8b?",
    ),
    ("--model ''", "model '': must be one of the known models"),
    ("--users 3", "model: not said; name a model such as llama-3.1-70b, or a tier"),
    ("--model llama-3.1-8b --precision fp9", "precision 'fp9': must be one of fp32, bf16"),
    ("--model llama-3.1-8b --precision fp9", "did you mean fp8?"),
    ("--model llama-3.1-8b --kv-precision fp4", "kv-precision 'fp4': must be one of bf16, fp16, fp8, int8"),
    ("--model llama-3.1-8b --region zz", "region 'zz': must be eu, a continent, a country such as DE"),
    ("--model llama-3.1-8b --region germny", "did you mean germany?"),
    ("--model llama-3.1-8b --region ' '", "region ' ': must be eu"),
    ("--model llama-3.1-8b --task loara --train-tokens 1M", "task 'loara': must be one of serve, batch"),
    ("--model llama-3.1-8b --task loara --train-tokens 1M", "did you mean lora?"),
    ("--model llama-3.1-8b --purchase free", "purchase 'free': must be one of on-demand, spot, reserved"),
    ("--model llama-3.1-8b --billing day", "billing 'day': must be one of second, minute, hour"),
    ("--model llama-3.1-8b --hosts peers", "hosts 'peers': must be one of any, no-peer"),
    (
        "--model llama-3.1-8b --objective usd-per-yera",
        "objective 'usd-per-yera': must be one of usd-per-month",
    ),
    ("--model llama-3.1-8b --objective usd-per-million-output-tokens", "cannot be counted without min-tok-s"),
    (
        "--model llama-3.1-8b --objective usd-per-audio-hour",
        "objective usd-per-audio-hour: cannot be counted for task serve",
    ),
    (
        "--model llama-3.1-8b --task full --train-tokens 1M --optimizer sgd",
        "optimizer 'sgd': must be one of adamw",
    ),
    (
        "--model llama-3.1-8b --task full --train-tokens 1M --recompute some",
        "recompute 'some': must be one of none",
    ),
    ("--model llama-3.1-8b --task full --train-tokens 1M --fabric ib", "fabric 'ib': must be one of any"),
    # numbers
    ("--model llama-3.1-8b --users 0", "users 0: must be from 1 to 1,000,000"),
    ("--model llama-3.1-8b --users -3", "users -3: must be from 1 to 1,000,000"),
    ("--model llama-3.1-8b --users 2.5", "users 2.5: must be a whole number"),
    ("--model llama-3.1-8b --users nan", "users 'nan': must be a number such as 5000"),
    ("--model llama-3.1-8b --users inf", "users 'inf': must be a number such as 5000"),
    ("--model llama-3.1-8b --users 1e400", "users inf: must be a number from 1 to 1,000,000"),
    ("--model llama-3.1-8b --users 99999999999999999999", "users 1e+20: must be from 1 to"),
    ("--model llama-3.1-8b --users ten", "users 'ten': must be a number such as 5000, 30M or 1e12"),
    ("--model llama-3.1-8b --users ''", "users '': must be a number"),
    ("--model llama-3.1-8b --min-tok-s 0,5", "min-tok-s '0,5': must be a number such as 0.5 or 30"),
    ("--model llama-3.1-8b --min-tok-s 30k", "min-tok-s '30k': must be a number such as 0.5 or 30"),
    ("--model llama-3.1-8b --max-ttft-ms -1", "max-ttft-ms -1: must be from 1 to 10,000,000"),
    ("--model llama-3.1-8b --cached-input 1.5", "cached-input 1.5: must be from 0 to 1"),
    ("--model llama-3.1-8b --load 0", "load 0: must be from 0.001 to 1"),
    ("--model llama-3.1-8b --max-gpus 1.5", "max-gpus 1.5: must be a whole number"),
    ("--tier rt-chat-70b --users 0", "users 0: must be from 1"),
    # lengths
    ("--model llama-3.1-8b --context many", "context 'many': must be a number such as 32k, 32768 or 1.5M"),
    ("--model llama-3.1-8b --context 32KB", "context '32KB': must be a number"),
    (
        "--model llama-3.1-8b --context 1M",
        "context 1048576: above the 131072 tokens that llama-3.1-8b can read",
    ),
    ("--model phi-2 --context 4k", "context 4096: above the 2048 tokens that phi-2 can read"),
    ("--model llama-3.1-8b --context 1k --input 2k", "context 1024: shorter than input 2048 and output"),
    ("--tier rt-chat-70b --context 100", "context 100: shorter than input 512 and output 256 together"),
    ("--tier rt-chat-70b --context ''", "context '': must be a number"),
    (
        "--model llama-3.1-8b --task full --train-tokens 1M --seq-len 256k",
        "seq-len 262144: above the 131072 tokens that llama-3.1-8b can read",
    ),
    (
        "--model llama-3.1-8b --task lora --train-tokens 1M --global-batch 1k",
        "global-batch 1024: less than the 8192 tokens of one micro batch",
    ),
    # wishes that contradict each other
    ("--tier rt-chat-70b --task lora", "task lora: tier rt-chat-70b is of task serve; leave one of them out"),
    (
        "--tier rt-chat-70b --deadline-hours 3",
        "deadline-hours: does not go with task serve; it is for work that ends",
    ),
    ("--tier img-12b-batch --users 3", "users: does not go with task image; it is for services"),
    (
        "--tier rt-chat-70b --model flux.1-dev",
        "task serve: flux.1-dev is a model for image, the task needs llm",
    ),
    (
        "--model z-image-turbo --images 5 --min-tok-s 5",
        "min-tok-s: does not go with task image; it is for serve",
    ),
    ("--model llama-3.1-8b --task batch --tokens 1M --users 3", "users: does not go with task batch"),
    ("--model llama-3.1-8b --steps 30", "steps: does not go with task serve; it is for image, video, audio"),
    ("--model llama-3.1-8b --train-tokens 1M", "train-tokens: does not go with task serve; it is for lora"),
    (
        "--model llama-3.1-8b --task lora --train-samples 5",
        "train-samples: does not go with task lora; say train-tokens",
    ),
    ("--model llama-3.1-8b --task qlora --train-tokens 1M --precision bf16", "in bf16 it is lora"),
    ("--model llama-3.1-8b --task lora --train-tokens 1M --precision nf4", "a base in nf4 makes it qlora"),
    (
        "--model llama-3.1-8b --hours-per-month 20 --sessions-per-month 10 --session-minutes 60",
        "make 10 hours",
    ),
    ("--model llama-3.1-8b --sessions-per-month 1000 --session-minutes 60", "more than a month has"),
    # what is not said
    (
        "--model llama-3.1-8b --task batch",
        "tokens: not said; a job of task batch needs how much there is to do",
    ),
    ("--model flux.1-dev --images 10", "resolution: not said; no tier has flux.1-dev to take it from"),
    ("--model flux.1-dev --images 10 --resolution 1k", "resolution '1k': must be width x height in pixels"),
    ("--model flux.1-dev --images 10 --resolution 1024x1024", "steps: not said"),
]
COMMAND = [
    sys.executable,
    "-c",
    "import sys; from flows.cli import main; sys.argv[0] = 'gpu-almanac'; main()",
]


def run(home: Path, *words: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "GPU_ALMANAC_HOME": str(home), "PREFECT_HOME": str(home / "prefect")}
    return subprocess.run(
        [*COMMAND, *words],
        capture_output=True,
        text=True,
        input=text,
        env=environ,
        check=False,
        cwd=home.parent,
    )


def rows(home: Path, *words: str, text: str | None = None) -> list[dict[str, object]]:
    done = run(home, *words, "--format", "json", text=text)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, list)
    return found


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    home = tmp_path_factory.mktemp("cli") / "almanac"
    return home, run(home, "refresh", "--offline", "--date", "2026-11-30", "--accept", "vast")


@pytest.fixture(scope="module")
def home(night: tuple[Path, subprocess.CompletedProcess[str]]) -> Path:
    return night[0]


def test_an_offline_refresh_prints_sources_and_winners(
    night: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    home, done = night
    assert done.returncode == 0, done.stderr
    assert "list_prices" in done.stdout
    assert "rt-chat-70b" in done.stdout
    assert "hyperscaler: no network for" in done.stderr
    assert "catalogs: no network for gpurentalprices, skypilot;" in done.stderr
    assert "exchange rates: no network for ecb;" in done.stderr
    assert "vast: not held tonight; there was nothing to accept" in done.stderr
    assert (home / "public" / "gpu_almanac.duckdb").is_file()
    assert (home / "public" / "site" / "index.html").is_file()


def test_what_could_not_be_accepted_is_told_as_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """vast was held by a row rule, in spite of --accept; aws was released; oci was well."""
    from flows import cli, nightly
    from flows.night import NightReport

    outcomes = {"vast": "held", "aws": "ok", "oci": "ok"}
    report = NightReport(NIGHT, outcomes, False, Path(), frozenset({"aws"}))
    monkeypatch.setattr(nightly, "run_night", lambda **_: report)
    monkeypatch.setattr(cli, "_print_night", lambda *_: None)
    with pytest.raises(SystemExit) as stopped:
        cli.app(["refresh", *(word for name in outcomes for word in ("--accept", name))])
    assert stopped.value.code == 1
    assert capsys.readouterr().err.splitlines() == [
        "oci: not held tonight; there was nothing to accept",
        "vast: still held: a row rule is broken, which cannot be accepted",
    ]


def test_every_tier_has_a_ranking_or_an_honest_unknown(home: Path) -> None:
    (offers,) = rows(home, "sql", "select count(*) as n from current_offering where is_counted")
    found = rows(home, "tiers")
    assert len(found) == 37
    for row in found:
        counts = [int(str(row[name])) for name in ("ranked", "excluded", "unknown")]
        assert sum(counts) == offers["n"], row
        assert row["ranked"] or row["unknown"], row


def test_the_table_in_the_readme_is_what_the_night_gives(home: Path) -> None:
    shown = (
        "qlora-8b",
        "text-14b-bf16-office",
        "rt-chat-70b",
        "img-20b-batch",
        "vid-14b-480p-fast",
        "pre-7b-1t",
    )
    query = (
        "select tier_id, title_en, cast(gpus_rented as int) || ' x ' || coalesce(gpu_key, gpu_text) as offer,"
        " provider_name, purchase, objective_usd, objective, offers_ranked from best_by_tier"
    )
    best = {row["tier_id"]: row for row in rows(home, "sql", query)}
    lines = ["| job | best offer | cost | offers that can do it |", "|---|---|---|---|"]
    for tier_id in shown:
        row = best[tier_id]
        cost, offer = "-", "none: no offer states its node network"
        if row["offer"]:
            offer = f"{row['offer']}, {row['provider_name']}, {str(row['purchase']).replace('_', '-')}"
            unit = str(row["objective"]).removeprefix("usd_").replace("_", " ")
            cost = f"${float(str(row['objective_usd'])):,.2f} {unit}"
        lines.append(f"| {row['title_en']} | {offer} | {cost} | {row['offers_ranked']} |")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    block = readme.split("<!-- best offers -->")[1].split("<!-- end of best offers -->")[0]
    assert block.strip() == "\n".join(lines)


def test_rank_of_a_tier_and_of_a_job_in_flags(home: Path) -> None:
    tier = rows(home, "rank", "--tier", "rt-chat-70b", "--limit", "3")
    assert [row["rank"] for row in tier] == [1, 2, 3]
    changed = rows(home, "rank", "--tier", "rt-chat-70b", "--region", "eu", "--limit", "3")
    assert changed != tier
    own = rows(
        home, "rank", "--model", "llama-3.1-8b", "--precision", "bf16", "--context", "8k", "--users", "4"
    )
    assert own
    assert all(row["load_ratio"] <= 0.92 for row in own)  # type: ignore[operator]
    for form, begins in (
        ("csv", "rank,provider,gpus"),
        ("md", "| rank | provider | gpus"),
        ("table", "Interactive chat"),
    ):
        done = run(home, "rank", "--tier", "rt-chat-70b", "--format", form)
        assert done.stdout.lstrip().startswith(begins), form
        assert "ranked on bundled list prices" in done.stderr


def test_a_job_file_gives_what_the_flags_give(home: Path, tmp_path: Path) -> None:
    """The same names, with - or _, text or numbers; a flag changes a file."""
    flags = ("--model", "llama-3.1-8b", "--users", "4", "--context", "32 Ki", "--purchase", "on-demand")
    asked = run(home, "rank", *flags, "--min-tok-s", "20", "--format", "json")
    as_json, as_toml = tmp_path / "job.json", tmp_path / "job.toml"
    as_json.write_text(
        '{"model": "llama-3.1-8b", "users": 4, "context": 32768, "purchase": "on-demand", "min_tok_s": 20}',
        encoding="utf-8",
    )
    as_toml.write_text(
        'model = "llama-3.1-8b"\nusers = "9"\ncontext = "32k"\npurchase = ["on-demand"]\nmin-tok-s = 20.0\n',
        encoding="utf-8",
    )
    for words in (("--job", str(as_json)), ("--job", str(as_toml), "--users", "4")):
        done = run(home, "rank", *words, "--format", "json")
        assert (done.returncode, done.stdout) == (0, asked.stdout), done.stderr
        assert done.stderr == asked.stderr
    assert "users 4, min-tok-s 20" in asked.stderr
    assert "purchase on_demand" in asked.stderr


def test_the_command_line_and_python_give_the_same(home: Path) -> None:
    words = ("--model", "llama-3.1-8b", "--users", "4", "--min-tok-s", "20", "--region", "eu")
    shown = rows(home, "rank", *words, "--limit", "20")
    with reading(home / "public" / "gpu_almanac.duckdb") as connection:
        offers = frame(connection, f"select {', '.join(OFFERING)} from current_offering").cast(OFFERING)
    job = Job(model="llama-3.1-8b", users=4, min_tok_s=20, region="eu")
    answer = rank_offers(job, offers, night=NIGHT, outlier_ids=outside_market_band(offers))
    found = [(one.rank, one.provider, one.plan, round(one.total_usd or 0, 2)) for one in answer.ranked[:20]]
    assert found == [(row["rank"], row["provider"], row["plan"], row["total_usd"]) for row in shown]


def test_a_job_of_another_kind_and_what_a_model_needs(home: Path, tmp_path: Path) -> None:
    words = ("--task", "qlora", "--model", "llama-3.1-8b", "--train-tokens", "10M", "--seq-len", "2k")
    (best,) = rows(home, "rank", *words, "--limit", "1")
    assert best["speed_unit"] == "tokens/s/gpu"
    nowhere = tmp_path / "none"
    found = rows(nowhere, "fit", "llama-3.1-8b", "--gpu", "L40S", "--gpu", "RTX4090-24GB", "--users", "4")
    assert {row["gpu_key"] for row in found} == {"L40S-48GB", "RTX4090-24GB"}
    shown = run(nowhere, "fit", "llama-3.1-8b", "--gpu", "L40S")
    assert shown.stdout.startswith("1 x L40S-48GB: GiB of one GPU, 48 nominal")
    assert "asked: serve llama-3.1-8b in bf16" in shown.stderr
    assert not nowhere.exists()


def test_spellings_are_resolved_from_an_argument_and_from_lines(home: Path) -> None:
    (one,) = rows(home, "gpu", "p5.48xlarge", "--provider", "aws")
    assert (one["gpu_key"], str(one["count"])) == ("H100-SXM5-80GB", "8.0")
    (bare,) = rows(home, "gpu", "A100")
    assert bare["gpu_key"] is None
    assert len(bare["candidates"]) > 1  # type: ignore[arg-type]
    many = rows(home, "gpu", "-", text="L40S\nnot a gpu\nStandard_ND96isr_H100_v5\tazure\n")
    assert [row["gpu_key"] for row in many] == ["L40S-48GB", None, "H100-SXM5-80GB"]
    (place,) = rows(home, "region", "fr-par-2", "--provider", "scaleway")
    assert (place["country"], place["is_eu"]) == ("FR", True)


def test_sources_and_sql(home: Path) -> None:
    listed = {row["source_id"]: row for row in rows(home, "sources")}
    assert listed["list_prices"]["outcome"] == "ok"
    assert listed["vast"]["outcome"] == "skipped"
    assert listed["coreweave"]["outcome"] == "off"
    (one,) = rows(home, "sources", "list_prices")
    assert one["nights"]
    assert rows(home, "sql", "select 1 as x") == [{"x": 1}]
    assert {"current_offering", "best_by_tier"} <= {row["view_name"] for row in rows(home, "sql")}


def test_collect_parses_a_file_without_a_warehouse(tmp_path: Path) -> None:
    payload = next((ROOT / "tests" / "captures" / "vast").glob("payload.*"))
    (parts,) = rows(tmp_path / "none", "collect", "vast", "--from-file", str(payload))
    assert parts["listings"]
    assert len(parts["listings"]) == len(parts["offerings"]) + len(parts["rejects"])  # type: ignore[arg-type]
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("rank",), "name a --tier"),
        (("rank", "--tier", "rt-chat-70"), "did you mean rt-chat-70b"),
        (("rank", "--job", "nowhere.json"), "nowhere.json: No such file"),
        (("fit",), "model: name one, or give its --config"),
        (("fit", "--config", "nowhere.json"), "nowhere.json: no such file"),
        (("fit", "--config", "."), "no such file"),
        (("fit", "llama-3.1-8"), "did you mean llama-3.1-8b?"),
        (("fit", "llama-3.1-8b", "--gpu", "RTX409"), "did you mean RTX4090"),
        (("fit", "llama-3.1-8b", "--gpu", "toaster"), "gpu 'toaster': must be a GPU such as H100 SXM"),
        (("sources", "vats"), "did you mean vast"),
        (("collect", "vast"), "--from-file"),
        (("collect", "vast", "--from-file", "nowhere.json"), "no such file"),
        (("sql", "select nothing"), "sql: "),
        (("sql", ";"), "sql: "),
        (("sql", ""), "sql: "),
        (("refresh", "--date", "9999-12-31"), "does not lie between 2020-01-01 and today"),
        (("refresh", "--accept", "vats"), "did you mean vast"),
        (("refresh", "--reason", "a sale"), "give --accept with it"),
        (("refresh", "--date", "soon"), "is not a date"),
        (("refresh", "--date", "2026-11-29", "--offline"), "lies before 2026-11-30"),
        (("schedule", "--cron", "whenever"), "is not a cron line"),
        (("schedule", "--time-zone", "Mars/Base"), "is not a time zone"),
        (("page", "--serve", "--port", "99999"), "less than or equal to 65535"),
    ],
)
def test_wrong_use_is_one_line_and_code_2(home: Path, words: tuple[str, ...], said: str) -> None:
    done = run(home, *words)
    assert done.returncode == 2, done.stdout + done.stderr
    assert said in " ".join(done.stderr.replace("│", " ").split())
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("words", "said"), BAD_JOBS)
def test_a_job_that_cannot_be_is_one_line_and_code_2(
    words: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The value, what is allowed, and the nearest name; no release is read before."""
    monkeypatch.setattr(sys, "argv", ["gpu-almanac", "rank", *shlex.split(words)])
    with pytest.raises(SystemExit) as stopped:
        main()
    told = capsys.readouterr()
    assert stopped.value.code == 2
    assert told.out == ""
    assert told.err.startswith("gpu-almanac: ")
    assert told.err.count("\n") == 1, told.err
    assert said in told.err


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("job.yaml", "model: x", "must end in .json or .toml"),
        ("job.json", "{", "is no JSON: Expecting property name"),
        ("job.json", "[1]", "must hold names with values"),
        ("job.json", '{"model": "llama-3.1-8b", "model": "phi-2"}', "is no JSON: a name is said twice"),
        ("job.json", '{"model": "llama-3.1-8b", "user": 3}', "'user': no such wish; did you mean users?"),
        (
            "job.json",
            '{"model": "llama-3.1-8b", "users": [3]}',
            "users [3]: must be a number from 1 to 1,000,000",
        ),
        ("job.json", '{"model": "llama-3.1-8b", "users": NaN}', "users nan: must be a number"),
        (
            "job.json",
            '{"model": ["llama-3.1-8b"]}',
            "model ['llama-3.1-8b']: must be one of the known models",
        ),
        ("job.json", '{"model": "llama-3.1-8b", "purchase": 3}', "purchase 3: must be one of on-demand"),
        ("job.json", '{"model": "llama-3.1-8b", "purchase": []}', "purchase []: must be one of on-demand"),
        ("job.json", '{"model": "llama-3.1-8b", "tight": "yes"}', "tight 'yes': must be true or false"),
        ("job.json", '{"min-tok-s": 3, "min_tok_s": 4, "model": "phi-2"}', "min-tok-s: said twice"),
        ("job.json", "\ufeff\x00", "is no JSON"),
        ("job.json", "[" * 100_000, "is no JSON"),
        ("job.toml", "model = ", "is no TOML: Invalid value"),
        (
            "job.toml",
            "model = 1979-05-27",
            "model datetime.date(1979, 5, 27): must be one of the known models",
        ),
        ("job.toml", "[model]\nname = 1", "model {'name': 1}: must be one of the known models"),
    ],
)
def test_a_broken_job_file_is_one_line_and_code_2(
    name: str,
    content: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["gpu-almanac", "rank", "--job", str(path)])
    with pytest.raises(SystemExit) as stopped:
        main()
    told = capsys.readouterr()
    assert (stopped.value.code, told.out) == (2, "")
    assert told.err.count("\n") == 1, told.err
    assert said in told.err


def test_a_file_that_is_no_text_and_a_folder_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "job.json").write_bytes(b"\xff\xfe{")
    (tmp_path / "big.json").write_text(" " * 1_000_001, encoding="utf-8")
    (tmp_path / "folder.toml").mkdir()
    for name, said in (
        ("job.json", "is no JSON: 'utf-8' codec can't decode"),
        ("big.json", "more than 1000000 bytes are no job"),
        ("folder.toml", "Is a directory"),
    ):
        monkeypatch.setattr(sys, "argv", ["gpu-almanac", "rank", "--job", str(tmp_path / name)])
        with pytest.raises(SystemExit) as stopped:
            main()
        assert stopped.value.code == 2
        told = capsys.readouterr().err
        assert said in told
        assert told.count("\n") == 1, told


def test_without_a_release_the_answer_says_what_to_do(tmp_path: Path) -> None:
    for words in (("tiers",), ("rank", "--tier", "rt-chat-70b"), ("sql", "select 1"), ("page", "--serve")):
        done = run(tmp_path / "empty", *words)
        assert done.returncode == 2
        assert "run `gpu-almanac refresh` first" in done.stderr


def test_the_examples_run_from_a_pipe(home: Path) -> None:
    for example in sorted((ROOT / "sql" / "examples").glob("*.sql")):
        assert rows(home, "sql", "-", text=example.read_text(encoding="utf-8")) is not None


def test_only_a_terminal_rounds(home: Path) -> None:
    query = "select 123456.789::double as a"
    assert run(home, "sql", query, "--format", "csv").stdout == "a\n123456.789\n"
    assert "123457" in run(home, "sql", query).stdout


def test_any_value_of_sql_is_valid_json(home: Path) -> None:
    query = "select 1 as a, 2 as a, 'nan'::double as n, 'inf'::float as i, interval 1 day as d, '\\x00'::blob as b"
    (row,) = rows(home, "sql", query)
    assert (row["a"], row["a_2"], row["n"], row["i"]) == (1, 2, None, None)
    assert rows(home, "sql", "select 1 as a where false") == []
    assert run(home, "sql", "select 1 as a where false", "--format", "csv").stdout == "a\n"


def test_a_home_that_cannot_be_used_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    for home, said in ((tmp_path / "file", "cannot be written"), (tmp_path / "what?", "question mark")):
        done = run(home, "refresh", "--offline")
        assert done.returncode == 2
        assert said in done.stderr
        assert "Traceback" not in done.stderr


def test_a_prefect_server_that_does_not_answer_is_one_line(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    done = run(home, "refresh", "--offline")
    assert done.returncode == 2
    assert done.stderr.startswith("gpu-almanac: PREFECT_API_URL: no Prefect server answers at")


def test_bytes_that_are_no_text_and_readers_that_leave(home: Path) -> None:
    environ = {**os.environ, "GPU_ALMANAC_HOME": str(home)}
    words = [word.encode() for word in (*COMMAND, "gpu")]
    done = subprocess.run(
        [*words, b"\xff", b"--format", b"json"], capture_output=True, env=environ, check=True
    )
    assert json.loads(done.stdout.decode("utf-8"))[0]["text"] == "\ufffd"
    many = [*COMMAND, "sql", "select range from range(300000)", "--format", "csv"]
    with subprocess.Popen(many, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*COMMAND, "tiers"], stdout=full, stderr=subprocess.PIPE, env=environ, check=False
        )
    assert done.returncode == 2
    assert b"No space left on device" in done.stderr


def test_help_names_every_command() -> None:
    done = subprocess.run([*COMMAND, "--help"], capture_output=True, text=True, check=True)
    for command in (
        "refresh",
        "rank",
        "fit",
        "tiers",
        "gpu",
        "sources",
        "collect",
        "sql",
        "page",
        "schedule",
    ):
        assert f" {command} " in done.stdout
        own = subprocess.run([*COMMAND, command, "--help"], capture_output=True, text=True, check=True)
        assert "Usage:" in own.stdout


@pytest.mark.parametrize(
    ("words", "heavy"),
    [
        (["rank", "--tier", "rt-chat-70b"], ("prefect", "polars", "pyarrow", "httpx", "scipy")),
        (
            ["rank", "--model", "llama-3.1-8b", "--users", "4", "--region", "eu"],
            ("prefect", "httpx", "scipy", "babel"),
        ),
        (
            ["fit", "llama-3.1-8b", "--gpu", "L40S-48GB"],
            ("prefect", "httpx", "scipy", "babel", "duckdb", "pyarrow"),
        ),
    ],
)
def test_asking_imports_nothing_heavy(home: Path, words: list[str], heavy: tuple[str, ...]) -> None:
    program = (
        f"import sys; from flows.cli import app; app({words!r}, standalone_mode=False);"
        f"sys.exit(', '.join(name for name in {heavy!r} if name in sys.modules) or 0)"
    )
    environ = {**os.environ, "GPU_ALMANAC_HOME": str(home)}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environ, check=False
    )
    assert done.returncode == 0, done.stderr


def test_terminal_codes_from_outside_are_not_printed() -> None:
    from flows.show import _cell

    assert _cell("a\x1b[2Jb\nc", empty="-") == "a [2Jb c"
