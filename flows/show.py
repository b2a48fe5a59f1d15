"""Prints rows for people and for programs. Results go to stdout, everything else to stderr."""

from __future__ import annotations

import csv
import json
import math
import os
import sys
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from shutil import get_terminal_size
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text


class Format(StrEnum):
    """How rows are printed."""

    table = "table"
    json = "json"
    csv = "csv"
    md = "md"


NUMBERS = (int, float, Decimal)
# Where no terminal folds them, rows stay on one line, so that other programs can read them.
PIPE_WIDTH = 1000
LEAST_WIDTH = 100


def out(
    rows: Sequence[Mapping[str, Any]],
    form: Format,
    *,
    title: str | None = None,
    columns: Sequence[str] | None = None,
) -> None:
    """Prints `rows`, which all have the same keys, to stdout in the given form.

    `columns` names the keys where there may be no row to read them from.
    """
    names = list(columns or (rows[0] if rows else ()))
    try:
        _write(rows, names, form, title)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has seen enough; nothing is left to flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


def _write(rows: Sequence[Mapping[str, Any]], names: Sequence[str], form: Format, title: str | None) -> None:
    if form is Format.json:
        finite = [{name: _finite(value) for name, value in row.items()} for row in rows]
        text = json.dumps(finite, indent=2, default=_plain, ensure_ascii=False, allow_nan=False)
        sys.stdout.write(text + "\n")
    elif form is Format.csv:
        _csv(names, rows)
    elif form is Format.md:
        _markdown(names, rows)
    else:
        _table(rows, title)


def lines(texts: Sequence[str]) -> None:
    """Prints lines of text to stdout, as they are."""
    sys.stdout.writelines(_printable(text) + "\n" for text in texts)


def say(text: str) -> None:
    """Prints a line for people to stderr."""
    sys.stderr.write(text + "\n")


def _csv(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    if names:
        writer.writerow(names)
    writer.writerows([_cell(value, empty="") for value in row.values()] for row in rows)


def _markdown(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    if not names:
        return
    sys.stdout.write("| " + " | ".join(names) + " |\n")
    sys.stdout.write("|" + "---|" * len(names) + "\n")
    for row in rows:
        cells = (_cell(value, empty="").replace("|", "\\|").replace("\n", " ") for value in row.values())
        sys.stdout.write("| " + " | ".join(cells) + " |\n")


def _table(rows: Sequence[Mapping[str, Any]], title: str | None) -> None:
    width = max(LEAST_WIDTH, get_terminal_size().columns) if sys.stdout.isatty() else PIPE_WIDTH
    console = Console(width=width, highlight=False)
    if not rows:
        console.print(Text(f"{title}: no rows" if title else "no rows"))
        return
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for name in rows[0]:
        values = [row[name] for row in rows]
        is_number = all(
            isinstance(value, NUMBERS) and not isinstance(value, bool) for value in values if value
        )
        table.add_column(
            name,
            justify="right" if is_number and any(values) else "left",
            no_wrap=name.endswith("_id") or name == "unit",
            overflow="fold",
        )
    for row in rows:
        # Text from outside may hold console markup: Text never reads it.
        table.add_row(*(Text(_cell(value, empty="-", is_rounded=True)) for value in row.values()))
    console.print(table)


def _cell(value: Any, *, empty: str, is_rounded: bool = False) -> str:
    if value is None:
        return empty
    if isinstance(value, float) and is_rounded:
        return f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"
    if isinstance(value, Decimal):
        return format(value.normalize(), "f")
    if isinstance(value, list | tuple):
        return " ".join(str(item) for item in value)
    return _printable(str(value))


def _printable(text: str) -> str:
    """Returns the text without control characters, which could move the cursor of a terminal."""
    return "".join(character if character.isprintable() else " " for character in text)


def _finite(value: Any) -> Any:
    """Returns null for what JSON cannot say: NaN and the infinities."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, date | datetime):
        return value.isoformat()
    return str(value)
