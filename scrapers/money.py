"""Texts of price cells and data sheets to numbers: `money`, `quantity`, `number`.

Each reads a whole text or nothing: a word that it does not know makes the amount None, for half a cell that
happens to hold digits (a plan name, a discount, a second price) is not a price. A text that is longer than any
cell is not read either.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, get_args

from scrapers.contract import PriceState, PriceUnit, Quantity

LONGEST_CELL = 500

Per = Literal["gpu", "instance", "vcpu", "gb", "token"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Money:
    """What a price cell says.

    `currency` is an ISO 4217 code; a plain "$" is USD, and a plain "¥" is None, for it may be yen or yuan.
    `unit` and `per` are None where the cell does not say; vcpu, gb and token stand there so that a parser can
    refuse them. `is_from` marks a lower bound ("from $2", "$2-$4").
    `is_blank` marks a cell that says that there is no price ("N/A", "--", empty). With no amount, and neither
    `is_contact` nor `is_blank`, the text was not understood.
    """

    amount: Decimal | None = None
    currency: str | None = None
    unit: PriceUnit | None = None
    per: Per | None = None
    is_from: bool = False
    is_contact: bool = False
    is_blank: bool = False

    @property
    def state(self) -> PriceState:
        """What kind of price it is: none without asking the seller, a lower bound, or a price."""
        if self.is_contact:
            return "contact_sales"
        return "from_price" if self.is_from else "priced"


CURRENCY_SIGNS = {
    "us$": "USD",
    "ca$": "CAD",
    "c$": "CAD",
    "au$": "AUD",
    "a$": "AUD",
    "nz$": "NZD",
    "hk$": "HKD",
    "s$": "SGD",
    "nt$": "TWD",
    "r$": "BRL",
    "$": "USD",
    "€": "EUR",
    "£": "GBP",
    "₹": "INR",
    "₩": "KRW",
    "₱": "PHP",
    "円": "JPY",
    "元": "CNY",
    "¥": None,
}
UNIT_WORDS: dict[PriceUnit, str] = {
    "second": "s sec secs second seconds 秒",
    "minute": "min mins minute minutes 分 分钟",
    "hour": "h hr hrs hour hours hourly std stunde heure hora 小时 小時 時間 每小时",
    "day": "d day days daily tag jour 天 日",
    "month": "mo month months monthly monat mois mes 月 个月 每月",
    "year": "y yr yrs year years yearly annual annually jahr an 年",
}
PER_WORDS: dict[Per, str] = {
    "gpu": "gpu gpus card accelerator 卡",
    "instance": "instance vm node server machine pod droplet 台",
    "vcpu": "vcpu vcpus cpu core cores",
    "gb": "gb gib",
    "token": "token tokens",
}
FILLERS = frozenset(
    {"per", "a", "each", "pro", "par", "por", "je", "ex", "excl", "excluding", "vat", "tax", "taxes"}
)
UNITS = {word: unit for unit, words in UNIT_WORDS.items() for word in words.split()}
PERS = {word: per for per, words in PER_WORDS.items() for word in words.split()}
BLANK_WORDS = frozenset({"n", "a", "na", "none"})

CONTACT = re.compile(
    r"\b(contact|talk to|on request|rfq|request|quote|per contract|inquire|enquire|sales)\b"
    r"|auf anfrage|sur devis|联系|咨询|お問い合わせ|要問合"
)
FROM = re.compile(r"\b(starting (from|at)|starts at|as low as|from|ab|dès|à partir de|desde)\b|起")
FOOTNOTE = re.compile(r"\^\w+|[¹²³⁰⁴-⁹*†‡§]+|\[\d+\]")
SIGN = re.compile("|".join(re.escape(sign) for sign in CURRENCY_SIGNS))
CODE = re.compile(
    r"\b(usd|eur|gbp|inr|jpy|cny|rmb|krw|cad|aud|nzd|hkd|sgd|twd|brl|chf|sek|nok|dkk|pln|czk|php|idr|myr|thb"
    r"|vnd|try|zar|ils|aed|sar)\b"
)
NUMBER = r"\d[\d.,']*\d|\d|(?<![\d.])\.\d+"
WORD = re.compile(r"[^\W\d_]+")
NBSP = "\u00a0\u2009\u202f"


def _plain(text: str) -> str:
    """One spelling of spaces, widths and case, without footnotes and the gaps in numbers."""
    grouped = re.sub(rf"(?<=\d)[{NBSP}](?=\d{{3}}(?!\d))", "", FOOTNOTE.sub("", text))
    plain = " ".join(unicodedata.normalize("NFKC", grouped).lower().split())
    plain = re.sub(r"(?<=\d) ?\. ?(?=\d)", ".", plain)
    return re.sub(
        r"(?<![\d.,])(\d{1,3}(?: \d{3})+)(?=,\d{1,2}(?!\d))", lambda match: match[0].replace(" ", ""), plain
    )


def _amount(digits: str, *, decimal_comma: bool) -> Decimal | None:
    """The value of digits with points and commas; None where they can be read in no way."""
    digits = digits.replace("'", "")
    if len(digits) > 30:
        return None
    if decimal_comma or ("," in digits and digits.rfind(",") > digits.rfind(".") > -1):
        group, point = ".", ","
    elif re.fullmatch(r"\d+,\d{1,2}|\d+,\d{4,}|0,\d+", digits):
        group, point = "", ","
    elif digits.count(".") > 1:
        group, point = ".", ","
    else:
        group, point = ",", "."
    whole, _, decimals = digits.partition(point)
    grouped = group and re.fullmatch(rf"\d{{1,3}}(\{group}\d{{2,3}})*\{group}\d{{3}}", whole)
    if not (grouped or re.fullmatch(r"\d*", whole)) or not re.fullmatch(r"\d*", decimals):
        return None
    return Decimal((whole.replace(group, "") if group else whole) + "." + decimals)


def _take_currency(text: str) -> tuple[str, set[str]]:
    """The text without its currency signs and codes, and the ISO codes that they stand for."""
    codes = {"CNY" if code == "rmb" else code.upper() for code in CODE.findall(text)}
    signs = SIGN.findall(text)
    rest = SIGN.sub(" ", CODE.sub(" ", text))
    named = {code for sign in signs if (code := CURRENCY_SIGNS[sign])}
    if codes and set(signs) <= {"$", "¥"}:
        named = set()  # "$5 CAD": the code says which dollar
    return rest, codes | named


def _take_numbers(text: str) -> tuple[str, list[str]]:
    """The text after its number, and the number, or the two of a range; the "1" of "/ 1 hour" goes."""
    found = re.match(rf"[\s~≈]*({NUMBER})(?:\s*(?:-|–|—|to)\s*({NUMBER}))?", text)
    if not found:
        return text, []
    rest = re.sub(r"(?<![\d.,])1(?= ?[^\W\d_])", " ", text[found.end() :])
    return rest, [digits for digits in found.groups() if digits]


def _measure(text: str) -> tuple[PriceUnit | None, Per | None] | None:
    """The time and the thing that a price is for; None where a word is unknown or two of a kind stand."""
    if re.search(r"\d", text):
        return None
    words = [word for word in WORD.findall(text) if word not in FILLERS]
    if any(word not in UNITS and word not in PERS for word in words):
        return None
    units = {UNITS[word] for word in words if word in UNITS}
    pers = {PERS[word] for word in words if word in PERS}
    if len(units) > 1 or len(pers) > 1 or re.search(r"[^\w\s/·.,|()+-]", text):
        return None
    return next(iter(units), None), next(iter(pers), None)


def money(text: str, *, decimal_comma: bool = False) -> Money:
    """What a price cell says. Zero stays 0: it is for the parser to know whether it is a price.

    Args:
        text: The cell, such as `$3.39 /GPU/hour*`, `1.234,56 €`, `from $0.74**`, `Contact sales`.
        decimal_comma: Whether the page writes 1.299 for a thousand and more. Without it `1,299` is a thousand
            and more; what can be read in one way only, as `2,49` and `1.234,56`, is read so in both cases.
    """
    if len(text) > LONGEST_CELL:
        return Money()
    plain = _plain(text)
    if CONTACT.search(plain):
        return Money(is_contact=True)
    bound = FROM.search(plain)
    rest, currencies = _take_currency(FROM.sub(" ", plain))
    after, numbers = _take_numbers(rest)
    measure = _measure(after)
    if not numbers and not re.search(r"\d", rest):
        words = set(WORD.findall(after))
        return Money(is_blank=measure is not None or words <= BLANK_WORDS)
    amounts = [_amount(digits, decimal_comma=decimal_comma) for digits in numbers]
    if not amounts or None in amounts or measure is None or len(currencies) > 1:
        return Money()
    lower_bound = bool(bound) or len(amounts) > 1 or after.startswith("+")
    unit, per = measure
    currency = next(iter(currencies), None)
    return Money(amount=amounts[0], currency=currency, unit=unit, per=per, is_from=lower_bound)


def number(text: str, *, decimal_comma: bool = False) -> Decimal | None:
    """A bare number of a cell: `2,048`, `4^1`, `8x`, `1/8`; None for anything else."""
    if len(text) > LONGEST_CELL:
        return None
    plain = _plain(text)
    if fraction := re.fullmatch(r"(\d{1,3})/(\d{1,3})", plain):
        return Decimal(fraction[1]) / Decimal(fraction[2]) if int(fraction[2]) else None
    found = re.fullmatch(rf"({NUMBER}) ?[x×]?", plain)
    return _amount(found[1], decimal_comma=decimal_comma) if found else None


QuantityUnit = Literal["bytes", "MB", "MiB", "GB", "GiB", "TB", "TiB"]
QUANTITY_UNITS: dict[str, QuantityUnit] = {unit.lower(): unit for unit in get_args(QuantityUnit)}
QUANTITY = re.compile(
    rf"(?:[a-z ]+: ?)?({NUMBER}) ?(bytes|[mgt]i?b)"
    r"(?: (?:vram|ram|memory|ssd|nvme|nvme ssd|hbm\w*|gddr\w*|ddr\w*))?"
)


def quantity(text: str) -> Quantity | None:
    """An amount of memory or disk with the unit that was written: `80 GB`, `3,968GB`, `Memory: 12 TiB`."""
    found = QUANTITY.fullmatch(_plain(text)) if len(text) <= LONGEST_CELL else None
    amount = _amount(found[1], decimal_comma=False) if found else None
    return Quantity(amount, QUANTITY_UNITS[found[2]]) if found and amount is not None else None
