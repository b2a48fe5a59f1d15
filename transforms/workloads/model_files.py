"""Reads the files that a model comes in: config.json, the header of a safetensors file, and the index of several.

Nothing is loaded but text: of a safetensors file the header alone is read, which lists each tensor with its type and
its place. Files are not trusted: sizes are bounded, and each number is checked before it is used.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

LARGEST_CONFIG_BYTES = 4_000_000
LARGEST_HEADER_BYTES = 100_000_000  # the bound of the safetensors format itself
LARGEST_MODEL_BYTES = 10**15
MOST_DIMENSIONS = 16

# Bytes of an element, and the weight format that a file of mostly such tensors is in; None: packed, so not told.
_DTYPES: dict[str, tuple[float, str | None]] = {
    "F64": (8, None),
    "F32": (4, "fp32"),
    "F16": (2, "fp16"),
    "BF16": (2, "bf16"),
    "F8_E4M3": (1, "fp8"),
    "F8_E5M2": (1, "fp8"),
    "F8_E8M0": (1, None),
    "F4": (0.5, None),
    "F6_E2M3": (0.75, None),
    "F6_E3M2": (0.75, None),
    "I64": (8, None),
    "U64": (8, None),
    "I32": (4, None),
    "U32": (4, None),
    "I16": (2, None),
    "U16": (2, None),
    "I8": (1, None),
    "U8": (1, None),
    "BOOL": (1, None),
}


class ConfigError(ValueError):
    """A file of a model that is broken, hostile, or of an architecture that is not known."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What files say of the weights: their bytes, and where each tensor is listed the parameters and the format.

    parameters and weight_precision are None where tensors are packed or not listed.
    """

    stored_bytes: int
    parameters: int | None
    weight_precision: str | None


def read_config(path: Path) -> dict[str, Any]:
    """Returns the object of a JSON file.

    Raises:
        ConfigError: no such file, too large, not JSON, or not an object.
    """
    content = _read(path, LARGEST_CONFIG_BYTES, "a config")
    return _object(path, content)


def read_index(path: Path) -> Stored:
    """Returns the bytes that the index of a sharded model states.

    Raises:
        ConfigError: as `read_config`, or without a total size that can be true.
    """
    found = _object(path, _read(path, LARGEST_HEADER_BYTES, "an index"))
    metadata = found.get("metadata")
    size = metadata.get("total_size") if isinstance(metadata, dict) else None
    if isinstance(size, float) and size.is_integer():
        size = int(size)
    if type(size) is not int or not 0 < size <= LARGEST_MODEL_BYTES:
        raise ConfigError(f"{path}: metadata.total_size = {size!r:.40}: give the bytes of all tensors")
    return Stored(size, None, None)


def read_header(path: Path) -> Stored:
    """Returns what the header of a safetensors file states: 8 bytes of length, then JSON, then the tensors.

    Raises:
        ConfigError: no such file, a length beyond the file, no JSON, or tensors that do not match their places.
    """
    content, file_bytes = _header(path)
    tensors = {name: tensor for name, tensor in _object(path, content).items() if name != "__metadata__"}
    if not tensors:
        raise ConfigError(f"{path}: the header lists no tensor; give a file with weights")
    by_type: dict[str, int] = {}
    parameters = 0
    for name, tensor in tensors.items():
        dtype, elements, size = _tensor(path, name, tensor)
        by_type[dtype] = by_type.get(dtype, 0) + size
        parameters += elements
    stored = sum(by_type.values())
    has_data = file_bytes > 8 + len(content)
    if stored > LARGEST_MODEL_BYTES or (has_data and file_bytes != 8 + len(content) + stored):
        beyond = f"its tensors take {stored} bytes, the file has {file_bytes - 8 - len(content)} of them"
        raise ConfigError(f"{path}: {beyond}; give the whole file, or the header alone")
    precision = _DTYPES[max(by_type, key=lambda dtype: by_type[dtype])][1]
    return Stored(stored, parameters if precision else None, precision)


def _header(path: Path) -> tuple[bytes, int]:
    """Returns the text of the header and the size of the file."""
    if not path.is_file():
        raise ConfigError(f"{path}: no such file; give a safetensors file")
    file_bytes = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(8)
        length = int.from_bytes(start, "little")
        if len(start) < 8 or not 2 <= length <= min(LARGEST_HEADER_BYTES, file_bytes - 8):
            raise ConfigError(
                f"{path}: a header of {length} bytes in a file of {file_bytes}; not a safetensors file"
            )
        return file.read(length), file_bytes


def _tensor(path: Path, name: str, tensor: Any) -> tuple[str, int, int]:
    """Returns type, elements and bytes of one tensor of a header."""
    where = f"{path}: tensor {name!r:.60}"
    dtype = tensor.get("dtype") if isinstance(tensor, dict) else None
    if not isinstance(dtype, str) or dtype not in _DTYPES:
        raise ConfigError(f"{where}: no known dtype; not a safetensors header")
    shape, offsets = _naturals(tensor.get("shape")), _naturals(tensor.get("data_offsets"))
    if shape is None or offsets is None or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise ConfigError(f"{where}: shape and data_offsets must be lists of whole numbers from 0 up")
    elements, size = prod(shape), offsets[1] - offsets[0]
    if elements * _DTYPES[dtype][0] != size:
        raise ConfigError(f"{where}: {size} bytes for {elements} elements of {dtype}; the header lies")
    return dtype, elements, size


def _naturals(value: object) -> list[int] | None:
    """Returns a short list of whole numbers of which none is larger than any model; None for anything else."""
    if not isinstance(value, list) or len(value) > MOST_DIMENSIONS:
        return None
    numbers = [number for number in value if type(number) is int and 0 <= number <= LARGEST_MODEL_BYTES]
    return numbers if len(numbers) == len(value) else None


def _read(path: Path, most_bytes: int, what: str) -> bytes:
    if not path.is_file():
        raise ConfigError(f"{path}: no such file; give {what} as JSON")
    with path.open("rb") as file:
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise ConfigError(f"{path}: more than {most_bytes:,} bytes; {what} is smaller")
    return content


def _object(path: Path, content: bytes) -> dict[str, Any]:
    """Returns the JSON object of a text; NaN and Infinity are no JSON."""

    def refuse(constant: str) -> None:
        raise ConfigError(f"{path}: {constant} is no number; give a finite one")

    try:
        found = json.loads(content.decode("utf-8"), parse_constant=refuse)
    except ConfigError:
        raise
    except (ValueError, RecursionError) as error:
        reason = str(error).split("\n", maxsplit=1)[0]
        raise ConfigError(f"{path}: not JSON: {reason:.80}") from None
    if not isinstance(found, dict):
        raise ConfigError(f"{path}: a {type(found).__name__}, not an object; give a config.json")
    return found
