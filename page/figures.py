"""The geometry of the rulers: every length is a share of the width in per cent, so that no script or style is needed.

A ruler is a quantity on a scale with its limit. The same ruler is drawn large in an entry and small in a table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

FITS_UP_TO = 0.92  # share of usable memory; above it a fit is tight, see the method page


@dataclass(frozen=True, slots=True)
class Part:
    """A coloured stretch of a ruler."""

    number: int
    x: str
    width: str


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on the axis with its label, or without one."""

    x: str
    value: float | None
    anchor: str


@dataclass(frozen=True, slots=True)
class Ruler:
    """A quantity (`parts`, or `band` with `point`) on a scale that ends at `end`, with its `limit`."""

    end: float
    parts: tuple[Part, ...] = ()
    band: Part | None = None
    point: str | None = None
    limit: str | None = None
    limit_label_x: str | None = None
    limit_anchor: str = "end"
    ticks: tuple[Tick, ...] = ()


@dataclass(frozen=True, slots=True)
class Band:
    """A predicted figure with its 80 % band, and the limit that it is held against."""

    low: float | None
    point: float
    high: float | None
    limit: float | None

    @property
    def largest(self) -> float:
        return max(value for value in (self.low, self.point, self.high, self.limit) if value is not None)


def per_cent(value: float, whole: float) -> str:
    """Returns `value` as a share of `whole` for an SVG attribute, held between 0 and 100 %."""
    return f"{min(max(100 * value / whole, 0.0), 100.0):.2f}%"


def memory_ruler(parts: Sequence[float | None], usable_gib: float) -> Ruler:
    """Returns the parts of the load, in GiB of one GPU, laid end to end over the usable memory."""
    ticks = tuple(
        Tick(
            f"{10 * step}%",
            usable_gib * step / 10 if step in (0, 5, 10) else None,
            "start" if step == 0 else "end" if step == 10 else "middle",
        )
        for step in range(11)
    )
    return Ruler(
        end=usable_gib,
        parts=end_to_end([None if size is None else size / usable_gib for size in parts]),
        limit=per_cent(FITS_UP_TO, 1),
        limit_label_x=per_cent(FITS_UP_TO - 0.01, 1),
        ticks=ticks,
    )


def end_to_end(shares: Sequence[float | None]) -> tuple[Part, ...]:
    """Returns shares of a whole laid end to end; one that is null or nothing is left out, and keeps its number."""
    drawn = []
    at = 0.0
    for number, share in enumerate(shares, start=1):
        if share:
            drawn.append(Part(number, per_cent(at, 1), per_cent(share, 1)))
            at += share
    return tuple(drawn)


def band_ruler(band: Band, largest: float | None = None) -> Ruler:
    """Returns a point with its band on a scale from 0 that holds the limit, and `largest` where it is given."""
    low, point, high, limit = band.low, band.point, band.high, band.limit
    step, end = _scale(largest or band.largest)
    count = round(end / step)
    ticks = tuple(
        Tick(
            per_cent(index * step, end),
            index * step,
            "start" if index == 0 else "end" if index == count else "middle",
        )
        for index in range(count + 1)
    )
    share = None if limit is None else limit / end
    is_far_left = share is not None and share < 0.25
    return Ruler(
        end=end,
        band=None
        if low is None or high is None
        else Part(1, per_cent(low, end), per_cent(min(high, end) - low, end)),
        point=per_cent(point, end),
        limit=None if limit is None else per_cent(limit, end),
        limit_label_x=None if share is None else per_cent(share + (0.01 if is_far_left else -0.01), 1),
        limit_anchor="start" if is_far_left else "end",
        ticks=ticks,
    )


def _scale(largest: float) -> tuple[float, float]:
    """Returns a round step and a round end of a scale from 0 to a little above `largest`."""
    if largest <= 0:
        return 1.0, 1.0
    rough = largest / 5
    power = 10 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough)
    return step, step * math.ceil(largest * 1.02 / step)
