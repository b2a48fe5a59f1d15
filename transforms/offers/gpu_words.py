"""The words of a GPU name beside its family: counts, shares, memory, form factor, edition, and what is no card at all.

What is written here is how names are spelt, not which GPUs exist. Nothing here knows a card.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

MOST_GPUS = 1024
BARRIER = " ¦ "  # words on both sides of a removed memory or count are not one name

HOST_FIGURE = re.compile(
    r"(?<![a-z0-9.])\d+(?:\.\d+)?\+?\s?(?:v?cpus?|v?cores?|threads?|tb|tib|[gt]bps|[gt]b/s|w|watts?)(?![a-z0-9])"
)

LANES = re.compile(
    r"(?<![a-z])(pci(?:[\s\-]express|\s?-?e)|gen)[\s\-]?(?:gen\s?)?[1-7](?:\.0)?\s?,?\s?x\s?\d{1,2}(?![a-z0-9])"
    r"|(?<![a-z])(pci(?:[\s\-]express|\s?-?e))\s?x16(?![a-z0-9])"
)
PROFILE = re.compile(r"(?<![0-9])(?<![a-fh-z])(?:mig)?([1-7])g[.\-]?(\d{1,3})gb(?:\+me)?(?![a-z0-9])")
MIG_SLICES = re.compile(r"\bmig[\s\-]?([1-7])g(?![a-z0-9.])")
# A vGPU says its board: D has the larger memory, X and XM are of the HGX board, L is the NVL or the short one.
BOARD_PROFILE = re.compile(
    r"(?<![a-z0-9])([avh]\d00|h20)(dx|d|xm|x|l)?-(?:([1-7])-)?(\d{1,3})([abcq])(?![a-z0-9\-])"
)
VGPU_PROFILE = re.compile(r"(?<=[a-z0-9])-(?:([1-4])-)?(\d{1,3})([abcq])(?![a-z0-9\-])")
VGPU_WORD = re.compile(r"\b(?:nvidia|grid|vgpu)\b")
SHARE = re.compile(r"(?<![a-z\d.])(\d{1,2})/(\d{1,2})(?![a-z\d.])")
COUNTS_LISTED = re.compile(r"(?<![\d/])\d{1,2}(?:\s?/\s?\d{1,2}){2,}\s?x?(?![\d/])")  # 1/2/4/8x
COUNTS_FROM_TO = re.compile(
    r"(?<![a-z0-9.\-])(?:(\d{1,3})\s?(?:-|~|to|bis|至)\s?|(?:up\s?to|bis\szu|max\.?|最多|至多)\s*)(\d{1,3})"
    r"(?:\s?x(?=[^a-z]|[a-z]{1,3}\d|$)|(?=[\s\-]?(?:gpu|card)s?\b))"
    # (up to 8), [1 to 8], ", up to 8": without a word for what is counted, set apart from the name
    r"|[(\[,;]\s*(?:(?:from\s)?\d{1,3}\sto\s|up\s?to\s|bis\szu\s|max\.?\s|最多\s*|至多\s*)\d{1,3}(?=\s*(?:[)\]]|$))"
)
AMOUNTS = (
    re.compile(r"^\s*(\d{1,2}/[1-9]\d?)\s?x?[\s\-]?(?=[a-z]|\d{4})"),  # 1/2 H100, 1/2x H100
    re.compile(r"(?<![a-z0-9./])(0?\.\d{1,4})\s?x[\s\-]?(?=[a-z]|\d{4})"),  # 0.5x A100
    re.compile(r"(?<![a-z0-9./])(0?\.\d{1,4})[\s\-]?gpus?\b"),  # 0.5 GPU
    re.compile(r"(?<=[\sa-z0-9])[x*:]\s?(0?\.\d{1,4})(?![a-z0-9.])"),  # a100 x 0.5, h100:0.5
    # 50% of an A100
    re.compile(r"(?<![\d.])([1-9]\d?)%\s+(?:of\s+)?(?:an?\s+)?(?=nvidia|amd|rtx|gpu|[a-z]{1,3}\d)"),
    # half an H100; half height is no amount
    re.compile(
        r"\b(half|quarter)[\s\-]+(?:(?:an?|of)\s+)*(?=(?:nvidia|amd|tesla|geforce|rtx|gpu)\b|[a-z]{0,3}\d)"
    ),
)
WITH_SHARE = re.compile(r"[./%]|half|quarter")
WORDS_OF_SHARE = {"half": "1/2", "quarter": "1/4"}
SLICE = re.compile(r"\b(?:mig|vgpu|slice|sliced|fraction|fractional|partition)\b")

SHARE_BEHIND = re.compile(r"[(\[]\s?(half|quarter)\s?[)\]]")  # A100 (half)

FACTORS = re.compile(  # 2x8 H100, 2 nodes x 8 GPUs
    r"(?<![a-z0-9.\-])(\d{1,2})\s?(?:(?:nodes?|servers?|hosts?|machines?)\s)?[x*]\s?(\d{1,2})"
    r"(?:\s?x|[\s\-]?gpus?)?(?=\s|$)(?!\s*¦)"
)
NEGATIVE = re.compile(r"^\s*-\s?\d+(?:\.\d+)?\s?x?(?=[\sa-z])")
NUMBER = r"(\d{1,4}(?:\.\d{1,2})?)"
BRAND = r"(?:nvidia|amd|intel|geforce|tesla|instinct|radeon|quadro|rtx|gtx)\b"
COUNTS = (
    ("of", re.compile(r"(?<![a-z0-9./])(\d{1,3})\sof\s\d{1,3}(?=\s)")),  # 1 of 8 H100
    ("x", re.compile(r"(?<=\d\dx)(\d{1,2})(?=[a-z]{1,5}\d)")),  # 48x240x2l40s: vCPUs, memory, cards
    # 8xh100, 8 x h100, not 8xlarge
    ("x", re.compile(rf"(?<![a-z0-9.]){NUMBER}\s?x[\s_\-]?(?!large)(?=[a-z])")),
    ("x", re.compile(rf"(?<![a-z0-9.]){NUMBER}\s?x\s?(?=(?:\d{{4}}|nvidia|amd)\b)")),  # 4x3090
    ("x", re.compile(rf"(?<![a-z0-9.]){NUMBER}(?:x(?![a-z0-9])|\s?x(?=\s*¦))")),  # (8x), 8 x 80gb h100
    ("x", re.compile(r"(?<=[a-z0-9])x(\d{1,2})(?![a-z0-9])")),  # h100x8
    ("x", re.compile(rf"(?<![a-z0-9])x\s?{NUMBER}(?![a-z0-9])")),  # h100 x 8
    ("", re.compile(rf"[*:=]\s?{NUMBER}(?![a-z0-9.])")),  # 4090 * 4, h100:4
    ("*", re.compile(rf"(?<![a-z0-9.]){NUMBER}\s?\*\s?(?=[a-z\d])")),  # 4 * a100
    ("", re.compile(rf"(?<![a-z0-9.]){NUMBER}[\s\-]?(?:gpus?|cards?)\b")),  # 8 gpus
    ("", re.compile(r"^(\d{1,2})(?=[a-z]{1,6}\d)")),  # 8h100.80s.176v
    ("", re.compile(rf"(?:^\W*|\b(?:with|of|mit)\s+)(\d{{1,4}})\s+(?={BRAND}|[a-z]{{1,4}}\d)")),  # 8 h100
    ("", re.compile(rf"(?<![a-z0-9.\-])(\d{{1,3}})\s+(?={BRAND})")),  # server: 8 nvidia h100
    ("x", re.compile(r"\.(\d{1,2})x(?![a-z0-9])")),  # a100.8x
)
NUMBER_WORDS = {"single": 1, "one": 1, "dual": 2, "two": 2, "three": 3, "quad": 4, "four": 4, "eight": 8}
COUNT_WORD = re.compile(rf"\b({'|'.join(NUMBER_WORDS)})[\s\-]+(?={BRAND}|gpus?\b|[a-z]{{1,3}}\d)")

MEMORY = re.compile(
    r"(?<![0-9.])(?<![a-wyz])(\d{1,6}(?:\.\d{1,2})?)\s?(gib|gb|gi|go|g|mib|mb)(?=x\d|[^a-z0-9]|$)(?!\s?/s)"
)
SIZES_TO_CHOOSE = re.compile(  # 40GB/80GB, 40 or 80 GB
    r"(?<![a-z0-9./])(\d{1,3})\s?(?:gib|gb|g)?\s?(?:/|\bor\b)\s?(\d{1,3})\s?(?:gib|gb|g)(?![a-z0-9/])"
)
FORM = (
    ("", re.compile(r"(?<![a-z])(?:sxm\s?\d?|hgx|dgx(?!\s?spark)|mega)(?![a-z0-9])"), "SXM"),
    (
        "pci",
        re.compile(
            r"(?<![a-z])pci(?:[\s\-]express|\s?-?e?)(?:\s?gen\s?\d|\s?[345](?:\.0)?(?!\d))?(?![a-z0-9])"
        ),
        "PCIE",
    ),
    ("nvl", re.compile(r"(?<![a-z])nvl(?![a-z0-9])"), "NVL"),
    ("oam", re.compile(r"(?<![a-z])oam(?![a-z0-9])"), "OAM"),
    ("fhhl", re.compile(r"(?<![a-z])fhhl(?![a-z0-9])"), "FHHL"),
)
EDITION = (
    ("max", re.compile(r"(?<![a-z])max\s?-?\s?q(?![a-z0-9])"), "MAXQ"),
    ("se", re.compile(r"(?<![a-z])(?:server|se|bse)(?![a-z0-9])"), "SE"),
    ("w", re.compile(r"(?<![a-z])(?:workstation|ws|we|wk)(?![a-z0-9])"), "WS"),
    ("sff", re.compile(r"(?<![a-z])sff(?![a-z0-9])"), "SFF"),
)
RACK = re.compile(r"(?<![a-z])nvl(?:32|\s?-?(?:36|72|144))(?:\s?x\s?\d)?(?![a-z0-9])")
MACHINE_OF_EIGHT = re.compile(r"\b[dh]gx\b")
MEMORY_TYPE = re.compile(r"(?<![a-z])(?:hbm\d?e?|gddr\dx?)(?![a-z0-9])")
DRESSING = re.compile(r"(?<![a-z])(?:nvlink|nvswitch|infinityfabric)(?![a-z0-9])")
LONE_X = re.compile(r"(?<![a-z0-9])x(?![a-z0-9])")
MODDED = re.compile(r"\bmod(?:ded|ified)?\b")
# Words that say that a memory can be the machine's; so does a plus sign behind it.
HOST = re.compile(r"(?<![a-z])(?:v?cpus?|ram|ssd|nvme|hdd|disk|storage|ddr\d)(?![a-z0-9])|¦\s*\+")


@dataclass(frozen=True, slots=True)
class Profile:
    """A slice as its profile names it: compute slices, memory in GB, and the letters of the vGPU's board."""

    slices: int | None
    memory_gb: float | None
    board: str | None = None


@dataclass(frozen=True, slots=True)
class Words:
    """What the words of a name say. `plain` is the rest of the text: the family, and what nothing here knows.

    `sizes` are stated memories in GB with their unit, `choices` those of which one is meant. `amount` is a share of one
    GPU that is the offer itself, `part` one that stands beside the name.
    """

    plain: str
    count: Decimal | None
    amount: Fraction | None
    part: Fraction | None
    profile: Profile | None
    is_slice: bool
    is_rack: bool
    is_machine: bool
    is_modified: bool
    has_host: bool
    sizes: tuple[tuple[float, str], ...]
    choices: tuple[float, ...]
    memory_type: str | None
    forms: tuple[str, ...]
    editions: tuple[str, ...]


def words_of(text: str) -> Words:
    """Returns what the words of a cleaned text say."""
    if "pci" in text or "gen" in text:
        text = LANES.sub(lambda found: f" {found[1] or found[2]}{BARRIER}", text)
    profile, text = _profile(text)
    choice, text = take(SIZES_TO_CHOOSE, text) if "/" in text or " or " in text else (None, text)
    amount, text = _amount(text) if WITH_SHARE.search(text) else (None, text)
    part, text = take(SHARE, COUNTS_LISTED.sub(BARRIER, text)) if "/" in text else (None, text)
    share = _fraction(part)
    is_slice = bool(profile or share or SLICE.search(text)) or amount is not None
    is_rack, text = take(RACK, SLICE.sub(" ", text) if is_slice else text)
    sizes = tuple(_size(found) for found in MEMORY.finditer(text))
    text = MEMORY.sub(BARRIER, text) if sizes else text
    has_host, text = bool(HOST.search(text)), HOST_FIGURE.sub(BARRIER, text)
    count, text = _count(COUNTS_FROM_TO.sub(_unless_falling, text))
    kind, text = take(MEMORY_TYPE, LONE_X.sub(BARRIER, text))
    is_machine = bool(MACHINE_OF_EIGHT.search(text))
    forms, text = _taken_all(FORM, text)
    editions, text = _taken_all(EDITION, text)
    return Words(
        plain=DRESSING.sub(" ", text),
        count=Decimal(1) if count is None and amount is not None else count,
        amount=amount,
        part=share,
        profile=profile,
        is_slice=is_slice,
        is_rack=is_rack is not None,
        is_machine=is_machine,
        is_modified=bool(MODDED.search(text)),
        has_host=has_host,
        sizes=sizes,
        choices=(float(choice[1]), float(choice[2])) if choice else (),
        memory_type=kind[0] if kind else None,
        forms=forms or _forms_of_board(profile),
        editions=editions,
    )


def form_of(text: str | None) -> str | None:
    """Returns SXM, PCIE, NVL, OAM or FHHL as named in a form factor text; None when it names none or two."""
    named = {form for _, pattern, form in FORM if pattern.search((text or "").casefold().replace("_", " "))}
    return named.pop() if len(named) == 1 else None


def take(pattern: re.Pattern[str], text: str) -> tuple[re.Match[str] | None, str]:
    """Returns the first match, and the text with a space in its place."""
    found = pattern.search(text)
    if not found:
        return None, text
    return found, f"{text[: found.start()]} {text[found.end() :]}"


def _taken_all(
    patterns: Iterable[tuple[str, re.Pattern[str], str]], text: str
) -> tuple[tuple[str, ...], str]:
    """Returns the labels of the patterns that the text holds, and the text without them."""
    labels = []
    for hint, pattern, label in patterns:
        found, text = take(pattern, text) if hint in text else (None, text)
        if found:
            labels.append(label)
    return tuple(labels), text


def _profile(text: str) -> tuple[Profile | None, str]:
    """Returns the MIG or vGPU profile in the text, and the text without it."""
    found, left = take(PROFILE, text)
    if found:
        return Profile(int(found[1]), float(found[2])), left
    found, left = take(MIG_SLICES, text) if "mig" in text else (None, text)
    if found:
        return Profile(int(found[1]), None), left
    if "-" not in text:
        return None, text
    found = BOARD_PROFILE.search(text)
    if found and (found[2] or _is_vgpu(found[5], text)):
        slices = int(found[3]) if found[3] else None
        left = f"{text[: found.start()]}{found[1]} {text[found.end() :]}"
        return Profile(slices, float(found[4]), f"{found[1][0]}-{found[2] or ''}"), left
    found, left = take(VGPU_PROFILE, text)
    if found and _is_vgpu(found[3], text):
        return Profile(int(found[1]) if found[1] else None, float(found[2])), left
    return None, text


def _is_vgpu(series: str, text: str) -> bool:
    """Returns whether a letter ends a vGPU profile; but for Q it can count the cores of a plan."""
    return series == "q" or bool(VGPU_WORD.search(text))


def _forms_of_board(profile: Profile | None) -> tuple[str, ...]:
    """Returns the form factor that the board of a vGPU profile says."""
    if profile is None or profile.board is None:
        return ()
    series, letters = profile.board.split("-")
    if "x" in letters:
        return ("SXM",)
    if "l" in letters:
        return ("NVL" if series == "h" else "FHHL",)
    return ("PCIE",)


def _amount(text: str) -> tuple[Fraction | None, str]:
    """Returns how much of one GPU the text is about, and the text without it; None when it does not say so."""
    for pattern in (*AMOUNTS, SHARE_BEHIND):
        found, left = take(pattern, text)
        if found:
            share = Fraction(WORDS_OF_SHARE.get(found[1], found[1])) / (100 if "%" in found[0] else 1)
            return share if share < 1 else None, left
    return None, text


def _fraction(part: re.Match[str] | None) -> Fraction | None:
    """Returns the share that a fraction says; 24/7 is none."""
    if part is None or not 0 < int(part[1]) < int(part[2]):
        return None
    return Fraction(int(part[1]), int(part[2]))


def _size(found: re.Match[str]) -> tuple[float, str]:
    """Returns a stated memory in GB, and its unit."""
    size, unit = float(found[1]), str(found[2])
    return (round(size / 1024, 2), unit) if unit in ("mib", "mb") else (size, unit)


def _unless_falling(found: re.Match[str]) -> str:
    """Returns what stands for counts from one to another; 80-8 is a memory and a count."""
    is_range = found[1] is None or int(found[1]) < int(found[2])
    return BARRIER if is_range else found[0]


def _count(text: str) -> tuple[Decimal | None, str]:
    text = NEGATIVE.sub(BARRIER, text)
    factors, left = take(FACTORS, text)
    if factors:
        product = int(factors[1]) * int(factors[2])
        return Decimal(product) if 1 <= product <= MOST_GPUS else None, left
    for hint, pattern in COUNTS:
        found = pattern.search(text) if hint in text else None
        if found and 1 <= float(found[1]) <= MOST_GPUS:
            return _whole(Decimal(found[1])), f"{text[: found.start()]}{BARRIER}{text[found.end() :]}"
    found, left = take(COUNT_WORD, text)
    return (Decimal(NUMBER_WORDS[found[1]]), left) if found else (None, text)


def _whole(number: Decimal) -> Decimal:
    """Returns 2 for 2.0, and 1.5 as it is."""
    return number if number % 1 else number.to_integral_value()
