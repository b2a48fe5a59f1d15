"""`At`: a value of JSON or YAML together with its path, so that the first field that breaks is named."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from scrapers.errors import PayloadShapeError

PLAIN_NUMBER = re.compile(r"\s*+[-+]?([0-9]++\.?[0-9]*+|\.[0-9]++)([eE][-+]?[0-9]{1,3})?\s*+")
PLAIN_KEY = re.compile(r"[\w-]+")
SHOWN_LENGTH = 60
LARGEST_POWER_OF_TEN = 30
LARGEST_WHOLE = 2**63 - 1


def short(value: object) -> str:
    """A value as an error shows it: its beginning, or its kind where it holds others."""
    if isinstance(value, dict | list):
        return f"a {'mapping' if isinstance(value, dict) else 'list'} of {len(value)}"
    shown = str(value) if isinstance(value, Decimal) else repr(value)
    return shown if len(shown) <= SHOWN_LENGTH else shown[: SHOWN_LENGTH - 1] + "…"


def _step(key: str | int, *, is_first: bool) -> str:
    """One step of a path: `[3]`, `.price`, `["8x H100"]`."""
    if isinstance(key, int):
        return f"[{key}]"
    if PLAIN_KEY.fullmatch(key):
        return key if is_first else f".{key}"
    return f"[{short(key)}]"


class At:
    """A value of JSON or YAML with its path, such as `products[3].price`.

    Every method raises PayloadShapeError with the path where the value is not of the kind that it names. A step
    is made for every field of every row, so the text of a path is put together only when it is asked for.
    """

    __slots__ = ("_above", "_key", "part", "value")

    def __init__(self, part: str, value: Any, place: str = "") -> None:
        self.part = part
        self.value = value
        self._above: At | None = None
        self._key: str | int = place

    @property
    def place(self) -> str:
        """The path of the value."""
        if self._above is None:
            return str(self._key)
        return self._above.place + _step(self._key, is_first=not self._above.place)

    def broken(self, problem: str) -> PayloadShapeError:
        """The error that says what is wrong here, for checks of a parser's own: `raise row.broken("…")`."""
        return PayloadShapeError(self.part, self.place or "top", problem)

    def _wanted(self, kind: str) -> PayloadShapeError:
        return self.broken("missing or null" if self.value is None else f"{short(self.value)} is not {kind}")

    def _below(self, key: str | int, value: Any) -> At:
        step = At.__new__(At)
        step.part = self.part
        step.value = value
        step._above = self
        step._key = key
        return step

    def __getitem__(self, key: str | int) -> At:
        """The field `key` of a mapping, or the element `key` of a list; missing raises."""
        whole = self._list() if isinstance(key, int) else self._mapping()
        try:
            return self._below(key, whole[key])  # type: ignore[index]
        except (KeyError, IndexError):
            raise self._below(key, None).broken("missing") from None

    def get(self, key: str) -> At:
        """The field `key` of a mapping; where it is missing, its place with the value None."""
        return self._below(key, self._mapping().get(key))

    def __contains__(self, key: str) -> bool:
        return key in self._mapping()

    def __iter__(self) -> Iterator[At]:
        """The elements of a list."""
        return (self._below(index, value) for index, value in enumerate(self._list()))

    def __len__(self) -> int:
        return len(self.value) if isinstance(self.value, dict) else len(self._list())

    def __bool__(self) -> bool:
        """Whether there is a value at all; an empty list and the number 0 are values."""
        return self.value is not None

    def items(self) -> Iterator[tuple[str, At]]:
        """The keys of a mapping with their values."""
        return ((str(key), self._below(str(key), value)) for key, value in self._mapping().items())

    def _mapping(self) -> dict[str, Any]:
        if not isinstance(self.value, dict):
            raise self._wanted("a mapping")
        return self.value

    def _list(self) -> list[Any]:
        if not isinstance(self.value, list):
            raise self._wanted("a list")
        return self.value

    def text(self) -> str:
        """A text that is not blank, stripped."""
        text = self.value.strip() if isinstance(self.value, str) else ""
        if not text:
            raise self._wanted("a text")
        return text

    def text_or_none(self) -> str | None:
        """A text, or None where it is null or blank."""
        if self.value is None:
            return None
        text = self.value.strip() if isinstance(self.value, str) else None
        return (text or None) if text is not None else self.text()

    def decimal(self) -> Decimal:
        """A number, or a text that is nothing but a number in the way of JSON ("0.40", "1e-8")."""
        value = self.value
        if (
            type(value) is Decimal
            and value.is_finite()
            and -LARGEST_POWER_OF_TEN <= value.adjusted() <= LARGEST_POWER_OF_TEN
        ):
            return value  # by far the most
        if isinstance(value, str) and PLAIN_NUMBER.fullmatch(value):
            value = Decimal(value.strip())
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
            raise self._wanted("a number")
        result = Decimal(str(value))
        if not result.is_finite() or (result and abs(result.adjusted()) > LARGEST_POWER_OF_TEN):
            raise self._wanted("a number of a sane size")
        return result

    def decimal_or_none(self) -> Decimal | None:
        """A number, or None where it is null."""
        return None if self.value is None else self.decimal()

    def integer(self) -> int:
        """A whole number."""
        result = self.decimal()
        if result != result.to_integral_value() or abs(result) > LARGEST_WHOLE:
            raise self._wanted("a whole number of a sane size")
        return int(result)

    def integer_or_none(self) -> int | None:
        """A whole number, or None where it is null."""
        return None if self.value is None else self.integer()

    def flag(self) -> bool:
        """True or False."""
        if not isinstance(self.value, bool):
            raise self._wanted("true or false")
        return self.value
