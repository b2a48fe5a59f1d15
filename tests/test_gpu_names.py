"""GPU spellings: known ones give exactly their keys, unknown ones follow the grammar, nonsense gives nothing."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.offers.gpu_names import resolve_gpu
from transforms.reference.tables import read

GPUS = frozenset(read("gpu")["gpu_key"])
A100 = "A100-PCIE-40GB A100-PCIE-80GB A100-SXM4-40GB A100-SXM4-80GB"
H100 = "H100-NVL-94GB H100-PCIE-80GB H100-SXM5-80GB"
H100_80 = "H100-PCIE-80GB H100-SXM5-80GB"
H200 = "H200-NVL-141GB H200-SXM-141GB"
PRO_6000 = "RTXPRO6000-MAXQ-96GB RTXPRO6000-SE-96GB RTXPRO6000-WS-96GB"


def _known() -> Iterator[tuple[str, str | None, str]]:
    owners = dict(read("alias_context").select("context", "providers").iter_rows())
    for text, context, keys in read("gpu_alias").select("gpu_text", "context", "gpu_keys").iter_rows():
        for provider in owners[context].split("|"):
            yield text, None if provider == "*" else provider, keys


def test_every_known_spelling_gives_exactly_its_keys() -> None:
    wrong = [
        (text, provider, keys, match.candidates)
        for text, provider, keys in _known()
        if set((match := resolve_gpu(text, provider)).candidates) != set(keys.split("|"))
    ]
    assert wrong == []
    assert len(list(_known())) > 1016


def test_the_same_check_fails_for_a_wrong_key() -> None:
    assert set(resolve_gpu("g6.xlarge", "aws").candidates) != {"L40S-48GB"}


def test_patterns_and_known_plan_names_agree() -> None:
    """A plan that is on the list is read alike by its family's pattern."""
    from transforms.offers.gpu_names import _patterns, squeezed_plan

    owners = dict(read("alias_context").select("context", "providers").iter_rows())
    seen, apart = 0, []
    for text, context in read("gpu_alias").select("gpu_text", "context").iter_rows():
        for provider in owners[context].split("|"):
            for pattern in _patterns().get(provider, ()):
                found, known = pattern.read(squeezed_plan(text.casefold())), resolve_gpu(text, provider)
                if found is None or found.count is None:
                    continue
                seen += 1
                read_as = (found.candidates, found.count, found.fraction)
                if read_as != (known.candidates, known.count, known.fraction):
                    apart.append((text, read_as, known))
    assert apart == []
    assert seen > 40


def test_case_and_spaces_around_a_known_spelling_do_not_matter() -> None:
    for text, provider, _ in _known():
        assert resolve_gpu(f"  {text.swapcase()} ", provider) == resolve_gpu(text, provider), text


@pytest.mark.parametrize(
    ("text", "provider", "keys", "count", "fraction"),
    [
        ("p5.48xlarge", "aws", "H100-SXM5-80GB", 8, None),
        ("p5.4xlarge", "aws", "H100-SXM5-80GB", 1, None),
        ("p4d.24xlarge", "aws", "A100-SXM4-40GB", 8, None),
        ("p4de.24xlarge", "aws", "A100-SXM4-80GB", 8, None),
        ("ml.p4de.24xlarge", "aws_sagemaker", "A100-SXM4-80GB", None, None),
        ("g6e.99xlarge", "aws", "L40S-48GB", None, None),
        ("g6f.large", "aws", "L4-24GB", 1, "0.125"),
        ("Standard_NV6ads_A10_v5", "azure", "A10-24GB", 1, "0.1666666667"),
        ("Standard_NV18ads_A10_v5", "azure", "A10-24GB", 1, "0.5"),
        ("NV72ads_A10_v5", "azure", "A10-24GB", 2, None),
        ("Standard_NC24ads_A100_v4", "azure", "A100-PCIE-80GB", 1, None),
        ("Standard_ND96isr_H100_v5", "azure", "H100-SXM5-80GB", 8, None),
        ("Standard_NC40ads_H100_v5", "azure", "H100-NVL-94GB", 1, None),
        ("g4-standard-6", "gcp", "RTXPRO6000-SE-96GB", 1, "0.125"),
        ("g4-standard-24", "gcp", "RTXPRO6000-SE-96GB", 1, "0.5"),
        ("g4-standard-96", "gcp", "RTXPRO6000-SE-96GB", 2, None),
        ("a3-highgpu-2g", "gcp", "H100-SXM5-80GB", 2, None),
        ("a2-ultragpu-2g", "gcp", "A100-SXM4-80GB", 2, None),
        ("a2-highgpu-4g", "gcp", "A100-SXM4-40GB", 4, None),
        ("g2-standard-8", "gcp", "L4-24GB", 1, None),
        ("NC24rs v3", "azure", "V100-PCIE-16GB", 4, None),
        ("NC80adisH100v5", "azure", "H100-NVL-94GB", 2, None),
        ("NC64asT4 v3", "azure", "T4-16GB", 4, None),
        ("NC8as T4 v3", "azure", "T4-16GB", 1, None),
        ("NC72dsxlRTX6kv6", "azure", "RTXPRO6000-SE-96GB", 1, "0.5"),
        ("NV8as v4", "azure", "MI25-16GB", 1, "0.25"),
        ("g1-gpu-rtx6000-2", "akamai_linode", "QUADRO-RTX6000-24GB", 2, None),
        ("L4-2-24G", "scaleway", "L4-24GB", 2, None),
        ("RTX 6000 96GB", "gcp", "RTXPRO6000-SE-96GB", None, None),
        ("gpu-rtx6000", "nebius", "RTXPRO6000-SE-96GB", None, None),
        ("gpu_1x_rtx6000", "lambda", "QUADRO-RTX6000-24GB", 1, None),
        ("vcg-a100-1c-6g-4vram", "vultr", "A100-PCIE-80GB A100-SXM4-80GB", 1, "0.05"),
        ("vcg-a100-6c-60g-40vram", "vultr", "A100-PCIE-80GB A100-SXM4-80GB", 1, "0.5"),
        ("1H100.80S.30V", "verda", "H100-SXM5-80GB", 1, None),
        ("8H100.80S.176V", "verda", "H100-SXM5-80GB", 8, None),
        ("n3-H100x8-NVLink", "hyperstack", "H100-PCIE-80GB", 8, None),
        ("NVIDIA H100 NVLink", "hyperstack", "H100-PCIE-80GB", None, None),
        ("A100_NVLINK_80GB", "coreweave", "A100-SXM4-80GB", None, None),
        ("A100_NVLINK_80GB", "fluidstack", "A100-PCIE-80GB", None, None),
        ("p3.2xlarge", "aws", "V100-SXM2-16GB", 1, None),
        ("p3.2xlarge.8", "huawei", "A100-PCIE-80GB", 1, None),
        ("H200", "vast", "H200-SXM-141GB", None, None),
        ("H100-1-80G", "scaleway", "H100-PCIE-80GB", 1, None),
        ("RTX PRO Server 6000", "aws", "RTXPRO6000-SE-96GB", None, None),
        ("BM.GPU.H100.8", "oracle", "H100-SXM5-80GB", 8, None),
        ("Quadro_RTX_6000_16GB", "fluidstack", "QUADRO-RTX6000-24GB", None, None),
        # sizes of one family: the size says the count, and where it does not, the count stays open
        ("g5.2xlarge", "aws", "A10G-24GB", 1, None),
        ("g6.24xlarge", "aws", "L4-24GB", 4, None),
        ("g6e.2xlarge", "aws", "L40S-48GB", 1, None),
        ("g5.96xlarge", "aws", "A10G-24GB", None, None),
        ("g4ad.8xlarge", "aws", "V520-8GB", 2, None),
        ("g5g.16xlarge", "aws", "T4G-16GB", 2, None),
        ("g6f.xlarge", "aws", "L4-24GB", 1, "0.125"),
        ("g6f.4xlarge", "aws", "L4-24GB", 1, "0.5"),
        ("g7.12xlarge", "aws", "RTXPRO4500-SE-32GB", 2, None),
        ("g7e.24xlarge", "aws", "RTXPRO6000-SE-96GB", 4, None),
        ("gr6.8xlarge", "aws", "L4-24GB", 1, None),
        ("g2.8xlarge", "aws", "K520-4GB", 4, None),
        ("g3.4xlarge", "aws", "M60-8GB", 1, None),
        ("p2.8xlarge", "aws", "K80-12GB", 8, None),
        ("inf2.8xlarge", "aws", "INFERENTIA2-32GB", 1, None),
        ("NC16ads_A10_v4", "azure", "A10-24GB", 1, None),
        ("Standard_NC16ads_A10_v4", "azure", "A10-24GB", 1, None),
        ("NC32ads A10 v4", "azure", "A10-24GB", None, None),
        ("NC24s_v3", "azure", "V100-PCIE-16GB", 4, None),
        ("ND96is_H100_v5", "azure", "H100-SXM5-80GB", 8, None),
        ("ND96is_MI300X_v5", "azure", "MI300X-192GB", 8, None),
        ("NV16as_v4", "azure", "MI25-16GB", 1, "0.5"),
        ("NV24s_v3", "azure", "M60-8GB", 2, None),
        ("g2-gpu-rtx4000a4-m", "akamai_linode", "RTX4000ADA-20GB", 4, None),
        ("NVIDIA H100", "hyperstack", "H100-PCIE-80GB", None, None),
        ("NVIDIA A100", "hyperstack", "A100-PCIE-80GB", None, None),
        ("NVIDIA RTX PRO 6000", "nebius", "RTXPRO6000-SE-96GB", None, None),
        ("NVIDIA A100", "coreweave", "A100-SXM4-80GB", None, None),
        ("NVIDIA RTX 4000 Ada Generation", "digitalocean", "RTX4000ADA-20GB", None, None),
        ("NVIDIA H100", "digitalocean", "H100-SXM5-80GB", None, None),
        ("NVIDIA Tesla V100", "lambda", "V100-SXM2-16GB", None, None),
        # a price per GPU is of the smallest shape that has the card, and a generation is no card
        ("Oracle Cloud Infrastructure - Compute - GPU - H100", "oracle", "H100-SXM5-80GB", 8, None),
        ("Compute - GPU - A10", "oracle", "A10-24GB", 1, None),
        ("OCI - Compute - GPU - E4", "oracle", "", None, None),
    ],
)
def test_provider_names(text: str, provider: str, keys: str, count: int | None, fraction: str | None) -> None:
    match = resolve_gpu(text, provider)
    assert set(match.candidates) == set(keys.split())
    assert match.count == (None if count is None else Decimal(count))
    assert match.fraction == (None if fraction is None else Decimal(fraction))


@pytest.mark.parametrize(
    ("text", "keys", "count"),
    [
        # a bare family stays a set, and is never guessed to be SXM
        ("H100", H100, None),
        ("A100", A100, None),
        ("nvidia h100 tensor core gpu", H100, None),
        ("H100 NVLink", H100, None),
        ("GH200", "GH200-144GB GH200-96GB", None),
        ("V100", "V100-PCIE-16GB V100-PCIE-32GB V100-SXM2-16GB V100-SXM2-32GB", None),
        ("A800", "A800-PCIE-40GB A800-PCIE-80GB A800-SXM4-40GB A800-SXM4-80GB", None),
        ("RTX PRO 6000", PRO_6000, None),
        # memory, form factor, edition
        ("a100-pcie-80gb", "A100-PCIE-80GB", None),
        ("A100 80 GB", "A100-PCIE-80GB A100-SXM4-80GB", None),
        ("A100 (SXM4, 40GB)", "A100-SXM4-40GB", None),
        ("NVIDIA® H100 SXM5 80GB HBM3", "H100-SXM5-80GB", None),
        ("h100_pcie", "H100-PCIE-80GB", None),
        ("NVIDIA-H100-80GB-HBM3", "H100-SXM5-80GB", None),
        ("L40S-48Q", "L40S-48GB", None),
        ("H100 94GB", "H100-NVL-94GB", None),
        ("H100 NVL 94 GB", "H100-NVL-94GB", None),
        ("NVIDIA HGX H100", "H100-SXM5-80GB", None),
        ("H200 PCIe", "H200-NVL-141GB", None),
        ("B200 192GB", "B200-SXM-180GB", None),
        ("GB200 NVL72", "GB200-186GB", None),
        ("B200 NVL72", "B200-SXM-180GB GB200-186GB", None),
        ("NVIDIA GB300", "GB300-288GB", None),
        ("B300 (262 GB)", "B300-SXM-288GB", None),
        # names that look alike
        ("L40", "L40-48GB", None),
        ("l40s", "L40S-48GB", None),
        ("L40 S", "L40S-48GB", None),
        ("L4", "L4-24GB", None),
        ("NVIDIA A10", "A10-24GB", None),
        ("A10G 24GB", "A10G-24GB", None),
        ("RTX 6000", "QUADRO-RTX6000-24GB RTX6000ADA-48GB", None),
        ("RTX 6000 96GB", PRO_6000, None),
        ("RTX 6000 48GB", "RTX6000ADA-48GB", None),
        ("Quadro RTX 6000", "QUADRO-RTX6000-24GB", None),
        ("RTX A6000", "RTXA6000-48GB", None),
        ("A6000", "RTXA6000-48GB", None),
        ("rtx6000-ada-generation", "RTX6000ADA-48GB", None),
        ("RTX A6000 Ada", "RTX6000ADA-48GB RTXA6000-48GB", None),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTXPRO6000-SE-96GB", None),
        ("RTX Pro 6000 Blackwell Max-Q Workstation Edition", "RTXPRO6000-MAXQ-96GB", None),
        ("RTX 4000 Ada", "RTX4000ADA-20GB", None),
        ("RTX 4000 SFF Ada Generation", "RTX4000SFFADA-20GB", None),
        ("GeForce RTX 4070 Ti SUPER", "RTX4070TIS-16GB", None),
        ("rtx4080super", "RTX4080S-16GB", None),
        ("RTX 3090 Ti", "RTX3090TI-24GB", None),
        ("3090", "RTX3090-24GB", None),
        ("RTX 4090 48GB", "RTX4090-48GB", None),
        ("4090 modded", "RTX4090-48GB", None),
        ("RTX 4090 D", "RTX4090D-24GB", None),
        ("AMD Instinct MI300X OAM", "MI300X-192GB", None),
        ("Intel(R) Gaudi(R) 2 accelerator", "GAUDI2-96GB", None),
        ("Gaudi 3 PCIe", "GAUDI3-PCIE-128GB", None),
        ("tpu v5p", "TPU-V5P", None),
        ("Radeon RX 7900 XTX", "RX7900XTX-24GB", None),
        ("ＲＴＸ ５０９０", "RTX5090-32GB", None),
        # counts
        ("8x H100", H100, 8),
        ("8xH100", H100, 8),
        ("H100x8", H100, 8),
        ("8 × H200 SXM", "H200-SXM-141GB", 8),
        ("2 x RTX A6000", "RTXA6000-48GB", 2),
        ("RTX 4090 x2", "RTX4090-24GB", 2),
        ("4090 24GB * 4", "RTX4090-24GB", 4),
        ("A100-80GB:4", "A100-PCIE-80GB A100-SXM4-80GB", 4),
        ("4 GPUs, A100 PCIe 80GB", "A100-PCIE-80GB", 4),
        ("a100x8", A100, 8),
        ("A100X", "A100X-80GB", None),
        ("A100 80GB x 0", "A100-PCIE-80GB A100-SXM4-80GB", None),
        ("10x RTX 3080 10GB", "RTX3080-10GB", 10),
        ("1x RX 7900 XTX", "RX7900XTX-24GB", 1),
        # several in one text
        ("A6000 / A40", "A40-48GB RTXA6000-48GB", None),
        ("H100 or H200", f"{H100} {H200}", None),
    ],
)
def test_names_on_no_list(text: str, keys: str, count: int | None) -> None:
    match = resolve_gpu(text)
    assert set(match.candidates) == set(keys.split())
    if keys:
        assert match.count == (None if count is None else Decimal(count))


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "GPU",
        "🚀",
        "H100" * 2500,
        "x" * 10_000,
        "H1000",
        "A1000",
        "XH100",
        "H100S",
        "A100Z",
        "RTX 60000",
        "RTX 40900",
        "RTX6000000",
        "GTX 4090",
        "not an H100 but an A100",
        "comparable to an H100",
        "better than A100",
        "100",
        "80GB",
        "A",
        "CPU only",
        "t4g.small-like",
        "a2-highmem",
        "l4 lattice filter",
        "\x00\x00",
        "'; drop table gpu; --",
        "Room P4, floor 40",
        "٣٠٩٠",
        "None",
        "nan",
        "B20",
        "MI300",
    ],
)
def test_what_names_no_gpu_has_no_candidates(text: str) -> None:
    assert resolve_gpu(text).candidates == ()
    assert resolve_gpu(text, "runpod").candidates == ()


@pytest.mark.parametrize(
    ("text", "keys", "fraction", "memory"),
    [
        ("H100 MIG 1/7", H100, "0.1428571429", None),
        ("H100 MIG 40GB", H100_80, "0.5", "40.0"),
        ("NVIDIA H100 80GB MIG 1g.10gb", H100_80, "0.1428571429", "10.0"),
        ("A100 MIG 3g.20gb", "A100-PCIE-40GB A100-SXM4-40GB", "0.4285714286", "20.0"),
        ("A100 MIG 3g.40gb", "A100-PCIE-80GB A100-SXM4-80GB", "0.4285714286", "40.0"),
        ("H200 SXM 1g.18gb", "H200-SXM-141GB", "0.1428571429", "18.0"),
        ("A30 MIG 1g.6gb", "A30-24GB", "0.25", "6.0"),
        ("H100 80GB PCIe (vGPU 1/2)", "H100-PCIE-80GB", "0.5", None),
        ("A100 80GB PCIe vGPU", "A100-PCIE-80GB", None, None),
        ("NVIDIA A100-SXM4-80GB MIG 1g.10gb", "A100-SXM4-80GB", "0.1428571429", "10.0"),
        ("NVIDIA A40-8Q", "A40-48GB", "0.1666666667", "8.0"),
    ],
)
def test_slices(text: str, keys: str, fraction: str | None, memory: str | None) -> None:
    match = resolve_gpu(text)
    assert match.is_slice
    assert set(match.candidates) == set(keys.split())
    assert match.fraction == (None if fraction is None else Decimal(fraction))
    assert match.memory_gib == (None if memory is None else Decimal(memory))


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("RTX 6000 Blackwell", PRO_6000),
        ("NVIDIA RTX 6000 Blackwell Server Edition", "RTXPRO6000-SE-96GB"),
        ("RTX 6000 Blackwell Max-Q", "RTXPRO6000-MAXQ-96GB"),
        ("RTX 6000 Ada", "RTX6000ADA-48GB"),
        ("RTX 6000 (Turing)", "QUADRO-RTX6000-24GB"),
        ("RTX 6000, Ada Generation", "RTX6000ADA-48GB"),
        ("NVIDIA A100 Ampere", A100),
        ("GH200 Grace Hopper", "GH200-144GB GH200-96GB"),
        ("RTX 4090 Blackwell", ""),  # no card has both
        ("RTX 6000", "QUADRO-RTX6000-24GB RTX6000ADA-48GB"),  # the control: no generation, both stay
    ],
)
def test_a_generation_beside_the_name_decides(text: str, keys: str) -> None:
    assert set(resolve_gpu(text, "demo").candidates) == set(keys.split())


@pytest.mark.parametrize(
    ("text", "keys", "count", "fraction"),
    [
        ("0.5x A100", A100, 1, "0.5"),
        ("0.5 x H100", H100, 1, "0.5"),
        (".25x RTX 4090", "RTX4090-24GB", 1, "0.25"),
        ("0.5x 4090", "RTX4090-24GB", 1, "0.5"),
        ("0.5x A100 80GB", "A100-PCIE-80GB A100-SXM4-80GB", 1, "0.5"),
        ("1/2 H100", H100, 1, "0.5"),
        ("1/2x H100", H100, 1, "0.5"),
        ("½ H100 SXM", "H100-SXM5-80GB", 1, "0.5"),
        ("half H100", H100, 1, "0.5"),
        ("Half of an H100", H100, 1, "0.5"),
        ("quarter A100 PCIe 40GB", "A100-PCIE-40GB", 1, "0.25"),
        ("A100 x 0.5", A100, 1, "0.5"),
        ("H100:0.5", H100, 1, "0.5"),
        ("2x 1/2 H100", H100, 2, "0.5"),
        # no amounts: the card's shape, an instance size, a wrong fraction, a version
        ("RTX A2000 half-height", "RTXA2000-6GB RTXA2000-12GB", None, None),
        ("8x H100", H100, 8, None),
        ("H100 2xlarge", H100, None, None),
        ("1/0 H100", H100, None, None),
        ("H100 PCIe 5.0", "H100-PCIE-80GB", None, None),
    ],
)
def test_a_share_ahead_of_the_name_is_no_whole_card(
    text: str, keys: str, count: int | None, fraction: str | None
) -> None:
    match = resolve_gpu(text)
    assert set(match.candidates) == set(keys.split())
    assert match.count == (None if count is None else Decimal(count))
    assert match.fraction == (None if fraction is None else Decimal(fraction))


@pytest.mark.parametrize(
    ("text", "keys", "count"),
    [
        ("2x A100 80GB + 1x T4", "", None),
        ("RTX 3090, RTX 4090", "", None),
        ("RTX 3090 and RTX 4090", "", None),
        ("8x H100 & 2x L4", "", None),
        ("4x A100 40GB + 4x A100 80GB", "", None),
        ("2x A100 + 1x A100", "", None),  # three, but the name does not add them up
        # the control: one kind of card, or a choice of them
        ("8x H100 80GB + 2TB NVMe", H100_80, 8),
        ("A100 (SXM4, 40GB)", "A100-SXM4-40GB", None),
        ("Grace CPU with H100, 80GB", H100_80, None),
        ("H100 or H200", f"{H100} {H200}", None),
    ],
)
def test_a_machine_of_unlike_cards_is_no_card(text: str, keys: str, count: int | None) -> None:
    for provider in (None, "demo"):
        match = resolve_gpu(text, provider)
        assert set(match.candidates) == set(keys.split())
        assert match.count == (None if count is None else Decimal(count))


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        # no card of the family has it
        ("H100 SXM 64GB", ""),
        ("A100 96GB", ""),
        ("2x A100 64GB", ""),
        ("RTX 4090 16 GB", ""),
        ("H200_96GB", ""),
        # a card of another form factor has it: one of the two words is wrong, and either reading stays
        ("H100 SXM 94GB", "H100-NVL-94GB H100-SXM5-80GB"),
        ("H100 PCIe 94GB", "H100-NVL-94GB H100-PCIE-80GB"),
        # the control: as marketed, as the driver shows it, of all cards, of the board, of the host
        ("A100 39GB", "A100-PCIE-40GB A100-SXM4-40GB"),
        ("H200 140GB", H200),
        ("B200 180GB", "B200-SXM-180GB"),
        ("B200 192GB", "B200-SXM-180GB"),
        ("B300 268GB", "B300-SXM-288GB"),
        ("B300 288GB", "B300-SXM-288GB"),
        ("8x H100 640GB", H100_80),
        ("Tesla K80 24GB", "K80-12GB"),
        ("NVIDIA A16 64GB", "A16-16GB"),
        ("NVIDIA-GH200-480GB", "GH200-144GB GH200-96GB"),
        ("8x H100 2048GB", H100),
        ("H100 SXM, 16 vCPU, 200GB RAM", "H100-SXM5-80GB"),
        ("Dedicated 64GB + RTX A6000 x2", "RTXA6000-48GB"),
    ],
)
def test_a_memory_that_no_card_of_the_family_has_is_no_card(text: str, keys: str) -> None:
    assert set(resolve_gpu(text, "demo").candidates) == set(keys.split())


@pytest.mark.parametrize(
    "text", ["RTX 4090", "4090", "RTX4090", "GeForce RTX 4090", "NVIDIA GeForce RTX 4090"]
)
@pytest.mark.parametrize("provider", [None, "demo", "runpod", "vast"])
def test_a_plain_4090_has_24_gb_but_at_vast(text: str, provider: str | None) -> None:
    is_open = (text, provider) == ("RTX 4090", "vast")
    keys = ("RTX4090-24GB", "RTX4090-48GB") if is_open else ("RTX4090-24GB",)
    assert resolve_gpu(text, provider).candidates == keys


@pytest.mark.parametrize(
    ("text", "provider", "count"),
    [
        ("A5000", "paperspace", 1),
        ("A5000", None, None),
        ("A5000", "demo", None),
        ("BM.GPU.H100.8", "oracle", 8),
        ("BM.GPU.H100.8", "demo", None),
        ("p5.48xlarge", "demo", None),
    ],
)
def test_the_count_of_a_providers_spelling_is_its_own(
    text: str, provider: str | None, count: int | None
) -> None:
    match = resolve_gpu(text, provider)
    assert match.candidates
    assert match.count == (None if count is None else Decimal(count))


def test_a_spelling_that_some_provider_means_as_a_slice_is_no_whole_card_without_a_provider() -> None:
    match = resolve_gpu("vcg-a100-1c-6g-4vram")
    assert (match.is_slice, match.fraction, match.count) == (True, Decimal("0.05"), None)


@pytest.mark.parametrize(
    ("text", "memory_mib", "keys"),
    [
        ("H100 SXM", "81559", "H100-SXM5-80GB"),
        ("H200", "143771", H200),
        ("B200", "184320", "B200-SXM-180GB"),
        ("B200", "196608", "B200-SXM-180GB"),
        ("B300", "274432", "B300-SXM-288GB"),
        ("B300", "294912", "B300-SXM-288GB"),
    ],
)
def test_memory_as_the_driver_reports_it(text: str, memory_mib: str, keys: str) -> None:
    assert set(resolve_gpu(text, "demo", Decimal(memory_mib) / 1024).candidates) == set(keys.split())


@pytest.mark.parametrize(
    ("memory_mib", "keys"),
    [
        ("39936", "A100-PCIE-40GB A100-SXM4-40GB"),
        ("40960", "A100-PCIE-40GB A100-SXM4-40GB"),
        ("81920", "A100-PCIE-80GB A100-SXM4-80GB"),
        ("20480", A100),  # the memory of neither: it decides nothing
    ],
)
def test_memory_beside_the_name_decides_between_40_and_80(memory_mib: str, keys: str) -> None:
    match = resolve_gpu("A100", None, Decimal(memory_mib) / 1024)
    assert set(match.candidates) == set(keys.split())


@pytest.mark.parametrize(
    ("text", "provider", "memory", "form", "link", "plan", "keys"),
    [
        ("RTX 4090", "vast", "23.99", None, None, None, "RTX4090-24GB"),
        ("RTX 4090", "vast", "47.99", None, None, None, "RTX4090-48GB"),
        ("RTX 4090", None, "48", None, None, None, "RTX4090-48GB"),
        ("RTX-4090", None, "48", None, None, None, "RTX4090-48GB"),
        ("H100", None, None, "SXM5", None, None, "H100-SXM5-80GB"),
        ("H100", None, None, "PCIe 5.0 x16", None, None, "H100-PCIE-80GB"),
        ("H100", None, "94", None, None, None, "H100-NVL-94GB"),
        ("H100", None, "80", None, "NVLink", None, H100_80),
        ("H100", None, None, None, "HGX", None, "H100-SXM5-80GB"),
        ("B200", None, "179", None, None, None, "B200-SXM-180GB"),
        ("B200", None, "256", None, None, None, "B200-SXM-180GB"),
        ("NVIDIA A100", "azure", None, None, None, "Standard_NC24ads_A100_v4", "A100-PCIE-80GB"),
        ("A100", "gcp", None, None, None, "a2-ultragpu-8g", "A100-SXM4-80GB"),
        ("RTX PRO 6000", "gcp", "96", None, None, "g4-standard-48", "RTXPRO6000-SE-96GB"),
        ("gibberish", "aws", None, None, None, "p5.48xlarge", "H100-SXM5-80GB"),
        ("A100 PCIe", None, "80", "SXM4", None, None, "A100-PCIE-80GB"),  # no field overrules the name
    ],
)
def test_other_fields_narrow_the_name(
    text: str,
    provider: str | None,
    memory: str | None,
    form: str | None,
    link: str | None,
    plan: str | None,
    keys: str,
) -> None:
    gib = None if memory is None else Decimal(memory)
    assert set(resolve_gpu(text, provider, gib, form, link, plan).candidates) == set(keys.split())


@pytest.mark.parametrize(
    ("text", "provider", "plan", "keys", "count", "contradicted"),
    [
        ("H200", "aws", "p5.48xlarge", "H100-SXM5-80GB", 8, "H200-SXM-141GB"),
        ("rtx6000", "gcp", "g4-standard-96", "RTXPRO6000-SE-96GB", 2, "QUADRO-RTX6000-24GB RTX6000ADA-48GB"),
        ("L40", "scaleway", "L4-2-24G", "L4-24GB", 2, "L40-48GB"),
        ("A100", "gcp", "a2-ultragpu-8g", "A100-SXM4-80GB", 8, ""),
        ("H200", "demo", "p5.48xlarge", "H200-NVL-141GB H200-SXM-141GB", None, ""),  # not its own plan
        ("H200", "aws", "my-plan", "H200-SXM-141GB", None, ""),
    ],
)
def test_a_plan_of_the_provider_wins_over_a_name_that_contradicts_it(
    text: str, provider: str, plan: str, keys: str, count: int | None, contradicted: str
) -> None:
    match = resolve_gpu(text, provider, plan=plan)
    assert set(match.candidates) == set(keys.split())
    assert match.count == (None if count is None else Decimal(count))
    assert set(match.contradicted) == set(contradicted.split())


SPELLINGS = Path(__file__).parent / "gpu_spellings.csv"


def _spellings() -> list[dict[str, str]]:
    with SPELLINGS.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _misread(row: dict[str, str]) -> str | None:
    """Returns how a row of the table is read otherwise than its expectation says."""
    match = resolve_gpu(row["text"], row["provider"] or None)
    meant = {key for key in row["expected_keys"].split("|") if key}
    if set(match.candidates) != meant:
        return f"{row['text']!r}: {meant} and not {match.candidates}"
    count, share = (Decimal(row[name]) if row[name] else None for name in ("count", "fraction"))
    if meant and (match.count, match.fraction) != (count, share):
        return f"{row['text']!r}: {count}, {share} and not {match.count}, {match.fraction}"
    return None


def test_every_spelling_of_the_table_is_read_as_meant() -> None:
    rows = _spellings()
    assert [fault for row in rows if (fault := _misread(row))] == []
    assert len(rows) > 800
    assert {key for row in rows for key in row["expected_keys"].split("|") if key} <= GPUS
    assert sum(not row["expected_keys"] for row in rows) > 130  # what is no GPU, or no one GPU


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("8x H100", {"count": "4"}),
        ("8x H100", {"expected_keys": "H100-SXM5-80GB"}),  # too narrow
        ("A100 80GB", {"expected_keys": A100.replace(" ", "|")}),  # too wide
        ("0.5x A100 80GB", {"fraction": ""}),
        ("1.5x A100", {"count": ""}),
        ("H100 PCIe 5.0 x16", {"count": "16"}),
        ("A100 highway", {"expected_keys": A100.replace(" ", "|")}),
        ("L4", {"expected_keys": ""}),
    ],
)
def test_a_wrong_expectation_fails_the_table(text: str, change: dict[str, str]) -> None:
    row = {"text": text, "provider": "", "expected_keys": "", "count": "", "fraction": ""}
    row |= next((found for found in _spellings() if found["text"] == text), {})
    assert _misread({**row, **change})


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("RTX\u200b4090", "RTX4090-24GB"),  # of zero width
        ("\u202aH100\u202c SXM", "H100-SXM5-80GB"),  # marks of direction
        ("\u202e0904 XTR", ""),  # as written, from the left
        ("\u200b", ""),
        ("\x00H100\x00", ""),
    ],
)
def test_signs_that_are_not_seen(text: str, keys: str) -> None:
    assert set(resolve_gpu(text).candidates) == set(keys.split())


WORDS = """8x x8 (8) nvidia h100 a100 80gb 81559MiB 40 gb pcie gen5 x16 sxm5 mig 1g.10gb 1/7 0.5 1.5x ( ) / + , and rtx
    4090 6000 ada pro ti super laptop 英伟达 8卡 ½ × - _ gpu dual a10-12q a100dx-40c v5e-8 apple m2 ultra up to 1-8
    corporation [ ] xeon gold 6248 50% of 24/7 dgx"""


@given(
    st.lists(st.sampled_from(WORDS.split()), max_size=14),
    st.sampled_from(["", " ", "-", "_"]),
    st.sampled_from([None, "gcp"]),
)
def test_words_of_names_in_any_order_give_sound_readings(
    words: list[str], separator: str, provider: str | None
) -> None:
    match = resolve_gpu(separator.join(words), provider)
    assert set(match.candidates) <= GPUS
    assert match.fraction is None or 0 < match.fraction < 1
    assert match.count is None or 1 <= match.count <= 1024 * 8
    assert match.candidates or match.count is None


SEPARATORS = st.sampled_from([" ", "-", "_", "  ", " / ", ", "])


@given(
    name=st.sampled_from([("H100", "SXM5", "80GB"), ("A100", "PCIe", "40GB"), ("V100", "SXM2", "32GB")]),
    order=st.permutations([0, 1, 2]),
    separator=SEPARATORS,
    vendor=st.sampled_from(["", "NVIDIA ", "Nvidia Tesla "]),
    count=st.sampled_from([None, 2, 4, 8]),
    upper=st.booleans(),
)
def test_order_case_and_separator_do_not_matter(
    name: tuple[str, str, str], order: list[int], separator: str, vendor: str, count: int | None, upper: bool
) -> None:
    text = vendor + separator.join(name[index] for index in order)
    text = f"{count}x {text}" if count else text
    family, form, memory = name
    match = resolve_gpu(text.upper() if upper else text.lower())
    assert match.candidates == (f"{family}-{form.upper()}-{memory}",)
    assert match.count == (None if count is None else Decimal(count))


@given(st.text(max_size=300), st.sampled_from([None, "aws", "vast", "nobody"]))
def test_any_text_gives_only_keys_of_the_table(text: str, provider: str | None) -> None:
    match = resolve_gpu(text, provider)
    assert set(match.candidates) <= GPUS
    assert match.fraction is None or 0 < match.fraction < 1
    assert match.count is None or match.count >= 1


@given(st.sampled_from(sorted(GPUS)), st.sampled_from("abcxyz0123456789"))
def test_a_longer_word_is_another_word(key: str, more: str) -> None:
    """What is glued to a name makes it a different name, and never gives a wrong card of another family."""
    family = key.split("-")[0]
    found = resolve_gpu(f"{family}{more}{more}7").candidates
    assert key not in found


def _bundled() -> Iterator[dict[str, str]]:
    path = Path(__file__).parents[1] / "scrapers" / "bundled" / "list_prices.csv"
    with path.open(newline="") as file:
        yield from csv.DictReader(file)


def test_bundled_list_prices_agree_with_their_canonical_names() -> None:
    """The table's own reading of each name shares candidates with ours, and ours is as narrow but for known rows."""
    crosswalk = dict(
        read("gpu_alias")
        .filter(pl.col("context") == "published price lists and benchmarks")
        .select("gpu_text", "gpu_keys")
        .iter_rows()
    )
    apart, wider, seen = [], set(), 0
    for row in _bundled():
        canonical = row["gpu_canonical"]
        meant = set(crosswalk.get(canonical, canonical if canonical in GPUS else "").split("|")) - {""}
        if not meant:
            continue
        seen += 1
        gib = Decimal(row["vram_gb_per_gpu"]) if row["vram_gb_per_gpu"] else None
        link, plan = row["interconnect"] or None, row["instance_or_plan"]
        ours = set(resolve_gpu(row["gpu_name_as_listed"], row["provider"], gib, link, link, plan).candidates)
        if not ours & meant:
            apart.append((row["provider"], row["gpu_name_as_listed"], canonical, ours))
        elif not ours <= meant:
            wider.add((row["provider"], row["gpu_name_as_listed"]))
    assert apart == []
    assert wider == {
        ("cerebrium", "H100"),
        ("leafcloud", "NVIDIA A100"),
        ("thunder_compute", "NVIDIA A100 80GB NVLink"),
    }
    assert seen > 900


def test_without_a_provider_a_known_spelling_keeps_every_meaning() -> None:
    """All but the modified cards, which vast.ai alone leaves open."""
    missing = [
        (text, keys)
        for text, _, keys in _known()
        if not set(keys.split("|")) <= set(resolve_gpu(text).candidates)
    ]
    assert sorted(missing) == [
        ("RTX 2080 Ti", "RTX2080TI-11GB|RTX2080TI-22GB"),
        ("RTX 4090", "RTX4090-24GB|RTX4090-48GB"),
    ]
    assert set(resolve_gpu("A100_NVLINK_80GB").candidates) >= {"A100-SXM4-80GB", "A100-PCIE-80GB"}


@pytest.mark.timeout(20)
def test_a_name_of_a_megabyte_is_no_name_and_ends() -> None:
    for name in ("H100 " * 200_000, "\0" * 1_000_000):
        assert resolve_gpu(name, "aws", plan=name).candidates == ()
    assert resolve_gpu("H100 " * 200_000).candidates == ()


@pytest.mark.parametrize(
    ("text", "memory", "keys", "fraction", "slice_gib"),
    [
        ("H100 MIG", "40", H100_80, "0.5", "40"),  # 40 of 80; of the 94 GB of an NVL it is no whole eighth
        ("H100 MIG", "12", "H100-NVL-94GB", "0.1276595745", "12"),  # 12 of 94
        ("H100 MIG", None, H100, None, None),
        ("H100 MIG", "80", H100_80, None, None),  # of the whole card: it says nothing of the slice
        ("H100 MIG 3g.40gb", "80", H100_80, "0.4285714286", "40"),
        ("H100 MIG 1/7", "10", H100, "0.1428571429", None),
    ],
)
def test_memory_beside_the_bare_name_of_a_slice_is_that_of_the_slice(
    text: str, memory: str | None, keys: str, fraction: str | None, slice_gib: str | None
) -> None:
    match = resolve_gpu(text, "somebody", None if memory is None else Decimal(memory))
    assert match.is_slice
    assert (match.candidates, match.fraction, match.memory_gib) == (
        tuple(keys.split()),
        None if fraction is None else Decimal(fraction),
        None if slice_gib is None else Decimal(slice_gib),
    )
