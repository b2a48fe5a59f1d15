"""Readers of formats: what they read, and that what they cannot read is an error that says where."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapers.contract import Payload, Quantity
from scrapers.errors import PayloadShapeError
from scrapers.readers import (
    At,
    Money,
    decode,
    embedded_json,
    html,
    json_ld,
    money,
    number,
    quantity,
    read_csv,
    read_json,
    read_jsonp,
    read_yaml,
    tables,
    text,
)


def payload(body: bytes | str, content_type: str = "") -> Payload:
    return Payload(
        source_id="test",
        part="prices",
        url="https://test.example/prices",
        fetched_at=datetime(2026, 11, 30, tzinfo=UTC),
        body=body.encode() if isinstance(body, str) else body,
        content_type=content_type,
    )


# Charsets

GERMAN = "Größe: 80 GB, ab 2,49 € pro Stunde – „Preise“ für Köln"
CHINESE = "价格：每小时 12.5 元，显卡 A100，内存 80GB，按量付费"
JAPANESE = "料金：1時間あたり 500円、GPUメモリ 80GB、東京リージョン"


@pytest.mark.parametrize(
    ("content", "charset"), [(GERMAN, "windows-1252"), (CHINESE, "GBK"), (JAPANESE, "Shift_JIS")]
)
def test_a_charset_is_found_by_header_or_meta_or_sniffing(content: str, charset: str) -> None:
    body = content.encode(charset)
    assert decode(payload(body, f"text/html; charset={charset}")) == content
    assert decode(payload(body, f'text/html;charset="{charset.lower()}"')) == content
    meta = f'<html><head><meta charset="{charset}"></head>{content}'
    assert decode(payload(meta.encode(charset), "text/html")) == meta
    old_meta = f'<meta http-equiv="Content-Type" content="text/html; charset={charset}">{content}'
    assert decode(payload(old_meta.encode(charset))) == old_meta
    xml = f'<?xml version="1.0" encoding="{charset}"?><a>{content}</a>'
    assert decode(payload(xml.encode(charset))) == xml
    assert decode(payload(body)) == content, "sniffed"
    assert decode(payload(body, f"text/html; charset={charset}")) != body.decode("latin-1"), "control"


def test_the_name_of_a_smaller_charset_stands_for_the_larger_one() -> None:
    assert decode(payload("5 €".encode("cp1252"), "text/html; charset=ISO-8859-1")) == "5 €"
    assert decode(payload("镕 元".encode("gb18030"), "text/html; charset=gb2312")) == "镕 元"
    assert decode(payload("①円".encode("cp932"), "text/html; charset=shift_jis")) == "①円"


@pytest.mark.parametrize("charset", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_tells_the_charset_and_goes(charset: str) -> None:
    assert decode(payload("5 €".encode(charset))) == "5 €"


@pytest.mark.parametrize("wrong", ["utf-8", "us-ascii-x", "hex", "idna", ""])
def test_a_header_that_is_wrong_does_not_decide(wrong: str) -> None:
    assert decode(payload(GERMAN.encode("cp1252"), f"text/html; charset={wrong}")) == GERMAN


def test_one_broken_character_does_not_change_the_charset() -> None:
    body = (GERMAN * 20).encode() + b"\xe2\x82"
    assert decode(payload(body)) == GERMAN * 20 + "\ufffd"


def test_bytes_of_no_charset_are_an_error() -> None:
    with pytest.raises(PayloadShapeError, match="prices: charset: the bytes are of no charset"):
        decode(payload(bytes(range(256)) * 3))


@given(
    st.binary(max_size=300), st.sampled_from(["", "utf-16", "shift_jis", "utf-7", "unicode_escape", "hex"])
)
@example(b"+2AA-", "utf-7")
@example(b"\\ud800", "unicode_escape")
@example(b"\xed\xa0\x80", "utf-8")
@example(b"\x00\xd8", "utf-16")
def test_decode_raises_nothing_but_a_shape_error_and_makes_whole_characters(
    body: bytes, charset: str
) -> None:
    with suppress(PayloadShapeError):
        decode(payload(body, f"text/html; charset={charset}")).encode()


@pytest.mark.parametrize("charset", ["unicode_escape", "raw-unicode-escape", "utf-7", "idna", "punycode"])
def test_a_codec_that_is_no_charset_is_passed_by(charset: str) -> None:
    body = '{"plan": "a+AGI-\\u0041é"}'
    assert decode(payload(body, f"application/json; charset={charset}")) == body


# JSON, JSONP, CSV, YAML


def test_json_numbers_are_exact() -> None:
    read = read_json(payload('{"price": 0.1000000000000000055, "count": 8, "tiny": 1e-8}'))
    assert read == {
        "price": Decimal("0.1000000000000000055"),
        "count": Decimal(8),
        "tiny": Decimal("0.00000001"),
    }
    assert all(type(value) is Decimal for value in read.values())


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('{"a": [1, 2.50', "prices: character 14: JSON is cut off"),
        ('{"a": "x', "prices: character 6: JSON is cut off"),
        ('{"a": 1', "prices: character 7: JSON is cut off"),
        ('{"a": 1,}', "prices: character 8: not JSON"),
        ("<!DOCTYPE html><html>", "prices: character 0: HTML where JSON is due"),
        ("\ufeff  <html>", "prices: character 0: HTML where JSON is due"),
        ("", "prices: character 0: empty where JSON is due"),
        ('{"a": NaN}', "prices: JSON: NaN is no JSON number"),
        ('{"a": -Infinity}', "prices: JSON: -Infinity is no JSON number"),
        ('{"a": 1e9999999999999999999}', "prices: JSON: a number of absurd size"),
        ("[" * 100_000, "prices: JSON: nested too deep"),
        ("{} {}", "prices: character 3: not JSON"),
    ],
)
def test_what_is_no_json_is_an_error_with_its_place(body: str, problem: str) -> None:
    with pytest.raises(PayloadShapeError) as caught:
        read_json(payload(body))
    assert str(caught.value).startswith(problem)


@given(st.text(max_size=60))
@example('{"a":' * 2000)
def test_read_json_raises_nothing_but_a_shape_error(body: str) -> None:
    with suppress(PayloadShapeError):
        read_json(payload(body))


@pytest.mark.parametrize(
    ("escaped", "read"),
    [
        ("\\ud800", "\ufffd"),
        ("a\\uDFFFb", "a\ufffdb"),
        ("\\ude00\\ud83d", "\ufffd\ufffd"),
        ("\\ud83d\\ud83d\\ude00", "\ufffd\U0001f600"),
        ("\\ud83d\\ude00", "\U0001f600"),
        ("\\\\ud800", "\\ud800"),
        ("\\\\\\ud800", "\\\ufffd"),
        ("\\ud7ff\\ue000", "\ud7ff\ue000"),
    ],
)
def test_half_a_character_becomes_the_sign_for_a_broken_letter(escaped: str, read: str) -> None:
    value = At("prices", read_json(payload(f'{{"plans": ["{escaped}", "good"], "{escaped}": 1}}')))
    assert [plan.text() for plan in value["plans"]] == [read, "good"]
    assert [key for key, _ in value.items()] == ["plans", read]
    script = "x = " + json.dumps(f'{{"a": "{escaped}"}}')
    assert embedded_json("prices", script, "x = ") == {"a": read}
    [node] = json_ld(
        "prices", html(payload(f'<script type="application/ld+json">{{"a": "{escaped}"}}</script>'))
    )
    assert node == {"a": read}


def test_json_is_cut_off_wherever_it_ends() -> None:
    whole = '{"offers": [{"gpu": "H100 \\" SXM", "price": 2.25, "ok": true}, {"gpu": null}]}'
    for length in range(len(whole)):
        with pytest.raises(PayloadShapeError):
            read_json(payload(whole[:length]))
    assert read_json(payload(whole))["offers"][0]["gpu"] == 'H100 " SXM'


def test_jsonp_may_have_bare_keys_and_comments() -> None:
    body = (
        '/* v: 2 */\ncallback({vers:0.01, config:{"rate":"perhr",url:"https://a:b/{c: 1}", $x_1 : [1]}});\n'
    )
    assert read_jsonp(payload(body)) == {
        "vers": Decimal("0.01"),
        "config": {"rate": "perhr", "url": "https://a:b/{c: 1}", "$x_1": [Decimal(1)]},
    }


@pytest.mark.parametrize(
    "body", ["callback({a:1}", "{}", "", "<html>", "callback({a:})", "callback()", "a" * 200_000]
)
def test_what_is_no_jsonp_is_an_error(body: str) -> None:
    with pytest.raises(PayloadShapeError):
        read_jsonp(payload(body))


def test_csv_rows_have_the_names_of_the_first() -> None:
    body = '\ufeffname,price\r\n"H100, SXM",2.25\r\n\r\n"two\r\nlines",\r\n'
    assert list(read_csv(payload(body))) == [
        {"name": "H100, SXM", "price": "2.25"},
        {"name": "two\r\nlines", "price": ""},
    ]
    assert list(read_csv(payload("a;b\n1;2\n"), ";")) == [{"a": "1", "b": "2"}]


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("a,b\n1,2\n1\n", "line 3: 1 cells where the first row has 2"),
        ("a,b\n1,2,3\n", "line 2: 3 cells"),
        ("a,a\n1,2\n", "line 1: not a row of column names"),
        ("", "line 1: not a row of column names"),
        ("<html></html>", "line 1: HTML where CSV is due"),
        ('a,b\n1,"2', "line 2: unexpected end of data"),
        ("a,b\n" + "x" * 200_000 + ",1\n", "line 2: field larger than field limit"),
    ],
)
def test_what_is_no_csv_is_an_error_with_its_line(body: str, problem: str) -> None:
    with pytest.raises(PayloadShapeError, match=problem):
        list(read_csv(payload(body)))


def test_yaml_is_read_as_plain_scalars() -> None:
    body = "price: 1.50\nregion: no\nday: 2022-01-01\ntime: 12:30\nlist: [1, true, ~, 1e3, .5]\nnone:\noct: 010\n"
    read = read_yaml(payload(body))
    assert read == {
        "price": Decimal("1.50"),
        "region": "no",
        "day": "2022-01-01",
        "time": "12:30",
        "list": [Decimal(1), True, None, Decimal(1000), Decimal("0.5")],
        "none": None,
        "oct": Decimal(10),
    }
    assert type(read["price"]) is Decimal
    assert str(read["price"]) == "1.50"


@pytest.mark.parametrize(
    "body",
    [
        "a: [1\nb: {",
        "a: !!python/object/apply:os.system [ls]",
        "a: 1\n---\nb: 2\n",
        "a: *x",
        "\x00",
        "? {a: 1}\n: 2",
    ],
)
def test_what_is_no_plain_yaml_is_an_error(body: str) -> None:
    with pytest.raises(PayloadShapeError, match="not YAML"):
        read_yaml(payload(body))


# At

DATA = {
    "products": [
        {
            "price": {"retail": Decimal("2.50")},
            "count": Decimal(8),
            "none": None,
            "odd key": " x ",
            "on": True,
        },
        {"count": "8", "huge": Decimal("1e999"), "half": Decimal("0.5"), "blank": " "},
    ]
}


def test_at_walks_to_a_value() -> None:
    first, second = At("part", DATA)["products"]
    assert first["price"]["retail"].decimal() == Decimal("2.50")
    assert (first["count"].integer(), second["count"].integer()) == (8, 8)
    assert (first["odd key"].text(), first["on"].flag()) == ("x", True)
    assert first["none"].decimal_or_none() is None
    assert first.get("no such").integer_or_none() is None
    assert second["blank"].text_or_none() is None
    assert [place.place for _, place in first.items()][:2] == ["products[0].price", "products[0].count"]
    assert ("price" in first, "price" in second) == (True, False)
    assert len(At("part", DATA)["products"]) == 2
    assert not first.get("none")
    assert first["count"]


@pytest.mark.parametrize(
    ("walk", "problem"),
    [
        (lambda at: at["products"][1]["price"], "part: products[1].price: missing"),
        (lambda at: at["products"][2], "part: products[2]: missing"),
        (lambda at: at["items"], "part: items: missing"),
        (lambda at: at[0], "part: top: a mapping of 1 is not a list"),
        (lambda at: list(at), "part: top: a mapping of 1 is not a list"),
        (lambda at: at["products"]["x"], "part: products: a list of 2 is not a mapping"),
        (lambda at: at["products"][0]["none"].decimal(), "part: products[0].none: missing or null"),
        (lambda at: at["products"][0].get("x").text(), "part: products[0].x: missing or null"),
        (
            lambda at: at["products"][0]["odd key"].decimal(),
            "part: products[0]['odd key']: ' x ' is not a number",
        ),
        (lambda at: at["products"][0]["on"].decimal(), "part: products[0].on: True is not a number"),
        (lambda at: at["products"][1]["huge"].integer(), "part: products[1].huge: 1E+999 is not a number of"),
        (lambda at: at["products"][1]["half"].integer(), "part: products[1].half: 0.5 is not a whole number"),
        (lambda at: at["products"][0]["count"].text(), "part: products[0].count: 8 is not a text"),
        (lambda at: at["products"][1]["blank"].text(), "part: products[1].blank: ' ' is not a text"),
        (lambda at: at["products"][0]["count"].flag(), "part: products[0].count: 8 is not true or false"),
        (lambda at: at["products"][0]["price"].items().__next__()[1]["x"], "part: products[0].price.retail:"),
    ],
)
def test_at_names_the_field_that_broke(walk: Callable[[At], Any], problem: str) -> None:
    with pytest.raises(PayloadShapeError) as caught:
        walk(At("part", DATA))
    assert str(caught.value).startswith(problem)


@pytest.mark.parametrize(
    "value", ["1_0", "٣", "0x1", "1,5", "$1", "NaN", "1e9999", "", "inf", "- 1", [1], {}]
)
def test_at_takes_no_number_that_json_would_not_take(value: Any) -> None:
    with pytest.raises(PayloadShapeError):
        At("part", value).decimal()


@pytest.mark.parametrize("value", ["9" * 1_000_000 + "x", "9" * 1_000_000, "\0" * 1_000_000, " " * 1_000_000])
@pytest.mark.timeout(30)
def test_at_takes_no_number_of_a_megabyte(value: str) -> None:
    with pytest.raises(PayloadShapeError):
        At("part", value).decimal()


def test_an_error_shows_a_long_value_only_in_part() -> None:
    with pytest.raises(PayloadShapeError) as caught:
        At("part", "x" * 100_000).decimal()
    assert len(str(caught.value)) < 120


# HTML


def element(markup: str) -> Any:
    return html(payload(f"<div>{markup}</div>")).div


@pytest.mark.parametrize(
    ("markup", "seen"),
    [
        ("$<!-- -->1.99<!-- -->/hr", "$1.99/hr"),
        ("<span>$</span><span>1.99</span>", "$1.99"),
        ("<p>GPUs: 8</p><p>vCPUs: 224</p>", "GPUs: 8 vCPUs: 224"),
        ("80<br>GB", "80 GB"),
        ("4<sup>1</sup>", "4^1"),
        ("4<sup><svg></svg></sup>", "4"),
        ("<s>$4.00</s> $2.00", "$2.00"),
        ("<del>$4.00</del>$2.00", "$2.00"),
        ("\u00a0$1.99\u00a0\n", "$1.99"),
        ("A<script>x()</script><style>b{}</style>B", "AB"),
        ("a &amp; b &lt;c&gt;", "a & b <c>"),
    ],
)
def test_text_is_what_a_reader_sees(markup: str, seen: str) -> None:
    assert text(element(markup)) == seen


def test_a_zero_byte_does_not_end_a_page() -> None:
    assert text(html(payload(b"<p>one</p>\0<p>two</p>"))) == "one two"


PAGE = """
<h1>GPU prices</h1><h2>On demand</h2><h3>Small</h3><h2>Spot<sup>2</sup></h2>
<table>
 <thead><tr><th rowspan="2">GPU</th><th colspan="2">Price</th></tr><tr><th>1 year</th><th>3 years</th></tr></thead>
 <tbody>
  <tr><td rowspan="2">H100</td><td>$<!-- -->1.99</td><td><table><tr><td>inner</td></tr></table></td></tr>
  <tr><td>4<sup>1</sup></td></tr>
  <tr><td colspan="3">Contact sales</td></tr>
 </tbody>
</table>
<table><tr><td>no</td><td>header</td></tr></table>
<table></table>
"""


def test_a_table_has_its_headings_header_and_rows() -> None:
    spot, inner, plain, empty = tables(html(payload(PAGE)))
    assert spot.headings == ("GPU prices", "Spot^2")
    assert spot.header == ("GPU", "Price 1 year", "Price 3 years")
    assert spot.rows == (("H100", "$1.99", "inner"), ("H100", "4^1", ""), ("Contact sales",) * 3)
    assert next(spot.records()) == {"GPU": "H100", "Price 1 year": "$1.99", "Price 3 years": "inner"}
    assert inner.rows == (("inner",),)
    assert (plain.header, plain.rows) == ((), (("no", "header"),))
    assert (empty.header, empty.rows) == ((), ())


def test_a_table_with_absurd_spans_stays_small() -> None:
    page = '<table><tr><td colspan="99999999">a</td><td rowspan="-1" colspan="x">b</td></tr></table>'
    [table] = tables(html(payload(page)))
    assert len(table.rows[0]) == 2


def test_a_page_that_nests_deep_or_has_many_tables_is_read_in_bounded_time() -> None:
    assert text(html(payload("<div>" * 200 + "x"))) == "x"
    assert text(html(payload("<p>" * 20_000 + "x"))) == "x"
    with pytest.raises(PayloadShapeError, match="nested too deep for a page"):
        html(payload("<div>" * 50_000 + "x"))
    with pytest.raises(PayloadShapeError, match="nested too deep for a page"):
        html(payload("<div>" * 300 + "x"))
    many = tables(html(payload("<h3>x</h3><table><tr><td>1</td></tr></table>" * 500)))
    assert [table.headings for table in many] == [("x",)] * 500


@pytest.mark.parametrize(
    "page",
    [
        "</table>" * 100_000 + "<table>" * 100_000,
        "</div>" * 300 + "<div>" * 300,
        '<div title="<">' * 300,
        '<a title="<script>">' + "<div>" * 300,
        "<!-- <script> -->" + "<div>" * 300,
        "<b>" * 300,
    ],
    ids=lambda page: page[:16],
)
def test_a_page_that_hides_how_deep_it_nests_is_refused(page: str) -> None:
    with pytest.raises(PayloadShapeError, match="prices: HTML: nested too deep for a page"):
        html(payload(page))


@pytest.mark.parametrize(
    "noise",
    [
        "<script>" + "if(i<n&&j>0){};" * 6_000 + "</script>",
        "<style>" + "a<b>c" * 6_000 + "</style>",
        "<!--" + "<div>" * 6_000 + "-->",
        '<i title="' + "<div>" * 6_000 + '"></i>',
        "<p>y<br>" * 1_000,
    ],
    ids=lambda noise: noise[:16],
)
def test_what_only_looks_like_open_tags_is_no_depth(noise: str) -> None:
    page = html(payload(f"{noise}<table><tr><td>4.19</td></tr></table>"))
    assert [table.rows for table in tables(page)] == [(("4.19",),)]


def test_a_tag_without_an_end_is_read_in_bounded_time() -> None:
    start = time.perf_counter()
    for page in ("<" + "a" * 20_000, "<a " * 20_000, "<" * 20_000):
        html(payload(page))
    assert time.perf_counter() - start < 3


def test_json_in_a_script_is_found_by_its_marker() -> None:
    assert embedded_json("p", 'x=1; window.DATA = {"a": [1.5]}; y()', "window.DATA") == {
        "a": [Decimal("1.5")]
    }
    assert embedded_json("p", 'var d = JSON.parse("{\\"a\\":1}")', "JSON.parse(") == {"a": Decimal(1)}
    pushed = 'self.__next_f.push([1,"5:{\\"plans\\":[{\\"n\\":\\"say \\\\\\"x\\\\\\"\\"}],\\"z\\":1}"])'
    assert embedded_json("p", pushed, '"plans":') == [{"n": 'say "x"'}]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("nothing", "p: DATA: not in the page"),
        ("DATA nothing", "p: DATA: no JSON after it"),
        ('DATA = {"a": ', "p: character 13: JSON is cut off"),
        ('DATA = "text"', "p: character 0: not JSON"),
    ],
)
def test_json_that_is_not_in_a_script_is_an_error(content: str, problem: str) -> None:
    with pytest.raises(PayloadShapeError) as caught:
        embedded_json("p", content, "DATA")
    assert str(caught.value).startswith(problem)


def test_json_ld_nodes_are_taken_out_of_graphs_and_lists() -> None:
    blocks = (
        '{"@graph": [{"@type": "Product"}, "x"]}',
        '[{"@type": "Offer", "price": 2.5}]',
        '{"@type": "FAQ"}',
    )
    page = "".join(f'<script type="application/ld+json">{block}</script>' for block in blocks)
    nodes = json_ld("p", html(payload(page)))
    assert [node["@type"] for node in nodes] == ["Product", "Offer", "FAQ"]
    assert nodes[1]["price"] == Decimal("2.5")
    with pytest.raises(PayloadShapeError, match="JSON is cut off"):
        json_ld("p", html(payload('<script type="application/ld+json">{"a"</script>')))


# Money

PRICES: list[tuple[str, str, str | None, str | None, str | None]] = [
    ("$3.39 /GPU/hour*", "3.39", "USD", "hour", "gpu"),
    ("$3.90/GPU-hr", "3.90", "USD", "hour", "gpu"),
    ("US$2.00 per GPU per hour", "2.00", "USD", "hour", "gpu"),
    ("$29.10/h", "29.10", "USD", "hour", None),
    ("$1.99 / GPU / hr", "1.99", "USD", "hour", "gpu"),
    ("$98.32 per instance hour", "98.32", "USD", "hour", "instance"),
    ("2.24*", "2.24", None, None, None),
    ("1.15**", "1.15", None, None, None),
    ("$2.24†", "2.24", "USD", None, None),
    ("$2.24²", "2.24", "USD", None, None),
    ("$2.24 [1]", "2.24", "USD", None, None),
    ("4^1", "4", None, None, None),
    ("$$47.60", "47.60", "USD", None, None),
    ("$2 .0000/ 1 hour", "2.0000", "USD", "hour", None),
    ("$84.806908493 / 1 hour", "84.806908493", "USD", "hour", None),
    ("$1 . 50", "1.50", "USD", None, None),
    ("$.79", "0.79", "USD", None, None),
    ("\u00a0$1.99\u00a0", "1.99", "USD", None, None),
    ("0.40", "0.40", None, None, None),
    ("$ 0 /s", "0", "USD", "second", None),
    ("$0.00069/sec", "0.00069", "USD", "second", None),
    ("$0.0415/min", "0.0415", "USD", "minute", None),
    ("€0.015 per minute", "0.015", "EUR", "minute", None),
    ("$1,299 per month", "1299", "USD", "month", None),
    ("€1,299", "1299", "EUR", None, None),
    ("$1,299.50/mo", "1299.50", "USD", "month", None),
    ("1.234,56 €", "1234.56", "EUR", None, None),
    ("1 234,56 €", "1234.56", "EUR", None, None),
    ("1\u202f234,56\u00a0€", "1234.56", "EUR", None, None),
    ("1'234.50 CHF", "1234.50", "CHF", None, None),
    ("2,49 €/h", "2.49", "EUR", "hour", None),
    ("0,299 €", "0.299", "EUR", None, None),
    ("₹180,000", "180000", "INR", None, None),
    ("₹1,80,000/month", "180000", "INR", "month", None),
    ("£2.5/hr", "2.5", "GBP", "hour", None),
    ("¥500", "500", None, None, None),
    ("¥12.5 CNY/hour", "12.5", "CNY", "hour", None),
    ("5000円/月", "5000", "JPY", "month", None),
    ("12.5元/小时", "12.5", "CNY", "hour", None),
    ("$5 CAD", "5", "CAD", None, None),
    ("C$5", "5", "CAD", None, None),
    ("A$5", "5", "AUD", None, None),
    ("2.49 USD", "2.49", "USD", None, None),
    ("$1.99/hr excl. VAT", "1.99", "USD", "hour", None),
    ("$0.04/vCPU-hr", "0.04", "USD", "hour", "vcpu"),
    ("$0.08 per GiB/month", "0.08", "USD", "month", "gb"),
    ("$12,000 / year", "12000", "USD", "year", None),
    ("$9/day", "9", "USD", "day", None),
]


@pytest.mark.parametrize(("cell", "amount", "currency", "unit", "per"), PRICES)
def test_a_price_is_read(
    cell: str, amount: str, currency: str | None, unit: str | None, per: str | None
) -> None:
    read = money(cell)
    assert (read.amount, read.currency, read.unit, read.per) == (Decimal(amount), currency, unit, per)
    assert (read.is_from, read.is_contact, read.is_blank) == (False, False, False)


@pytest.mark.parametrize(
    ("cell", "amount"),
    [
        ("from $0.74**", "0.74"),
        ("From €1.08", "1.08"),
        ("Starting at $1.99/hr", "1.99"),
        ("Starting from $1.99", "1.99"),
        ("as low as $2.10", "2.10"),
        ("ab 2,49 €", "2.49"),
        ("¥12.5起", "12.5"),
        ("$1.99 – $3.50/hr", "1.99"),
        ("$1.99-3.50", "1.99"),
        ("$2.00+", "2.00"),
    ],
)
def test_a_lower_bound_is_marked(cell: str, amount: str) -> None:
    assert (money(cell).amount, money(cell).is_from) == (Decimal(amount), True)


@pytest.mark.parametrize(
    "cell",
    [
        *("Contact sales", "Contact us", "CONTACT SALES", "Contact for pricing", "On Request", "RFQ"),
        *("Per contract", "Request a quote", "Talk to sales", "联系销售", "お問い合わせください"),
    ],
)
def test_a_price_on_request_is_marked(cell: str) -> None:
    assert money(cell) == Money(is_contact=True)


@pytest.mark.parametrize(
    "cell", ["N/A", "n/a", "--", "––", "—", "-", "/", "--/hr", "$ –", "", "\u00a0", "*", "per hour"]
)
def test_a_cell_without_a_price_is_marked(cell: str) -> None:
    assert money(cell) == Money(is_blank=True)


@pytest.mark.parametrize(
    "cell",
    [
        *(
            "g2-standard-24-spot",
            "up to 60% off",
            "Save 20%",
            "$32.77/hr ($4.10/GPU/hr)",
            "$-5",
            "-5",
            "$5 €",
        ),
        *("Free", "$1.99/hr incl. VAT", "$1.99 per week", "$1.99/hr billed monthly", "$0.50 / 1M tokens"),
        *("$2 / 730 hours", "1.2.3,4,5", "$1.99.50.1", "2 x $3", "1,23,45", "9" * 40, "$0.85¢", "1e5"),
    ],
)
def test_what_is_not_understood_has_no_amount_and_no_mark(cell: str) -> None:
    assert money(cell) == Money()


def test_a_page_with_decimal_commas_says_so() -> None:
    assert money("1,299 €").amount == Decimal(1299)
    assert money("1,299 €", decimal_comma=True).amount == Decimal("1.299")
    assert money("1.299 €").amount == Decimal("1.299")
    assert money("1.299 €", decimal_comma=True).amount == Decimal(1299)
    assert money("1.299,00 €", decimal_comma=True) == money("1.299,00 €")


@given(st.text(max_size=40))
def test_readers_of_text_never_raise(cell: str) -> None:
    read = money(cell)
    assert read.amount is None or not (read.is_blank or read.is_contact)
    assert read.amount is None or read.amount >= 0
    number(cell)
    quantity(cell)


@given(st.decimals(min_value=0, max_value=10**9, places=4), st.sampled_from(["$", "€", "£", "₹", "HK$"]))
def test_every_amount_is_read_in_either_notation(amount: Decimal, sign: str) -> None:
    english = f"{sign}{amount:,.4f}"
    german = f"{amount:,.4f}".translate(str.maketrans(",.", ".,")) + f" {sign}"
    assert money(english).amount == amount
    assert money(german, decimal_comma=True).amount == amount


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        *(("2,048", "2048"), ("4^1", "4"), ("8x", "8"), ("8 ×", "8"), ("1/8", "0.125"), ("\u00a016 ", "16")),
        *(("0.5", "0.5"), ("2,048*", "2048"), ("1,9", "1.9")),
    ],
)
def test_a_bare_number_is_read(cell: str, value: str) -> None:
    assert number(cell) == Decimal(value)


@pytest.mark.parametrize("cell", ["", "N/A", "H100", "8 GPUs", "1/0", "4-8", "x8", "--", "$4", "-1"])
def test_what_is_no_bare_number_is_none(cell: str) -> None:
    assert number(cell) is None


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("80 GB", Quantity(Decimal(80), "GB")),
        ("80GB", Quantity(Decimal(80), "GB")),
        ("1,128 GB", Quantity(Decimal(1128), "GB")),
        ("3,968GB", Quantity(Decimal(3968), "GB")),
        ("12 TiB", Quantity(Decimal(12), "TiB")),
        ("3.84 TB NVMe", Quantity(Decimal("3.84"), "TB")),
        ("81559 MiB", Quantity(Decimal(81559), "MiB")),
        ("80 GB HBM3e", Quantity(Decimal(80), "GB")),
        ("Memory: 3,968GB", Quantity(Decimal(3968), "GB")),
        ("141\u00a0GB*", Quantity(Decimal(141), "GB")),
        ("512 bytes", Quantity(Decimal(512), "bytes")),
    ],
)
def test_a_quantity_keeps_its_unit(cell: str, expected: Quantity) -> None:
    assert quantity(cell) == expected


@pytest.mark.parametrize(
    "cell", ["80", "80G", "", "--", "GB", "2x 3.84 TB", "80 GB per hour", "40 / 80 GB", "80 Gb/s"]
)
def test_what_is_no_quantity_is_none(cell: str) -> None:
    assert quantity(cell) is None


def test_a_page_of_noise_is_read_or_refused_in_bounded_time() -> None:
    noise = random.Random(7)
    for _ in range(20):
        cell = "".join(noise.choice("0123456789,. '$€-–/()hrgpu") for _ in range(3000))
        assert money(cell).amount is None


@pytest.mark.parametrize(
    "piece", ["\0", "9", "1 ", "123 ", "1,", "a: ", "from ", "$", "\ufdfa", " ", "\ud800"]
)
@pytest.mark.timeout(30)
def test_a_cell_of_a_megabyte_is_not_read(piece: str) -> None:
    cell = piece * (1_000_000 // len(piece))
    assert (money(cell), number(cell), quantity(cell)) == (Money(), None, None)
    assert money(cell[:400]) is not None


@pytest.mark.parametrize("cell", ["\0", "$1\0", "1\x1b", "\0GB"])
def test_a_control_character_is_no_part_of_a_cell(cell: str) -> None:
    assert (money(cell).amount, number(cell), quantity(cell)) == (None, None, None)
