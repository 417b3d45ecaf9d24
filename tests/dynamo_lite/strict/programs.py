"""Random programs for differential testing: exceptions, generators, closures, classes, comprehensions, ``with``, ``match``."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

NAMES = ("a", "b", "c", "d")
ERRORS = ("ValueError", "KeyError", "IndexError", "ZeroDivisionError", "TypeError", "AttributeError")


class Writer:
    """Writes one program; every choice comes from ``random``."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.lines: list[str] = []
        self.depth = 0
        self.budget = 40
        self.serial = 0
        self.loop = 0
        self.function: str | None = None

    def program(self) -> str:
        self.lines += [
            "class Manager:",
            "    def __init__(self, name, hide): self.name, self.hide = name, hide",
            "    def __enter__(self): print('enter', self.name); return self",
            "    def __repr__(self): return f'Manager({self.name!r})'",
            "    def __exit__(self, kind, error, tb): print('exit', self.name, kind); return self.hide",
            "",
            "def main():",
            "    a, b, c, d = 1, [2, 3], {'k': 4}, 'text'",
        ]
        self.depth = 1
        self.function = "main"
        self.budget = 60
        for _ in range(self.random.randint(2, 7)):
            self.put("try:")
            self.body()
            self.put("except Exception as error:")
            self.put("    report(error)")
            # values that later statements can work with
            self.put(
                f"{self.name()} = {self.random.choice(['3', '[1, 2]', '(4, 5)', 'dict(k=1)', repr('word')])}"
            )
        self.put(f"return ({', '.join(NAMES)})")
        return "\n".join(self.lines) + "\n"

    def put(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def name(self) -> str:
        return self.random.choice(NAMES)

    def fresh(self, stem: str) -> str:
        self.serial += 1
        return f"{stem}{self.serial}"

    # --- expressions

    def expression(self, depth: int = 0) -> str:
        simple: list[Callable[[], str]] = [
            lambda: str(self.random.randint(-3, 5)),
            self.name,
            lambda: repr(self.random.choice(["", "x", "key"])),
            lambda: self.random.choice(["None", "True", "False", "1.5", "()"]),
        ]
        if depth > 2:
            return self.random.choice(simple)()

        def sub() -> str:
            return self.expression(depth + 1)

        compound: list[Callable[[], str]] = [
            lambda: (
                f"({sub()} {self.random.choice(['+', '-', '*', '//', '%', '|', '==', '<', 'is', 'and', 'or', 'in'])} {sub()})"
            ),
            lambda: f"(not {sub()})",
            lambda: f"({sub()} if {sub()} else {sub()})",
            lambda: f"[{sub()}, {sub()}]",
            lambda: f"({sub()}, {sub()})",
            lambda: f"{{{sub()!s}: {sub()}}}",
            lambda: f"{sub()}[{sub()}]",
            lambda: f"str({sub()})",
            lambda: f"len({sub()})",
            lambda: f"[x for x in {sub()} if {sub()}]",
            lambda: f"{{x: y for x, y in enumerate({sub()})}}",
            lambda: f"sorted({sub()}, key=lambda v: {sub()})",
            lambda: f"sum({sub()} for x in range({self.random.randint(0, 3)}))",
            lambda: f"f'{{{self.name()}!r}}-{{{self.name()}}}'",
            lambda: f"(lambda p, q=2, *r, k=3: (p, q, r, k))({sub()})",
            lambda: f"isinstance({sub()}, (int, str))",
            lambda: f"list(map(lambda v: {sub()}, {sub()}))",
            lambda: f"getattr({sub()}, 'missing', {sub()})",
            lambda: f"any({sub()} for x in {sub()})",
        ]
        return self.random.choice(simple + compound + compound)()

    # --- statements

    def block(self, most: int) -> None:
        for _ in range(self.random.randint(1, most)):
            self.statement()

    def body(self, most: int = 2) -> None:
        self.depth += 1
        self.block(most)
        self.depth -= 1

    def statement(self) -> None:
        self.budget -= 1
        small = [self.assign, self.show, self.augment, self.raising, self.call]
        large = [
            self.if_, self.for_, self.while_, self.try_, self.try_, self.with_, self.function_, self.generator,
            self.class_, self.match, self.star,
        ]  # fmt: skip
        choices = small if self.budget <= 0 or self.depth > 5 else small + large
        self.random.choice(choices)()

    def assign(self) -> None:
        target = self.random.choice(
            [
                self.name(),
                f"{self.name()}, {self.name()}",
                f"{self.name()}, *{self.name()}",
                f"{self.name()}[{self.expression()}]",
            ]
        )
        self.put(f"{target} = {self.expression()}")

    def show(self) -> None:
        self.put(f"print({self.expression()})")

    def augment(self) -> None:
        self.put(f"{self.name()} {self.random.choice(['+=', '-=', '*=', '|='])} {self.expression()}")

    def call(self) -> None:
        self.put(f"{self.expression()}")

    def raising(self) -> None:
        if self.random.random() < 0.5:
            self.show()
            return
        error = f"{self.random.choice(ERRORS)}({self.expression()})"
        cause = self.random.choice(["", "", " from None", " from KeyError('cause')"])
        self.put(f"if {self.expression()}: raise {error}{cause}")

    def if_(self) -> None:
        test = self.expression()
        self.put(f"if ({self.name()} := {test}):" if self.random.random() < 0.3 else f"if {test}:")
        self.body()
        self.put("else:")
        self.body()

    def for_(self) -> None:
        self.put(f"for {self.name()} in {self.expression()}:")
        self.loop += 1
        self.body()
        if self.random.random() < 0.4:
            self.put(f"    if {self.expression()}: {self.random.choice(['break', 'continue'])}")
        self.loop -= 1
        if self.random.random() < 0.3:
            self.put("else:")
            self.body(1)

    def while_(self) -> None:
        counter = self.fresh("n")
        self.put(f"{counter} = {self.random.randint(1, 3)}")
        self.put(f"while {counter} > 0:")
        self.put(f"    {counter} -= 1")
        self.body()

    def try_(self) -> None:
        self.put("try:")
        self.body()
        shape = self.random.randint(0, 3)
        if shape != 3:
            kinds = self.random.choice(
                ["Exception", f"({self.random.choice(ERRORS)}, TypeError)", self.random.choice(ERRORS)]
            )
            self.put(f"except {kinds} as error:")
            self.put("    print(type(error).__name__, error)")
            self.body()
            if self.random.random() < 0.3:
                self.put("    raise")
            if shape == 1:
                self.put("else:")
                self.body(1)
        if shape in (2, 3):
            self.put("finally:")
            self.put("    print('finally')")
            if self.random.random() < 0.3:
                self.body(1)

    def star(self) -> None:
        self.put("try:")
        self.put(
            f"    raise ExceptionGroup('g', [{self.random.choice(ERRORS)}(1), {self.random.choice(ERRORS)}(2)])"
        )
        self.put(f"except* {self.random.choice(ERRORS)} as group:")
        self.put("    print(group.exceptions)")

    def with_(self) -> None:
        hide = self.random.choice(["True", "False", "None"])
        self.put(f"with Manager({self.serial}, {hide}) as {self.name()}:")
        self.body()

    def function_(self) -> None:
        name = self.fresh("f")
        self.put(f"def {name}(p, q=1, *rest, k=2, **more):")
        if self.random.random() < 0.5:
            self.put(
                f"    nonlocal {self.name()}" if self.function == "main" and self.depth == 1 else "    pass"
            )
        outer, self.function = self.function, name
        self.depth += 1
        self.put("a, b = p, q") if "nonlocal" not in self.lines[-1] else None
        self.put("c = d = None") if "nonlocal" not in self.lines[-2] and "nonlocal" not in self.lines[
            -1
        ] else None
        self.block(2)
        self.put(f"return {self.expression()}")
        self.depth -= 1
        self.function = outer
        self.put(
            f"{self.name()} = {name}({self.expression()}, {self.random.choice(['k=3', 'q=4', 'extra=5', '1, 2, 3'])})"
        )

    def generator(self) -> None:
        name = self.fresh("g")
        self.put(f"def {name}(n):")
        self.put("    a = b = c = d = n")
        self.depth += 1
        self.put("try:")
        self.put(f"    got = yield {self.expression(2)}")
        self.put("    print('got', got)")
        self.put(f"    yield from {self.expression(2)}")
        self.put(f"    yield {self.expression()}")
        self.put("finally:")
        self.put("    print('closed')")
        self.put(f"return {self.expression(2)}")
        self.depth -= 1
        use = self.random.choice(
            [
                f"{self.name()} = list({name}([1, 2]))",
                f"it = {name}('ab'); print(next(it)); it.close()",
                f"it = {name}(3); next(it); print(it.send(5))",
                f"it = {name}('x'); next(it); print(it.throw({self.random.choice(ERRORS)}('thrown')))",
                f"for {self.name()} in {name}((1,)): print({self.name()})",
            ]
        )
        self.put(use)

    def class_(self) -> None:
        name = self.fresh("C")
        self.put(f"class {name}({self.random.choice(['object', 'list', 'dict', 'Exception'])}):")
        self.put(f"    shared = {self.random.randint(0, 3)}")
        self.put(f"    def method(self, x=1): return ({name}.shared, x)")
        self.put(f"    def __repr__(self): return '{name}()'")
        self.put("    @property")
        self.put("    def prop(self): return self.method(2)")
        self.put("    @classmethod")
        self.put("    def build(cls): return cls().prop")
        if self.random.random() < 0.5:
            self.put("    def __add__(self, other): return ('added', other)")
            self.put("    def __eq__(self, other): return NotImplemented")
            self.put(f"    def __bool__(self): return {self.random.choice(['True', 'False'])}")
        self.put(f"print({name}().prop, {name}.build(), bool({name}()))")
        self.put(f"{self.name()} = {name}().method({self.expression(2)})")

    def match(self) -> None:
        self.put(f"match {self.expression()}:")
        self.put("    case [first, *rest]:")
        self.put("        print('sequence', first, rest)")
        self.put("    case {'k': value}:")
        self.put("        print('mapping', value)")
        self.put("    case int(number) if number > 1:")
        self.put("        print('int', number)")
        self.put("    case str() | None:")
        self.put("        print('str or None')")
        self.put("    case other:")
        self.put("        print('other')")


def write_program(random: Random) -> str:
    """A program that defines ``main()``."""
    return Writer(random).program()
