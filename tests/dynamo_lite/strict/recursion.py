"""Programs that call themselves without end, each by another way; run as a script it prints how deep each goes, both ways.

With a number, what goes through C is run under that recursion limit, interpreted only: CPython 3.11 itself may not survive it.
"""

from __future__ import annotations

import functools
import json
import re
import sys
from collections.abc import Callable
from typing import Any, Final

from dynamo_lite.strict.interpret import interpret

_SOURCES: Final = {
    "call": "def f(): c[0] += 1; return f()",
    "call_in_try": "def f():\n c[0] += 1\n try: f()\n finally: pass",
    "add": "class A:\n def __add__(self, o): c[0] += 1; return self + o\ndef f(): A() + 1",
    "compare": "class A:\n def __lt__(self, o): c[0] += 1; return self < o\ndef f(): A() < 1",
    "getattr": "class A:\n def __getattr__(self, n): c[0] += 1; return self.missing\ndef f(): A().x",
    "getattribute": "class A:\n def __getattribute__(self, n): c[0] += 1; return self.n\ndef f(): A().x",
    "setattr": "class A:\n def __setattr__(self, n, v): c[0] += 1; self.n = v\ndef f(): A().x = 1",
    "property": "class A:\n @property\n def p(self): c[0] += 1; return self.p\ndef f(): A().p",
    "descriptor": "class D:\n def __get__(self, o, k): c[0] += 1; return o.d\nclass A: d = D()\ndef f(): A().d",
    "repr": "class A:\n def __repr__(self): c[0] += 1; return repr(self)\ndef f(): repr(A())",
    "format": "class A:\n def __format__(self, s): c[0] += 1; return f'{self}'\ndef f(): f'{A()}'",
    "bool": "class A:\n def __bool__(self): c[0] += 1; return not self\ndef f(): not A()",
    "contains": "class A:\n def __contains__(self, x): c[0] += 1; return x in self\ndef f(): 1 in A()",
    "getitem": "class A:\n def __getitem__(self, x): c[0] += 1; return self[x]\ndef f(): A()[0]",
    "iter": "class A:\n def __iter__(self): c[0] += 1; return iter(self)\ndef f(): list(A())",
    "init": "class A:\n def __init__(self): c[0] += 1; A()\ndef f(): A()",
    "callable": "class A:\n def __call__(self): c[0] += 1; return self()\nf = A()",
    "metaclass": "class M(type):\n def __call__(cls): c[0] += 1; return cls()\nclass A(metaclass=M): pass\ndef f(): A()",
    "with": "class A:\n def __enter__(self):\n  c[0] += 1\n  with self: pass\n def __exit__(self, *a): pass\ndef f():\n with A(): pass",
    "yield_from": "def g():\n c[0] += 1\n yield from g()\ndef f(): list(g())",
    "generator": "def g():\n c[0] += 1\n for x in g(): yield x\ndef f(): list(g())",
    "coroutine": "async def g():\n c[0] += 1\n await g()\ndef f(): g().send(None)",
    "sorted_key": "def g(x): c[0] += 1; return sorted([1], key=g)\ndef f(): g(1)",
    "reduce": "def g(a, b): c[0] += 1; return functools.reduce(g, [1, 2])\ndef f(): g(1, 2)",
    "partial": "def f(): c[0] += 1; return functools.partial(f)()",
    "instancecheck": "class M(type):\n def __instancecheck__(cls, o): c[0] += 1; return isinstance(o, cls)\nclass A(metaclass=M): pass\ndef f(): isinstance(1, A)",
    # C alone calls what it calls: under a raised limit CPython itself does not survive these
    "sort_in_sort": "class A:\n def __lt__(self, o): c[0] += 1; return sorted([A(), A()])\n def __hash__(self): return hash((sorted([A(), A()]),))\ndef f(): {A(): 1}",
    "repr_of_sorted": "class A:\n def __repr__(self): c[0] += 1; return str(sorted([A(), A()], key=repr))\ndef f(): repr([A()])",
    # from here on C stands between the calls
    "sorted_lt": "class A:\n def __lt__(self, o): c[0] += 1; return sorted([A(), A()])\ndef f(): sorted([A(), A()])",
    "map": "def g(x): c[0] += 1; return list(map(g, [1]))\ndef f(): g(1)",
    "json_default": "def g(o): c[0] += 1; return json.dumps(object(), default=g)\ndef f(): g(1)",
    "re_sub": "def g(m): c[0] += 1; return re.sub('a', g, 'a')\ndef f(): g(1)",
    "hash": "class A:\n def __hash__(self): c[0] += 1; return hash((self,))\ndef f(): {A(): 1}",
    "eq_in_list": "class A:\n def __eq__(self, o): c[0] += 1; return [self] == [o]\ndef f(): A() == A()",
    "repr_in_list": "class A:\n def __repr__(self): c[0] += 1; return repr([self])\ndef f(): repr(A())",
    "lru_cache": "@functools.lru_cache\ndef g(n): c[0] += 1; return g(n + 1)\ndef f(): g(0)",
    "exec": "def f(): c[0] += 1; exec('f()', {'f': f})",
    "class_body": "def f():\n c[0] += 1\n class A: x = f()",
    "comprehension": "def f(): c[0] += 1; return [f() for _ in 'a']",
}  # fmt: skip


def _maker(source: str) -> Callable[[list[int]], Callable[[], Any]]:
    def make(count: list[int]) -> Callable[[], Any]:
        namespace: dict[str, Any] = {"c": count, "functools": functools, "json": json, "re": re}
        exec(source, namespace)
        return namespace["f"]

    return make


KINDS: Final = {kind: _maker(source) for kind, source in _SOURCES.items()}
# CPython counts these by frames alone, on every version
WITHOUT_C: Final = frozenset({"call", "call_in_try", "property", "yield_from", "coroutine"})


def _depth(make: Callable[[list[int]], Callable[[], Any]], wrap: Callable[[Any], Any]) -> int:
    count = [0]
    program = make(count)
    try:
        wrap(program)()
    except RecursionError:
        return count[0]
    raise AssertionError("it came to an end")


THROUGH_C: Final = tuple(KINDS)[list(KINDS).index("sorted_lt") :]


def _main() -> None:
    if sys.argv[1:]:
        sys.setrecursionlimit(int(sys.argv[1]))
        json.dump({kind: _depth(KINDS[kind], interpret) for kind in THROUGH_C}, sys.stdout)
        return
    found = {kind: (_depth(make, lambda fn: fn), _depth(make, interpret)) for kind, make in KINDS.items()}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    _main()
