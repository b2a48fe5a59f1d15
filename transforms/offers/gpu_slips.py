"""A GPU name in the letters and words that the rules know: other languages, slips, labels, and what denies a card."""

from __future__ import annotations

import re
import unicodedata

from transforms.offers.gpu_words import BARRIER

TRADEMARK = re.compile(r"[®™©]|\((?:r|tm|c)\)", re.IGNORECASE)
DASHES = re.compile(r"[\u2010-\u2015\u2212]")
FOREIGN_LETTERS = re.compile(r"([^\x00-\x7f]+)")
# Words of other languages, and common slips, as the English word that the rules know.
# A pattern that cannot match without a short text stands behind it, so that most names are spared the search.
SLIPS = (
    ("v", re.compile(r"\b(?:nividia|nivida|nvdia|nvida|nvidea)\b"), "nvidia"),
    ("grafik", re.compile(r"\bgrafikkarten?\b"), "gpu"),
    ("", re.compile(r"(?<=\d)\s*(?:pcs|pieces|stück|stk|karten?|cartes?|tarjetas?|schede?)\b"), " cards "),
    ("mi", re.compile(r"\bmi[\s\-]?(\d{2,3})(?:[\s\-]?([axp]))?\b"), r"mi\1\2"),  # MI-300X, MI300-X
    # MI325X8: the 300s are all named with an X.
    ("mi3", re.compile(r"\bmi(3\d\d)x(\d{1,2})(?!\d)"), r"mi\1x x\2"),
    # V100SXM232GB: the generation of the socket and the memory in one number, or the memory alone.
    ("sxm", re.compile(r"sxm([2-6])(?=(?:16|32|40|64|80|9[46]|[12]\d\d)\s?gi?b)"), r" sxm\1 "),
    ("sxm", re.compile(r"sxm(?=\d{2,3}\s?gi?b)"), " sxm "),
    ("pcie", re.compile(r"pcie(?=\d{2,3}\s?gi?b)"), " pcie "),
    ("tisuper", re.compile(r"(?<=ti)super\b"), " super"),
    ("", re.compile(r"\b(nvidia|geforce|radeon|quadro|tesla)(?=[rg]tx|rx|[a-z]{0,2}\d)"), r"\1 "),
)
FOREIGN_WORDS = (
    (re.compile(r"英伟达|輝達|辉达|엔비디아"), " nvidia "),
    (re.compile(r"昇腾|昇騰"), " ascend "),
    (re.compile(r"华为|華為"), " huawei "),
    (re.compile(r"显存|顯存|メモリ|메모리"), " vram "),
    (re.compile(r"[单單][卡張张]"), " 1 cards "),
    (re.compile(r"[双雙]卡"), " 2 cards "),
    (re.compile(r"[单單][机機]"), " "),
    (re.compile(r"四卡"), " 4 cards "),
    (re.compile(r"八卡"), " 8 cards "),
    (re.compile(r"显卡|顯卡|加速卡|グラフィックボード|그래픽카드"), " gpu "),
    (re.compile(r"(?<=\d)\s*[卡張张枚基块塊장개]"), " cards "),
)
THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
# Of Kubernetes and Slurm.
LABEL = re.compile(
    r"(?:[a-z0-9\-]+\.)+[a-z]{2,}/[a-z0-9.\-]+\s*[:=]|\bgres/|\b(?:billing|cpu|mem|node)=[\w.]+"
)
# The chip and [the card], as lspci prints them.
DEVICE = re.compile(r"corporation\s+[a-z]{2}\d{2,3}[a-z]{0,3}\s+\[([^\]]+)\]")
CPU_WORDS = ("epyc", "ryzen", "threadripper", "xeon")
CPU = re.compile(
    r"(?:\b\d\s?x?\s*)?\b(?:(?:amd|intel)\s+)?(?:epyc|ryzen|threadripper|xeon)\b"
    r"(?:[\s\-]+(?:threadripper|pro|gold|silver|platinum|bronze|scalable|\d)\b)*"
    r"(?:[\s\-]+(?:[ewd]\d?[\s\-]?)?\d{4,5}[a-z+]{0,3}(?:\s?v\d)?)?"
)
NUMBERS_OF_ONE_NAME = re.compile(r"\b([a-z]{2,3})\s?(\d{4})\s?/\s?(\d{4})\b")  # RTX 6000/8000
WITHOUT_LINK = re.compile(r"\b(?:no|non|without)[\s-]+(?:nvlink|nvswitch|infiniband|ib|sxm|bridge)\b")
DENIAL = re.compile(
    r"\b(?:not|no|non|without|except|instead|equivalent|comparable|similar|than|vs|versus|like)\b"
    r"|\d[a-z]?-(?:class|level|grade)\b"
    r"|(?<![a-z0-9.])(?:[089]|\d{2,3})g\.\d{1,3}gb\b"  # no card is cut into more than seven slices
)
# Goods and services named after a card.
OTHER_GOODS = re.compile(
    r"\b(?:ai enterprise|nvaie|licen[cs]es?|licensing|warranty)\b"
    r"|\b(?:water[\s\-]?blocks?|backplate|heatsink|cooler|riser|bracket)\b"
)
# The chips of laptops are others than their names say.
LAPTOP = re.compile(r"\b(?:laptop|notebook|mobile|mxm)\b")


def small(name: str) -> str:
    """Returns the name in small letters of usual width, without trademarks."""
    return unicodedata.normalize("NFKC", TRADEMARK.sub(" ", name)).casefold()


def clean(text: str) -> str:
    """Returns a name in small letters with words of other languages in English, and without what it denies."""
    for hint, pattern, word in SLIPS:
        if hint in text:
            text = pattern.sub(word, text)
    if not text.isascii():
        text = _in_ascii(text)
    text = text.replace("_", " ")
    if "," in text:
        text = THOUSANDS.sub("", text)
    if "corporation" in text:
        text = " + ".join(f"nvidia gpu {card}" for card in DEVICE.findall(text)) or text
    if any(word in text for word in CPU_WORDS):
        text = CPU.sub(BARRIER, text)
    if "/" in text:
        text = NUMBERS_OF_ONE_NAME.sub(r"\1 \2 / \1 \3", LABEL.sub(" ", text))
    if "no" in text or "without" in text:
        text = WITHOUT_LINK.sub(" ", text)
    return " ".join(text.split())


def _in_ascii(text: str) -> str:
    """Returns the text with signs and words of other scripts as the rules know them; the rest stands apart."""
    text = "".join(" " if unicodedata.category(sign) == "Cf" else sign for sign in text)
    text = DASHES.sub("-", text.replace("×", "x").replace("✕", "x").replace("\u2044", "/"))
    for pattern, word in FOREIGN_WORDS:
        text = pattern.sub(word, text)
    return FOREIGN_LETTERS.sub(r" \1 ", text)


def names_no_card(text: str) -> bool:
    """Returns whether a cleaned text denies its card, or is about goods named after one."""
    return bool(DENIAL.search(text) or OTHER_GOODS.search(text))


def is_of_laptop(text: str) -> bool:
    """Returns whether a cleaned text names the chip of a laptop."""
    return bool(LAPTOP.search(text))
