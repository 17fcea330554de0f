"""Cases of functions that work element by element."""

from tests.golden.surface import Case

EAGER = ("device", "host")
_PLAIN = "f([-1.5, -0.5, 0.0, 0.3, 0.5, 2.0, float('nan'), float('inf'), -float('inf')])"
_WHOLE = "i([-7, -3, 0, 1, 5])"
_COMPARED = ["equal", "greater", "greater_equal", "less", "less_equal", "not_equal"]

CASES = [
    Case("tf.abs(f([-1.5, 0.0, float('nan')]))"),
    Case("tf.abs(i([-3, 0, 4]))"),
    Case("tf.abs(a([3 + 4j, -1], 'complex64'))"),
    Case("tf.add(f([[1.0, 2.0]]), f([[1.0], [3.0]]))"),
    Case("tf.floor(f([]))"),
    Case("tf.maximum(f([1.0, float('nan')]), 2.0)"),
    *(
        Case(f"tf.math.{name}({_PLAIN})")
        for name in (
            *("acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "exp", "expm1", "floor"),
            *("is_finite", "is_inf", "is_nan", "log", "log1p", "log_sigmoid", "negative", "reciprocal"),
            *("reciprocal_no_nan", "rint", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "softplus", "sqrt"),
            *("square", "tan", "tanh", "conj", "real", "imag", "angle"),
        )
    ),
    *(Case(f"tf.math.{name}({_WHOLE})") for name in ("negative", "round", "sign", "square", "abs")),
    *(Case(f"tf.math.{name}(a([0.5, -1.25, 2.5], '{dtype}'))", tolerance=1e-2)
      for name in ("exp", "sigmoid", "sqrt", "sinh") for dtype in ("float16", "bfloat16")),
    *(
        Case(f"tf.{name}(f([1.0, 2.0, float('nan'), -3.0]), f([1.0, 3.0, float('nan'), -5.0]))")
        for name in (*_COMPARED, "add", "subtract", "multiply", "divide", "pow", "maximum", "minimum")
    ),
    *(Case(f"tf.{name}(i([7, -7, 7, -7]), i([3, 3, -3, -3]))") for name in (
        *_COMPARED, "add", "subtract", "multiply", "maximum", "minimum", "math.floordiv", "math.floormod",
        "truncatediv", "truncatemod", "math.mod",
    )),
    *(Case(f"tf.{name}(f([7, -7, 7.5, -7]), f([3, 3, -3, -3]))") for name in (
        "math.floordiv", "math.floormod", "truncatediv", "truncatemod", "math.atan2", "math.truediv",
        "math.squared_difference",
    )),
    Case("tf.math.squared_difference(i([1, 5]), i([4, 2]))"),
    Case("tf.pow(i([2, -3, 0]), i([3, 3, 0]))"),
    Case("tf.math.truediv(i([7, -7]), i([2, 2]))", modes=EAGER),
    Case("tf.math.truediv(a([7, 200], 'uint8'), a([2, 3], 'uint8'))"),
    Case("tf.math.floordiv(i([7]), i([0]))", modes=EAGER),
    Case("tf.add(i([2147483647]), i([1]))"),
    Case("tf.multiply(a([100], 'int8'), a([3], 'int8'))"),
    Case("tf.negative(a([-128], 'int8'))"),
    *(Case(f"tf.math.{name}(b([True, True, False, False]), b([True, False, True, False]))")
      for name in ("logical_and", "logical_or", "logical_xor")),
    Case("tf.math.logical_not(b([True, False]))"),
    Case("tf.math.divide_no_nan(f([1.0, 2.0, 0.0]), f([0.0, 4.0, 0.0]))"),
    Case("tf.math.multiply_no_nan(f([float('inf'), float('nan'), 2.0]), f([0.0, 0.0, 4.0]))"),
    Case("tf.math.multiply_no_nan(f([[2.0], [3.0]]), f([0.0, 4.0]))"),
    Case("tf.math.scalar_mul(2.0, f([1, 2]))"),
    Case("tf.clip_by_value(f([-2, 0.5, float('nan'), 3]), -1.0, 1.0)"),
    Case("tf.clip_by_value(i([-2, 0, 3]), -1, 1)"),
    Case("tf.complex(f([1, 2]), f([3, 4]))"),
    Case("tf.complex(f([1, 2]), 3.0)"),
    Case("tf.complex(i([1, 2]), i([3, 4]))", modes=EAGER),
    *(Case(f"tf.math.{name}(tf.complex(f([1, -2, 0]), f([3, 4, -1])))")
      for name in ("conj", "real", "imag", "angle", "abs", "exp", "square")),
    Case("tf.math.polyval([f([1, 2]), f([3, 4]), f([5, 6])], f([2, -1]))"),
    Case("tf.math.polyval([], f([3.0]))"),
    Case("tf.add_n([f([1, 2]), f([3, 4]), f([5, 6])])"),
    Case("tf.math.add_n([i([1, 2])])"),
    Case("tf.add_n([f([1, 2]), f([3])])", modes=EAGER),
    Case("tf.add_n([])", modes=EAGER),
    Case("tf.math.accumulate_n([f([1, 2]), f([3, 4])])"),
    Case("tf.math.accumulate_n([f([1, 2]), f([3, 4])], shape=[3])", modes=EAGER),
    Case("tf.math.zero_fraction(f([0, 1, 0, 2]))"),
    Case("tf.math.zero_fraction(i([[0, 1], [1, 2]]))"),
    Case("tf.math.is_non_decreasing(f([1, 1, 2]))"),
    Case("tf.math.is_non_decreasing(f([[1, 3], [2, 4]]))"),
    Case("tf.math.is_strictly_increasing(f([1, 1, 2]))"),
    Case("tf.math.is_strictly_increasing(i([]))"),
    Case("tf.math.l2_normalize(f([[3, 4], [0, 0]]), axis=1)"),
    Case("tf.math.l2_normalize(f([[3, 4], [0, 5]]))"),
    Case("tf.math.l2_normalize(f([[3, 4], [0, 5]]), axis=[0, 1], epsilon=100.0)"),
    Case("tf.saturate_cast(f([-3.7, 300.2, 4.5]), tf.uint8)"),
    Case("tf.saturate_cast(i([-3, 70000]), tf.int16)"),
    Case("tf.saturate_cast(f([1e6, -1e6, 1]), tf.float16)"),
    Case("tf.cast(f([-1.9, 1.9, 0.0]), tf.int32)"),
    Case("tf.cast(i([0, 2]), tf.bool)"),
    Case("tf.cast(b([True, False]), tf.float32)"),
    Case("tf.cast(f([1, 2]), tf.complex64)"),
    Case("tf.cast(i([300, -1]), tf.uint8)"),
    *(
        Case(
            f"x = f([3, 3, 1]); y = f([3, 1, 3])\nwith tf.GradientTape() as tape:\n    tape.watch([x, y])\n"
            f"    z = tf.{name}(x, y)\ntape.gradient(z, [x, y])",
            modes=("function",),
        )
        for name in ("maximum", "minimum", "math.divide_no_nan", "math.multiply_no_nan", "math.squared_difference")
    ),
    *(
        Case(
            f"x = f([0.0, 1.0, -2.0, 0.5])\nwith tf.GradientTape() as tape:\n    tape.watch(x)\n"
            f"    z = tf.math.{name}(x)\ntape.gradient(z, x)",
            modes=("function",),
        )
        for name in ("abs", "reciprocal_no_nan", "log_sigmoid", "softplus", "sinh", "atan")
    ),
    Case("""x = f([-2.0, -1.0, 0.0, 1.0, 2.0])
with tf.GradientTape() as tape:
    tape.watch(x)
    z = tf.clip_by_value(x, -1.0, 1.0)
tape.gradient(z, x)""", modes=("function",)),
    *(Case(f"tf.bitwise.bitwise_{name}(i([12, -5, 7]), i([10, 3, 0]))") for name in ("and", "or", "xor")),
    Case("tf.bitwise.bitwise_and(a([255, 15], 'uint8'), a([51, 60], 'uint8'))"),
    Case("tf.bitwise.invert(i([0, -1, 5]))"),
    Case("tf.bitwise.invert(a([0, 5], 'uint8'))"),
    Case("tf.bitwise.left_shift(i([1, -5, 7]), i([3, 2, 31]))"),
    Case("tf.bitwise.left_shift(a([-1, -5], 'int8'), a([5, 11], 'int8'))"),
    Case("tf.bitwise.right_shift(i([256, -16, 7]), i([3, 2, 40]))"),
    Case("tf.bitwise.right_shift(a([128, 7], 'uint8'), a([3, 1], 'uint8'))"),
    Case("tf.bitwise.right_shift(i([256, 1]), 4)"),
    Case("tf.bitwise.invert(f([1.0]))", modes=EAGER),
]  # fmt: skip
