"""What it costs GPUs to exchange their parts of a layer: latency and rate of all-reduce and all-to-all.

Columns read: `link` (nvlink, xgmi, pcie, accelerator, none, unknown), `link_gb_per_s` both ways, `hardware_class`,
`gpus_per_replica` and `engine_id`. Over NVLink and the like, the time of an all-reduce is a latency and
the bytes over a share of the one-way rate, and each GPU passes on 2 (n - 1) / n of them. Over PCIe, boards with HBM
reach their peers directly; the others go through the host, and the rate collapses with their number. Throughput
study, section 5.
"""

from __future__ import annotations

import polars as pl

from transforms.workloads.coefficients import coefficient, coefficients

_SPLIT = pl.col("gpus_per_replica")
_IS_TENSORRT = pl.col("engine_id").str.starts_with("trt")
# One way of 16 lanes of generation 4, on which the rates through the host were measured.
_MEASURED_ONE_WAY_GB_PER_S = 32.0


def latency_s() -> pl.Expr:
    """Seconds of an all-reduce of nothing; null for an unknown link."""
    by_link = coefficients("link_latency_us")
    plain = pl.col("link").replace_strict(by_link, default=None, return_dtype=pl.Float64) * 1e-6
    return plain / _fused_gain()


def _fused_gain() -> pl.Expr:
    """TensorRT-LLM reduces, adds and normalises in one kernel, over links on which GPUs write to each other."""
    is_fused = _IS_TENSORRT & (pl.col("link") != "pcie")
    return pl.when(is_fused).then(coefficient("fused_all_reduce_gain")).otherwise(1.0)


def _one_way() -> pl.Expr:
    """Bytes per second of a GPU to its neighbours."""
    stated = pl.col("link_gb_per_s") / 2
    assumed = pl.lit(coefficient("accelerator_link_gb_per_s") / 2)
    return pl.when(pl.col("link") == "accelerator").then(assumed).otherwise(stated) * 1e9


def all_reduce_bytes_per_s() -> pl.Expr:
    """Payload of an all-reduce over its time, without the latency."""
    shares = coefficients("link_rate_share")
    share = pl.col("link").replace_strict(shares, default=None, return_dtype=pl.Float64)
    passed_on = 2 * (_SPLIT - 1) / _SPLIT
    direct = _one_way() * share * _fused_gain() / passed_on
    is_through_host = (pl.col("link") == "pcie") & ~pl.col("hardware_class").is_in(["nvidia_hbm", "amd_hbm"])
    return pl.when(is_through_host.fill_null(True)).then(_through_host()).otherwise(direct)


def large_message_gain() -> pl.Expr:
    """Rate of the messages of a prompt against those of a step: over fast links only the former fill the link."""
    return pl.when(pl.col("link") == "pcie").then(1.0).otherwise(coefficient("large_message_gain"))


def _through_host() -> pl.Expr:
    measured = {float(n): rate for n, rate in coefficients("pcie_allreduce_gb_per_s").items()}
    slowest = min(measured.values())
    rate = _SPLIT.replace_strict(measured, default=slowest, return_dtype=pl.Float64)
    return rate * 1e9 * pl.col("link_gb_per_s") / 2 / _MEASURED_ONE_WAY_GB_PER_S


def all_to_all_bytes_per_s() -> pl.Expr:
    """Bytes that a GPU sends to the others over the time of an exchange of tokens."""
    return _one_way() * coefficient("all_to_all_share")
