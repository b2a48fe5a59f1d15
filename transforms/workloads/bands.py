"""The 80 % band of a speed of text: by kind of demand, with experts or without, calibrated or extrapolated.

Edges are measured over predicted of the tenth and the ninetieth of a hundred measurements, each GPU predicted without
its own. A GPU of which nothing was measured has wider ones.
"""

from __future__ import annotations

import polars as pl

from transforms.workloads.coefficients import coefficients

# The kind of demand of each scenario of the measurements.
KINDS = {
    "single_stream_decode": "single",
    "batched_decode": "batched",
    "offline_throughput": "offline",
    "server": "server",
    "prefill": "prefill",
}


def edges(kind: pl.Expr, is_moe: pl.Expr, is_calibrated: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Returns the low and the high edge as factors of the point. `kind` is one of KINDS.

    Args:
        kind: single, batched, offline, server or prefill.
        is_moe: the model has experts.
        is_calibrated: measurements of this GPU are among those that were fitted.
    """
    group = pl.format("{}_{}", kind, pl.when(is_moe).then(pl.lit("moe")).otherwise(pl.lit("dense")))
    found = []
    for edge, family in (("low", coefficients("band_text_low")), ("high", coefficients("band_text_high"))):
        wider = (
            pl.when(is_calibrated.fill_null(False))
            .then(1.0)
            .otherwise(coefficients("band_text_extrapolated")[edge])
        )
        found.append(group.replace_strict(family, default=None, return_dtype=pl.Float64) * wider)
    return found[0], found[1]
