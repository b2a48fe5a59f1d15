"""A job from a file: JSON or TOML with the names of the flags."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transforms.workloads.wishes import JobError

MOST_BYTES = 1_000_000


def job_file(path: Path) -> Mapping[str, Any]:
    """Returns the names and values of a job file, unchecked. Raises JobError; OSError for a file that is not there."""
    if path.suffix not in (".json", ".toml"):
        raise JobError(f"job file {path.name[:60]!r}: must end in .json or .toml")
    if path.is_fifo():
        raise JobError(f"job file {path.name[:60]!r}: is no file")
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise JobError(f"job file {path.name[:60]!r}: more than {MOST_BYTES} bytes are no job")
    try:
        text = content.decode("utf-8-sig")
        read = json.loads(text, object_pairs_hook=_once) if path.suffix == ".json" else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        why = " ".join(str(error).split())[:120]
        raise JobError(f"job file {path.name[:60]!r}: is no {path.suffix[1:].upper()}: {why}") from error
    if not isinstance(read, dict):
        raise JobError(f"job file {path.name[:60]!r}: must hold names with values, such as model and users")
    return read


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Returns the pairs as a dict; JSON itself lets the last of two equal names win."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name is said twice")
    return found
