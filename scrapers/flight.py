"""The data that a page of Next.js sends along in its scripts: `self.__next_f.push([1,"..."])`.

One text is cut into many such calls, in the middle of a word too, so that it is read as a whole. It has lines such as
`2f:["$","td",null,{...}]`, each a chunk with a number that others point at as "$L2f". Pure.
"""

from __future__ import annotations

import re
from dataclasses import replace

from scrapers.contract import Payload
from scrapers.errors import PayloadShapeError
from scrapers.readers import decode, read_json

PUSH = re.compile(r'self\.__next_f\.push\(\[1,\s*+("(?:[^"\\]|\\.)*+")\]\)', re.DOTALL)


def flight(payload: Payload) -> str:
    """The joined text of all calls of a page, in their order.

    Raises:
        PayloadShapeError: No such call, or one that is no text of a script.
    """
    pieces = PUSH.findall(decode(payload))
    if not pieces:
        raise PayloadShapeError(payload.part, "self.__next_f.push", "not in the page")
    joined = f"[{','.join(pieces)}]".encode(errors="replace")
    texts = read_json(replace(payload, body=joined, content_type="application/json"))
    return "".join(texts)
