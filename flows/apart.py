"""Parsing in a process of its own: a parser that hangs, eats memory or crashes costs its source and nothing else.

The processes are forked from a server that has imported what they need and has no threads, so that one starts in
some hundredths of a second.
"""

from __future__ import annotations

import multiprocessing
import resource
from collections.abc import Iterable, Sequence
from multiprocessing.connection import Connection
from types import ModuleType

from scrapers.contract import Payload, Record
from scrapers.errors import ParserError, PayloadShapeError
from transforms.offers.listings import Records, joined, listing_frame

LONGEST_PARSE_S = 300
LARGEST_MEMORY_BYTES = 4_000_000_000

Answer = Records | tuple[str, str, str] | str


def parsed(module: ModuleType, payloads: Iterable[Payload]) -> Records:
    """Returns the records of all payloads of a source. Raises PayloadShapeError."""
    if not hasattr(module, "parse_together"):
        return joined(listing_frame(module.parse(payload), payload) for payload in payloads)
    pages = {id(page): page for page in payloads}
    records: dict[int, list[Record]] = {number: [] for number in pages}
    for page, record in module.parse_together(list(pages.values())):
        records[id(page)].append(record)
    return joined(listing_frame(records[number], page) for number, page in pages.items())


def parsed_apart(module: ModuleType, payloads: Sequence[Payload]) -> Records:
    """Returns the records of all payloads of a source, parsed in another process.

    The other process imports the main module of this one, so a script that calls this guards its main part.

    Raises:
        PayloadShapeError: The answer is not what the parser knows.
        ParserError: The parser broke, took too long, or died.
    """
    name = module.SOURCE.id
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["__main__", __name__, "scrapers.readers"])
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(module.__name__, payloads, sender), daemon=True)
    process.start()
    sender.close()
    try:
        if not receiver.poll(LONGEST_PARSE_S):
            raise ParserError(f"{name}: the parser took more than {LONGEST_PARSE_S} s and was ended")
        answer: Answer = receiver.recv()
    except EOFError:
        process.join(1)
        raise ParserError(f"{name}: the parser died, exit code {process.exitcode}") from None
    finally:
        process.kill()
        process.join()
        receiver.close()
    if isinstance(answer, Records):
        return answer
    if isinstance(answer, tuple):
        raise PayloadShapeError(*answer)
    raise ParserError(f"{name}: the parser broke: {answer}")


def _work(module_name: str, payloads: Sequence[Payload], sender: Connection) -> None:
    """Sends the records, the three parts of a PayloadShapeError, or what broke."""
    import gc
    import importlib

    gc.disable()  # what is read is kept until the process ends
    resource.setrlimit(resource.RLIMIT_AS, (LARGEST_MEMORY_BYTES, LARGEST_MEMORY_BYTES))
    answer: Answer
    try:
        answer = parsed(importlib.import_module(module_name), payloads)
    except PayloadShapeError as error:
        answer = (error.part, error.place, error.problem)
    except Exception as error:  # noqa: BLE001 - whatever a parser raises is told to the parent, which names it
        answer = f"{type(error).__name__}: {error}"
    sender.send(answer)
