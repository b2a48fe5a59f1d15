"""A job from the flags of the command line: text of a person to the fields of a JOB row."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

import polars as pl

from transforms.reference import tables
from transforms.workloads.jobs import job

PURCHASES = {"on-demand": "on_demand", "on_demand": "on_demand", "spot": "spot", "reserved": "reserved"}
BILLING_STEPS_S = {"second": 1.0, "minute": 60.0, "hour": 3600.0}
# `eu` alone means the member states of the European Union; the continent is called europe.
CONTINENTS = {
    "africa": "AF",
    "asia": "AS",
    "europe": "EU",
    "north america": "NA",
    "oceania": "OC",
    "south america": "SA",
}
# 32k is how people write 32,768: a context is a power of two or a multiple of 1,024.
TOKEN_UNITS = {"": 1, "k": 1024, "ki": 1024, "m": 1024 * 1024, "mi": 1024 * 1024}


class JobError(ValueError):
    """A job that cannot be: an unknown name, a number that is not positive, or flags that contradict each other."""


def described_job(tier_id: str | None, flags: Mapping[str, Any]) -> pl.DataFrame:
    """Returns one JOB row: the tier with some fields changed, or a text service from its own fields.

    Raises JobError with one line that names the value and what is allowed.
    """
    fields = dict(flags)
    if "context" in fields:
        fields["context_tokens"] = tokens(fields.pop("context"))
    if "purchase" in fields:
        fields["purchase_kinds"] = [_one_of(PURCHASES, kind, "--purchase") for kind in fields.pop("purchase")]
    if "billing" in fields:
        fields["max_billing_increment_s"] = _one_of(BILLING_STEPS_S, fields.pop("billing"), "--billing")
    if "region" in fields:
        fields["region"] = place(fields["region"])
    try:
        return job(tier_id, **fields)
    except ValueError as error:
        raise JobError(str(error)) from error


def tokens(text: str) -> int:
    """Returns the tokens that a text such as 32k, 32768 or "32 Ki" means. Raises JobError for anything else."""
    match = re.fullmatch(r"(\d{1,12})\s*([kKmM]?i?)", text.strip().replace(",", "").replace("_", ""))
    unit = match.group(2).lower() if match else "?"
    if not match or unit not in TOKEN_UNITS or int(match.group(1)) == 0:
        raise JobError(f"--context {text[:40]!r} is not a number of tokens such as 32k or 32768")
    return int(match.group(1)) * TOKEN_UNITS[unit]


def place(text: str) -> str:
    """Returns what a job asks for as its region: eu, a continent, a country or a region key. Raises JobError."""
    wish = text.strip()
    regions = tables.read("region")
    known = {"eu": "eu", **CONTINENTS}
    known |= {country.lower(): country for country in regions["country_iso2"].drop_nulls().unique()}
    known |= {key.lower(): key for key in regions["region_key"].drop_nulls().unique()}
    if wish.lower() not in known:
        near = get_close_matches(wish.lower(), known, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise JobError(
            f"--region {wish[:40]!r} is not eu, a continent, a country such as DE, or a region key{hint}"
        )
    return known[wish.lower()]


def _one_of(known: Mapping[str, Any], value: str, flag: str) -> Any:
    if value.lower() not in known:
        raise JobError(f"{flag} {value[:40]!r} is not one of {', '.join(known)}")
    return known[value.lower()]
