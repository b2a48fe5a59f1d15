"""Speed and memory of filtering and parsing a regional price list of 1 GB, beside other ways: `make bench`.

The file is made here: the columns are those of the real list, the values are made up. For each of 1,540 instance
types, 90 of them (5.8 %) with an accelerator, there are 17 systems with their software, two tenancies, 3 rows on
demand and 20 rows of reservations. The Spot Advisor had 67 accelerated types among some 1,150 of us-east-1.

Every way runs in a process of its own that has nothing else in its memory. Its figures stand in extra_info:
`mb_per_s` is of the best of three runs, `cpu_s` the least time of the processor (of all its cores), `peak_mb` the
largest resident memory (VmHWM), `rows` what it counted.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

NAMES = (
    "SKU,OfferTermCode,RateCode,TermType,PriceDescription,EffectiveDate,StartingRange,EndingRange,Unit,"
    "PricePerUnit,Currency,RelatedTo,LeaseContractLength,PurchaseOption,OfferingClass,Product Family,"
    "serviceCode,Location,Location Type,Instance Type,Current Generation,Instance Family,vCPU,"
    "Physical Processor,Clock Speed,Memory,Storage,Network Performance,Processor Architecture,"
    "Storage Media,Volume Type,Max Volume Size,Max IOPS/volume,Max IOPS Burst Performance,"
    "Max throughput/volume,Provisioned,Tenancy,EBS Optimized,Operating System,License Model,Group,"
    "Group Description,Transfer Type,From Location,From Location Type,To Location,To Location Type,"
    "usageType,operation,AvailabilityZone,CapacityStatus,ClassicNetworkingSupport,"
    "Dedicated EBS Throughput,ECU,Elastic Graphics Type,Enhanced Networking Supported,From Region Code,"
    "GPU,GPU Memory,Instance,Instance Capacity - 10xlarge,Instance Capacity - 12xlarge,"
    "Instance Capacity - 16xlarge,Instance Capacity - 18xlarge,Instance Capacity - 24xlarge,"
    "Instance Capacity - 2xlarge,Instance Capacity - 32xlarge,Instance Capacity - 4xlarge,"
    "Instance Capacity - 8xlarge,Instance Capacity - 9xlarge,Instance Capacity - large,"
    "Instance Capacity - medium,Instance Capacity - metal,Instance Capacity - xlarge,instanceSKU,"
    "Intel AVX2 Available,Intel AVX Available,Intel Turbo Available,MarketOption,"
    "Normalization Size Factor,Physical Cores,Pre Installed S/W,Processor Features,Product Type,"
    "Region Code,Resource Type,serviceName,SnapshotArchiveFeeType,To Region Code,Volume API Name,"
    "VPCNetworkingSupport"
)
COLUMNS = NAMES.split(",")
PREAMBLE = (
    '"FormatVersion","v1.0"\n"Disclaimer","This pricing list is for informational purposes only. All prices are '
    'subject to the additional terms included in the pricing pages on http://aws.amazon.com."\n'
    '"Publication Date","2026-11-28T00:00:00Z"\n"Version","20261128000000"\n"OfferCode","AmazonEC2"\n'
)
ALWAYS = {
    "EffectiveDate": "2026-11-01",
    "Currency": "USD",
    "Product Family": "Compute Instance",
    "serviceCode": "AmazonEC2",
    "Location": "US East (N. Virginia)",
    "Location Type": "AWS Region",
    "Current Generation": "Yes",
    "Physical Processor": "Intel Xeon 8375C (Ice Lake)",
    "Clock Speed": "3.5 GHz",
    "Memory": "128 GiB",
    "Storage": "EBS only",
    "Network Performance": "Up to 12500 Megabit",
    "Processor Architecture": "64-bit",
    "License Model": "No License required",
    "AvailabilityZone": "NA",
    "ClassicNetworkingSupport": "false",
    "Dedicated EBS Throughput": "Up to 10000 Mbps",
    "ECU": "NA",
    "Enhanced Networking Supported": "Yes",
    "GPU Memory": "NA",
    "Intel AVX2 Available": "Yes",
    "Intel AVX Available": "Yes",
    "Intel Turbo Available": "Yes",
    "MarketOption": "OnDemand",
    "Normalization Size Factor": "64",
    "Processor Features": "Intel AVX; Intel AVX2; Intel AVX512; Intel Turbo",
    "Region Code": "us-east-1",
    "serviceName": "Amazon Elastic Compute Cloud",
    "vCPU": "32",
    "VPCNetworkingSupport": "true",
}
SYSTEMS = [
    ("Linux", "NA"),
    ("Windows", "NA"),
    ("Red Hat Enterprise Linux with HA", "NA"),
    ("SUSE", "NA"),
    ("Ubuntu Pro", "NA"),
    *itertools.product(
        ("Linux", "Windows", "RHEL", "Red Hat Enterprise Linux with HA"), ("SQL Web", "SQL Std", "SQL Ent")
    ),
]
OPTIONS = {"No Upfront": ["Hrs"], "Partial Upfront": ["Hrs", "Quantity"], "All Upfront": ["Hrs", "Quantity"]}
RESERVED = [
    (term, OPTIONS[term[1]])
    for term in itertools.product(("1yr", "3yr"), OPTIONS, ("standard", "convertible"))
]
OPERATIONS = {
    kind: f"RunInstances:{index:04d}" if index else "RunInstances" for index, kind in enumerate(SYSTEMS)
}
STATUSES = ("Used", "UnusedCapacityReservation", "AllocatedCapacityReservation")
TYPES = 1540
ACCELERATED_TYPES = 90
LISTINGS = ACCELERATED_TYPES * len(RESERVED)


TERM_COLUMNS = COLUMNS.index("Product Family")  # what is before it is of the price, the rest of the machine


def cells(columns: list[str], values: dict[str, str]) -> str:
    """Cells of a row; empty ones stand without quotes, as in the real list."""
    return ",".join(f'"{values[name]}"' if values.get(name) else "" for name in columns)


def machine(number: int, system: str, software: str, tenancy: str, status: str) -> str:
    """The cells of a row that describe a machine."""
    is_accelerated = number < ACCELERATED_TYPES
    family = "GPU instance" if number % 9 else "Machine Learning ASIC Instances"
    plan = f"{'g' if is_accelerated else 'm'}{number}.8xlarge"
    return cells(
        COLUMNS[TERM_COLUMNS:],
        ALWAYS
        | {
            "Instance Type": plan,
            "Instance Family": family if is_accelerated else "General purpose",
            "GPU": "1" if is_accelerated else "",
            "Tenancy": tenancy,
            "Operating System": system,
            "Pre Installed S/W": software,
            "CapacityStatus": status,
            "usageType": f"{'BoxUsage' if tenancy == 'Shared' else 'DedicatedUsage'}:{plan}",
            "operation": OPERATIONS[system, software],
        },
    )


def lines_of_type(number: int) -> Iterator[str]:
    """The rows of one instance type."""
    for index, (kind, tenancy) in enumerate(itertools.product(SYSTEMS, ("Shared", "Dedicated"))):
        system, software = kind
        sku = f"SKU{number:07d}{index:06d}"
        machines = {status: machine(number, system, software, tenancy, status) for status in STATUSES}
        told = f"$1.5 per On Demand {system} with {software} Instance Hour"
        start = (
            f'"{sku}","JRTCKXETXF","{sku}.JRTCKXETXF.6YS6EN2CT7","OnDemand","{told}","2026-11-01","0","Inf"'
        )
        for status in STATUSES:
            yield f'{start},"Hrs","1.5000000000","USD",,,,,{machines[status]}\n'
        told = f"{system} with {software} (Amazon VPC), reserved instance applied"
        for (years, option, offering), units in RESERVED:
            code = f"{years}{option[:2]}{offering[:5]}".upper()
            start = f'"{sku}","{code}","{sku}.{code}.6YS6EN2CT7","Reserved","{told}","2026-11-01","0","Inf"'
            for unit in units:
                terms = f'"{unit}","1.2500000000","USD",,"{years}","{option}","{offering}"'
                yield f"{start},{terms},{machines['Used']}\n"


@pytest.fixture(scope="module")
def price_list(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The file, removed at the end."""
    path = tmp_path_factory.mktemp("price_list") / "index.csv"
    with path.open("w") as file:
        file.write(PREAMBLE + ",".join(f'"{name}"' for name in COLUMNS) + "\n")
        for number in range(TYPES):
            file.writelines(lines_of_type(number))
    yield path
    path.unlink()


OURS = """
from datetime import UTC, datetime
from scrapers.contract import Listing, Payload
from scrapers.lines import file_blocks, kept_lines
from scrapers.providers.aws_price_list import MACHINES_AND_DISKS, parse

def run(path):
    body = b"".join(kept_lines("index.csv", file_blocks(path), MACHINES_AND_DISKS))
    at = datetime(2026, 11, 30, tzinfo=UTC)
    payload = Payload(source_id="aws_price_list", part="ec2", url="", fetched_at=at, body=body)
    return sum(isinstance(record, Listing) for record in parse(payload))
"""
ONLY_READ = """
def run(path):
    with open(path, "rb", buffering=0) as file:
        return sum(len(block) > 0 for block in iter(lambda: file.read(1 << 18), b""))
"""
CSV_READER = """
import csv
from itertools import islice

def run(path):
    with open(path, newline="") as file:
        rows = csv.reader(islice(file, 5, None))
        names = {name: index for index, name in enumerate(next(rows))}
        family, system, tenancy = (names[n] for n in ("Instance Family", "Operating System", "Tenancy"))
        software, status, terms = (names[n] for n in ("Pre Installed S/W", "CapacityStatus", "TermType"))
        families = ("GPU instance", "Machine Learning ASIC Instances")
        return sum(
            row[family] in families and row[system] == "Linux" and row[tenancy] == "Shared"
            and row[software] == "NA" and row[status] == "Used" and row[terms] == "Reserved"
            for row in rows
        )
"""
CSV_BEHIND_FILTER = CSV_READER.replace(
    "islice(file, 5, None)",
    "(line for line in islice(file, 5, None) if 'GPU instance' in line or 'ASIC Inst' in line or 'SKU\",' in line)",
)
POLARS = """
import polars as pl

def run(path):
    rows = pl.scan_csv(path, skip_rows=5, infer_schema=False)
    families = ["GPU instance", "Machine Learning ASIC Instances"]
    kept = rows.filter(
        pl.col("Instance Family").is_in(families), pl.col("Operating System") == "Linux",
        pl.col("Tenancy") == "Shared", pl.col("Pre Installed S/W") == "NA",
        pl.col("CapacityStatus") == "Used", pl.col("TermType") == "Reserved",
    )
    return kept.collect(engine="streaming").height
"""
WAYS = {
    "ours": OURS,
    "only_read": ONLY_READ,
    "csv_reader": CSV_READER,
    "csv_behind_line_filter": CSV_BEHIND_FILTER,
    "polars_streaming": POLARS,
}
MEASURED = """
import json, re, sys, time
from pathlib import Path
path = Path(sys.argv[1])
times, cpu_times = [], []
for _ in range(int(sys.argv[2])):
    start, cpu_start = time.perf_counter(), time.process_time()
    rows = run(path)
    times.append(time.perf_counter() - start)
    cpu_times.append(time.process_time() - cpu_start)
peak_kb = int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1])
print(json.dumps({"seconds": min(times), "cpu_s": min(cpu_times), "rows": rows, "peak_mb": peak_kb / 1000}))
"""


def measured(way: str, path: Path, runs: int = 3) -> dict[str, float]:
    """The figures of one way, in a process of its own."""
    command = [sys.executable, "-c", WAYS[way] + MEASURED, str(path), str(runs)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    figures: dict[str, float] = json.loads(answer)
    return figures


@pytest.mark.parametrize("way", WAYS)
def test_filter_and_parse_a_large_price_list(benchmark: BenchmarkFixture, price_list: Path, way: str) -> None:
    figures = benchmark.pedantic(measured, args=(way, price_list), rounds=1)
    size_mb = price_list.stat().st_size / 1e6
    benchmark.extra_info |= figures | {"size_mb": size_mb, "mb_per_s": size_mb / figures["seconds"]}
    reserved_rows = ACCELERATED_TYPES * sum(len(units) for _, units in RESERVED)
    expected = {"ours": LISTINGS, "only_read": -(-price_list.stat().st_size // (1 << 18))}
    assert figures["rows"] == expected.get(way, reserved_rows)
