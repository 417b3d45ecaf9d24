"""The grammar of definitions: functions, generators, coroutines, classes and how they are used; and what programs begin with."""

from __future__ import annotations

from typing import Final

from tests.dynamo_lite.strict.fuzz.statements import Production

_USE_GENERATOR: Final = (
    "<l> = list(itertools.islice($g(<any>), 5))",
    "$i = $g(<any>); print(next($i)); $i.close()",
    "$i = $g(<any>); next($i); print($i.send(<any>)); print(next($i, 'end'))",
    "$i = $g(<any>); next($i); print($i.throw(<error>(<int>)))",
    "$i = $g(<any>)\ntry:\n    print(next($i), $i.send(5), $i.throw(<error>))\nfinally:\n    print($i.gi_frame is None, $i.gi_running)",
    "for <v> in $g(<int>):\n    tick()\n    <loop>",
    "print([$x for $x in $g(<int>)][:5])",
    "print($g(<any>).throw(<error>('early')))",
    "$i = $g(<int>); print(list(itertools.islice(delegate($i), 4)), inspect.getgeneratorstate($i))",
    "<v>, *<l> = $g(<any>)",
    "del $g",
)

DEFINITIONS: Final[tuple[Production, ...]] = (
    Production("def $f($x, $y=<int>, *$r, $k=<any>, **$m):\n    <scope>\n    tick()\n    <function>\n    return <any>\n<v> = $f(<any>, <int>)\nprint($f(*<list>, **<dict>))", weight=4),
    Production("def $f($x, $y=2):\n    <scope>\n    tick()\n    <function>\n    return $x\nprint($f(<any>), $f($y=<int>, $x=<any>))", weight=4),
    Production("def $f($x, /, $y: int, *, $k: 'str' = <any>) -> None:\n    <scope>\n    <function>\nprint($f(<int>, <int>, $k=1), $f.__annotations__, $f.__kwdefaults__)\n$f($x=1, $y=2)", weight=2),
    Production("@logged\n@functools.wraps(fact)\ndef $f(*$r, **$m):\n    <scope>\n    <function>\n    return ($r, $m)\nprint($f(<any>, k=<int>))", weight=2),
    Production("def $f($n):\n    <scope>\n    tick()\n    if $n <= 0: return <any>\n    <function>\n    return $f($n - 1)\n<v> = $f(3)", weight=2),
    Production("def $f():\n    $x = <int>\n    def $g():\n        nonlocal $x\n        <scope>\n        $x += 1\n        <function>\n        return $x\n    return $g, lambda: $x\n$y, $k = $f()\nprint($y(), $y(), $k())", weight=3),
    Production("def $f():\n    $x = <int>\n    def $g():\n        del_me = $x\n        return del_me\n    del $x\n    return $g\n$f()()", weight=1),
    Production("$f = [lambda $x=$y: ($x, $y) for $y in <list>]\nprint([$g() for $g in $f])", weight=1),
    *(Production(f"@kept\ndef $g($x):\n    <scope>\n    tick()\n    <generator>\n    <v> = yield $x\n    <generator>\n    return <any>\n{use}") for use in _USE_GENERATOR),
    Production("@kept\ndef $g($x):\n    <scope>\n    try:\n        <generator>\n        yield $x\n    except <error> as $e:\n        report($e)\n        yield 'caught'\n    finally:\n        print('closed')\n$i = $g(<int>); print(next($i)); print($i.throw(<error>(1)))", weight=3),
    Production("@kept\nasync def $f($x):\n    <scope>\n    tick()\n    <coroutine>\n    <v> = await Later($x)\n    <coroutine>\n    return <any>\n<v> = drive($f(<any>))", weight=4),
    Production("@kept\nasync def $f($x):\n    <scope>\n    async with Manager(<any>, <bool>) as $m:\n        <coroutine>\n    return await echo(<any>)\n$i = $f(<int>)\nprint($i.send(None))\n$i.throw(<error>('into'))", weight=2),
    Production("@kept\nasync def $g($x):\n    <scope>\n    yield $x\n    <asyncgen>\n    yield <any>\n@kept\nasync def $f():\n    async for $y in $g(<any>):\n        tick()\n        print($y)\nprint(drive($f()))", weight=3),
    Production("@kept\nasync def $g($x):\n    try:\n        yield $x\n        <asyncgen>\n    finally:\n        print('agen closed')\n@kept\nasync def $f():\n    $i = $g(<int>)\n    print(await $i.__anext__())\n    try:\n        print(await $i.athrow(<error>(1)))\n    finally:\n        await $i.aclose()\ndrive($f())", weight=2),
    Production("class $C(<base>):\n    <members>\n<o> = $C(<int>)\nprint(<o>.shared, <o>.method(<int>))\nprint(<o>.prop, $C.build(<int>))", weight=6),
    Production("class $C(Mixin, <base>, flag=<int>):\n    <members>\n    def method(self, $x=0):\n        <scope>\n        <method>\n        return ('over', super().method($x))\n<o> = $C(<int>)\nprint(<o>.method(<int>), $C.__mro__[1].__name__, $C.flag)", weight=4),
    Production("class $C(metaclass=Meta):\n    <members>\n    class Inner:\n        <members>\nprint($C, $C.made, $C.Inner.__qualname__)\n<o> = $C()", weight=2),
    Production("class $C(<base>):\n    $x = <int>\n    <class>\n    items = [$y for $y in <list>]\n    def get(self): return (__class__ is $C, self.shared)\nprint($C.items, $C(<int>).get())", weight=3),
    Production("@dataclasses.dataclass(order=True)\nclass $C:\n    x: int = <int>\n    y: list = dataclasses.field(default_factory=list)\n    def total(self): return self.x + len(self.y)\nprint($C(), $C(<int>) < $C(<int>), $C(y=<list>).total())", weight=1),
    Production("def $f[$T: (int, str)]($x: $T) -> $T:\n    <scope>\n    <function>\n    return $x\nprint($f(<any>), $f.__type_params__)", since=(3, 12)),
    Production("class $C[$T, *$U, **$V](Base):\n    <members>\n    def get(self, $x: $T) -> $T: return $x\nprint($C(<int>).get(<any>), $C.__type_params__, $C[int, str, [int]])", since=(3, 12)),
    Production("type $A[$T] = dict[str, $T]\nprint($A.__value__, $A[int], $A.__type_params__)", weight=1, since=(3, 12)),
    Production("class $C[$T = int]:\n    <members>\nprint($C.__type_params__[0].__default__)", weight=1, since=(3, 13)),
)  # fmt: skip

BASES: Final = (
    "object",
    "Base",
    "Base",
    "Child",
    "Vec",
    "Dyn",
    "Slotted",
    "dict",
    "list",
    "Problem",
    "Point",
)

MEMBERS: Final[tuple[str, ...]] = (
    "shared = <int>",
    "def method(self, $x=1):\n    <scope>\n    <method>\n    return $x",
    "def __init__(self, *$r):\n    super().__init__(*$r)\n    self.x = <any>",
    "@property\ndef prop(self): return <any>\n@prop.setter\ndef prop(self, value): print('set', value)",
    "@classmethod\ndef build(cls, *$r): return cls(*$r).method()",
    "@staticmethod\ndef build($x): return ($x, <int>)",
    "def __add__(self, other): return NotImplemented if <bool> else ('add', <int>)",
    "def __radd__(self, other): return ('radd', other)",
    "def __iadd__(self, other):\n    self.x = other\n    return self",
    "def __eq__(self, other): return <bool>\n__hash__ = None",
    "def __lt__(self, other): return <any>",
    "def __bool__(self): return <bool>",
    "def __len__(self): return <int>",
    "def __iter__(self):\n    yield from <list>",
    "def __iter__(self): return iter(<list>)",
    "def __next__(self): raise StopIteration(<int>)",
    "def __getitem__(self, key):\n    if key == 3: raise IndexError(key)\n    return (key, <int>)",
    "def __contains__(self, value): return <any>",
    "def __call__(self, *$r, **$m):\n    <scope>\n    <method>\n    return ($r, $m)",
    "def __getattr__(self, name):\n    if name.startswith('_'): raise AttributeError(name)\n    return (name, <int>)",
    "def __getattribute__(self, name): return super().__getattribute__(name)",
    "def __setattr__(self, name, value):\n    print('set', name)\n    super().__setattr__(name, value)",
    "def __delattr__(self, name): print('del', name)",
    "def __repr__(self): return f'<{type(self).__name__}>'",
    "def __str__(self): return <str>",
    "def __format__(self, spec): return f'[{spec}]'",
    "def __index__(self): return <int>",
    "def __enter__(self): return self\ndef __exit__(self, *$r):\n    print('exit', $r[0])\n    return <bool>",
    "def __matmul__(self, other): return <any>",
    "def __neg__(self): return <any>",
    "def __init_subclass__(cls, **$m):\n    print('subclass', cls.__name__)\n    super().__init_subclass__(**$m)",
    "def __class_getitem__(cls, item): return (cls.__name__, item)",
    "def __new__(cls, *$r):\n    print('new', cls.__name__)\n    return super().__new__(cls)",
    "described = Descriptor()",
    "if <bool>:\n    extra = <any>",
    "for $x in <list>: shared = $x",
    "method = functools.partialmethod(lambda self, $x, $y=2: ($x, $y), <int>)",
    "@logged\ndef method(self, $x=2): return ('logged', $x)",
    "@functools.cached_property\ndef prop(self): return <any>",
)  # fmt: skip

PRELUDE: Final = """
import contextlib, dataclasses, enum, functools, inspect, itertools, math, sys
from contextlib import suppress

class Problem(Exception):
    def __init__(self, *args):
        super().__init__(*args)
        self.x = len(args)
    def method(self, x=1): return x
    shared = 4

class Manager:
    def __init__(self, name, hide): self.name, self.hide = name, hide
    def __enter__(self): print('enter', self.name); return self
    def __exit__(self, kind, error, tb): print('exit', self.name, kind); return self.hide
    async def __aenter__(self): print('aenter', await Later(1)); return self
    async def __aexit__(self, kind, error, tb): print('aexit', await Later(2), kind); return self.hide
    def __repr__(self): return f'Manager({self.name!r})'

class Later:
    def __init__(self, value): self.value = value
    def __await__(self):
        sent = yield self.value
        return (self.value, sent)

class Descriptor:
    def __set_name__(self, owner, name): self.name = name
    def __get__(self, obj, owner): return (self.name, obj is None)
    def __set__(self, obj, value): print('described', value)

class Meta(type):
    def __new__(meta, name, bases, namespace, **more): return super().__new__(meta, name, bases, namespace)
    def __prepare__(name, bases): return {'made': name}
    __prepare__ = classmethod(lambda meta, name, bases: {'made': name})
    def __call__(cls, *args): print('making', cls.__name__); return super().__call__(*args)
    def __instancecheck__(cls, obj): return True
    def __repr__(cls): return f'<meta {cls.__name__}>'
    def __getitem__(cls, key): return ('item', key)

class Mixin:
    def method(self, x=0): return ('mixin', super().method(x))

class Base:
    shared = 1
    __match_args__ = ('x', 'shared')
    def __init__(self, x=0): self.x = x
    def __hash__(self): return 11
    def __init_subclass__(cls, flag=None, **more): cls.flag = flag; super().__init_subclass__(**more)
    def method(self, x=1): return self.x + x
    @property
    def prop(self): return self.x * 2
    @prop.setter
    def prop(self, value): self.x = value
    @classmethod
    def build(cls, *args): return cls(*args)
    def __repr__(self): return f'{type(self).__name__}({self.x!r})'

class Child(Base):
    def method(self, x=1, *more): return super().method(x) + 1
    def __call__(self, x): return self.method(x)

class Vec(Base):
    def __add__(self, other): return Vec(self.x + other.x) if isinstance(other, Vec) else NotImplemented
    def __radd__(self, other): return Vec(other + self.x)
    def __sub__(self, other): return Vec(self.x - other)
    def __mul__(self, other): return Vec(self.x * (other if type(other) is int else 2) % 97)
    def __isub__(self, other): self.x -= other; return self
    def __matmul__(self, other): return self.x
    def __neg__(self): return Vec(-self.x)
    def __eq__(self, other): return self.x == other.x if isinstance(other, Vec) else NotImplemented
    def __lt__(self, other): return self.x < other.x if isinstance(other, Vec) else NotImplemented
    def __hash__(self): return 7
    def __bool__(self): return self.x != 0
    def __len__(self): return abs(self.x) % 5
    def __getitem__(self, key): return (range(len(self))[key], key)[0]
    def __setitem__(self, key, value): self.x = value
    def __delitem__(self, key): print('del', key)
    def __contains__(self, value): return value == self.x
    def __index__(self): return 2
    def __format__(self, spec): return f'{self.x}:{spec}'

class Dyn(Base):
    def __getattr__(self, name):
        if name.startswith('__'): raise AttributeError(name)
        return name
    def __iter__(self): yield from (1, 2)
    def __enter__(self): return self.x
    def __exit__(self, *exc): return bool(exc[0])

class Slotted:
    __slots__ = ('x', 'slotted')
    def __init__(self, x=0): self.x = x
    def method(self, x=1): return x
    shared = 2

@dataclasses.dataclass
class Point:
    x: int = 0
    y: int = 1
    shared = 3
    def method(self, x=1): return self.x + x

class Color(enum.Enum):
    RED = 1
    BLUE = 2

def logged(fn):
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        print('call', fn.__name__)
        return fn(*args, **kwargs)
    return wrapper

def fact(n): return 1 if n <= 1 else n * fact(n - 1)
def spread(first=0, *rest, k=1, **more): return first + len(rest) + k + len(more)
def counter(n):
    for i in range(abs(n) % 6): yield i
def delegate(items):
    result = yield from items
    return result
@contextlib.contextmanager
def managed(value):
    print('managed', value)
    try: yield value
    except KeyError as error: print('swallowed', error)
    finally: print('unmanaged')
async def echo(value): return value
async def ticker(n):
    for i in range(abs(n)): yield await echo(i)
def drive(coroutine):
    while True:
        try: print('awaits', coroutine.send(None))
        except StopIteration as stop: return stop.value
outer_value = 5
"""
