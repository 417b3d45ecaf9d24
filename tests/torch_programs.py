"""Random programs over PyTorch's tensors, as lines of Python: what :mod:`tests.fuzz_torch` captures and compares.

A program is a list of lines over tensors ``x``, ``y``, ``z``, ``i``, ``m``, ``d['p']``, ``d['q'][0]``, the state ``self.w``, ``self.buf``,
``self.count`` and numbers: sizes and what Python makes of them. A line that eager refuses at the example is left out, so that lines
need no types, and any line may be taken away from a program that fails.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, Final

import torch
from torch import nn
from torch.nn import functional

EXAMPLE: Final = (3, 5)
DEPTH: Final = 8
ELEMENTS: Final = 2048

# {a}, {b}, {c} are tensors; {n}, {k} numbers; {i}, {j} small integers, {e} a dimension that may be negative; {s} a slice.
TENSORS: Final = (
    "{a} + {b}", "{a} - 2 * {b}", "{a} * {b}", "{a} / 4", "-{a}", "{a} ** 2", "2 - {a}", "{a} // 2", "{a} % 3", "~({a} > 0)",
    "{a} > {b}", "{a} == {b}", "({a} > 0) & ({b} > 0)", "torch.maximum({a}, {b})", "torch.where({a} > {b}, {a}, {b})",
    "torch.where({a} > 0, {a}, 0)", "torch.where({a} > 0, 1.5, {a})", "{a} @ {b}", "torch.matmul({a}, {b}.mT)", "{a} @ {a}.mT",
    "torch.einsum('ab,cb->ac', {a}, {b})", "torch.einsum('...a->...', {a})", "torch.outer({a}.flatten(), {b}.flatten())",
    "torch.bmm({a}, {b})", "torch.addmm({c}, {a}, {b})", "torch.lerp({a}, {b}, 0.25)", "torch.addcmul({c}, {a}, {b}, value=2)",
    "torch.cat([{a}, {b}], dim={e})", "torch.stack([{a}, {b}], {e})", "torch.cat([{a}] * 2, {e})", "torch.cat({a}.split(2, {e})[::-1], {e})",
    "torch.cat([t * 2 for t in {a}.chunk(2, {e})], {e})", "sum(t for t in {a}.split(2, {e}))", "[*{a}.unbind({e})][-1]",
    "dict(p={a}, q={b})['q']", "({a}, ({b}, {c}))[1][0]", "{a}.relu()", "{a}.sigmoid()", "{a}.exp()", "{a}.clamp(-1, 1)", "{a}.clamp(min={b})",
    "{a}.abs()", "{a}.sign()", "{a}.sqrt()", "{a}.floor()", "{a}.isnan()", "{a}.nan_to_num()", "{a}.sum({e})", "{a}.sum(({i}, {j}))",
    "{a}.mean({e}, keepdim=True)", "{a}.sum(({e},), keepdim=True, dtype=torch.float64)", "{a}.amax({e})", "{a}.amin(({i}, {j}), keepdim=True)",
    "{a}.max({e})[0]", "{a}.min({e}, keepdim=True).indices", "{a}.max()", "{a}.sum()", "{a}.std({e})", "{a}.var(({i},), correction=0)",
    "{a}.prod({e})", "{a}.norm(dim={e})", "{a}.any({e})", "{a}.all()", "{a}.argmax({e})", "{a}.argmax()", "{a}.count_nonzero({e})",
    "{a}.softmax({e})", "{a}.log_softmax({e})", "{a}.cumsum({e})", "{a}.logsumexp({e})", "{a}.sort({e}, descending=True)[0]", "{a}.topk(1, {e})[0]",
    "{a}.topk(min(2, {a}.shape[-1])).values", "{a}.argsort({e})", "{a}.clone()", "{a}.detach()", "{a}.double()", "{a}.float()", "{a}.half()", "{a}.long()", "{a}.bool()",
    "{a}.to({b}.dtype)", "{a}.to({b})", "{a}.to(torch.bfloat16)", "{a}.type_as({b})", "{a}.contiguous()", "{a}.transpose({e}, {j})", "{a}.unsqueeze({e})",
    "{a}.squeeze({e})", "{a}.squeeze()", "{a}.t()", "{a}.T", "{a}.mT", "{a}.permute(*range({a}.dim())[::-1])", "{a}.movedim({i}, {e})", "{a}.swapaxes(0, {e})",
    "{a}[{s}]", "{a}[{s}, {s2}]", "{a}[..., {s}]", "{a}[{e}]", "{a}[..., {i}]", "{a}[None]", "{a}[:, None]", "{a}[{s}, ..., None, {s2}]", "{a}[{i}, {s}]",
    "{a}[:{n}]", "{a}[{n}:]", "{a}[..., -{n}:]", "{a}[{n} - 1]", "{a}[{s}][{s2}]", "{a}[i]", "{a}[:, i]", "{a}[i, 0]", "{a}[i[:1]]", "{a}[[0, -1]]",
    "{a}[torch.tensor([0, 0])]", "{a}[..., torch.tensor([[0], [0]])]", "{a}[m].sum()", "{a}[{a} > 0].sum()", "{a}[m]", "{a}[True]", "{a}[i[:, None], torch.tensor([0, 1])]",
    "{a}.select({e}, {i})", "{a}.narrow({e}, 0, {j})", "{a}.narrow({e}, {n} - 1, 1)", "{a}.index_select({e}, torch.tensor([0, 0]))", "{a}.gather({e}, {a}.argsort({e}))",
    "{a}.take_along_dim({a}.argmax({e}, keepdim=True), {e})", "{a}.masked_fill({a} > 0, 2)", "{a}.masked_select({a} > 0).sum()", "{a}.index_fill(0, i, 1)",
    "{a}.index_add(0, i, {b})", "{a}.scatter({e}, {b}.argsort({e}), {c})", "{a}.reshape(-1)", "{a}.flatten({i})", "{a}.flatten()", "{a}.ravel()",
    "{a}.view({a}.shape[0], -1)", "{a}.view(*{a}.shape[::-1])", "{a}.reshape({j} + 1, -1)", "{a}.reshape({a}.shape[::-1])", "{a}.view(-1, {n})", "{a}.view_as({b})",
    "{a}.reshape({a}.shape[:-2] + (-1,))", "{a}.reshape(*{a}.shape[:{i}], -1, 1)", "{a}.unflatten({e}, (-1, 1))", "{a}.expand(2, *{a}.shape)", "{a}.expand_as({b})", "{a}.expand({n}, *{a}.shape)",
    "{a}.expand(-1, {n})", "{a}.broadcast_to({b}.shape)", "torch.broadcast_tensors({a}, {b})[0]", "{a}.chunk(2, {e})[-1]", "{a}.split(2, {e})[-1]", "{a}.split([1, {a}.shape[0] - 1])[1]",
    "{a}.tensor_split(2, {e})[0]", "torch.split({a}, {n} // 2 + 1)[0]", "{a}.diagonal()", "{a}.diagonal(offset=1, dim1=0, dim2=-1)", "{a}.unfold({e}, 2, 1)", "{a}.flip({e})",
    "{a}.roll({i}, {e})", "{a}.roll({n}, 0)", "{a}.tril({j} - 1)", "{a}.triu()", "{a}.repeat(2, *[1] * ({a}.dim() - 1))", "{a}.repeat_interleave(2, {e})", "{a}.tile({n})",
    "torch.diag_embed({a})", "{a}.as_strided(({n},), (1,))", "{a} * {a}.shape[{e}]", "{a} + {n}", "{a} * ({n} / 2)", "{a} - {k} * {n}", "{n} - {a}", "{a} / {n}", "{a} // {n}", "{a} + f",
    "torch.zeros({a}.shape) + {a}", "torch.zeros_like({a})", "torch.ones({n})", "torch.full(({n}, 2), {k})", "torch.full_like({a}, {n})", "torch.arange({n}) + {a}", "torch.arange({n}, {k} + {n})",
    "torch.arange(0, {n}, 2)", "torch.arange({n}).float() * f", "torch.linspace(0, 1, {n})", "torch.eye({n})", "{a}.new_zeros({n}, 2)", "{a}.new_tensor([1, 2])", "torch.tensor({n})", "torch.tensor([{n}, {k}])",
    "torch.empty({n}, 2).fill_(1)", "torch.tril(torch.ones({n}, {n}))", "torch.scalar_tensor({n})", "torch.as_tensor({n} / 2)", "torch.meshgrid({a}.flatten(), {b}.flatten(), indexing='ij')[1]",
    "{a} if {n} > {k} else {b}", "{a} + 1 if {a}.shape == {b}.shape else {a} - 1", "{a} if {a}.shape[0] == {b}.shape[-1] and {n} > 1 else {b} * 2", "{a} if {n} % 2 == 0 else {a} * 3",
    "{a} * 2 if {a}.is_contiguous() else {a} * 3", "{a} if {a}.dtype == {b}.dtype else {a} * 2", "{a} * (1 if {a}.dim() > {j} else 2)", "{a} + len({a})", "{a} * bool({n} > 2)", "{a} * ({n} > {k})",
    "functional.pad({a}, ({i}, {j}))", "functional.pad({a}, (0, {n}), value=1)", "functional.pad({a}, (-1, {j}))", "functional.layer_norm({a}, {a}.shape[-1:])", "functional.softmax({a}, -1, dtype=torch.float64)",
    "functional.gelu({a})", "functional.linear({a}, {b})", "functional.normalize({a}, dim={e})", "functional.one_hot(i, 4 + {j})", "functional.embedding(i, {a})", "functional.interpolate({a}[None], size={n})", "functional.mse_loss({a}, {b})",
    "functional.dropout({a}, 0.5)", "torch.rand({a}.shape)", "torch.randn_like({a})", "torch.randint(0, 5, ({n},))", "torch.bernoulli({a}.sigmoid())", "torch.rand({n}, 2)", "{a} * self.w", "{a} + self.buf", "{a} * self.count", "self.buf",
    "self.w.sum() * {a}", "self.w", "self.buf.view(-1)", "self.lin({a}[..., :1])", "torch.cumsum({a} > 0, {e})", "{a}.real", "torch.complex({a}, {a}).abs()", "{a}.view(torch.int32)", "{a}.pin_memory() if False else {a}", "{a}.data",
    "{a}.to(torch.int8) + {b}", "{a}.bool() + {b}", "{a} + torch.tensor(2)", "{a} + torch.tensor(2.5)", "{a} + torch.tensor([2.5], dtype=torch.float64)", "torch.result_type({a}, {b}) == torch.float32 and {a} or {b} * 1",
    "torch.nonzero({a}).sum()", "{a}.item() + {b}", "{a}.numpy().sum() * {b}" if False else "{a} * {a}.stride()[-1]", "torch.bincount(i, minlength=4)", "torch.unique({a}).numel() + {b}", "{a}.cumprod({e})", "torch.searchsorted({a}.flatten().sort()[0], {b})",
)  # fmt: skip
NUMBERS: Final = (
    "{a}.shape[{e}]", "{a}.numel()", "len({a})", "{a}.size(-1)", "{a}.dim()", "{n} + {k}", "{n} - 1", "{n} * {k}", "{n} // 2", "{n} % 2", "{n} % 3", "-(-{n} // 2)", "min({n}, {k})", "max({n}, {k}, 2)",
    "abs({n} - {k})", "{n} + 1 if {n} > {k} else {k}", "({n} > {k}) + 1", "{n} ** 2", "{n} // ({k} + 1)", "int({n} / 2)", "math.ceil({n} / 2)", "round({n} * 1.5)", "sum({a}.shape)", "max({a}.shape)", "math.prod({a}.shape)",
    "{a}.shape.numel()", "{n} >> 1", "{n} << 1", "{n} and {k}", "{n} or {k}", "divmod({n}, 2)[0]", "len({a}.split(2))", "{a}.stride(0)", "{a}.nbytes", "{a}.element_size()", "{a}.storage_offset()", "next(t for t in {a}.shape if t != 1)", "sorted({a}.shape)[0]", "len([t for t in {a}.shape if t == {n}])", "{a}.shape.index({a}.shape[-1])",
)  # fmt: skip
STATEMENTS: Final = (
    "{a}.add_({b})", "{a}.mul_(2)", "{a}.zero_()", "{a}.relu_()", "{a}[0] = 1.5", "{a}[..., 0] = {b}[..., 0]", "{a}.copy_({b})", "{a}[{s}] += 1", "{a}[{s}] = {b}", "{a}[{s}, {s2}] = 0", "{a}.clamp_(-1, 1)", "{a}.fill_({n})",
    "{a}.transpose({i}, {j}).add_(1)", "{a}.select({e}, {i}).mul_(3)", "{a}[{a} > 1] = 0", "{a}[m] = {b}.sum()", "{a}[m] *= 2", "{a}[i] = 0", "{a}[i] += 1", "{a}[..., [0]] = 2", "{a} += {b}", "{a} *= {n}", "{a} -= 1", "{a} /= 2",
    "{a}.narrow({e}, 0, {j}).sub_({b}.narrow({e}, 0, {j}))", "{a}.view(-1).add_(1)", "{a}.reshape(-1).mul_(2)", "{a}.T.neg_()", "{a}.masked_fill_({a} > 0, -1)", "{a}.index_add_(0, i, {b})", "{a}.index_fill_(0, i, 3)", "{a}.scatter_(0, {b}.argsort(0), 1)",
    "{a}.unsqueeze_(0)", "{a}.squeeze_()", "{a}.transpose_(0, {e})", "{a}.t_()", "{a}.exp_().log_()", "{a}.diagonal().fill_(7)", "{a}.expand(2, *{a}.shape)[0].add_(1)", "{a}.swapaxes(0, {e})[0].add_(1)", "{a}.index_put_((i,), {b}, accumulate=True)",
    "{a}.chunk(2, {e})[0].add_({b}.chunk(2, {e})[0])", "{a}.unbind()[0].add_(1)", "{a}.detach().mul_(2)", "{a}.data.add_(1)", "{a}.normal_()", "{a}.uniform_()", "{a}.bernoulli_(0.5)", "{a}.tril_()", "{a}.flatten()[0] = 5", "{a}.unfold(0, 1, 1).add_(1)", "{a}.as_strided((1,), (1,)).add_(1)",
    "self.buf.add_(1)", "self.buf.mul_({a}.sum())", "self.buf = self.buf + {a}.sum()", "self.buf[0] = {n}", "self.count += 1", "self.count.add_({n})", "self.buf.copy_({a}.mean())", "self.buf = {a}.sum().reshape(1)", "self.count = {a}.sum().long()",
    "for t in {a}.split(2): {b} = {b} + t.sum()", "for t in range({n}): {a} = {a} + t", "for t in {a}: {b} = {b} * 2 + t.sum()", "for t in {a}.shape: {b} = {b} + t", "for q, t in enumerate({a}.unbind(-1)): {b} = {b} + q * t.sum()", "while {n} > 2: {n} = {n} // 2", "if {n} > {k}: {a}.add_(1)",
    "if {a}.shape[0] > {j}: {a} = {a}[1:]", "if {a}.shape[-1] % 2: {a} = {a} * 2", "if {a}.numel() == 0: {b} = {b} + 5", "{a}, {b} = {b}, {a}", "{a} = {b} = {c} * 1", "d = {{'q': d['q'], 'p': {a}}}", "e.append({a})", "assert {n} >= {k}",
    "torch.add({a}, {b}, out={c})", "torch.sum({a}, 0, out={b})", "with torch.no_grad(): {a} = {a} * 2", "{a}, *_ = {b}.split(1)", "{a} = {a} if {a} is {b} else {a} + 1", "try: {a} = {a}[4]\n    except IndexError: {a} = {a} * 2", "try: {a} = {a}.view({b}.shape)\n    except RuntimeError: {b} = {b} + 1", "{a}.requires_grad_(False)", "{a}.set_({b})", "{a}.data = {b}",
)  # fmt: skip
SLICES: Final = (":", "1:", ":1", "-1:", ":-1", "::2", "1::2", "-2:", "0:2", "2:4", "1:-1", ":0", "-3:-1", "5:", ":9", "None:None:3", "2:1")  # fmt: skip
SPECIALISING: Final = (
    "len(",
    "int(",
    "range(",
    "round(",
    "math.",
    "sorted(",
    "{",
    ".index(",
    "torch.Size",
    "for t in",
    " for ",
    "max(",
    "min(",
    "assert",
    "next(",
)
"""What non-strict mode may specialise: CPython asks for the value, or for an order."""


class Model(nn.Module):
    """The state that the lines may read and write; a subclass has the lines as its forward."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.tensor([0.75]))
        self.lin = nn.Linear(1, 2)
        self.register_buffer("buf", torch.tensor([1.5]))
        self.register_buffer("count", torch.tensor(2))
        with torch.no_grad():
            self.lin.weight.fill_(0.5)
            self.lin.bias.fill_(-0.25)

    buf: torch.Tensor
    count: torch.Tensor


HEAD: Final = "def forward(self, x, y, z, i, m, d, n, f):"


def source(lines: Sequence[str], returned: str) -> str:
    """The text of a forward."""
    return "\n    ".join([HEAD, "d, e = {'p': d['p'], 'q': [*d['q']]}, []", *lines, f"return {returned}"])


def compiled(lines: Sequence[str], returned: str) -> Callable[..., Any]:
    """The forward of these lines."""
    import math

    namespace: dict[str, Any] = {"torch": torch, "functional": functional, "math": math}
    exec(compile(source(lines, returned), "<random program>", "exec"), namespace)
    forward: Callable[..., Any] = namespace["forward"]
    return forward


def model_of(forward: Callable[..., Any]) -> Any:
    """A module with this forward."""
    return type("Random", (Model,), {"forward": forward})()


def inputs(size: tuple[int, int], layout: int = 0) -> tuple[Any, ...]:
    """``x`` (a, b), ``y`` (a, b, 2), ``z`` (b,) of double, ``i`` (a,) below a, ``m`` (a, b) of bool, a dict, a number and a fraction.

    ``layout``: 0 contiguous, 1 ``x`` and ``y`` transposed in memory, 2 strided with an offset, 3 ``x`` requires gradients.
    """
    a, b = size
    drawn = torch.Generator().manual_seed(a * 31 + b)

    def numbers(*shape: int) -> torch.Tensor:
        return torch.randint(-8, 9, shape, generator=drawn).float() / 4

    x, y = numbers(a, b), numbers(a, b, 2)
    if layout == 1:
        x, y = x.t().contiguous().t(), y.permute(2, 1, 0).contiguous().permute(2, 1, 0)
    if layout == 2:
        wide = numbers(a + 1, 2 * b)
        x = wide[1:, ::2]
    if layout == 3:
        x.requires_grad_()
    m = numbers(a, b) > 0
    i = torch.arange(a).flip(0)
    d = {"p": numbers(a, 1).bfloat16(), "q": [torch.arange(b, dtype=torch.int32), numbers(b, a)]}
    return x, y, numbers(b).double(), i, m, d, 3, 0.5


START: Final = ("x", "y", "z", "i", "m", "d['p']", "d['q'][0]", "d['q'][1]")
SIZES_OF: Final = ("n", "x.shape[0]", "x.shape[1]", "2")


def random_lines(rng: random.Random) -> list[str]:
    """Lines, most of which eager takes."""
    tensors, numbers = list(START), list(SIZES_OF)
    lines: list[str] = []
    for count in range(rng.randint(2, 3 * DEPTH)):
        kind = rng.random()
        table = TENSORS if kind < 0.6 else NUMBERS if kind < 0.7 else STATEMENTS
        pick = tensors if rng.random() < 0.5 else tensors[-4:]
        text = rng.choice(table).format(
            a=rng.choice(pick), b=rng.choice(tensors), c=rng.choice(tensors), n=rng.choice(numbers), k=rng.choice(numbers),
            i=rng.randrange(3), j=rng.randrange(4), e=rng.randrange(-2, 2), s=rng.choice(SLICES), s2=rng.choice(SLICES),
        )  # fmt: skip
        if table is TENSORS:
            text, tensors = f"t{count} = {text}", [*tensors, f"t{count}"]
        elif table is NUMBERS:
            text, numbers = f"n{count} = {text}", [*numbers, f"n{count}"]
        lines.append(text)
    return lines


def returned(lines: Sequence[str], rng: random.Random) -> str:
    """What a program of these lines returns: all it made, in a structure, with sizes and inputs among them."""
    made = list(
        dict.fromkeys(line.split(" = ")[0] for line in lines if line[0] in "tn" and line[1].isdigit())
    )
    made = [name for name in made if name.isalnum()]
    parts = [f"({', '.join(made)},)" if made else "()", "e"]
    if rng.random() < 0.5:
        parts.append("{'d': d, 'x': x}")
    return f"[{', '.join(parts)}]"


def kept(lines: Sequence[str], rng_seed: int) -> tuple[list[str], str]:
    """The lines that eager takes at the example, and what they return."""
    taken: list[str] = []
    back = returned([], random.Random(rng_seed))
    for line in lines:
        trial = [*taken, line]
        shape = returned(trial, random.Random(rng_seed))
        if accepts(trial, shape):
            taken, back = trial, shape
    return taken, back


def accepts(lines: Sequence[str], shape: str) -> bool:
    """Whether eager runs the lines at the example, with results of bounded size."""
    try:
        model = model_of(compiled(lines, shape))
        torch.manual_seed(7)
        given = inputs(EXAMPLE)
        results = model(*given)
    except Exception:
        return False
    leaves = torch.utils._pytree.tree_leaves((results, given))
    return (
        all(not isinstance(leaf, torch.Tensor) or leaf.numel() <= ELEMENTS for leaf in leaves)
        and len(leaves) < 80
    )
