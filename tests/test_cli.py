"""The command line as a user runs it, on one offline night."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

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
    return home, run(home, "refresh", "--offline", "--date", "2026-11-30")


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
    assert (home / "public" / "gpu_almanac.duckdb").is_file()
    assert (home / "public" / "site" / "index.html").is_file()


def test_every_tier_has_a_ranking_or_an_honest_unknown(home: Path) -> None:
    (offers,) = rows(home, "sql", "select count(*) as n from current_offering")
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
        (("rank", "--model", "llama-3.1-8", "--users", "1"), "did you mean 'llama-3.1-8b'"),
        (
            ("rank", "--model", "llama-3.1-8b", "--context", "many"),
            "--context 'many' is not a number of tokens",
        ),
        (("rank", "--model", "llama-3.1-8b", "--context", "1M"), "above the"),
        (("rank", "--model", "llama-3.1-8b", "--users", "-3"), "must be above 0"),
        (("rank", "--model", "llama-3.1-8b", "--purchase", "free"), "not one of on-demand"),
        (("sources", "vats"), "did you mean vast"),
        (("collect", "vast"), "--from-file"),
        (("collect", "vast", "--from-file", "nowhere.json"), "No such file"),
        (("sql", "select nothing"), "sql: "),
        (("sql", ";"), "sql: "),
        (("sql", ""), "sql: "),
        (("rank", "--tier", "rt-chat-70b", "--users", "0"), "must be above 0"),
        (("rank", "--tier", "rt-chat-70b", "--context", ""), "is not a number of tokens"),
        (("rank", "--tier", "rt-chat-70b", "--region", "zz"), "is not eu, a continent"),
        (("rank", "--tier", "rt-chat-70b", "--region", " "), "is not eu, a continent"),
        (("rank", "--tier", "rt-chat-70b", "--precision", ""), "no weight_precision"),
        (("refresh", "--date", "9999-12-31"), "does not lie between 2020-01-01 and today"),
        (("refresh", "--accept", "vats"), "did you mean vast"),
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
    for command in ("refresh", "rank", "tiers", "gpu", "sources", "collect", "sql", "page", "schedule"):
        assert f" {command} " in done.stdout
        own = subprocess.run([*COMMAND, command, "--help"], capture_output=True, text=True, check=True)
        assert "Usage:" in own.stdout


def test_rank_of_a_tier_imports_nothing_heavy(home: Path) -> None:
    program = (
        "import sys; from flows.cli import app; app(['rank', '--tier', 'rt-chat-70b'], standalone_mode=False);"
        "sys.exit(', '.join(name for name in ('prefect', 'polars', 'pyarrow', 'httpx') if name in sys.modules) or 0)"
    )
    environ = {**os.environ, "GPU_ALMANAC_HOME": str(home)}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environ, check=False
    )
    assert done.returncode == 0, done.stderr


def test_terminal_codes_from_outside_are_not_printed() -> None:
    from flows.show import _cell

    assert _cell("a\x1b[2Jb\nc", empty="-") == "a [2Jb c"
