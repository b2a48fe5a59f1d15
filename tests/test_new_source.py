"""Beginning a provider: the page in docs/adding_a_provider.md, followed to the letter in a copy of the checkout."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest
from conftest import ROOT
from loopback import loopback, reply

from flows.new_source import begin_source
from flows.source_draft import DraftError
from scrapers import fetch

PAGE = (ROOT / "docs" / "adding_a_provider.md").read_text(encoding="utf-8")
NIGHT = date(2026, 12, 1)
ANSWER = {
    "data": {
        "total": 3,
        "gpus": [
            {
                "slug": "h100x8",
                "gpu_name": "H100 SXM5",
                "gpu_count": 8,
                "price_per_hour": "19.92",
                "region": "us-east",
                "ram_gb": 960,
            },
            {
                "slug": "h100x1",
                "gpu_name": "H100 SXM5",
                "gpu_count": 1,
                "price_per_hour": "2.49",
                "region": "us-east",
                "ram_gb": 120,
            },
            {
                "slug": "sold",
                "gpu_name": "L40S",
                "gpu_count": 1,
                "price_per_hour": "0.99",
                "region": "eu-west",
                "ram_gb": 64,
            },
        ],
    }
}
TABLE = b"""<h2>Prices</h2><table><tr><th>Card</th><th>VRAM</th><th>Price</th></tr>
<tr><td>RTX 4090</td><td>24 GB</td><td>$0.44/hr</td></tr><tr><td>H100 PCIe</td><td>80 GB</td><td>$1.99/hr</td></tr>
<tr><td>B200</td><td>180 GB</td><td>Contact sales</td></tr></table>"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the parts that the page speaks of, with `.venv/bin` in its place."""
    root = tmp_path_factory.mktemp("checkout")
    for name in ("scrapers", "transforms", "warehouse", "flows", "sql", "page"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "tests" / "captures").mkdir(parents=True)
    for name in ("conftest.py", "records_json.py", "test_goldens.py"):
        shutil.copy(ROOT / "tests" / name, root / "tests" / name)
    shutil.copy(ROOT / "pyproject.toml", root)
    (root / "answer.json").write_text(json.dumps(ANSWER))
    return root


def run(command: str, checkout: Path) -> subprocess.CompletedProcess[str]:
    """Runs a command of the page with the code of the copy."""
    program, *words = command.split()
    starts = {
        ".venv/bin/gpu-almanac": [sys.executable, "-c", "from flows.cli import main; main()"],
        ".venv/bin/pytest": [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist"],
    }
    environ = {
        **os.environ,
        "PYTHONPATH": str(checkout),
        "GPU_ALMANAC_HOME": str(checkout / "almanac"),
        "NO_COLOR": "1",
    }
    return subprocess.run(
        [*starts[program], *words], cwd=checkout, env=environ, capture_output=True, text=True, check=False
    )


def commands() -> list[str]:
    """The commands that stand on the page on lines of their own, in order."""
    return [line for block in re.findall(r"```\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]


def test_the_page_followed_to_the_letter(checkout: Path) -> None:
    begin, golden_run, look = commands()
    # The address is not there: the answer saved from it is given, as the page says.
    assert "--from-file answer.json" in PAGE
    begun = run(f"{begin} --from-file answer.json", checkout)
    assert begun.returncode == 0, begun.stderr
    module = checkout / "scrapers" / "providers" / "acme_cloud.py"
    golden = checkout / "tests" / "captures" / "acme_cloud" / "listings.json"
    assert (checkout / "tests" / "captures" / "acme_cloud" / "payload.gpus.json").is_file()

    text = module.read_text()
    assert re.search(r'last_proof="\d{4}-\d\d-\d\d: answer fetched, not reviewed"', text)
    module.write_text(text.replace("currency=None", 'currency="USD"').replace('"neocloud"', '"marketplace"'))
    assert "just written" in run(golden_run, checkout).stdout
    assert "then delete this line" in run(golden_run, checkout).stdout
    reviewed = json.loads(golden.read_text())
    assert [(row["plan"], row["gpu_text"], row["price"]) for row in reviewed["records"]] == [
        ("h100x8", "H100 SXM5", "19.92"),
        ("h100x1", "H100 SXM5", "2.49"),
        ("sold", "L40S", "0.99"),
    ]
    del reviewed["to_review"]
    golden.write_text(json.dumps(reviewed))
    passed = run(golden_run, checkout)
    assert passed.returncode == 0, passed.stdout

    shown = run(f"{look} --format json", checkout)
    assert shown.returncode == 0, shown.stderr
    [parts] = json.loads(shown.stdout)
    prices = {row["plan"]: float(row["price_usd_per_gpu_hour"]) for row in parts["offerings"]}
    assert prices == pytest.approx({"h100x8": 2.49, "h100x1": 2.49, "sold": 0.99})
    assert {row["gpu_key"] for row in parts["offerings"]} == {"H100-SXM5-80GB", "L40S-48GB"}

    on = re.sub(r"    (default_on|off_reason)=.*\n", "", module.read_text())
    module.write_text(on)
    check = "from scrapers.registry import load_one; print(load_one('acme_cloud').SOURCE.default_on)"
    done = subprocess.run(
        [sys.executable, "-c", check], cwd=checkout, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "True"


def test_what_is_there_is_not_overwritten(checkout: Path) -> None:
    for source_id, problem in (("vast", "has a module already"), ("Acme", "is no id")):
        refused = run(
            f".venv/bin/gpu-almanac new-source {source_id} https://a.example/x --from-file answer.json",
            checkout,
        )
        assert refused.returncode == 2
        assert problem in refused.stderr
        assert len(refused.stderr.splitlines()) == 1


def begun(root: Path, body: bytes, url: str = "https://api.acme.example/v1/prices") -> str:
    """The module that is begun from an answer."""
    (root / "tests" / "captures").mkdir(parents=True)
    (root / "scrapers" / "providers").mkdir(parents=True)
    answer = root / "answer"
    answer.write_bytes(body)
    paths = begin_source("acme_cloud", [url], [answer], session=fetch.Session(), night=NIGHT, root=root)
    return paths[0].read_text()


def test_a_page_with_a_table(tmp_path: Path) -> None:
    text = begun(tmp_path, TABLE)
    compile(text, "acme_cloud.py", "exec")
    assert 'row["Card"]' in text
    assert 'money(row["Price"])' in text
    assert "VRAM" in text


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"", "neither JSON with rows nor a page"),
        (b"{}", "no list of rows"),
        (b'[{"a": 1}]', "no name and price"),
        (b"<p>$2 an hour</p>", "neither JSON with rows nor a page"),
        (TABLE + b" " * 400_000, "save the table alone"),
        (
            b"<table><tr><th></th><th>Price</th></tr><tr><td>H100</td><td>$2</td></tr></table>",
            "no other column",
        ),
    ],
)
def test_what_cannot_be_read_writes_nothing(tmp_path: Path, body: bytes, problem: str) -> None:
    with pytest.raises(DraftError, match=problem):
        begun(tmp_path, body)
    assert list((tmp_path / "tests" / "captures").iterdir()) == []
    assert list((tmp_path / "scrapers" / "providers").iterdir()) == []


def test_an_address_that_is_not_https_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DraftError, match="no https address"):
        begun(tmp_path, TABLE, "http://api.acme.example/v1/prices")


def test_only_a_price_is_taken_for_one(tmp_path: Path) -> None:
    row = '{"name": "H100", "price_is_fixed": true, "generated_at": 1700000000, "hourly_price": 2.50}'
    text = begun(tmp_path, f"[{row}]".encode("utf-16"))
    assert 'row["hourly_price"].decimal()' in text
    payload = tmp_path / "tests" / "captures" / "acme_cloud" / "payload.prices.json"
    assert "2.50" in payload.read_text()


def test_addresses_that_answer_differently_or_hold_a_key_are_refused(tmp_path: Path) -> None:
    (tmp_path / "tests" / "captures").mkdir(parents=True)
    files = [tmp_path / "one", tmp_path / "two"]
    files[0].write_text('[{"name": "H100", "price": 2}]')
    files[1].write_text('[{"gpu_name": "H100", "price": 2}]')
    urls = ["https://acme.example/a", "https://acme.example/b"]
    session = fetch.Session()
    with pytest.raises(DraftError, match="different forms"):
        begin_source("acme_cloud", urls, files, session=session, night=NIGHT, root=tmp_path)
    keyed = ["https://acme.example/a?api_key=SECRET123"]
    with pytest.raises(DraftError, match="keys come from the environment") as refused:
        begin_source("acme_cloud", keyed, files[:1], session=session, night=NIGHT, root=tmp_path)
    assert "SECRET123" not in str(refused.value)


EVIL = 'name"]; import os  # \n"""\nraise SystemExit(7)\n"""'


@pytest.mark.parametrize(
    "body",
    [
        json.dumps({EVIL: [{EVIL: "H100", "price": 1.5, "x\nraise SystemExit(7)": 2}]}).encode(),
        json.dumps([{"name": "H100", EVIL + "price": "2", "\u2028y": 1, "\ud800z": 1}]).encode(),
        TABLE.replace(b"Card", EVIL.encode()).replace(b"VRAM", b"V\\\nraise SystemExit(7)"),
    ],
)
def test_keys_from_outside_do_not_become_code(tmp_path: Path, body: bytes) -> None:
    text = begun(tmp_path, body)
    tree = ast.parse(text)
    assert not [
        node for node in ast.walk(tree) if isinstance(node, ast.Raise) and "SystemExit" in ast.dump(node)
    ]
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert imported == set()
    control = ast.parse(text + "\nraise SystemExit(7)\n")
    assert [
        node for node in ast.walk(control) if isinstance(node, ast.Raise) and "SystemExit" in ast.dump(node)
    ]


def test_an_address_is_asked_politely(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tests" / "captures").mkdir(parents=True)
    (tmp_path / "scrapers" / "providers").mkdir(parents=True)
    # the checks want https and a host name, which a server of this machine has not
    monkeypatch.setattr("flows.new_source.check", lambda *_: ())
    with loopback() as server:
        server.on("/v1/gpus", reply(json.dumps(ANSWER).encode()))
        session = fetch.Session(
            fetch.Settings(plain_http_hosts=frozenset({"127.0.0.1"})), sleep=lambda _: None
        )
        begin_source("acme_cloud", [f"{server.url}/v1/gpus"], [], session=session, night=NIGHT, root=tmp_path)
        assert [asked.path for asked in server.asked] == ["/robots.txt", "/v1/gpus"]
    assert json.loads((tmp_path / "tests/captures/acme_cloud/payload.gpus.json").read_text()) == ANSWER
