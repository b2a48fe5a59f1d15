"""Which codes the modules of the model can emit, read from their source: flags, reasons, limits, engines and states."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

WORKLOADS = Path(__file__).parents[1] / "transforms" / "workloads"
# Calls whose arguments are conditions or columns, and no values.
NO_VALUES = (
    "when",
    "col",
    "is_in",
    "alias",
    "get_column",
    "read",
    "coefficient",
    "coefficients",
    "assumption",
)


def sources() -> list[str]:
    return [path.read_text(encoding="utf-8") for path in sorted(WORKLOADS.glob("*.py"))]


def column_codes(column: str, modules: Sequence[str]) -> set[str]:
    """Returns the texts that end up in `column` where a module sets it as a keyword or by `.alias`."""
    found: set[str] = set()
    for text in modules:
        tree = ast.parse(text)
        for function in _functions(tree):
            for node in ast.walk(function):
                if isinstance(node, ast.keyword) and node.arg == column:
                    found |= set(_texts(node.value, _Place(function, tree)))
    return found


def returned_codes(function_name: str, modules: Sequence[str]) -> set[str]:
    """Returns the texts that functions of that name give back as values or as keys of what they choose from."""
    found: set[str] = set()
    for text in modules:
        tree = ast.parse(text)
        for function in _functions(tree):
            if function.name == function_name:
                found |= set(_texts(function, _Place(function, tree)))
    return found


def reason_codes(modules: Sequence[str]) -> set[str]:
    """Returns the reasons of all tests: the first argument of a rule or a failure, as `reason` or in its place."""
    places = {"Rule": 0, "Failure": 0, "below": 0, "above": 0, "figure_failure": 1}
    found: set[str] = set()
    for text in modules:
        tree = ast.parse(text)
        for function in _functions(tree):
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and _name(call) in places:
                    place = places[_name(call)]
                    named = [keyword.value for keyword in call.keywords if keyword.arg == "reason"]
                    for value in named or call.args[place : place + 1]:
                        is_text = isinstance(value, ast.Constant)
                        found |= set(_texts(value, _Place(function, tree, is_value=is_text)))
    return found


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def _name(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


@dataclass(frozen=True)
class _Place:
    """Where a node stands: what its names mean there, and what its texts and dicts are for."""

    function: ast.FunctionDef
    tree: ast.Module
    bound: Mapping[str, ast.expr] = field(default_factory=dict)
    seen: frozenset[str] = frozenset()
    is_value: bool = False
    is_mapping: bool = False


def _texts(node: ast.AST, place: _Place) -> Iterator[str]:
    """Yields the texts in `node` that stand for values: in pl.lit, in a tuple or list of texts, in a dict.

    Of a dict the keys count, or the values where replace_strict looks them up. Names are followed to where the
    function, or else the module, sets them; functions of the module to all that is in them.
    """
    if isinstance(node, ast.Constant):
        if place.is_value and isinstance(node.value, str):
            yield node.value
    elif isinstance(node, ast.Name):
        if node.id not in place.seen:
            known = replace(place, seen=place.seen | {node.id}, is_value=False)
            for value in _set_to(node.id, place):
                yield from _texts(value, known)
    elif isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            told, other = (value, key) if place.is_mapping else (key, value)
            yield from _texts(told, replace(place, is_value=True)) if told else ()
            yield from _texts(other, replace(place, is_value=False)) if other and not place.is_mapping else ()
    elif isinstance(node, ast.Call):
        yield from _of_call(node, place)
    elif isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        made = node.generators[0]
        names = [one.id for one in ast.walk(made.target) if isinstance(one, ast.Name)]
        yield from _texts(node.elt, replace(place, bound={**place.bound, **dict.fromkeys(names, made.iter)}))
    elif not isinstance(node, (ast.Subscript, ast.arguments)):
        is_list = isinstance(node, (ast.Tuple, ast.List))
        is_list = is_list and all(isinstance(one, ast.Constant) for one in node.elts)
        for child in ast.iter_child_nodes(node):
            yield from _texts(child, replace(place, is_value=is_list))


def _of_call(call: ast.Call, place: _Place) -> Iterator[str]:
    name = _name(call)
    if isinstance(call.func, ast.Attribute):
        yield from _texts(call.func.value, replace(place, is_value=False))
    elif name not in place.seen:
        for own in _functions(place.tree):
            if own.name == name:
                yield from _texts(own, _Place(own, place.tree, seen=place.seen | {name}))
    if name in NO_VALUES:
        return
    inside = replace(place, is_value=name == "lit", is_mapping=name == "replace_strict")
    for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
        yield from _texts(argument, inside)


def _set_to(name: str, place: _Place) -> list[ast.expr]:
    """Returns what a name is set to: what its comprehension runs over, else what is assigned to it."""
    if name in place.bound:
        return [place.bound[name]]
    return _assigned(name, place.function) or _assigned(name, place.tree)


def _assigned(name: str, scope: ast.AST) -> list[ast.expr]:
    found: list[ast.expr] = []
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                found += _matched(name, target, node.value)
    return found


def _matched(name: str, target: ast.expr, value: ast.expr) -> list[ast.expr]:
    """Returns the part of `value` that an assignment to `target` gives to the name."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = zip(target.elts, value.elts, strict=True)
        return [one for part, own in pairs for one in _matched(name, part, own)]
    is_it = any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(target))
    return [value] if is_it else []
