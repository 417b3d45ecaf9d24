"""The grammar of expressions: kind → productions. ``<kind>`` stands for an expression of that kind, ``$x`` for a new name.

Values are small and bounded, so that loops cannot make them grow without end.
"""

from __future__ import annotations

from typing import Final

ERRORS: Final = (
    "ValueError", "KeyError", "IndexError", "ZeroDivisionError", "TypeError", "AttributeError", "LookupError", "StopIteration",
    "Problem", "OSError",
)  # fmt: skip

EXPRESSIONS: Final[dict[str, tuple[str, ...]]] = {
    "i": ("a", "b"),
    "s": ("s", "t"),
    "l": ("p", "q"),
    "d": ("d", "e"),
    "o": ("o", "u"),
    "v": ("a", "b", "s", "t", "p", "q", "d", "e", "o", "u"),
    "digit": ("0", "1", "2", "3", "4", "-1", "-2", "7"),
    "key": ("'k'", "'m'", "'x'", "'shared'"),
    "attr": ("x", "y", "shared", "method", "prop", "missing", "slotted"),
    "error": ERRORS,
    "int": (
        "<digit>", "<digit>", "<i>", "<i>", "<i>", "(<int> + <int>)", "(<int> - <int>)", "((<int> * <digit>) % 97)",
        "(<int> // <int>)", "(<int> % <int>)", "(<int> & <int>)", "(<int> | <int>)", "(<int> ^ <int>)", "(<digit> << 2)",
        "(<int> >> 1)", "(<digit> ** 2)", "-<i>", "+<i>", "~<i>", "len(<list>)", "len(<str>)", "len(<dict>)", "<list>[<digit>]",
        "<dict>[<key>]", "<l>[<digit>]", "<d>[<key>]", "sum(<list>)", "sum(<gen>)", "max(<list>)", "min(<list>, default=<int>)",
        "abs(<int>)", "(<int> if <bool> else <int>)", "<o>.x", "<o>.method(<int>)", "<o>.prop", "<o>(<int>)", "<o>[<int>]",
        "(lambda $x, $y=<int>, *$r, $k=3: <int>)(<int>)", "(lambda $x, /, $y=2: $x + $y)(<int>)", "int(<str>)", "ord(<str>[0])",
        "getattr(<o>, 'x', <int>)", "next(iter(<iter>))", "next(<gen>, <int>)", "divmod(<int>, 3)[1]", "round(<float>)",
        "functools.reduce(lambda $x, $y: $x + $y, <list>, 0)", "hash(<int>)", "(<int>).__add__(<int>)", "int(<float>)",
        "fact(<digit>)", "spread(*<list>)", "spread(<int>, *<list>, **<dict>)", "spread(<int>, k=<int>)", "outer_value",
    ),
    "float": ("1.5", "0.25", "(<int> / <int>)", "float(<int>)", "(<int> / 4)", "math.sqrt(abs(<int>))"),
    "bool": (
        "True", "False", "(<int> < <int>)", "(<int> <= <int> < <int>)", "(<int> == <any>)", "(<any> != <any>)", "(<v> is <v>)",
        "(<v> is not None)", "(<v> is None)", "(<int> in <list>)", "(<key> not in <dict>)", "(not <any>)", "(<bool> and <any>)",
        "(<any> or <bool>)", "isinstance(<v>, (int, str))", "isinstance(<any>, Vec)", "issubclass(type(<v>), Base)",
        "any(<gen>)", "all($x for $x in <list>)", "hasattr(<o>, '<attr>')", "callable(<v>)", "bool(<o>)", "(<o> < <o>)",
        "(<o> == <o>)", "(<int> in <o>)", "(<str> > <str>)", "<str>.startswith(<str>)",
    ),
    "str": (
        "'text'", "'ab'", "''", "<s>", "<s>", "(<str> + <str>)[:20]", "(<str> * <digit>)[:20]", "str(<any>)[:30]",
        "repr(<any>)[:30]", "f'{<v>}-{<i>}'[:40]", "f'{<v>!r:>6}|{<i>:03d}'", "f'{<i>=}{<s>!a}'", "f'{<i>:{<i>}}'",
        "f'{<o>:spec}'", "'%s/%d' % (<any>, <int>)", "'{} {k}'.format(<int>, k=<any>)[:30]", "','.join(map(str, <list>))",
        "<s>.upper()", "<str>[<slice>]", "<str>[::-1]", "type(<any>).__name__", "<o>.name", "'-'.join($x for $x in <str>)",
        "chr(97 + abs(<int>) % 20)", "format(<int>, '>4')", "ascii(<str>)",
    ),
    "slice": (":", "<digit>:", ":<digit>", "<digit>:<digit>", "::2", "<digit>::-1", "<int>:<int>"),
    "list": (
        "[]", "[1, 2, 3]", "<l>", "<l>", "[<int>, <int>]", "[<int>, *<list>][:8]", "(<list> + <list>)[:8]", "<list>[<slice>]",
        "[$x for $x in <iter>]", "[$x + <int> for $x in <list> if $x > <digit>]", "sorted(<list>)", "list(<gen>)", "list(<iter>)",
        "[$x * $y for $x in <list> for $y in range(2)][:8]", "sorted(<list>, key=lambda $x: -$x, reverse=<bool>)",
        "list(map(lambda $x: $x + <int>, <list>))", "list(filter(lambda $x: $x > <int>, <list>))", "list(range(abs(<int>) % 5))",
        "[$f() for $f in [lambda: $x for $x in <list>]]", "[(lambda $y: $y + $x)(<int>) for $x in <list>]",
        "[[$y for $y in <list>] for $x in range(2)][0]", "list(zip(<list>, <str>))", "list(enumerate(<str>))",
        "list(itertools.accumulate(<list>))", "list(itertools.chain(<list>, <list>))[:8]", "list(reversed(<list>))",
        "[*<iter>, *<iter>][:8]", "list(counter(<digit>))", "list(<o>)[:5]", "list(<dict>.values())",
    ),
    "dict": (
        "{}", "{'k': 1}", "<d>", "<d>", "{<key>: <int>, 'm': <int>}", "{**<dict>, <key>: <int>}", "dict(k=<int>)",
        "{$x: $y for $x, $y in zip(<str>, <list>)}", "{str($x): $x for $x in <list> if <bool>}", "dict(<dict>, x=<int>)",
        "{'k': <int>, **<dict>}", "(<dict> | <dict>)", "dict(zip('kmx', <list>))",
    ),
    "set": ("{1, 2}", "set(<list>)", "{$x % 3 for $x in <list>}", "{<int>, *<list>}", "({1, 2} | {<int>})", "frozenset({2, <int>})"),
    "tuple": ("()", "(<any>,)", "(<any>, <any>)", "(*<list>, <any>)[:6]", "tuple(<iter>)[:6]", "(<int>, <str>, <list>)"),
    "gen": (
        "($x for $x in <list>)", "($x + <int> for $x in <iter> if $x)", "counter(<int>)", "delegate(<list>)", "iter(<list>)",
        "(($x, $y)[0] for $x in <list> for $y in range($x % 3))",
    ),
    "iter": ("<list>", "<list>", "range(3)", "<gen>", "<str>", "<tuple>", "<dict>.items()", "<set>", "zip(<list>, <list>)", "<o>", "map(abs, <list>)"),
    "obj": (
        "<o>", "<o>", "Vec(<int>)", "Base(<int>)", "Child(<int>)", "(<o> + <o>)", "(<o> + <int>)", "(<int> + <o>)", "(<o> - <int>)",
        "(<o> * <int>)", "-<o>", "(<o> @ <o>)", "Point(<int>, <int>)", "Color.RED", "Dyn()", "Base.build(<int>)", "Slotted(<int>)",
    ),
    "any": ("<int>", "<int>", "<str>", "<list>", "<dict>", "<obj>", "<tuple>", "<bool>", "<set>", "<float>", "None", "<v>", "..."),
}  # fmt: skip
