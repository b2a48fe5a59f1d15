"""The folder walk: every provider describes itself well, importing it does nothing, and a bad one is caught."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import scrapers.providers
from scrapers import registry
from scrapers.contract import Auth, LineFilter, Payload, Request, Source
from scrapers.errors import CollectError, RegistryError

GOOD = Source(
    id="good_cloud",
    name="Good Cloud",
    segment="neocloud",
    homepage="https://good.example/",
    pricing_url="https://good.example/prices",
    requests=(Request("prices", "https://api.good.example/prices"),),
    allowed_hosts=("api.good.example",),
    terms="open",
    terms_url="https://good.example/terms",
    terms_note="Open API.",
    terms_reviewed_on=date(2026, 11, 30),
    last_proof="2026-11-30: answer recorded and parsed",
    min_listings=5,
)
MODULE = """
from datetime import date
from scrapers.contract import Request, Source
SOURCE = Source(
    id="{id}", name="x", segment="neocloud", homepage="https://x.example/", pricing_url="https://x.example/",
    requests=(Request("p", "https://x.example/p"),), allowed_hosts=("x.example",), terms="open",
    terms_url="https://x.example/", terms_note="x", terms_reviewed_on=date(2026, 11, 30), min_listings=1,
    last_proof="undated: made up",
)
def parse(payload): return []
{more}
"""


def problems(source: Any, *, name: str = "good_cloud", **functions: Any) -> str:
    module = ModuleType(name)
    vars(module).update({"SOURCE": source, "parse": lambda _: [], **functions})
    return "; ".join(registry.check(name, module))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder whose modules count as providers too."""
    monkeypatch.setattr(scrapers.providers, "__path__", [*scrapers.providers.__path__, str(tmp_path)])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith("scrapers.providers."):
            delattr(scrapers.providers, name.rpartition(".")[2])
            del sys.modules[name]


def test_every_provider_of_ours_passes() -> None:
    modules = registry.load()
    assert list(modules) == registry.names()
    assert {"aws", "azure", "gcp", "lambda", "list_prices", "vast"} <= set(modules)
    assert all(module.SOURCE.id == name for name, module in modules.items())


NOBODYS_ANSWERS = (
    *(b"", b"null", b"1", b'"x"', b"true", b"[]", b"[[]]", b"[null]", b"[1]", b"{}", b'{"error": "none"}'),
    *(b"<html><body>Hello</body></html>", b"a,b\n1,2\n", b"a: 1\n", b"callback({});", b"\0\0\0"),
)


def taken_for_an_answer(module: ModuleType) -> list[bytes]:
    """The answers of nobody in which a provider finds nothing, and does not say so."""
    taken = []
    for body in NOBODYS_ANSWERS:
        source: Source = module.SOURCE
        payload = Payload(
            source_id=source.id,
            part="prices",
            url=source.pricing_url,
            fetched_at=datetime(2026, 11, 30, tzinfo=UTC),
            body=body,
        )
        try:
            list(module.parse(payload))
            taken.append(body)
        except CollectError:
            continue
    return taken


@pytest.mark.parametrize("name", registry.names())
def test_what_is_nobodys_answer_is_an_error_at_every_provider(name: str) -> None:
    assert taken_for_an_answer(registry.load_one(name)) == []


def test_a_parser_that_finds_nothing_and_says_nothing_is_caught() -> None:
    lenient = ModuleType("lenient")
    vars(lenient).update(SOURCE=GOOD, parse=lambda _: [])
    assert taken_for_an_answer(lenient) == list(NOBODYS_ANSWERS)


def test_names_are_listed_without_importing_any(folder: Path) -> None:
    (folder / "explosive.py").write_text("raise SystemExit(3)")
    assert "explosive" in registry.names()
    assert registry.names() == sorted(registry.names())


def test_a_good_source_has_no_problems() -> None:
    assert problems(GOOD) == ""
    assert problems(replace(GOOD, default_on=False, off_reason="no thanks", terms="restricted")) == ""
    keyed = replace(GOOD, requests=(), keyed_requests=GOOD.requests, auth=Auth("GOOD_KEY"))
    assert problems(keyed) == ""
    assert problems(replace(GOOD, requests=(Request("p", "bundled:x.csv"),), allowed_hosts=())) == ""
    assert problems(replace(GOOD, segment=None, min_listings=0)) == ""


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"id": "other"}, "SOURCE.id is 'other', the module is 'good_cloud'"),
        ({"name": " "}, "name is empty"),
        ({"terms_note": ""}, "terms_note is empty"),
        ({"last_proof": ""}, "last_proof is empty"),
        ({"last_proof": "answer recorded"}, "last_proof is 'answer recorded', not a date or 'undated'"),
        ({"last_proof": "2026-10:"}, "last_proof is '2026-10:', not a date or 'undated'"),
        ({"last_proof": "26-10: answer recorded"}, "last_proof is '26-10: answer recorded', not a date"),
        ({"terms_reviewed_on": None}, "terms_reviewed_on is empty"),
        ({"segment": "cloud"}, "segment is 'cloud', not one of hyperscaler, neocloud"),
        ({"terms": "fine"}, "terms is 'fine'"),
        ({"homepage": "http://good.example/"}, "homepage is no https address"),
        ({"terms_url": "somewhere"}, "terms_url is no https address"),
        ({"terms": "restricted"}, "its terms are restricted, but default_on is set"),
        ({"default_on": False}, "it is off, but off_reason is empty"),
        ({"min_listings": 0}, "min_listings must be 1 or more"),
        ({"segment": None, "min_listings": -1}, "min_listings must be 1 or more"),
        ({"cadence": timedelta(0)}, "pace_s, max_body_mb and cadence must be positive"),
        ({"pace_s": -1.0}, "pace_s, max_body_mb and cadence must be positive"),
        ({"billing_increment_s": 60}, "billing increment or minimum without billing_source"),
        ({"requests": ()}, "it has no requests"),
        ({"keyed_requests": GOOD.requests}, "keyed_requests without auth"),
        ({"allowed_hosts": ("*.good.example",)}, "allowed host '*.good.example' is not a plain host name"),
        ({"allowed_hosts": ("Good.example",)}, "allowed host 'Good.example' is not a plain host name"),
        ({"allowed_hosts": ()}, "prices: host api.good.example is not in allowed_hosts"),
        ({"requests": GOOD.requests * 2}, "two requests have the part 'prices'"),
        ({"requests": (Request("a/b", "https://api.good.example/"),)}, "part 'a/b' is no plain file name"),
        ({"requests": (Request("p", "http://api.good.example/"),)}, "is no https address"),
        ({"requests": (Request("p", "file:///etc/passwd"),)}, "is no https address"),
        ({"requests": (Request("p", "https://api.good.example/", "POST"),)}, "a POST has a body"),
        ({"requests": (Request("p", "https://api.good.example/", body=b"x"),)}, "and a GET has none"),
    ],
)
def test_what_is_wrong_with_a_source_is_said(changes: dict[str, Any], problem: str) -> None:
    assert problem in problems(replace(GOOD, **changes))


LINES = LineFilter(head=1, any_of=(b"gpu",), all_of=((b"linux", b"unix"),))
TEAM_REQUEST = Request("p", "https://api.good.example/teams/{team}/prices")
TEAM_AUTH = Auth("GOOD_KEY", address_env=(("team", "GOOD_TEAM"),))


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (LINES, ""),
        (replace(LINES, head=-1), "p: keep_lines.head is below 0"),
        (replace(LINES, any_of=()), "p: keep_lines has a group without a text"),
        (replace(LINES, all_of=((),)), "p: keep_lines has a group without a text"),
        (replace(LINES, any_of=(b"",)), "p: keep_lines has a text that is empty or of two lines"),
        (replace(LINES, all_of=((b"a\nb",),)), "p: keep_lines has a text that is empty or of two lines"),
    ],
)
def test_what_is_wrong_with_a_filter_of_lines_is_said(lines: LineFilter, problem: str) -> None:
    request = Request("p", "https://api.good.example/index.csv", keep_lines=lines)
    assert problems(replace(GOOD, requests=(request,))) == problem
    bundled = replace(request, url="bundled:x.csv")
    assert "of a bundled file" in problems(replace(GOOD, requests=(bundled,), allowed_hosts=()))


@pytest.mark.parametrize(
    ("request_url", "auth", "problem"),
    [
        (TEAM_REQUEST.url, TEAM_AUTH, ""),
        (TEAM_REQUEST.url, Auth("GOOD_KEY"), "p: the placeholder {team} is not in address_env"),
        ("https://api.good.example/", TEAM_AUTH, "address_env names 'team', which no address"),
        ("https://{team}.good.example/", TEAM_AUTH, "p: a placeholder stands in the name of the host"),
        (
            TEAM_REQUEST.url,
            Auth("K", address_env=(("team", "$x"),)),
            "'$x' is no name of an environment variable",
        ),
    ],
)
def test_placeholders_and_account_names_agree(request_url: str, auth: Auth, problem: str) -> None:
    keyed = replace(GOOD, requests=(), keyed_requests=(Request("p", request_url),), auth=auth)
    found = problems(keyed)
    assert problem in found if problem else found == ""
    assert "needs no key has a placeholder" in problems(replace(GOOD, requests=(TEAM_REQUEST,)))


def test_what_is_wrong_with_a_module_is_said() -> None:
    assert problems(None) == "SOURCE is missing or is not a Source"
    assert problems(GOOD, parse=None) == "parse is missing"
    assert problems(GOOD, follow="no") == "follow is no function"


def test_a_provider_is_a_file_in_the_folder(folder: Path) -> None:
    (folder / "new_cloud.py").write_text(MODULE.format(id="new_cloud", more=""))
    assert registry.load()["new_cloud"].SOURCE.name == "x"


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ("import no_such_module", "bad_cloud: cannot be imported: ModuleNotFoundError"),
        ("1 +", "bad_cloud: cannot be imported: SyntaxError"),
        ("SOURCE.name = 'y'", "bad_cloud: cannot be imported: FrozenInstanceError"),
        ("{}['x']", "bad_cloud: cannot be imported: KeyError"),
        ("open('/no/such/file')", "bad_cloud: cannot be imported: FileNotFoundError"),
        ("parse = None", "bad_cloud: parse is missing"),
    ],
)
def test_a_broken_module_is_named(folder: Path, more: str, problem: str) -> None:
    (folder / "bad_cloud.py").write_text(MODULE.format(id="bad_cloud", more=more))
    with pytest.raises(RegistryError, match=problem):
        registry.load()
    assert registry.load_one("vast").SOURCE.id == "vast", "one broken module leaves the others alone"


def test_an_unknown_provider_is_an_error() -> None:
    with pytest.raises(RegistryError, match="no_cloud: no provider of this name"):
        registry.load_one("no_cloud")


WATCHED_IMPORT = """
import sys
import scrapers.providers, scrapers.registry, scrapers.readers
scrapers.providers.__path__ = [*scrapers.providers.__path__, *sys.argv[1:]]
REFUSED = ("socket.", "subprocess.", "os.mkdir", "os.remove", "os.rename", "os.system", "urllib.", "time.sleep")
def watch(event, arguments):
    writes = event == "open" and (arguments[1] or "r") not in ("r", "rb") and isinstance(arguments[0], (str, bytes))
    if writes or event.startswith(REFUSED):
        print(event, arguments[0], file=sys.stderr)
        raise OSError("importing a provider must do nothing: " + event)
sys.addaudithook(watch)
scrapers.registry.load()
"""


def watched_import(*folders: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-B", "-c", WATCHED_IMPORT, *map(str, folders)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_importing_a_provider_does_nothing() -> None:
    done = watched_import()
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "deed",
    [
        "open('{folder}/made.txt', 'w')",
        "import socket; socket.create_connection(('127.0.0.1', 9))",
        "import os; os.mkdir('{folder}/made')",
        "import subprocess; subprocess.run(['true'])",
    ],
)
def test_a_provider_that_does_something_when_imported_is_caught(tmp_path: Path, deed: str) -> None:
    more = deed.format(folder=tmp_path)
    (tmp_path / "busy_cloud.py").write_text(MODULE.format(id="busy_cloud", more=more))
    done = watched_import(tmp_path)
    assert done.returncode != 0
    assert "importing a provider must do nothing" in done.stderr
