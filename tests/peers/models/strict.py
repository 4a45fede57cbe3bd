"""Holds JSON against the types of an official SDK: `TypedDict`s as they are written, where what they do not name is an error."""

import types
import typing
from collections.abc import Iterable, Mapping, Sequence

import typing_extensions as ext

LISTS = (list, Iterable, Sequence, typing.Iterable, typing.Sequence)


def problems(value, kind, where="", allowed=frozenset()):
    """What is wrong, as sentences; nothing, if nothing is. `allowed` names keys (`a.b[].c`) that an API takes and the SDK omits."""
    kind = bare(kind)
    if kind in (typing.Any, object):
        return []
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        return of_union(value, typing.get_args(kind), where, allowed)
    if origin in (typing.Literal, ext.Literal):
        return [] if value in typing.get_args(kind) else [f"{where}: {value!r} is none of {typing.get_args(kind)}"]
    if ext.is_typeddict(kind):
        return of_object(value, kind, where, allowed)
    if origin in LISTS:
        if not isinstance(value, list):
            return [f"{where}: {value!r} is no list"]
        (inner,) = typing.get_args(kind)
        return [it for item in value for it in problems(item, inner, f"{where}[]", allowed)]
    if origin in (dict, Mapping):
        if not isinstance(value, dict):
            return [f"{where}: {value!r} is no object"]
        inner = typing.get_args(kind)[1]
        return [it for key, item in value.items() for it in problems(item, inner, f"{where}.{key}", allowed)]
    return of_plain(value, kind, where)


def bare(kind):
    """The type within `Required[…]`, `Annotated[…]`, an alias and the like."""
    while True:
        if isinstance(kind, ext.TypeAliasType):
            kind = kind.__value__
        elif typing.get_origin(kind) in (ext.Required, ext.NotRequired, typing.Required, typing.NotRequired, typing.Annotated):
            kind = typing.get_args(kind)[0]
        else:
            return type(None) if kind is None else kind


def of_union(value, kinds, where, allowed):
    found = [problems(value, kind, where, allowed) for kind in kinds]
    # The one that was meant is the one that fits best.
    return min(found, key=len)


def of_object(value, kind, where, allowed):
    if not isinstance(value, dict):
        return [f"{where}: {value!r} is no object", f"{where}: so it has no keys"]
    hints = ext.get_type_hints(kind, include_extras=True)
    path = lambda key: f"{where}.{key}".lstrip(".")
    # What names the type weighs more than what is missing or too much.
    named = [key for key in ("type", "role") if key in hints and key in value]
    wrong = [it for key in named if problems(value[key], hints[key]) for it in [f"{path(key)}: it is {value[key]!r}"] * 99]
    missing = [f"{path(key)} is missing" for key, hint in hints.items() if key not in value and is_required(key, hint, kind)]
    unknown = [f"{path(key)} is not in {kind.__name__}" for key in value if key not in hints and path(key) not in allowed]
    inner = [it for key in value if key in hints for it in problems(value[key], hints[key], path(key), allowed)]
    return wrong + missing + unknown + inner


def is_required(key, hint, kind):
    """The SDKs' annotations are strings when a class is made, so that it does not know its own `Required[…]`."""
    origin = typing.get_origin(hint)
    if origin in (ext.Required, typing.Required):
        return True
    return origin not in (ext.NotRequired, typing.NotRequired) and key in kind.__required_keys__


def of_plain(value, kind, where):
    # Of JSON's numbers, a whole one is a `float`, too; `true` is no number.
    kinds = (int, float) if kind is float else (kind,)
    is_it = isinstance(kind, type) and isinstance(value, kinds) and (kind is bool or not isinstance(value, bool))
    return [] if is_it else [f"{where}: {value!r} is no {getattr(kind, '__name__', kind)}"]
