"""Elementary functions, written so that LLVM makes vector instructions of loops over them.

No library is called, so that a value has the same bits on every processor that can multiply and add with one rounding,
and with every C library. Errors are below three units in the last place.
"""

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

LOG2_E = 1 / math.log(2)
LN2 = {
    64: (float.fromhex("0x1.62e42fefa0000p-1"), float.fromhex("0x1.cf79abc9e3b3ap-40")),
    32: (0.693359375, -2.1219444005469057e-4),
}
"""The logarithm of 2 in two parts, for numbers of so many bits: the first has so few digits that a multiple of it by
an exponent is exact."""
ROUNDING = {64: 1.5 * 2.0**52, 32: 1.5 * 2.0**23}
"""What rounds to a whole number where it is added, and then subtracted."""
EXPONENT = {64: (52, 1023), 32: (23, 127)}
"""Place and bias of the exponent in the bits of a number."""
LARGEST_EXP, LEAST_EXP = 709.0, -708.0
SATURATED = {64: 20.0, 32: 10.0}
"""Where the hyperbolic tangent is 1 to the last bit."""
LEAST_NORMAL = 2.0**-1022


def polynomial(coefficients: list[float]) -> Any:
    """Returns a compiled function that evaluates a polynomial by Horner's rule; the highest power comes first."""

    @intrinsic
    def evaluate(typing, x):
        def generate(context, builder, signature, values):
            real = context.get_value_type(x)
            total = ir.Constant(real, coefficients[0])
            for coefficient in coefficients[1:]:
                total = builder.fma(total, values[0], ir.Constant(real, coefficient))
            return total

        return x(x), generate

    return evaluate


# Taylor's series: of (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2, and of artanh(s) / s - 1, over s^2, for |s| <= 0.172.
EXP_SERIES = {
    bits: polynomial([1 / math.factorial(i) for i in range(terms, 1, -1)]) for bits, terms in ((64, 13), (32, 7))
}
ARTANH_SERIES = polynomial([1 / (2 * i + 1) for i in range(10, 0, -1)])


@intrinsic
def fma(typing, a, b, c):
    """Returns a b + c, rounded once, for three numbers of one type."""
    return a(a, a, a), lambda context, builder, signature, values: builder.fma(*values)


@intrinsic
def two_to(typing, k):
    """Returns 2^k for a whole number k of type float, where that is a normal number."""
    place, bias = EXPONENT[k.bitwidth]

    def generate(context, builder, signature, values):
        whole, real = ir.IntType(k.bitwidth), context.get_value_type(k)
        moved = builder.fadd(values[0], ir.Constant(real, ROUNDING[k.bitwidth] + bias))  # its last bits are k + bias
        shifted = builder.shl(builder.bitcast(moved, whole), ir.Constant(whole, place))
        return builder.bitcast(shifted, real)

    return k(k), generate


@intrinsic
def parts(typing, x):
    """Returns (k, m) where x = 2^k m, and m is from the root of a half to the root of two, for a normal x above 0."""
    pair = types.UniTuple(types.float64, 2)

    def generate(context, builder, signature, values):
        whole, real, place = ir.IntType(64), ir.DoubleType(), ir.Constant(ir.IntType(64), EXPONENT[64][0])
        bits = builder.bitcast(values[0], whole)
        root_of_half = ir.Constant(whole, 0x3FE6A09E667F3BCD)  # its bits
        k = builder.ashr(builder.sub(bits, root_of_half), place)
        m = builder.bitcast(builder.sub(bits, builder.shl(k, place)), real)
        return context.make_tuple(builder, signature.return_type, (builder.sitofp(k, real), m))

    return pair(types.float64), generate


def exp(x: float) -> float:
    """Returns e^x of a float64; infinity above ``LARGEST_EXP``, and 0 below ``LEAST_EXP``."""
    return math.exp(x)


def log(x: float) -> float:
    """Returns the natural logarithm of a float64; of numbers below the least normal one, minus infinity."""
    return math.log(x)


def tanh(x: float) -> float:
    """Returns the hyperbolic tangent of a float64 or a float32."""
    return math.tanh(x)


@overload(exp)
def _exp(x):
    rounding, series, (high, low) = ROUNDING[64], EXP_SERIES[64], LN2[64]

    def evaluate(x):
        k = fma(x, LOG2_E, rounding) - rounding
        r = fma(k, -low, fma(k, -high, x))
        value = two_to(k) * (fma(series(r) * r, r, r) + 1.0)
        value = np.inf if x > LARGEST_EXP else value
        return 0.0 if x < LEAST_EXP else value

    return evaluate


@overload(log)
def _log(x):
    high, low = LN2[64]

    def evaluate(x):
        k, m = parts(x)
        s = (m - 1.0) / (m + 1.0)
        square = s * s
        value = fma(k, high, fma(k, low, fma(2.0 * s * square, ARTANH_SERIES(square), 2.0 * s)))
        value = value if x < np.inf else x
        value = -np.inf if x < LEAST_NORMAL else value
        return np.nan if x < 0.0 else value

    return evaluate


@overload(tanh)
def _tanh(x):
    real: Any = np.float64 if x.bitwidth == 64 else np.float32
    bits = x.bitwidth
    series: Any = EXP_SERIES[bits]
    high, low = map(real, LN2[bits])
    log2_e, rounding, largest, one, two = map(real, (LOG2_E, ROUNDING[bits], SATURATED[bits], 1, 2))

    def evaluate(x):
        size = abs(x)
        size = largest if size > largest else size
        double = two * size
        k = fma(double, log2_e, rounding) - rounding
        r = fma(k, -low, fma(k, -high, double))
        scale = two_to(k)
        grown = fma(scale, fma(series(r) * r, r, r), scale - one)  # e^(2 |x|) - 1
        return np.copysign(grown / (grown + two), x)

    return evaluate
