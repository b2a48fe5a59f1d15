"""A job from text: flags of the command line or values of a job file, read as a person writes them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from transforms.workloads.asked_job import NAMES, Job
from transforms.workloads.wishes import NUMBERS, JobError, nearest, said

__all__ = ["JobError", "described_job", "number"]

# 32k is how people write 32,768 tokens of a context; of things that are counted, k is a thousand.
UNITS = {
    "plain": {"": 1.0},
    "length": {"": 1.0, "k": 2.0**10, "ki": 2.0**10, "m": 2.0**20, "mi": 2.0**20},
    "count": {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12, "ki": 2.0**10, "mi": 2.0**20},
}
EXAMPLES = {"plain": "0.5 or 30", "length": "32k, 32768 or 1.5M", "count": "5000, 30M or 1e12"}
NUMBER = re.compile(
    r"([+-]?(?:\d{1,3}(?:[,_]\d{3})+|\d+)?(?:\.\d+)?(?:e[+-]?\d+)?)\s*([kmbt]?i?)", re.IGNORECASE
)


def described_job(wishes: Mapping[str, Any]) -> Job:
    """Returns the job that names and values describe; numbers may be text such as 32k.

    Names may have - or _. Raises JobError with one line that names the value, what is allowed, and the nearest name.
    """
    values: dict[str, Any] = {}
    for spelling, value in wishes.items():
        name = spelling.replace("-", "_")
        if name not in NAMES:
            known = [said(one) for one in NAMES]
            raise JobError(f"{spelling[:40]!r}: no such wish{nearest(said(spelling), known)}")
        if name in values:
            raise JobError(f"{said(name)}: said twice")
        values[name] = number(name, value) if name in NUMBERS and isinstance(value, str) else value
    return Job(**values)


def number(name: str, text: str) -> float:
    """Returns the number that the text of a wish means. Raises JobError for a text that is none."""
    written = NUMBERS[name].written
    match = NUMBER.fullmatch(text.strip())
    units = UNITS[written]
    try:
        digits, unit = match.groups() if match else ("", "?")
        return float(re.sub("[,_]", "", digits)) * units[unit.lower()]
    except (ValueError, KeyError):
        raise JobError(f"{said(name)} {text[:40]!r}: must be a number such as {EXAMPLES[written]}") from None
