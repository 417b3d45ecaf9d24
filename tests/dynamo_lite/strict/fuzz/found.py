"""Programs that once ran differently, each as short as it could be made."""

from __future__ import annotations

from typing import Final

PROGRAMS: Final[tuple[str, ...]] = (
    # an operator that both operands decline is the caller's error: the method that declined is not in the traceback
    """
class Vec:
    def __add__(self, other): return NotImplemented
    def __lt__(self, other): return NotImplemented
def attempt(fn):
    try: fn()
    except TypeError as error: report(error)
def main():
    attempt(lambda: Vec() + 1)
    attempt(lambda: Vec() < 1)
    vec = Vec()
    attempt(lambda: vec.__iadd__)
""",
    # nor is an __init__ that returned something
    """
class Bad:
    def __init__(self): return 1
def main():
    try: Bad()
    except TypeError as error: report(error)
""",
    # the place of an unbound variable, where its load was joined with its neighbours
    """
def first(): return (late +
        other); late = other = 1
def second():
    other = 1
    return (other
        < late); late = 1
def third():
    other = [1]
    return (other
        [late]); late = 1
def main():
    for fn in (first, second, third):
        try: fn()
        except UnboundLocalError as error: report(error)
""",
    # StopIteration that leaves a generator: whether the RuntimeError's traceback shows the generator
    """
def gen():
    yield 1
    raise StopIteration(2)
def main():
    try: list(gen())
    except RuntimeError as error: report(error)
    it = gen()
    next(it)
    try: it.send(1)
    except RuntimeError as error: report(error)
""",
    # an exception thrown into a generator that has not begun is raised on the line of its def
    """
def gen():
    yield 1
async def coro(): pass
def main():
    for made in (gen(), coro()):
        try: made.throw(KeyError(1))
        except KeyError as error: report(error)
        try: made.throw('no exception')
        except TypeError as error: report(error)
""",
    # whether StopIteration so thrown leaves it as such
    """
def gen():
    yield 1
async def coro(): pass
def main():
    for make in (gen, coro):
        for what in (StopIteration(1), StopIteration, KeyError):
            made = make()
            try: made.throw(what)
            except Exception as error: report(error)
            print(getattr(made, 'gi_frame', None), getattr(made, 'cr_frame', None))
""",
    # an __init__ that is a coroutine or a generator returned something, too
    """
class First:
    async def __init__(self): pass
class Second:
    def __init__(self): yield
def main():
    for cls in (First, Second):
        try: cls()
        except TypeError as error: report(error)
""",
    # what reverse= may be
    """
def main():
    for value in ('u', 2, None, [], 1.5):
        try: print(sorted([1, 2], key=lambda x: x, reverse=value))
        except TypeError as error: report(error)
""",
    # the group that except* puts around a lone exception
    """
def main():
    try:
        raise KeyError(1)
    except* KeyError as group:
        report(group)
""",
    # a metaclass that calls type.__call__ by name is called once
    """
class Meta(type):
    def __call__(cls, *args):
        print('making', cls.__name__)
        return super().__call__(*args)
def main():
    class Made(metaclass=Meta): pass
    return type(Made()).__name__
""",
    # functools.reduce says in its own words what it cannot iterate over
    """
import functools
def main():
    try: functools.reduce(lambda a, b: a, None)
    except TypeError as error: report(error)
""",
    # what a routine raises in the stead of an exception that it caught has the context of the handler around
    """
class Empty:
    def __getitem__(self, key): raise IndexError
class Ended:
    def __iter__(self): return self
    def __next__(self): raise StopIteration
def main():
    for values in (Empty(), Ended()):
        try:
            try: {}['x']
            except KeyError: a, b = values
        except ValueError as error: report(error)
        try:
            try: {}['x']
            except KeyError: *a, b = values
        except ValueError as error: report(error)
""",
    # lengths that lists ask for beforehand, sets that do not; keys computed and items hashed before the next item is asked for
    """
class Sized:
    def __len__(self): print('len'); return 2
    def __getitem__(self, key): print(key); return range(2)[key]
class Negative(Sized):
    def __len__(self): return -1
class Hinted:
    def __iter__(self): return iter(())
    def __length_hint__(self): return 'many'
class Loud:
    def __hash__(self): print('hash'); return 1
def items(count):
    for number in range(count): print('item', number); yield number
def main():
    for make in (list, tuple, set, frozenset, sorted, lambda values: [*values], lambda values: {*values}, bytes):
        for values in (Sized(), Negative(), Hinted()):
            try: print(make(values))
            except Exception as error: report(error)
    print(max(items(3), key=lambda number: print('key', number) or -number), min(items(0), default=4))
    try: max(items(0))
    except ValueError as error: report(error)
    print(len({*(Loud() for _ in items(2))}), len(set(Loud() for _ in items(2))))
""",
    # sequence slots come after both operands' number slots, in place too
    """
class Asked:
    def __radd__(self, other): return ('radd', other)
    def __rmul__(self, other): return ('rmul', other)
class Declines:
    def __radd__(self, other): print('radd'); return NotImplemented
    def __mul__(self, other): print('mul'); return NotImplemented
    def __iter__(self): yield 5
class Twice(Declines):
    def __index__(self): return 2
def attempt(fn):
    try: print(fn())
    except TypeError as error: report(error)
def main():
    a = b = [1]
    a += Asked(); b *= Asked()
    c = [1]
    c += Declines()
    print(a, b, c)
    for count in (Declines(), Twice()):
        attempt(lambda: [1] * count)
        attempt(lambda: count * 'ab')
        attempt(lambda: [1] + count)
        try: count *= [1]
        except TypeError as error: report(error)
""",
    # mappings of a call: what C takes for a missing method, or for a key given twice
    """
class Pairs:
    def __init__(self, keys, get): self.found, self.get = keys, get
    def keys(self): return self.found()
    def __getitem__(self, key): return self.get(key)
def bad(): raise AttributeError('keys')
def key(name): raise KeyError(name)
def keys(name): raise KeyError(name, 1)
def take(**more): return more
def main():
    for pairs in (Pairs(bad, str), Pairs(lambda: 3, str), Pairs(lambda: 'ab', key), Pairs(lambda: 'ab', keys), Pairs(lambda: 'ab', str)):
        for fn in (lambda: take(**pairs), lambda: {**pairs}, lambda: take(a=1, **pairs), lambda: take(**pairs, **pairs)):
            try: print(fn())
            except Exception as error: report(error)
            try: {}['handled']
            except KeyError:
                try: fn()
                except Exception as error: report(error)
""",
    # C's names of types and of callables in messages
    """
import collections
class Meta(type):
    __name__ = property(lambda cls: 'not this')
class Odd(metaclass=Meta):
    def __add__(self, other): return NotImplemented
    def __bool__(self): return collections.deque()
    def __call__(self): pass
    def __str__(self): return 'odd one'
class Sized:
    def __init__(self, length): self.length = length
    def __len__(self): return self.length
def main():
    for fn in (lambda: Odd() + collections.deque(), lambda: not Odd(), lambda: Odd()(*3), lambda: Odd(*3), lambda: Odd()(**3), lambda: type()):
        try: fn()
        except TypeError as error: report(error)
    for length in (-1, 2 ** 70, -2 ** 70, 'a', 2):
        for fn in (len, bool):
            try: print(fn(Sized(length)))
            except Exception as error: report(error)
""",
    # a thrown exception reaches a delegate of a foreign kind as it was given
    """
class Foreign:
    def __iter__(self): return self
    def __next__(self): return 1
    def throw(self, *args): print(args); return 2
def delegate(to): yield from to
def main():
    outer = delegate(delegate(Foreign()))
    next(outer)
    for args in ((KeyError,), (KeyError(1),), (KeyError, 5), (KeyError, None, None)):
        outer.throw(*args)
    try: outer.throw()
    except TypeError as error: report(error)
""",
    # what async for makes of an error of __anext__ has it as its context, too
    """
class Wrong:
    def __aiter__(self): return self
    def __anext__(self): return 3
async def loop():
    try: {}['handled']
    except KeyError:
        async for each in Wrong(): pass
def main():
    try: loop().send(None)
    except TypeError as error: report(error)
""",
    # the place of an error in __bool__ is that of the test, not what stands before it
    """
class Odd:
    def __bool__(self): return 3
class Bad:
    def __bool__(self): raise KeyError(1)
def negated(value):
    return (not
        value)
def tested(value):
    if 1 < 2 and (
        value):
        pass
def caught(value):
    try:
        if value: pass
    except (KeyError, TypeError) as error: report(error)
def repeated(kind):
    again = True
    try:
        while (
            again): again = kind()
    except KeyError as error: report(error)
def main():
    repeated(Bad)
    for value in (Odd(), Bad()):
        for fn in (negated, tested, caught):
            try: fn(value)
            except (KeyError, TypeError) as error: report(error)
""",
    # a format specification that is no string; ascii() and __index__ of subclasses; a blocked __class_getitem__
    """
import warnings
class Text(str): pass
class Number(int): pass
class Shown:
    def __format__(self, spec): print('asked', spec)
    def __repr__(self): return Text('plain')
    def __index__(self): return Number(1)
class Blocked(tuple):
    __class_getitem__ = None
def main():
    for fn in (lambda: format(Shown(), 3), lambda: format(Shown(), None), lambda: Blocked[int]):
        try: fn()
        except TypeError as error: report(error)
    print(type(ascii(Shown())), type(f'{Shown()!a}'))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        print([4, 5][Shown()], 'ab'[Shown():])
        print([(each.category, str(each.message), each.lineno) for each in caught])
""",
    # globals that make what is missing
    """
class Made(dict):
    def __missing__(self, name):
        if name == 'unknown': raise KeyError(name)
        return 'made ' + name
def main():
    print(eval('(lambda: [spam, len(spam)])()', Made()))
    eval('(lambda: unknown)()', Made())
""",
    # a classmethod around what cannot be called
    """
class Odd:
    cached = classmethod(property(lambda cls: 'value'))
    number = classmethod(3)
def main():
    for get in (lambda: Odd.cached, lambda: Odd().cached, lambda: Odd.number, lambda: Odd().number, lambda: Odd.number()):
        try: print(get())
        except TypeError as error: report(error)
""",
    # a slice's parts, which C asks for the step first
    """
class Part:
    def __init__(self, name, value): self.name, self.value = name, value
    def __index__(self): print('asked', self.name); return self.value
class Items:
    def __init__(self, made): self.made = made
    def __iter__(self): print('iterated'); return iter(self.made)
def main():
    items = [1, 2, 3, 4]
    a, b, c, zero, none, other = Part('a', 0), Part('b', 3), Part('c', 2), Part('zero', 0), Part('none', None), object()
    for key in (slice(a, b, c), slice(a, b, zero), slice(other, a), slice(a, other), slice(a, b, other), slice(None, none), slice(a, None, c)):
        for of in (items, 'text', range(5), b'bytes'):
            try: print(of[key])
            except (TypeError, ValueError) as error: report(error)
        try:
            items[key] = Items([7, 8])
            print(items)
            del items[key]
        except (TypeError, ValueError) as error: report(error)
""",
)
