"""The grammar of statements: productions with what they need around them.

A line that is only ``<block>``, ``<loop>``, ``<handler>`` … stands for statements, indented as it is. ``needs`` names what must be
around (a loop to break out of, a function to return from); a body gives to its statements what ``GIVES`` says.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Production(NamedTuple):
    """A statement: its text, what must be around it (all the words), how often it is taken, from which Python on."""

    text: str
    needs: str = ""
    weight: int = 2
    since: tuple[int, int] = (3, 11)


ELSE: Final = "\nelse:\n    <block>"


def loop(head: str, ending: str = "") -> str:
    """A loop that counts its rounds, so that it comes to an end."""
    return f"{head}:\n    tick()\n    <loop>{ending}"


def tried(clauses: str) -> str:
    """Statements with ``except`` and ``finally`` clauses around them."""
    return f"try:\n    <block>\n{clauses}"


# what a body adds to (+) or takes from (-) what is around
GIVES: Final[dict[str, str]] = {
    "block": "",
    "loop": "+loop",
    "handler": "+handler",
    "starred": "-loop -function -asyncgen",
    "function": "+function -loop -handler -generator -async -class -asyncgen -main",
    "method": "+function -loop -handler -generator -async -class -asyncgen -main",
    "generator": "+function +generator -loop -handler -async -class -asyncgen -main",
    "coroutine": "+function +async -loop -handler -generator -class -asyncgen -main",
    "asyncgen": "+asyncgen +async -function -loop -handler -generator -class -main",
    "class": "+class -function -loop -handler -generator -async -asyncgen -main",
}

SIMPLE: Final[tuple[Production, ...]] = (
    Production("<i> = <int>", weight=4),
    Production("<s> = <str>", weight=3),
    Production("<l> = <list>", weight=3),
    Production("<d> = <dict>", weight=3),
    Production("<o> = <obj>", weight=3),
    Production("<v> = <any>", weight=1),
    Production("<i> = <i> = <int>"),
    Production("<i>, <s> = <int>, <str>"),
    Production("<i>, <i> = <i>, <i>"),
    Production("a, b, s = <int>, <int>, <str>"),
    Production("<i>, <i> = <iter>"),
    Production("<i>, *<l> = <iter>"),
    Production("*<l>, <i> = <iter>"),
    Production("(<i>, [<i>, *<l>]) = <tuple>"),
    Production("<l>[<digit>] = <any>"),
    Production("<l>[<slice>] = <list>"),
    Production("<d>[<key>] = <int>"),
    Production("<o>.<attr> = <any>"),
    Production("<o>[<int>] = <int>"),
    Production("<i>: int = <int>", needs="class"),
    Production("$x: 'note' = <any>"),
    Production("<i> += <int>"),
    Production("<i> -= <int>"),
    Production("<i> //= <int>", weight=1),
    Production("<i> &= <int>", weight=1),
    Production("<i> **= 2; <i> %= 50", weight=1),
    Production("<l>[<digit>] += <int>"),
    Production("<d>[<key>] -= <int>"),
    Production("<o>.x += <int>"),
    Production("<o> += <int>"),
    Production("<o> *= <o>", weight=1),
    Production("<l> += <list>; <l> = <l>[:8]"),
    Production("<d> |= <dict>"),
    Production("del <v>", weight=1),
    Production("del <l>[<digit>]"),
    Production("del <l>[<slice>]", weight=1),
    Production("del <d>[<key>]"),
    Production("del <o>.<attr>"),
    Production("del <o>[<int>]", weight=1),
    Production("print(<any>)", weight=5),
    Production("print(<str>, *<list>, sep='/')"),
    Production("print(sorted(<dict>))", weight=1),
    Production("print(locals().get('a'), 'a' in globals())", weight=1),
    Production("print(eval('<i> + 1'), eval('<s>[:1]'))", weight=1),
    Production("exec('$x = 1; print($x)')", weight=1),
    Production("print(sorted(vars(<o>)))", weight=1),
    Production("<any>", weight=2),
    Production("<l>.append(<int>); <l> = <l>[-8:]"),
    Production("<l>.sort(key=lambda $x: -$x)"),
    Production("print(<d>.pop(<key>, <int>))"),
    Production("if (<i> := <int>) > <int>: print(<i>)"),
    Production("print([$x for $y in <list> if ($x := $y) > 1])", needs="main"),
    Production("print((<s> := <str>), <s>)"),
    Production("assert <bool>, <any>"),
    Production("assert <any>", weight=1),
    Production("if <bool>: raise <error>(<any>)", weight=4),
    Production("if <bool>: raise <error>", weight=1),
    Production("if <bool>: raise <error>(<int>) from <error>('cause')", weight=1),
    Production("if <bool>: raise <error>(<int>) from None", weight=1),
    Production("raise <error>(<any>, <int>)", weight=1),
    Production("raise <v>", weight=1),
    Production("if <bool>: raise", needs="handler"),
    Production("print(sys.exc_info()[0])"),
    Production("report(sys.exc_info()[1])", needs="handler"),
    Production("import math as $m; print($m.floor(<float>))", weight=1),
    Production("from math import gcd, floor as $m; print(gcd(4, 6), $m(1.5))", weight=1),
    Production("import os.path; print(os.path.basename('a/b'))", weight=1),
    Production("from missing_module import x", weight=1),
    Production("import collections.abc as $m; print(isinstance(<v>, $m.Sequence))", weight=1),
    Production("print(f\"{<v>!s}{'nested'}{<i>:>{<i>}}\")"),
    Production("print(__name__, <o>.__class__.__name__)", weight=1),
    Production("if <bool>: break", needs="loop", weight=3),
    Production("if <bool>: continue", needs="loop", weight=3),
    Production("continue", needs="loop", weight=1),
    Production("if <bool>: return <any>", needs="function", weight=3),
    Production("return <any>", needs="function", weight=1),
    Production("return", needs="asyncgen", weight=1),
    Production("yield <any>", needs="generator", weight=6),
    Production("<v> = yield", needs="generator", weight=2),
    Production("<v> = yield <any>", needs="generator", weight=5),
    Production("<v> = yield from <iter>", needs="generator", weight=4),
    Production("print((yield <int>), (yield <str>))", needs="generator"),
    Production("yield <any>", needs="asyncgen", weight=5),
    Production("print('sent', (yield <any>))", needs="asyncgen"),
    Production("<v> = await Later(<any>)", needs="async", weight=5),
    Production("print(await Later(<int>), await echo(<any>))", needs="async", weight=3),
    Production("<l> = [$x async for $x in ticker(<digit>)]", needs="async"),
    Production("<l> = [$x async for $x in ticker(3) if await echo($x)]", needs="async"),
    Production("<d> = {str($x): await echo($x) for $x in <list>}", needs="async"),
    Production("print(sum([$x async for $x in ($y async for $y in ticker(3))]))", needs="async"),
    Production("await (<any>)", needs="async", weight=1),
    Production("type $x = list[<v>]; print($x, $x.__value__)", weight=1, since=(3, 12)),
)

COMPOUND: Final[tuple[Production, ...]] = (
    Production("if <bool>:\n    <block>\nelif <any>:\n    <block>\nelse:\n    <block>", weight=3),
    Production("if <any>:\n    <block>", weight=3),
    Production(loop("for <i> in <iter>"), weight=3),
    Production(loop("for <i>, <s> in <iter>", "\nelse:\n    print('no break')")),
    Production(loop("for <l>[0] in <list>"), weight=1),
    Production("for $x in <list>:\n    for $y in <iter>:\n        tick()\n        <loop>\n    <loop>", weight=1),
    Production("$n = 3\nwhile $n > 0:\n    $n -= 1\n    <loop>"),
    Production("$n = <int> % 4\nwhile $n > 0:\n    $n -= 1\n    <loop>\nelse:\n    <block>"),
    Production("$n = 0\nwhile True:\n    $n += 1\n    if $n > 3: break\n    <loop>"),
    Production("while (<i> := <i> - 1) > 0 and tick():\n    <loop>", weight=1),
    Production(tried("except <error> as $e:\n    report($e)\n    <handler>"), weight=4),
    Production(tried("except (<error>, <error>) as $e:\n    <handler>\nexcept Exception as $e:\n    report($e)\n    raise"), weight=2),
    Production(tried("except:\n    <handler>\nelse:\n    <block>\nfinally:\n    print('finally')"), weight=3),
    Production(tried("finally:\n    <block>"), weight=3),
    Production(tried("except Exception as $e:\n    raise <error>(<any>) from $e"), weight=2),
    Production(tried("except Exception as $e:\n    $e.add_note(<str>)\n    o = $e\n    raise"), weight=1),
    Production("try:\n    raise <error>(<int>)\nexcept LookupError:\n    <handler>\nexcept Exception as $e:\n    try:\n        <handler>\n    finally:\n        print(sys.exc_info()[0], $e.__context__)", weight=2),
    Production("try:\n    try:\n        <block>\n    finally:\n        raise <error>('from finally')\nexcept Exception as $e:\n    report($e)", weight=1),
    Production("try:\n    raise ExceptionGroup('g', [<error>(1), ExceptionGroup('h', [<error>(<int>), Problem(2)])])\nexcept* <error> as $e:\n    print($e.exceptions)\n    <starred>\nexcept* (<error>, OSError) as $e:\n    report($e)\n    <starred>", weight=2),
    Production("try:\n    <starred>\nexcept* <error>:\n    <starred>\nelse:\n    <block>\nfinally:\n    print('star finally')", weight=2),
    Production("try:\n    raise ExceptionGroup('r', [<error>(<int>), <error>(2)])\nexcept* <error> as $e:\n    raise\nexcept* <error> as $e:\n    raise <error>('new') from $e", weight=1),
    Production("with Manager(<str>, <bool>) as <o>:\n    <block>", weight=2),
    Production("with Manager('one', <any>), Manager('two', <bool>) as $m:\n    <block>"),
    Production("with suppress(<error>):\n    <block>"),
    Production("with managed(<int>) as <i>:\n    <block>"),
    Production("with <o>:\n    <block>", weight=1),
    Production("with (Manager(1, True) as <v>, Manager(2, False)):\n    raise <error>(<int>)", weight=1),
    Production("async with Manager(<str>, <bool>) as <v>:\n    <block>", needs="async", weight=5),
    Production(loop("async for <i> in ticker(<digit>)", "\nelse:\n    print('async else')"), needs="async", weight=5),
    Production("async for <i> in <any>:\n    <loop>", needs="async", weight=1),
    Production("match <any>:\n    case 0 | 1 | -1:\n        <block>\n    case [$x, *$r] if <bool>:\n        print($x, $r)\n    case {'k': $x, **$r}:\n        print($x, $r)\n        <block>\n    case Vec(x=$x) | Base($x):\n        print('object', $x)\n    case str($x) | float($x):\n        print($x)\n    case None | True | False:\n        print('constant')\n    case _:\n        <block>", weight=3),
    Production("match <tuple>:\n    case (int($x), int() as $y):\n        print($x, $y)\n    case [_, _, [$x, *_]]:\n        print($x)\n    case []:\n        <block>\n    case (*$r, 'text'):\n        print($r)", weight=2),
    Production("match <obj>:\n    case Point(x=0, y=$y) | Point($y, 1):\n        print($y)\n    case Point(1, $y, z=_):\n        print('z')\n    case Color.RED:\n        print('red')\n    case Base(x=int($x)):\n        print($x)", weight=2),
    Production("match <dict>:\n    case {'k': 1 | 2 as $x, 'm': $y}:\n        print($x, $y)\n    case {'x': {'k': $x}}:\n        print($x)\n    case {}:\n        <block>", weight=1),
)  # fmt: skip
