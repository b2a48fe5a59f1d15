"""Asking prices that cannot be meant: hosts of a marketplace sometimes leave a number that keeps everybody away.

Such a price is a fact of the list, and no price to rank: the parser passes it on as a lower bound, with a note.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from statistics import median

# Judgement, and the same as the band of the market in the quality rules: hosts who mean their price stay within it.
FAR_FACTOR = 5
# Judgement: a median of fewer says little.
FEWEST_PRICES = 5


def far_from_median(prices: Sequence[Decimal | None]) -> list[bool]:
    """Which of the prices of one card are more than five times above, or below a fifth of, their median.

    Prices that are missing or not above zero are neither counted nor far. With fewer than five prices none is far.
    """
    asked = [price for price in prices if price is not None and price > 0]
    if len(asked) < FEWEST_PRICES:
        return [False] * len(prices)
    middle = median(asked)
    return [
        price is not None and price > 0 and not middle / FAR_FACTOR <= price <= middle * FAR_FACTOR
        for price in prices
    ]
