"""Which model of model.csv a written name means.

A name is read as words. What tells of the owner, of packed weights, of tuning or of a date falls away; the words that
stay must spell a model_id or a stated alias, whatever stands between them. So another size or generation is another
name, and a name that nothing spells is None.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

import polars as pl

from transforms.reference.tables import read

LONGEST_NAME = 120
OFFERED_NAMES = 5
LEAST_LIKENESS = 0.5

_REMARK = re.compile(r"\([^)]*\)|\s\+\s.*$")
# A point stays only inside a number: flux.1 is flux-1, and 3.1 is not 3-1.
_BETWEEN_WORDS = re.compile(r"[\s_\-\u2010-\u2015,:+|@\[\]]+|(?<!\d)\.|\.(?!\d)")
_BETWEEN_LETTERS = re.compile(r"(?<!\d)-|-(?!\d)")
_PLUS = re.compile(r"(?<=[a-z\d])\+(?![a-z\d])")  # command-r+
_GLUED_VERSION = re.compile(r"(?<=[a-z])(\d)(\d)(?![\d.bmt])")  # llama31, qwen25
_SUB_BILLION = re.compile(r"(\d+)b(\d)(?!\d)")  # bloomz-7b1
_ACTIVE_SIZE = re.compile(r"-a\d+(?:\.\d+)?b$")
_POINT_AS_LINE = re.compile(r"(?<=\d)_(?=\d(?!\d))")  # llama-3_1
# q4_k_m and iq3_xxs of files in the GGUF format, and the version of a packing
_PACKED_AS = re.compile(r"(?<![a-z\d])(?:ud-)?i?q\d(?:_(?:[01]|[klmsx]{1,3}))*(?![a-z\d])|(?<=fp[48])-v\d")

_OWNER = re.compile("meta|nvidia|microsoft|google|mistralai|openai|ibm|alibaba|eleutherai|tiiuae|unsloth")
_PACKAGING = re.compile(
    r"""gguf|awq|gptq|bnb|hf|mlx|onnx|exl[23]|marlin|quant|(?:un)?quantized|dynamic|qat|safetensors|modelopt|autoround
    |(?:fp|bf|int|nf|nvfp|mxfp|w)\d+(?:a\d+)?|\d?bit|kv|gs\d+|99(?:\.9)?|interactive""",
    re.VERBOSE,
)
_TUNING = re.compile(
    r"""instruct|inst|chat|it|pt|base|sft|dpo|rlhf|preview|thinking|reasoning|think|latest|text|lora|qlora""",
    re.VERBOSE,
)
_DATE = re.compile(r"20\d{6}|2[3-6][01]\d|[01]\d[0-3]\d")
_FIRST_VERSION = re.compile(r"v0|v0\.1|v1|v1\.0")


def resolve(text: str) -> str | None:
    """Returns the model_id that a name means; None when it names no model of the table, or could mean two."""
    return _resolve(text[: LONGEST_NAME + 1])


@lru_cache(maxsize=20_000)
def _resolve(text: str) -> str | None:
    if len(text) > LONGEST_NAME:
        return None
    name = _folded(text)
    owner, _, own = name.rpartition("/")
    found = {model_id for part in (name, own, owner) if part and (model_id := _spelt_by(part))}
    return found.pop() if len(found) == 1 else None


def nearest(text: str) -> list[str]:
    """Returns up to five model_ids whose spelling is near the name, best first; none when nothing is near."""
    *_, spelling = _readings(_folded(text[:LONGEST_NAME]).rpartition("/")[2])
    near = difflib.get_close_matches(spelling, _spellings(), n=3 * OFFERED_NAMES, cutoff=LEAST_LIKENESS)
    model_ids = dict.fromkeys(model_id for known in near for model_id in sorted(_spellings()[known]))
    return list(model_ids)[:OFFERED_NAMES]


def model_ids(names: pl.Series) -> pl.Series:
    """Returns the model_id of each name as a text column of the same name and length; null where it is none."""
    found = {name: resolve(name) for name in names.drop_nulls().unique()}
    return names.replace_strict(found, default=None, return_dtype=pl.String)


def _folded(text: str) -> str:
    """Returns the name in plain small letters without remarks in brackets or behind a plus sign."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return _PLUS.sub("-plus", _REMARK.sub(" ", plain).strip() or plain.strip())


def _words(name: str) -> list[str]:
    return [word for word in _BETWEEN_WORDS.split(name.replace("/", "-")) if word]


def _spelling(words: list[str]) -> str:
    """Returns the words as one: a hyphen stays only between numbers, since llama-3-8b is not llama-38b."""
    return _SUB_BILLION.sub(r"\1.\2b", _BETWEEN_LETTERS.sub("", "-".join(words)))


def _readings(name: str) -> Iterator[str]:
    """Yields the spellings that the name can stand for, the most literal first."""
    for literal in dict.fromkeys((name, _POINT_AS_LINE.sub(".", name))):
        yield from _bared(literal)


def _bared(name: str) -> Iterator[str]:
    """Yields the spelling of the name, then of what stays without owner, packing, tuning, date and first version."""
    yield _spelling(_words(name))
    words = _words(_PACKED_AS.sub(" ", name))
    for noise in (_OWNER, _PACKAGING, _TUNING, _DATE, _FIRST_VERSION):
        # the first word is the family, unless it is the owner's
        words = [word for at, word in enumerate(words) if not noise.fullmatch(word) or _is_family(at, noise)]
        yield _spelling(words)
    yield _GLUED_VERSION.sub(r"\1.\2", _spelling(words))


def _is_family(at: int, noise: re.Pattern[str]) -> bool:
    return at == 0 and noise is not _OWNER


def _spelt_by(name: str) -> str | None:
    """Returns the one model that the most literal known reading of the name spells."""
    known = _spellings()
    found = next((known[spelling] for spelling in _readings(name) if spelling in known), frozenset())
    return next(iter(found)) if len(found) == 1 else None


@lru_cache
def _spellings() -> dict[str, frozenset[str]]:
    """Returns the models that each spelling of an id or an alias can stand for.

    An id with the parameters at work is also spelt without them, where no other model is meant.
    """
    ids = read("model")["model_id"].to_list()
    shorter = [(_ACTIVE_SIZE.sub("", model_id), model_id) for model_id in ids]
    aliases = read("model_alias").select("alias", "model_id").iter_rows()
    names: dict[str, set[str]] = {}
    for name, model_id in (*shorter, *aliases):
        names.setdefault(_spelling(_words(_folded(name))), set()).add(model_id)
    own = {_spelling(_words(model_id)): {model_id} for model_id in ids}
    return {spelling: frozenset(models) for spelling, models in (names | own).items()}
