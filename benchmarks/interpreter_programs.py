"""Programs that the interpreter is timed on. Each takes a size and returns a value to check by."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Final


def loops(n: int) -> int:
    total = 0
    for i in range(n):
        if i % 3 == 0:
            total += i
        else:
            total -= 1
    while n > 0:
        n -= 1
        total ^= n
    return total


def calls(n: int) -> int:
    def add(a: int, b: int) -> int:
        return a + b

    def scale(a: int, *, by: int = 2) -> int:
        return a * by

    def fib(k: int) -> int:
        return k if k < 2 else fib(k - 1) + fib(k - 2)

    total = 0
    for i in range(n):
        total = add(total, scale(i, by=3))
    return total + fib(14)


class _Point:
    scale = 2

    def __init__(self, x: int, y: int) -> None:
        self.x = x
        self.y = y

    @property
    def total(self) -> int:
        return self.x + self.y

    def moved(self, dx: int) -> int:
        self.x += dx
        return self.x * self.scale


def attributes(n: int) -> int:
    point = _Point(1, 2)
    out = 0
    for _ in range(n):
        out += point.moved(1) + point.total - point.y
    return out


def generators(n: int) -> int:
    def count(k: int) -> Iterator[int]:
        for i in range(k):
            yield i * 2

    def outer(k: int) -> Iterator[int]:
        yield from count(k)

    return sum(x + 1 for x in outer(n)) + sum(1 for _ in count(n))


def comprehensions(n: int) -> int:
    squares = [i * i for i in range(n) if i % 2]
    table = {i: -i for i in range(n)}
    kinds = {i % 7 for i in range(n)}
    return len(squares) + len(table) + len(kinds) + sum(squares)


def exceptions(n: int) -> int:
    caught = 0
    for i in range(n):
        try:
            if i % 2:
                raise ValueError(i)
            [][i]
        except (ValueError, IndexError):
            caught += 1
        finally:
            caught += 1
    return caught


class _Vector:
    __slots__ = ("x", "y")

    def __init__(self, x: float, y: float) -> None:
        self.x = x
        self.y = y

    def __add__(self, other: _Vector) -> _Vector:
        return _Vector(self.x + other.x, self.y + other.y)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Vector) and self.x == other.x and self.y == other.y

    def __hash__(self) -> int:
        return hash((self.x, self.y))


def classes(n: int) -> float:
    total = _Vector(0.0, 0.0)
    step = _Vector(1.0, 0.5)
    for _ in range(n):
        total = total + step
        if total == step:
            total.y += 1.0
    return total.x + total.y


def nbody(n: int) -> float:
    """Planets that attract each other, with symplectic Euler steps."""
    bodies = [
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 39.47],
        [4.84, -1.16, -0.10, 0.61, 2.81, -0.02, 0.037],
        [8.34, 4.12, -0.40, -1.01, 1.82, 0.008, 0.011],
        [12.89, -15.11, -0.22, 1.08, 0.87, -0.01, 0.0017],
        [15.37, -25.9, 0.179, 0.98, 0.59, -0.03, 0.002],
    ]
    pairs = [(bodies[i], bodies[j]) for i in range(5) for j in range(i + 1, 5)]
    for _ in range(n):
        for first, second in pairs:
            dx = first[0] - second[0]
            dy = first[1] - second[1]
            dz = first[2] - second[2]
            square = dx * dx + dy * dy + dz * dz
            pull = 0.01 / (square * math.sqrt(square))
            a = second[6] * pull
            b = first[6] * pull
            first[3] -= dx * a
            first[4] -= dy * a
            first[5] -= dz * a
            second[3] += dx * b
            second[4] += dy * b
            second[5] += dz * b
        for body in bodies:
            for axis in range(3):
                body[axis] += 0.01 * body[axis + 3]
    return sum(body[6] * (body[3] ** 2 + body[4] ** 2 + body[5] ** 2) for body in bodies)


class _Task:
    """A scheduler's task: idle, worker, handler or device, told apart by subclasses."""

    def __init__(self, name: str, priority: int) -> None:
        self.name = name
        self.priority = priority
        self.queue: list[tuple[str, int]] = []
        self.done = 0

    def receive(self, packet: tuple[str, int]) -> None:
        self.queue.append(packet)

    def ready(self) -> bool:
        return bool(self.queue)

    def step(self, scheduler: _Scheduler) -> None:
        raise NotImplementedError


class _Worker(_Task):
    def step(self, scheduler: _Scheduler) -> None:
        kind, value = self.queue.pop(0)
        self.done += 1
        if value > 0:
            target = "device" if (value ^ self.done) & 1 else "handler"
            scheduler.send(target, (kind, value - 1))


class _Handler(_Task):
    def step(self, scheduler: _Scheduler) -> None:
        kind, value = self.queue.pop(0)
        self.done += len(kind)
        scheduler.send("worker", (kind[1:] + kind[:1], value))


class _Device(_Task):
    def __init__(self, name: str, priority: int) -> None:
        super().__init__(name, priority)
        self.waiting: list[tuple[str, int]] = []

    def step(self, scheduler: _Scheduler) -> None:
        self.waiting.append(self.queue.pop(0))
        if len(self.waiting) > 2 or not scheduler.busy(self):
            for packet in self.waiting:
                scheduler.send("worker", packet)
            self.waiting = []
        self.done += 1


class _Scheduler:
    def __init__(self) -> None:
        self.tasks: dict[str, _Task] = {}

    def add(self, task: _Task) -> None:
        self.tasks[task.name] = task

    def send(self, name: str, packet: tuple[str, int]) -> None:
        self.tasks[name].receive(packet)

    def busy(self, but: _Task) -> bool:
        return any(task.ready() for task in self.tasks.values() if task is not but)

    def run(self) -> int:
        steps = 0
        while True:
            ready = [task for task in self.tasks.values() if task.ready()]
            if not ready:
                return steps
            max(ready, key=lambda task: task.priority).step(self)
            steps += 1


def scheduler(n: int) -> int:
    """In the manner of the Richards benchmark: tasks, queues, dynamic dispatch."""
    world = _Scheduler()
    world.add(_Worker("worker", 3))
    world.add(_Handler("handler", 2))
    world.add(_Device("device", 1))
    for i in range(4):
        world.send("worker", ("packet", n + i))
    steps = world.run()
    return steps + sum(task.done for task in world.tasks.values())


def tokenise(text: str) -> list[Any]:
    """The tokens of a JSON text."""
    tokens: list[Any] = []
    position = 0
    size = len(text)
    while position < size:
        char = text[position]
        if char in " \t\n\r":
            position += 1
        elif char in "{}[]:,":
            tokens.append(char)
            position += 1
        elif char == '"':
            end = position + 1
            while text[end] != '"':
                end += 2 if text[end] == "\\" else 1
            tokens.append(("string", text[position + 1 : end]))
            position = end + 1
        elif char == "-" or char.isdigit():
            end = position + 1
            while end < size and (text[end].isdigit() or text[end] in ".eE+-"):
                end += 1
            piece = text[position:end]
            tokens.append(("number", float(piece) if "." in piece else int(piece)))
            position = end
        else:
            for word, value in (("true", True), ("false", False), ("null", None)):
                if text.startswith(word, position):
                    tokens.append(("literal", value))
                    position += len(word)
                    break
            else:
                raise ValueError(f"unexpected {char!r} at {position}")
    return tokens


def json_tokens(n: int) -> int:
    text = '{"name": "a \\"b\\"", "values": [1, 2.5, -32, true, null], "nested": {"k": [[], {}]}} ' * n
    return len(tokenise(text))


class _Stub:
    """A tensor that is only its shape."""

    def __init__(self, *shape: int) -> None:
        self.shape = shape

    def view(self, *shape: int) -> _Stub:
        return _Stub(*shape)

    def transpose(self, a: int, b: int) -> _Stub:
        shape = list(self.shape)
        shape[a], shape[b] = shape[b], shape[a]
        return _Stub(*shape)

    def __matmul__(self, other: _Stub) -> _Stub:
        return _Stub(*self.shape[:-1], other.shape[-1])

    def __add__(self, other: _Stub) -> _Stub:
        return self

    def __mul__(self, other: float) -> _Stub:
        return self


class _Module:
    def __init__(self) -> None:
        self._modules: dict[str, _Module] = {}
        self._parameters: dict[str, _Stub] = {}
        self._hooks: dict[int, Any] = {}
        self.training = False

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, _Module):
            self._modules[name] = value
        elif isinstance(value, _Stub):
            self._parameters[name] = value
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        for place in (self.__dict__["_parameters"], self.__dict__["_modules"]):
            if name in place:
                return place[name]
        raise AttributeError(name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._hooks:
            raise NotImplementedError
        return self.forward(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


class _Linear(_Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = _Stub(inputs, outputs)
        self.bias = _Stub(outputs)

    def forward(self, x: _Stub) -> _Stub:
        return x @ self.weight + self.bias


class _Attention(_Module):
    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.heads, self.width = heads, size // heads
        self.query, self.key = _Linear(size, size), _Linear(size, size)
        self.value, self.out = _Linear(size, size), _Linear(size, size)

    def split(self, x: _Stub) -> _Stub:
        batch, length = x.shape[:2]
        return x.view(batch, length, self.heads, self.width).transpose(1, 2)

    def forward(self, x: _Stub, mask: _Stub | None = None, **kwargs: Any) -> tuple[_Stub, _Stub]:
        batch, length, size = x.shape
        query, key, value = (self.split(layer(x)) for layer in (self.query, self.key, self.value))
        scores = query @ key.transpose(-1, -2) * (1.0 / math.sqrt(self.width))
        if mask is not None:
            scores = scores + mask
        mixed = (scores @ value).transpose(1, 2).view(batch, length, size)
        return self.out(mixed), scores


class _Layer(_Module):
    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.attention = _Attention(size, heads)
        self.up, self.down = _Linear(size, 4 * size), _Linear(4 * size, size)

    def forward(self, x: _Stub, mask: _Stub | None = None) -> _Stub:
        attended, _ = self.attention(x, mask=mask)
        x = x + attended
        return x + self.down(self.up(x))


def transformer(n: int) -> int:
    """A transformer's forward as a library writes it, with tensors that are only shapes."""
    layers = [_Layer(64, 4) for _ in range(6)]
    x = _Stub(2, 16, 64)
    mask = _Stub(2, 1, 1, 16)
    for _ in range(n):
        for layer in layers:
            x = layer(x, mask=mask)
    return math.prod(x.shape)


PROGRAMS: Final[dict[str, tuple[Callable[[int], Any], int]]] = {
    "loops": (loops, 4000),
    "calls": (calls, 2000),
    "attributes": (attributes, 2000),
    "generators": (generators, 2000),
    "comprehensions": (comprehensions, 3000),
    "exceptions": (exceptions, 1500),
    "classes": (classes, 1500),
    "n-body": (nbody, 60),
    "scheduler": (scheduler, 60),
    "json tokens": (json_tokens, 20),
    "transformer": (transformer, 4),
}
