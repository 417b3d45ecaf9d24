"""More of the grammar: operators on any two values, callbacks of C functions, hooks of classes and metaclasses, the library's own."""

from __future__ import annotations

from typing import Final

from tests.dynamo_lite.strict.fuzz.statements import ELSE, Production, loop, tried

# callables of one argument, of two, of none; operators that cannot make values large
LIBRARY_EXPRESSIONS: Final[dict[str, tuple[str, ...]]] = {
    "op": ("+", "-", "/", "//", "%", "&", "|", "^", "@"),
    "cmp": ("<", "<=", "==", "!=", ">", ">=", "in", "not in", "is"),
    "one": (
        "(lambda $x: <any>)", "(lambda $x: $x)", "str", "Vec", "Child(<int>)", "functools.partial(divmod, <int>)", "operator.neg",
        "dispatch", "cached", "<o>.method", "<o>", "type(<v>)", "bool", "Shown", "operator.itemgetter(<digit>)",
        "operator.attrgetter('<attr>')", "operator.methodcaller('method', <int>)", "raising", "None",
    ),
    "two": (
        "(lambda $x, $y: <any>)", "(lambda $x, $y: $x)", "operator.add", "max", "divmod", "functools.partial(spread, k=<int>)", "Pair",
        "operator.lt", "isinstance", "getattr", "(lambda *$r: <int>)", "raising",
    ),
    "int": (
        "operator.index(<any>)", "int(<any>)", "len(<any>)", "<dict>.get(<key>, <int>)", "<dict>.setdefault(<key>, <int>)",
        "hashed(<any>)", "functools.reduce(<two>, <iter>, <int>)", "sum(<iter>, <any>)", "round(<any>)", "cached(<any>)",
        "(<any>)[<any>]", "list.index(<list>, <any>)", "<list>.count(<any>)", "operator.length_hint(<any>, 3)", "<list>.pop(<any>)",
        "collections.Counter(<iter>)[<any>]", "collections.deque(<iter>, 3).popleft()", "bisect.bisect(<list>, <any>, key=<one>)",
    ),
    "bool": (
        "bool(<any> <op> <any>)", "(<any> <cmp> <any>)", "(<any> <cmp> <any> <cmp> <any>)", "all(map(<one>, <iter>))",
        "isinstance(<any>, <kind>)", "issubclass(<kind>, <kind>)", "((<any>).__eq__(<any>) is True)", "([<any>] <cmp> [<any>])",
    ),
    "kind": ("Vec", "Base", "int", "Abstract", "Meta", "(str, Abstract)", "int | str", "Pair", "Color", "collections.abc.Sized", "<any>"),
    "str": (
        "str(<any> <op> <any>)[:20]", "f'{<v>:{<v>}}'[:30]", "f'{<v>!s:>{<i>}}{<o>!r}'[:40]", "'%s %r' % (<obj>, <any>)",
        "'{0.x} {0[1]} {1!r:>8}'.format(<obj>, <any>)[:40]", "format(<any>, <str>)[:20]", "'%d %x' % (<any>, <any>)",
        "re.sub('[a-k]', lambda $m: <str>, <str>)[:20]", "<str>.join(<iter>)[:20]", "''.join(map(<one>, <iter>))[:20]",
        "json.dumps(<any>, default=<one>)[:40]", "str(inspect.signature(<one>))", "<str>.translate({97: <any>})[:20]",
    ),
    "list": (
        "list(itertools.takewhile(<one>, <iter>))[:8]", "list(itertools.dropwhile(<one>, <iter>))[:8]", "[*<any>][:8]",
        "list(itertools.filterfalse(<one>, <iter>))[:8]", "list(itertools.starmap(<two>, [(<any>, <any>)]))", "list(<any>)[:8]",
        "[($x, list($y)) for $x, $y in itertools.groupby(<iter>, <one>)][:8]", "list(itertools.accumulate(<iter>, <two>))[:8]",
        "list(itertools.chain.from_iterable([<any>, <iter>]))[:8]", "list(map(<two>, <iter>, <iter>))[:8]", "sorted(<iter>, key=<one>)[:8]",
        "sorted(<iter>, key=functools.cmp_to_key(<two>))[:8]", "list(filter(<one>, <iter>))[:8]", "list(zip(<iter>, <iter>, strict=<bool>))[:8]",
        "list(itertools.zip_longest(<iter>, <iter>))[:8]", "list(itertools.islice(<any>, 4))", "list(itertools.pairwise(<iter>))[:8]",
        "[$x for $x in <any>][:8]", "[($x, $y) for $x, *$y in <iter>][:8]", "heapq.nsmallest(2, <iter>, key=<one>)",
        "list(map(<one>, <iter>))[:8]", "list(itertools.islice(iter(<one>, <any>), 2))", "copy.copy(<list>)", "list(itertools.product(<iter>, repeat=1))[:8]",
        "[*map(<one>, <iter>)][:8]", "list(reversed(<any>))[:8]", "list(next(itertools.tee(<iter>, 1), 0))[:8]",
    ),
    "dict": (
        "dict.fromkeys(<iter>, <any>)", "dict(<any>)", "{**<any>}", "{<any>: <any>}", "dict(map(<one>, <iter>))", "copy.deepcopy(<dict>)",
        "collections.OrderedDict(<dict>)", "collections.defaultdict(lambda: <any>, <dict>)", "dict(collections.ChainMap(<dict>, <dict>))",
        "vars(<obj>).copy()",
    ),
    "set": ("{*<iter>}", "set(map(<one>, <iter>))", "(<set> <op> <set>)", "{<any>, <any>}"),
    "tuple": ("divmod(<any>, <any>)", "(*<any>, <any>)[:6]", "tuple(map(<one>, <iter>))[:6]", "(<any>, *<iter>)[:6]"),
    "gen": ("map(<one>, <iter>)", "filter(<one>, <iter>)", "zip(<iter>, <iter>)", "(<one>($x) for $x in <any>)", "Steps(<digit>)", "enumerate(<any>, <any>)"),
    "iter": ("<any>", "Steps(<digit>)", "<obj>", "reversed(<list>)", "collections.deque(<list>)", "<dict>.values()"),
    "obj": (
        "Shown(<any>)", "Pair(<any>, <any>)", "Steps(<digit>)", "Declining(<int>)", "Declining(<int>)", "copy.copy(<o>)", "Color(<int>)",
        "Plain(<int>, <any>)", "dataclasses.replace(Plain(1, 2), x=<any>)", "collections.namedtuple('N', 'x y')(<any>, <any>)",
        "type('Made', (<base>,), {'x': <any>})(<int>)", "<one>(<any>)", "<two>(<any>, <any>)", "object.__new__(<base>)",
    ),
}  # fmt: skip

LIBRARY_SIMPLE: Final[tuple[Production, ...]] = (
    Production("print(<any> <op> <any>)", weight=3),
    Production("print(<any> <cmp> <any>)", weight=2),
    Production("<v> <op>= <any>; <v> = 3", weight=2),
    Production("<o>[<any>] += <any>"),
    Production("<o>.<attr> <op>= <any>"),
    Production("<l>[<slice>] += <iter>; <l> = <l>[:8]"),
    Production("<l>[<any>] = <any>; <l> = <l>[:8]", weight=1),
    Production("del <o>[<any>]", weight=1),
    Production("del <l>[<slice>], <o>.<attr>", weight=1),
    Production("print(*<any>, sep=<str>)"),
    Production("print(spread(*<any>, **<any>))", weight=1),
    Production("print(spread(*<iter>, *<iter>, **<dict>, **<dict>))"),
    Production("print(<one>(*<iter>, **<any>))", weight=1),
    Production("a, (b, *p), s = <any>", weight=1),
    Production("[a, *p, b] = q = <iter>", weight=1),
    Production("raise <error> from <any>", weight=1),
    Production("raise <error>(<any>).with_traceback(None)", weight=1),
    Production("print(getattr(<any>, '<attr>', <any>), hasattr(<any>, '<attr>'))"),
    Production("setattr(<any>, '<attr>', <any>)", weight=1),
    Production("print(eval('<i> + 1'), sorted(set(locals()) & {'a', 'b'}))", weight=1),
    Production("exec('<i> = 1; print(<i>)')", weight=1),
    Production("<l>.sort(key=<one>, reverse=<bool>)"),
    Production("<l>.extend(<any>); <l> = <l>[:8]", weight=1),
    Production("<d>.update(<any>); <d> = {}", weight=1),
    Production("heapq.heappush(<l>, <any>); <l> = <l>[:8]", weight=1),
    Production("print(f'{<v>=:{<i>}}|{<v>!r:<{<i>}.{<i>}}')", weight=1),
    Production("print(await gathered(echo(<any>), echo(<any>)))", needs="async", weight=2),
    Production("<v> = await anext(ticker(<digit>), <any>)", needs="async", weight=2),
    Production("<v> = [await echo($x) for $x in <iter>]", needs="async"),
    Production("print((yield from <any>))", needs="generator", weight=2),
    Production("print((yield) <op> (yield <any>))", needs="generator", weight=1),
)

LIBRARY_COMPOUND: Final[tuple[Production, ...]] = (
    Production("try:\n    return <any>\nfinally:\n    <block>", needs="function", weight=2),
    Production(tried("finally:\n    if <bool>: return <any>"), needs="function", weight=2),
    Production(tried("finally:\n    if <bool>: break"), needs="loop", weight=2),
    Production(tried("    continue\nexcept <error>:\n    <handler>\nfinally:\n    <block>"), needs="loop", weight=2),
    Production("with Manager(<any>, <bool>):\n    if <bool>: return <any>\n    <block>", needs="function", weight=2),
    Production("with Manager(<any>, <bool>), contextlib.suppress(<error>):\n    if <bool>: break\n    continue", needs="loop", weight=2),
    Production("with contextlib.ExitStack() as $m:\n    $m.enter_context(Manager(<any>, <bool>))\n    $m.callback(print, <any>)\n    $m.push(lambda *$r: <any>)\n    <block>", weight=2),
    Production("with Failing(<error>) as $m:\n    <block>", weight=1),
    Production("with Manager(<any>, <bool>), Failing(<error>), Manager(<any>, <any>):\n    <block>", weight=1),
    Production("async with amanaged(<any>) as <v>:\n    <block>", needs="async", weight=3),
    Production("async with contextlib.AsyncExitStack() as $m:\n    await $m.enter_async_context(Manager(<any>, <bool>))\n    $m.push_async_callback(echo, <any>)\n    <block>", needs="async", weight=2),
    Production(loop("async for <i>, *<l> in Countdown(<digit>)", ELSE), needs="async", weight=2),
    Production(loop("for <o>.x in <iter>"), weight=1),
    Production(loop("for <i>, <l>[<digit>] in enumerate(<any>)"), weight=1),
    Production(loop("for $x in <any>", ELSE), weight=2),
    Production(loop("while <any>", "\n    break"), weight=1),
    Production("try:\n    raise Grouped(<str>, [<error>(<any>), Grouped('in', [<error>(1), <error>(2)])])\nexcept* <error> as $e:\n    print($e.subgroup(lambda $x: <bool>), $e.split(<error>))\n    <starred>\nfinally:\n    print(sys.exc_info()[1])", weight=2),
    Production("try:\n    try:\n        <block>\n    except* <error> as $e:\n        raise\n    except* <error>:\n        raise <error>(<any>)\nexcept BaseExceptionGroup as $e:\n    report($e)", weight=2),
    Production(tried("except <any> as $e:\n    <handler>"), weight=1),
    Production("match <any>:\n    case Pair(a=$x, b=str($y)) | Pair($x, int() as $y) if <bool>:\n        print($x, $y)\n    case {'k': $x, 'm': _} | {'x': $x}:\n        print($x)\n    case [Vec(x=$x), *_, Color.RED | 1] | ($x,):\n        print($x)\n    case Shown($x) | Plain(y=$x):\n        <block>\n    case -1.5 | 2 | 'ab' | b'c' | None:\n        <block>\n    case [[$x, $y], *$r]:\n        print($x, $y, $r)\n    case $x:\n        print('whole', $x)", weight=3),
    Production("match <any>, <any>:\n    case ($x, $y) if $x <cmp> $y:\n        <block>\n    case [Base(x=int($x) | str($x)), *$r]:\n        print($x, $r)\n    case [{}, _]:\n        <block>", weight=1),
)  # fmt: skip

LIBRARY_DEFINITIONS: Final[tuple[Production, ...]] = (
    Production("@contextlib.contextmanager\n@kept\ndef $f($x):\n    <scope>\n    <function>\n    try:\n        yield $x\n    except <error> as $e:\n        report($e)\n        <function>\n    finally:\n        <function>\nwith $f(<any>) as <v>:\n    <block>", weight=3),
    Production("@functools.singledispatch\ndef $f($x, *$r): return ('any', <any>)\n@$f.register\ndef $g($x: int, *$r):\n    <scope>\n    <function>\n@$f.register(str)\n@$f.register(Base)\ndef $h($x, *$r): return ('str or Base', <any>)\nprint($f(<any>), $f(<any>, <any>))", weight=2),
    Production("@functools.lru_cache(maxsize=2)\ndef $f($x, $y=<int>):\n    tick()\n    <function>\n    return ($x, $y)\nprint($f(<any>), $f(<any>), $f(<int>), $f(1), $f(True), $f(1.0), $f(1, $y=2))", weight=2),
    Production("@decorated(<any>)\nclass $C(<base>):\n    <members>\n    <members>\n<o> = $C(<int>)\nprint(<o>, <o> <cmp> <any>)", weight=3),
    Production("class $M(Meta):\n    <metamembers>\nclass $C(metaclass=$M):\n    <members>\n    def $f(self): return __class__\nprint($C.made, $C.missing, $C <cmp> <any>, $C <op> <any>)\n<o> = $C(<any>)\nprint(isinstance(<any>, $C), issubclass(<kind>, $C), <o>.$f())", weight=3),
    Production("class $C(NamedTuple):\n    x: int\n    y: object = <any>\n    shared = <int>\n    def method(self, $x=1):\n        <scope>\n        <method>\n        return self.x\n<o> = $C(<any>)\nprint(<o>, <o> == (1, 2), <o>._replace(y=<any>), <o>.method())\n<i>, <v> = <o>", weight=1),
    Production("class $C(enum.Enum):\n    RED = <any>\n    BLUE = <any>\n    def method(self, $x=1): return (self.name, self.value)\n    @classmethod\n    def _missing_(cls, $x): return cls.RED if <bool> else <any>\n<o> = $C.RED\nprint($C(<any>), [*$C], <o>.method(), $C['BLUE'])", weight=2),
    Production("@dataclasses.dataclass(frozen=<bool>, order=<bool>, slots=<bool>, kw_only=<bool>)\nclass $C(<base>):\n    x: int = <int>\n    z: list = dataclasses.field(default_factory=lambda: <any>, compare=<bool>)\n    def __post_init__(self):\n        <scope>\n        <method>\nprint($C(), $C() == $C(), dataclasses.asdict($C()), $C(x=<any>) <cmp> $C())\n<o> = $C()", weight=2),
    Production("class $C:\n    __slots__ = ('x', '$y')\n    <members>\n    def __init__(self, *$r): self.x = <any>\n<o> = $C()\nprint(<o>.x, <o>.$y)", weight=1),
    Production("class $C(Abstract):\n    <members>\n    if <bool>:\n        def wanted(self): return super().wanted()\nprint($C().wanted(), isinstance($C, Abstract))", weight=1),
    Production("class $C(<base>):\n    <members>\nclass $D($C):\n    <members>\nclass $E($D, Mixin):\n    <members>\n    def method(self, $x=0): return [super().method($x), super($C, self).shared]\n<o> = $E(<int>)\nprint(<o>.method(), <o>, <o>.prop, <o>.described)", weight=3),
    Production("def $f($x):\n    def $g():\n        nonlocal $x\n        try:\n            <function>\n            return $x\n        finally:\n            del $x\n    return $g\n$y = $f(<any>)\nprint($y())\nprint($y())", weight=1),
    Production("@kept\ndef $g($x):\n    <scope>\n    <generator>\n    return <any>\n@kept\ndef $h($x):\n    try:\n        print('got', (yield from $g($x)))\n    except <error> as $e:\n        report($e)\n        yield <any>\n    else:\n        yield from $g(<any>)\n$i = $h(<any>)\nprint(next($i, 'none'), $i.send(None))\nprint($i.throw(<error>, <any>))\nprint($i.close(), list($i))", weight=3),
    Production("@kept\nasync def $g($x):\n    <scope>\n    try:\n        <asyncgen>\n        yield $x\n    except <error> as $e:\n        await Later(<any>)\n        yield <any>\n@kept\nasync def $f():\n    $i = $g(<any>)\n    print(await anext($i, <any>), await $i.asend(None))\n    try: print(await $i.athrow(<error>))\n    finally: print(await $i.aclose())\ndrive($f())", weight=2),
    # before 3.12 CPython forgets the delegate in the traceback of what is thrown into an await inside a handler
    Production("@kept\nasync def $f($x):\n    <scope>\n    try:\n        <coroutine>\n        await Later(<any>)\n    except <error> as $e:\n        return await echo($e)\n    finally:\n        await Later('last')\n$i = $f(<any>)\ntry:\n    print($i.send(None), $i.throw(<error>(<any>)))\n    print($i.throw(<error>))\nfinally:\n    $i.close()", weight=2, since=(3, 12)),
    Production("@functools.total_ordering\nclass $C(Base):\n    def __lt__(self, other): return <any>\n    def __eq__(self, other): return <any>\nprint($C(1) >= $C(2), $C(1) > <any>, sorted([$C(2), $C(1)]))", weight=1),
    Production("class $C(collections.UserDict):\n    def __missing__(self, key): return <any>\n    def __setitem__(self, key, value):\n        <scope>\n        <method>\n        super().__setitem__(key, value)\n<o> = $C(<dict>)\nprint(<o>, <o>[<any>], <o> | {1: 2})", weight=1),
)  # fmt: skip

LIBRARY_MEMBERS: Final[tuple[str, ...]] = (
    "def __eq__(self, other): return <any>",
    "def __ne__(self, other): return NotImplemented",
    "def __gt__(self, other): return NotImplemented if <bool> else <any>",
    "def __hash__(self): return <any>",
    "def __sub__(self, other): return NotImplemented\ndef __rsub__(self, other): return <any>",
    "def __rmul__(self, other): return ('rmul', <any>)",
    "def __imul__(self, other): return NotImplemented if <bool> else self",
    "def __or__(self, other):\n    <scope>\n    <method>\n    return self",
    "__radd__ = __add__ = lambda *$r: <any>",
    "__contains__ = None",
    "__iter__ = None",
    "__bool__ = lambda self: <any>",
    "__len__ = functools.partial(lambda *$r: <any>)",
    "__call__ = staticmethod(lambda *$r, **$m: <any>)",
    "__getitem__ = classmethod(lambda cls, key: ((<int>), <any>)[key])",
    "__setitem__ = __delitem__ = lambda *$r: print($r[1:])",
    "__index__ = property(lambda self: lambda: <any>)",
    "def __reversed__(self): yield <any>",
    "def __length_hint__(self): return <any>",
    "def __divmod__(self, other): return <any>\n__mod__ = __rdivmod__ = __divmod__",
    "def __round__(self, $x=0): return <any>",
    "def __repr__(self): return <any>",
    "def __dir__(self): return <iter>",
    "def __copy__(self): return <any>",
    "def __set_name__(self, owner, name): <v> = name",
    "def __getattribute__(self, name):\n    if name == 'x' and <bool>: raise AttributeError(name)\n    return object.__getattribute__(self, name)",
    "def __getattr__(self, name):\n    <scope>\n    <method>\n    raise AttributeError(name)",
    "x = property(lambda self: <any>)",
    "x = Descriptor()",
    "method = Described(<any>)",
    "prop = Described(lambda *$r: <any>)",
    "shared = [$x for $x in <iter>]",
    "__match_args__ = <tuple>",
    "__class__ = property(lambda self: <kind>)",
    "__init_subclass__ = classmethod(lambda cls, **$m: print('sub', <any>))",
    "method = functools.singledispatchmethod(lambda self, $x=0: ('any', <any>))\n@method.register\ndef $f(self, $x: int): return <any>",
    "def __format__(self, spec): return <any>",
    "def __exit__(self, *$r): raise <error>(<any>)",
    "@functools.lru_cache\ndef method(self, $x=2): return <any>",
    "@contextlib.contextmanager\ndef method(self, $x=2): yield <any>",
    "def build(cls, *$r): yield <any>\nbuild = classmethod(build)",
    "class shared(Base):\n    $x = <any>",
)

META_MEMBERS: Final[tuple[str, ...]] = (
    "def __call__(cls, *$r):\n    <scope>\n    <method>\n    return super().__call__(*$r)",
    "def __getattr__(cls, name):\n    if name.startswith('_'): raise AttributeError(name)\n    return <any>",
    "def __setattr__(cls, name, value):\n    print('on class', name)\n    super().__setattr__(name, value)",
    "def __iter__(cls): yield from <iter>",
    "def __contains__(cls, $x): return <any>",
    "def __len__(cls): return <any>",
    "def __instancecheck__(cls, $x): return <any>",
    "def __subclasscheck__(cls, $x): return <any>",
    "def __prepare__(name, *$r, **$m): return collections.OrderedDict(made=<any>)\n__prepare__ = classmethod(__prepare__)",
    "def __init__(cls, *$r, **$m):\n    <scope>\n    <method>\n    super().__init__(*$r)",
    "def __add__(cls, other): return <any>",
    "def __eq__(cls, other): return <any>\n__hash__ = type.__hash__",
    "def __lt__(cls, other): return <any>",
    "def mro(cls): return super().mro()",
    "def __bool__(cls): return <bool>",
    "made = property(lambda cls: <any>)",
    "missing = Descriptor()",
    "def __new__(meta, name, bases, namespace, **$m):\n    namespace['extra'] = <any>\n    return super().__new__(meta, name, bases, namespace)",
    "def __or__(cls, other): return <any>",
    "def __dir__(cls): return <any>",
)

LIBRARY_PRELUDE: Final = """
import abc, bisect, collections, collections.abc, copy, heapq, json, operator, re
from typing import NamedTuple

def hashed(value):  # not where it may be made of addresses
    found = hash(value)
    own = isinstance(value, int | str | float) or inspect.isfunction(type(value).__hash__)
    return found % 7 if own and not dataclasses.is_dataclass(value) else found is None

class Declining(Base):
    def __add__(self, other): return NotImplemented
    __radd__ = __sub__ = __rsub__ = __iadd__ = __mod__ = __lt__ = __ge__ = __eq__ = __or__ = __ror__ = __add__
    __hash__ = None

class Shown:
    __match_args__ = ('value',)
    def __init__(self, value=None): self.value = value
    def __repr__(self): return f'Shown({self.value!r})'
    def __str__(self): return self.value
    def __format__(self, spec): return format(self.value, spec)
    def __hash__(self): return hashed(self.value)
    def __eq__(self, other): return self.value == other
    def __getattr__(self, name):
        if name.startswith('__'): raise AttributeError(name)
        return getattr(self.value, name)

class Pair(NamedTuple):
    a: object
    b: object = 0

@dataclasses.dataclass(frozen=True, order=True)
class Plain:
    x: int
    y: object = None

class Steps:
    def __init__(self, count): self.count = count
    def __iter__(self): return self
    def __next__(self):
        self.count -= 1
        if self.count < 0: raise StopIteration(self.count)
        return self.count

class Countdown:
    def __init__(self, count): self.count = count
    def __aiter__(self): return self
    async def __anext__(self):
        self.count -= 1
        if await echo(self.count) < 0: raise StopAsyncIteration
        return self.count, await Later(self.count)

class Abstract(abc.ABC):
    @abc.abstractmethod
    def wanted(self): return 'abstract'

class Described:
    def __init__(self, value): self.value = value
    def __get__(self, obj, owner=None): return self.value(obj) if callable(self.value) else self.value

class Failing:
    def __init__(self, error): self.error = error
    def __enter__(self): return self.error
    def __exit__(self, kind, error, tb): raise self.error('exit') from error

class Grouped(ExceptionGroup):
    def derive(self, parts): print('derive', len(parts)); return Grouped(self.message, parts)

def decorated(value):
    def decorate(cls):
        cls.decorated = value
        return cls
    return decorate
@functools.singledispatch
def dispatch(value): return ('other', value)
@dispatch.register
def _(value: int): return value + 1
@dispatch.register(list)
@dispatch.register(collections.abc.Mapping)
def _(value): return len(value)
@functools.cache
def cached(value): print('computed'); return 4
def raising(*args): raise LookupError(*args)
@contextlib.asynccontextmanager
async def amanaged(value):
    print('entered', await Later(value))
    try: yield value
    except ValueError as error: print('swallowed', error)
    finally: await Later('left')
async def gathered(*awaited): return [await each for each in awaited]
"""
