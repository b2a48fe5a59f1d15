"""The documents say what the code does: commands, settings, dictionary, the one page for a new provider."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from conftest import ROOT

from flows import settings
from warehouse.dictionary import dictionary

README = (ROOT / "README.md").read_text(encoding="utf-8")


def commands() -> set[str]:
    program = (
        "from flows.cli import app; print(*(c.name or c.callback.__name__ for c in app.registered_commands))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_readme_names_every_command_and_no_other() -> None:
    table = re.findall(r"^\| (`.*?) \|", README, re.MULTILINE)
    named = {word for cell in table for word in re.findall(r"`([a-z][a-z-]*)[ `]", cell)}
    assert named == commands()


def test_the_readme_names_every_setting_and_no_other() -> None:
    used = set(re.findall(r"GPU_ALMANAC_[A-Z_]+", Path(settings.__file__).read_text(encoding="utf-8")))
    named = set(re.findall(r"GPU_ALMANAC_[A-Z_]+", README))
    assert named == used - {"GPU_ALMANAC_"}


def test_every_make_target_of_the_readme_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make ([a-z]+)", README, re.MULTILINE):
        assert f"\n{target}:" in makefile


def test_the_data_dictionary_is_current() -> None:
    """Make it anew with `python -m warehouse.dictionary`."""
    assert (ROOT / "docs" / "data_dictionary.md").read_text(encoding="utf-8") == dictionary()


def test_files_that_the_documents_name_exist() -> None:
    for document in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        text = document.read_text(encoding="utf-8")
        for name in re.findall(
            r"`((?:scrapers|transforms|warehouse|flows|page|docs|tests)/[\w/.]+\.(?:py|csv|md))`", text
        ):
            if "acme_cloud" not in name:  # the example of adding a provider
                assert (ROOT / name).is_file(), f"{document.name} names {name}"


def test_shipped_code_knows_nothing_beside_the_project() -> None:
    folders = ("scrapers", "transforms", "warehouse", "flows", "page", "sql")
    beside = re.compile(r"\.\./shared|/shared/|shared/(facts|captures|sources)")
    texts = [
        path
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".sql", ".csv", ".j2", ".js")
    ]
    assert len(texts) > 100
    assert [str(path) for path in texts if beside.search(path.read_text(encoding="utf-8"))] == []
    assert beside.search("open('../shared/facts/x.csv')")
