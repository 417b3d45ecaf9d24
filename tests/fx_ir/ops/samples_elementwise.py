"""Sample calls of elementwise operators."""

from __future__ import annotations

from tests.fx_ir.ops.sampling import B, F, L, Sample, T, sample

_FLOAT_UNARY = (
    "exp", "exp2", "expm1", "sin", "cos", "tan", "atan", "sinh", "cosh", "tanh", "asinh", "sigmoid", "erf", "erfc", "special_erf",
    "i0", "sinc", "deg2rad", "rad2deg", "reciprocal",
)  # fmt: skip
_POSITIVE_UNARY = ("log", "log2", "log10", "log1p", "sqrt", "rsqrt", "lgamma", "digamma")
_UNIT_UNARY = ("asin", "acos", "atanh", "erfinv", "logit")
_ANY_UNARY = ("abs", "absolute", "square", "sign", "sgn", "signbit", "conj_physical", "logical_not", "isreal")
_ROUNDING = ("floor", "ceil", "trunc", "round")
_FLOAT_TESTS = ("isnan", "isinf", "isfinite", "isposinf", "isneginf", "nan_to_num", "frac", "angle")
_ACTIVATIONS = (
    "relu", "relu6", "silu", "mish", "selu", "hardsigmoid", "hardswish", "gelu", "elu", "celu", "leaky_relu", "hardtanh",
    "log_sigmoid", "softplus", "hardshrink", "softshrink",
)  # fmt: skip
_LAYOUTS = (
    T((3, 4)),
    T((2, 3, 4), layout="t"),
    T((2, 3, 4), layout="step"),
    T((3, 1, 4), layout="wide"),
    T(()),
    T((0, 3)),
)
HALF = 4e-3


def _layouts(name: str, values: str) -> list[Sample]:
    return [sample(name, T(spec.shape, "float32", spec.layout, values)) for spec in _LAYOUTS]


def _types(name: str, values: str, types: tuple[str, ...]) -> list[Sample]:
    return [
        sample(name, T((2, 5), dtype, "plain", values), _tolerance=HALF if dtype == "float16" else 2e-5)
        for dtype in types
    ]


def unary() -> list[Sample]:
    found: list[Sample] = []
    for names, values in ((_FLOAT_UNARY, "normal"), (_POSITIVE_UNARY, "positive"), (_UNIT_UNARY, "unit")):
        for name in names:
            found += _layouts(name, values)
            found += _types(name, values, ("float64", "float16"))
            if names is _FLOAT_UNARY:
                found += _types(name, values, ("int64", "bool"))
    found += _layouts("acosh", "above") + _types("acosh", "above", ("float64", "float16"))
    for name in ("arctan", "arcsinh"):
        found += _layouts(name, "normal")
    for name in ("arcsin", "arccos", "arctanh"):
        found += _layouts(name, "unit")
    found += _layouts("arccosh", "above") + _layouts("fix", "halves")
    for name in _ANY_UNARY:
        found += _layouts(name, "normal")
        found += _types(name, "normal", ("float64", "float16", "int64", "int8"))
        found += _types(name, "normal", ("bool",)) if not name.startswith("abs") else []
    for name in ("neg", "negative", *_ROUNDING, "bitwise_not"):
        floats = name != "bitwise_not"
        found += _layouts(name, "halves") if floats else []
        found += _types(
            name, "halves", ("float64", "int64", "uint8") if floats else ("int64", "uint8", "bool")
        )
    for name in _FLOAT_TESTS:
        found += _layouts(name, "special")
        if name not in ("frac",):
            found += _types(name, "normal", ("int64",))
    for name in _ACTIVATIONS:
        found += _layouts(name, "normal")
        found += _types(name, "normal", ("float64", "float16"))
    for name in ("abs", "exp", "sgn", "angle", "conj_physical", "square"):
        found += _types(name, "normal", ("complex64", "complex128"))
    return [*found, *_unary_options()]


def _unary_options() -> list[Sample]:
    return [
        sample("round.decimals", F(4, 5), decimals=2),
        sample("round.decimals", T((6,), "float64"), decimals=-1),
        sample("logit", F(3, 4), 0.2),
        sample("nan_to_num", T((4, 4), values="special"), 1.0, 2.0, -3.0),
        sample("gelu", F(3, 4), approximate="tanh"),
        sample("gelu", T((3, 4), "float16"), approximate="tanh", _tolerance=HALF),
        sample("elu", F(3, 4), 0.5, 2.0, 3.0),
        sample("celu", F(3, 4), 0.7),
        sample("leaky_relu", F(3, 4), 0.2),
        sample("hardtanh", F(3, 4), -0.3, 0.4),
        sample("hardtanh", L(3, 4), -2, 2),
        sample("relu", L(3, 4)),
        sample("threshold", F(3, 4), 0.1, 20.0),
        sample("softplus", F(3, 4), 2.0, 1.0),
        sample("hardshrink", F(3, 4), 0.3),
        sample("softshrink", F(3, 4), 0.3),
        sample("prelu", F(2, 3, 4), F(3)),
        sample("prelu", F(2, 3), F(1)),
        sample("prelu", F(5), F(1)),
        sample("glu", F(2, 4, 6)),
        sample("glu", F(2, 4, 6), 1),
        sample("sigmoid", T((3, 3), values="special")),
        sample("relu", T((3, 3), values="special")),
        sample("sign", T((3, 3), values="special")),
    ]


_PAIRS = (
    (T((3, 4)), T((3, 4))), (T((2, 3, 4)), T((4,))), (T((4, 1)), T((1, 5))), (T((2, 3, 4), layout="t"), T((2, 3, 4), layout="t")),
    (T((2, 3, 4), layout="t"), T((2, 3, 4))), (T((2, 3, 4), layout="swap"), T((4,))), (T((3, 4)), T(())), (T(()), T(())),
    (T((3, 4), layout="step"), T((3, 1))), (T((3, 2, 4), layout="wide"), T((3, 2, 4), layout="wide")), (T((0, 4)), T((4,))),
    (T((2, 5, 3, 4), layout="last"), T((1, 5, 1, 1))), (T((2, 5, 3, 4), layout="last"), T((2, 5, 3, 4), layout="last")),
    (T((1, 4)), T((3, 1, 4), layout="t")), (T((5, 3, 4), layout="swap"), T((5, 3, 4), layout="swap")),
)  # fmt: skip
_TYPE_PAIRS = (
    ("float32", "float64"), ("int64", "float32"), ("int32", "int64"), ("uint8", "int8"), ("bool", "int64"), ("bool", "float32"),
    ("float16", "float32"), ("float16", "int64"), ("complex64", "float64"), ("int64", "int64"), ("float64", "int32"),
)  # fmt: skip
_BINARY = (
    "add.Tensor",
    "mul.Tensor",
    "sub.Tensor",
    "div.Tensor",
    "eq.Tensor",
    "lt.Tensor",
    "maximum",
    "fmax",
    "rsub.Tensor",
)
_COMPARISONS = (
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
)
_BITS = ("bitwise_and", "bitwise_or", "bitwise_xor", "__and__", "__or__", "__xor__")
_SHIFTS = (
    ("bitwise_left_shift", "Tensor_Scalar"),
    ("bitwise_right_shift", "Tensor_Scalar"),
    ("__lshift__", "Scalar"),
    ("__rshift__", "Scalar"),
)


def _pairs(name: str, values: str = "normal") -> list[Sample]:
    return [
        sample(name, T(a.shape, a.dtype, a.layout, values), T(b.shape, b.dtype, b.layout, values))
        for a, b in _PAIRS
    ]


def _promotions(name: str) -> list[Sample]:
    found = []
    for first, second in _TYPE_PAIRS:
        if name == "sub.Tensor" and "bool" in (first, second):
            continue
        if "complex" in first and name not in (
            "add.Tensor",
            "mul.Tensor",
            "sub.Tensor",
            "eq.Tensor",
            "div.Tensor",
        ):
            continue
        for left, right in (((3, 4), (3, 4)), ((3, 4), ()), ((), (3, 4)), ((), ())):
            found.append(sample(name, T(left, first), T(right, second), _tolerance=HALF))
            found.append(sample(name, T(left, second), T(right, first), _tolerance=HALF))
    return found


def binary() -> list[Sample]:
    found: list[Sample] = []
    for name in _BINARY:
        found += _pairs(name)
        found += _promotions(name) if name not in ("fmax", "rsub.Tensor") else []
    for name in (
        "minimum",
        "fmin",
        "atan2",
        "hypot",
        "logaddexp",
        "logaddexp2",
        "copysign.Tensor",
        "heaviside",
    ):
        found += _pairs(name)[:5]
        found.append(sample(name, T((5, 5), values="special"), T((5, 5), values="special")))
    for name in ("maximum", "fmax", "add.Tensor", "div.Tensor", "eq.Tensor"):
        found.append(sample(name, T((5, 5), values="special"), T((5, 5), values="special")))
    for name in ("multiply.Tensor", "divide.Tensor", "true_divide.Tensor", "subtract.Tensor"):
        found.append(sample(name, F(3, 4), F(4)))
    found.append(sample("arctan2", F(3, 4), F(4)))
    for name in ("logical_and", "logical_or", "logical_xor"):
        found += [sample(name, B(3, 4), B(4)), sample(name, L(3, 4), F(3, 4))]
    return [*found, *_numbers(), *_divisions(), *_bits(), *_powers()]


def _numbers() -> list[Sample]:
    found: list[Sample] = []
    for name in ("add", "sub", "mul", "div"):
        for number in (2, 2.5, -3):
            for dtype in ("float32", "int64", "float16", "int8"):
                found.append(sample(f"{name}.Tensor", T((2, 3), dtype), number, _tolerance=HALF))
                found.append(sample(f"{name}.Scalar", T((2, 3), dtype), number, _tolerance=HALF))
    for name in ("add.Scalar", "sub.Scalar", "rsub.Scalar", "subtract.Scalar"):
        found += [sample(name, F(2, 3), 3, 2), sample(name, L(2, 3), 3, 2), sample(name, F(2, 3), 2.5, 0.5)]
    for name in ("add.Tensor", "sub.Tensor", "rsub.Tensor", "subtract.Tensor"):
        found += [
            sample(name, F(2, 3), F(3), alpha=2),
            sample(name, L(2, 3), F(3), alpha=0.5),
            sample(name, L(2), L(2), alpha=3),
        ]
    for name in ("multiply", "divide", "true_divide", "copysign", "remainder", "fmod"):
        found += [sample(f"{name}.Scalar", F(3, 4), 2), sample(f"{name}.Scalar", F(3, 4), -1.5)]
    for name in _COMPARISONS:
        found += [
            sample(f"{name}.Scalar", F(3, 4), 0),
            sample(f"{name}.Scalar", L(3, 4), 1),
            sample(f"{name}.Scalar", L(3, 4), 0.5),
        ]
        found += [sample(f"{name}.Scalar", B(3, 4), True), sample(f"{name}.Tensor", L(3, 4), F(4))]
    found += [
        sample("xlogy.Tensor", T((3, 4), values="positive"), T((4,), values="positive")),
        sample("xlogy.Scalar_Other", F(3), 2.0),
    ]
    found += [
        sample("add.Tensor", T((), "float64"), F(3)),
        sample("mul.Tensor", T((3,), "uint8", high=9), 300),
    ]
    return found


def _divisions() -> list[Sample]:
    found: list[Sample] = []
    for name in ("floor_divide", "remainder.Tensor", "fmod.Tensor"):
        for first in ("float32", "int64", "int8"):
            found.append(sample(name, T((4, 5), first), T((5,), first, values="positive", low=1)))
            found.append(sample(name, T((4, 5), first, low=-9, high=9), T((5,), first, low=-4, high=-1)))
    for mode in (None, "floor", "trunc"):
        for name in ("div", "divide"):
            found.append(
                sample(
                    f"{name}.Tensor_mode", L(4, 5, low=-20, high=20), L(5, low=1, high=7), rounding_mode=mode
                )
            )
            found.append(
                sample(
                    f"{name}.Tensor_mode",
                    L(4, 5, low=-20, high=20),
                    L(5, low=-7, high=-1),
                    rounding_mode=mode,
                )
            )
            found.append(sample(f"{name}.Tensor_mode", F(4, 5), F(5), rounding_mode=mode))
            found.append(sample(f"{name}.Scalar_mode", L(4, 5, low=-20, high=20), 3, rounding_mode=mode))
            found.append(sample(f"{name}.Scalar_mode", F(4, 5), -0.7, rounding_mode=mode))
    found += [sample("floor_divide.Scalar", L(4, 5), 2), sample("floor_divide.Scalar", F(4, 5), 0.3)]
    found += [
        sample("floor_divide", L(4, 5), 2),
        sample("remainder.Scalar", L(4, 5), 3),
        sample("fmod.Scalar", L(4, 5), 3),
    ]
    found.append(sample("div.Tensor", F(3), T((3,), values="special")))
    return found


def _bits() -> list[Sample]:
    found: list[Sample] = []
    for name in _BITS:
        found += [
            sample(f"{name}.Tensor", B(3, 4), B(4)),
            sample(f"{name}.Tensor", L(3, 4), L(3, 1)),
            sample(f"{name}.Scalar", L(3, 4), 3),
        ]
        found += [
            sample(f"{name}.Tensor", B(3, 4, layout="swap"), B(3, 4, layout="swap")),
            sample(f"{name}.Scalar", B(3, 4), True),
        ]
    for name, number in _SHIFTS:
        found += [
            sample(f"{name}.Tensor", L(3, 4, low=0), L(4, low=0, high=3)),
            sample(f"{name}.{number}", L(3, 4, low=0), 2),
        ]
    found.append(sample("gcd", L(3, 4, low=-30, high=30), L(4, low=-30, high=30)))
    return found


def _powers() -> list[Sample]:
    found: list[Sample] = []
    for exponent in (0, 1, 2, 3, -1, -2, 0.5, -0.5, 2.5, 2.0):
        found.append(sample("pow.Tensor_Scalar", T((3, 4), values="positive"), exponent))
    for exponent in (0, 2, 3, 2.5):
        found.append(sample("pow.Tensor_Scalar", L(3, 4, low=1), exponent))
    found += [
        sample("pow.Tensor_Scalar", F(2, 3, 4, layout="t"), 2),
        sample("pow.Tensor_Scalar", T((3,), "float16"), 2, _tolerance=HALF),
    ]
    found += [
        sample("pow.Scalar", 2, F(3, 4)),
        sample("pow.Scalar", 2.0, L(3, 4)),
        sample("pow.Scalar", 10000.0, F(8)),
    ]
    found += [sample("pow.Scalar", 2, L(3, 4, low=0)), sample("pow.Scalar", 2, L(3, 4))]
    found += [
        sample("pow.Tensor_Tensor", T((3, 4), values="positive"), F(4)),
        sample("pow.Tensor_Tensor", L(3, 4), L(4)),
    ]
    found += [
        sample("float_power.Tensor_Scalar", T((3,), values="positive"), 1.5),
        sample("float_power.Tensor_Tensor", L(3, low=1), L(3)),
    ]
    return found


def ternary() -> list[Sample]:
    found = [
        sample("where.self", B(3, 4), F(3, 4), F(4)),
        sample("where.self", B(3, 4), F(3, 4), T((), "float64")),
        sample("where.self", B(3, 1), L(3, 4), F(4)),
        sample("where.self", B(2, 3, 4, layout="t"), F(2, 3, 4, layout="t"), F(2, 3, 4, layout="t")),
        sample("where.self", B(4), F(2, 3, 4, layout="swap"), F()),
        sample("where.ScalarOther", B(3, 4), F(3, 4), 0.0),
        sample("where.ScalarOther", B(3, 4), L(3, 4), 0.5),
        sample("where.ScalarSelf", B(3, 4), 1, F(3, 4)),
        sample("where.Scalar", B(3, 4), 1.0, 0.0),
        sample("where.Scalar", B(3, 4), 1, 0),
        sample("masked_fill.Scalar", F(3, 4), B(4), float("-inf")),
        sample("masked_fill.Scalar", F(2, 3, 4, layout="t"), B(4), 1),
        sample("masked_fill.Scalar", L(3, 4), B(3, 1), 7),
        sample("masked_fill.Scalar", F(4), B(3, 4), 1.5),
        sample("masked_fill.Tensor", F(3, 4), B(3, 4), F()),
        sample("masked_fill.Tensor", F(3, 4), B(3, 4), T((), "float64")),
        sample("lerp.Scalar", F(3, 4), F(3, 4), 0.3),
        sample("lerp.Scalar", F(3, 4), F(4), 0.8),
        sample("lerp.Tensor", F(3, 4), F(3, 4), T((3, 4), values="unit")),
        sample("addcmul", F(3, 4), F(3, 4), F(4)),
        sample("addcmul", F(3, 4), F(3, 1), F(4), value=0.5),
        sample("addcdiv", F(3, 4), F(3, 4), T((4,), values="positive"), value=2),
        sample("isclose", F(3, 4), F(4)),
        sample("isclose", T((4, 4), values="special"), T((4, 4), values="special"), 1e-5, 1e-8, True),
        sample("allclose", F(3, 4), F(3, 4)),
    ]
    for name in ("clamp", "clip"):
        found += [
            sample(name, F(3, 4), -0.5, 0.5),
            sample(name, F(3, 4), 0),
            sample(name, L(3, 4), None, 2),
            sample(name, L(3, 4), 0.5),
        ]
        found += [
            sample(name, T((3, 4), values="special"), -1.0, 1.0),
            sample(name, F(2, 3, 4, layout="t"), 0.0, None),
        ]
        found += [
            sample(f"{name}.Tensor", F(3, 4), F(4), F(3, 1)),
            sample(f"{name}.Tensor", F(3, 4), None, T((), "float64")),
        ]
    for bound in ("min", "max"):
        found += [sample(f"clamp_{bound}", F(3, 4), 0.1), sample(f"clamp_{bound}", L(3, 4), 1)]
        found.append(sample(f"clamp_{bound}.Tensor", F(3, 4), F(4)))
    return found


def numbers_first() -> list[Sample]:
    found = [
        sample(f"{name}.Scalar_Tensor", 5, L(3, 4, low=1, high=4))
        for name in (
            "remainder",
            "bitwise_and",
            "bitwise_or",
            "bitwise_xor",
            "bitwise_left_shift",
            "bitwise_right_shift",
        )
    ]
    found += [
        sample("remainder.Scalar_Tensor", 5.5, F(3, layout="t")),
        sample("remainder.Scalar_Tensor", -7, F(3, 4)),
    ]
    found += [
        sample("xlogy.Scalar_Self", 2, F(3, 4, values="positive")),
        sample("xlogy.Scalar_Self", 0, F(3, values="special")),
    ]
    found += [sample("float_power.Scalar", 2, F(3, 4)), sample("float_power.Scalar", 2.5, L(3, 4))]
    return found  # fmt: skip


def samples() -> list[Sample]:
    return [*unary(), *binary(), *ternary(), *numbers_first()]
