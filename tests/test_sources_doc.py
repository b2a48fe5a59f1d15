"""docs/sources.md is current and says enough, and no source claims a proof that it does not have."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from conftest import ROOT, SHARED

from flows.coverage import COLUMNS, RECORDED, coverage
from scrapers import registry
from scrapers.contract import Payload, Source
from scrapers.errors import PayloadShapeError

DOCUMENT = (ROOT / "docs" / "sources.md").read_text(encoding="utf-8")
LEAST = {"providers": 65, "modules": 45, "keyless": 28}
# An answer of each source that claims one, as others recorded it: what "recorded and parsed" stands on.
RECORDINGS = {
    "aws": "aws/awsstatic_ec2_linux_gpu.json",
    "azure": "azure/retail_eastus_nd_2026-07-27.json",
    "coreweave": "coreweave/pricing_2026-10_gpu-tables_excerpt.html",
    "crusoe": "crusoe/pricing_2026-10_excerpt.html",
    "cudo": "cudo/machine_types_excerpt.json",
    "digitalocean": "digitalocean/sizes_excerpt.json",
    "ecb": "fx/ecb_rates.json",
    "fluidstack": "fluidstack/pricing_2025-01-09_excerpt.html",
    "gcp": "gcp/cyclenerd_pricing_gpu_2026-07-30.yml",
    "gcp_billing": "gcp/billing_catalog_skus_sample.json",
    "gcp_page": "gcp/gpus-pricing_2026-10_tables.html",
    "gpurentalprices": "aggregators/gpurentalprices_2026-08-22.json",
    "hyperstack": "hyperstack/gpu-pricing_2025-07-24_excerpt.html",
    "jarvislabs": "jarvislabs/server_meta_excerpt.json",
    "lambda": "lambda/instance_types_trimmed_2026-07-30.json",
    "linode": "linode/types_page1.json",
    "nebius": "nebius/prices_2026-07-12_excerpt.html",
    "oci": "oci/cetools_products_usd_2026-10-01.json",
    "ovh": "ovh/ovh_catalog.json",
    "prime_intellect": "primeintellect/availability_response.json",
    "runpod": "runpod/gpu_types_2026-09.json",
    "scaleway": "scaleway/scaleway_catalog.json",
    "seeweb": "seeweb/plans_excerpt.json",
    "shadeform": "shadeform/instance_types_items_2026-09.json",
    "skypilot": "yotta/skypilot_vms.csv",
    "vast": "vast/bundles_4fields_2026-09.json",
    "verda": "verda/instance_types_excerpt.json",
    "vultr": "vultr/plans_metal_b200_2026-09-17.json",
}


def sources() -> list[Source]:
    return [module.SOURCE for module in registry.load().values()]


def rows(document: str) -> dict[str, dict[str, str]]:
    """The rows of the first table of the document, by provider."""
    lines = document.split("\n| provider |")[1].splitlines()[2:]
    cells = [
        re.split(r"(?<!\\) \| ", line.strip("| "))
        for line in lines[: lines.index("")]
        if line.startswith("|")
    ]
    return {row[0].strip("`"): dict(zip(COLUMNS, row, strict=True)) for row in cells}


def counts(document: str) -> dict[str, int]:
    """The counts at the top of the document."""
    patterns = {
        "providers": r"- (\d+) providers have a module or bundled rows",
        "modules": r"- (\d+) modules parse live payloads",
        "keyless": r"(\d+) of these need no key",
    }
    return {name: int(re.findall(pattern, document)[0]) for name, pattern in patterns.items()}


def too_few(found: dict[str, int]) -> list[str]:
    return [name for name, least in LEAST.items() if found[name] < least]


def test_the_table_of_sources_is_current() -> None:
    """Make it anew with `python -m flows.coverage`."""
    assert coverage() == DOCUMENT


def test_enough_providers_are_covered() -> None:
    found = counts(DOCUMENT)
    assert too_few(found) == []
    assert too_few({"providers": 64, "modules": 44, "keyless": 27}) == list(LEAST)  # control
    files = {path.stem for path in (ROOT / "scrapers" / "providers").glob("*.py")}
    asking = files - {"__init__", "list_prices", "ecb"}
    assert found["modules"] == len(asking)
    assert found["keyless"] == sum(bool(source.requests) for source in sources() if source.id in asking)
    assert found["providers"] == len(rows(DOCUMENT))


def test_rows_say_what_the_sources_say() -> None:
    """Cells read by eye from the modules, the bundled list and the facts."""
    table = rows(DOCUMENT)
    assert (table["vast"]["by"], table["vast"]["key"], table["vast"]["on or off"]) == ("`vast`", "none", "on")
    assert (table["vast"]["regions"], table["vast"]["purchase"]) == ("per region", "on_demand, spot")
    assert (table["vast"]["stock"], table["vast"]["bundled rows"]) == ("yes", "8")
    assert table["salad"]["key"] == "`SALAD_API_KEY`, `SALAD_ORGANIZATION`"
    assert table["lambda"]["key"] == "`LAMBDA_API_KEY`, optional"
    assert table["runpod"]["on or off"].startswith("off: the terms are reported to forbid")
    assert table["runpod"]["terms"] == "restricted"
    assert "`aws_price_list`" in table["aws"]["by"]
    assert (table["oracle"]["by"], table["oracle"]["disk"]) == ("`oci`", "collected")
    assert table["whitefiber"]["purchase"] == "reserved"
    assert (table["tensorwave"]["by"], table["tensorwave"]["stock"]) == ("bundled list", "no")
    assert table["scaleway"]["traffic"] == "facts, 2025-10-28"
    assert {"skypilot", "ecb"} & table.keys() == set()
    assert "| `ibm_cloud` | IBM Cloud VPC |" in DOCUMENT


def claims_without(said: Iterable[Source], recorded: Collection[str]) -> list[str]:
    """The sources that claim a recorded answer which is not among the recordings."""
    return [source.id for source in said if RECORDED in source.last_proof and source.id not in recorded]


def test_no_source_claims_a_recording_that_no_test_parses() -> None:
    said = sources()
    assert claims_without(said, RECORDINGS) == []
    boast = replace(registry.load_one("akash").SOURCE, last_proof="2026-11-30: answer recorded and parsed")
    assert claims_without([*said, boast], RECORDINGS) == ["akash"]  # control
    assert [name for name in RECORDINGS if RECORDED not in registry.load_one(name).SOURCE.last_proof] == []


def parsed(name: str, recording: Path) -> int:
    """How many records a source finds in a recording."""
    module = registry.load_one(name)
    payload = Payload(
        source_id=name,
        part=recording.parent.name if name == "skypilot" else "recorded",
        url=(module.SOURCE.requests or module.SOURCE.keyed_requests)[0].url,
        fetched_at=datetime(2026, 11, 30, 2, 0, tzinfo=UTC),
        body=recording.read_bytes(),
    )
    return len(list(module.parse(payload)))


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_claimed_recording_is_parsed(name: str) -> None:
    if not SHARED.is_dir():
        pytest.skip("../shared/captures is not here")
    assert parsed(name, SHARED / "captures" / RECORDINGS[name]) > 0


def test_control_the_recording_of_another_source_is_refused() -> None:
    if not SHARED.is_dir():
        pytest.skip("../shared/captures is not here")
    with pytest.raises(PayloadShapeError):
        parsed("vast", SHARED / "captures" / RECORDINGS["runpod"])
