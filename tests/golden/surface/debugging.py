"""`tf.debugging`: what holds, and what does not."""

from tests.golden.surface import Case

PAIRS = ("equal", "none_equal", "less", "less_equal", "greater", "greater_equal")
UNARY = ("negative", "non_negative", "non_positive", "positive")

CASES = [
    *(
        Case(f"tf.debugging.assert_{name}({x}, {y})")
        for name in PAIRS
        for x, y in (("i([1, 2])", "i([1, 2])"), ("i([1, 2])", "i([2, 3])"), ("i([[3], [4]])", "i([1, 2])"))
    ),
    *(
        Case(f"tf.debugging.assert_{name}({x})")
        for name in UNARY
        for x in ("f([1, 2])", "f([0, 1])", "f([-1, 0])", "f([-1, -2])", "f([])")
    ),
    Case("tf.debugging.assert_equal(f([]), f([]))"),
    Case("tf.debugging.assert_equal(f([float('nan')]), f([float('nan')]))"),
    Case("tf.debugging.assert_equal(i([1, 2]), i([1, 2, 3]))"),
    Case("tf.debugging.assert_equal(s(['a']), s(['a']))", modes=("host",)),
    Case("tf.debugging.assert_equal(s(['a']), s(['b']))", modes=("host",)),
    Case("tf.assert_equal(i(1), 1)"),
    Case("tf.assert_less(i(1), 2, 'message')"),
    Case("tf.assert_greater(i(1), 2, message='message', summarize=3)"),
    Case("tf.debugging.assert_near(f([1, 2]), f([1, 2.000001]))"),
    Case("tf.debugging.assert_near(f([1, 2]), f([1, 2.001]))"),
    Case("tf.debugging.assert_near(f([1, 2]), f([1, 2.001]), 1e-2)"),
    Case("tf.debugging.assert_near(f([1, 2]), f([1, 2.001]), 0.0, 1e-2)"),
    Case("tf.debugging.assert_near(i([1]), i([1]))"),
    Case("tf.debugging.Assert(b(True), [i([1])])"),
    Case("tf.Assert(b(False), ['text', i([1, 2, 3, 4, 5])])"),
    Case("tf.debugging.check_numerics(f([1, 2]), 'message')"),
    Case("tf.debugging.check_numerics(f([1, float('nan')]), 'message')"),
    Case("tf.debugging.check_numerics(f([1, float('-inf')]), 'message')"),
    Case("tf.debugging.assert_all_finite(f([[1, 2]]), 'message')"),
    Case("tf.debugging.assert_all_finite(f([[float('inf'), 2]]), 'message')"),
    Case(
        """
x = f([1, 2])
with tf.GradientTape() as tape:
    tape.watch(x)
    tf.debugging.assert_positive(x)
    y = tf.debugging.check_numerics(x * x, "message")
tape.gradient(y, x)
""",
        modes=("device", "function"),
    ),
    *(
        Case(f"tf.debugging.assert_rank{call}")
        for call in (
            "(f([1, 2]), 1)",
            "(f([1, 2]), 2, 'message')",
            "(f(1), 0)",
            "(f([1]), [1])",
            "_at_least(f([[1]]), 1)",
            "_at_least(f([1]), 2)",
            "_in(f([[1]]), (1, 2))",
            "_in(f(1), [1, 2])",
        )
    ),
    Case("tf.debugging.assert_scalar(f(1))"),
    Case("tf.debugging.assert_scalar(f([1]))"),
    *(
        Case(f"tf.debugging.assert_shapes({shapes})")
        for shapes in (
            "[(f([[1, 2, 3]]), ('N', 'Q')), (f([1, 2, 3]), ('Q',)), (f(1), ())]",
            "[(f([[1, 2, 3]]), ('N', 'Q')), (f([1, 2]), ('Q',))]",
            "[(f([[1, 2, 3]]), (1, 3))]",
            "[(f([[1, 2, 3]]), (1, 4))]",
            "[(f([[1, 2, 3]]), (None, '.'))]",
            "[(f([[1, 2, 3]]), (1, 3, 1))]",
            "[(f([[1, 2, 3]]), (..., 3))]",
            "[(f([[1, 2, 3]]), ('*', 2))]",
            "[(f([[1, 2, 3]]), (1, ...))]",
            "[(f([[1, 2, 3]]), 'NQ'), (f([1]), 'N')]",
            "[(f([[1, 2, 3]]), None)]",
            "[(f([[1, 2, 3]]), 3)]",
            "[(f(1), (1,))]",
            "[(f([1]), ())]",
            "[(f([1, 2]), ())]",
            "[(f(1), ('*', 'N'))]",
            "[(f(1), ('N', 'N'))]",
            "[(f([[1]]), '*')]",
        )
    ),
    Case("tf.debugging.assert_type(f([1]), tf.float32)"),
    Case("tf.debugging.assert_type(f([1]), tf.int32, 'message')"),
    Case("tf.debugging.assert_integer(i([1]))"),
    Case("tf.debugging.assert_integer(f([1]))"),
    Case("tf.debugging.assert_proper_iterable([f([1])])"),
    Case("tf.debugging.assert_proper_iterable(f([1]))"),
    Case("tf.debugging.assert_proper_iterable('text')"),
    Case("tf.debugging.assert_proper_iterable(3)"),
    Case("tf.zeros([1], tf.debugging.assert_same_float_dtype([f([1]), None, f([2])]))"),
    Case("tf.zeros([1], tf.debugging.assert_same_float_dtype())"),
    Case("tf.zeros([1], tf.debugging.assert_same_float_dtype([f([1])], tf.float32))"),
    Case("tf.zeros([1], tf.debugging.assert_same_float_dtype([f([1])], tf.bfloat16))"),
    Case("tf.zeros([1], tf.debugging.assert_same_float_dtype([i([1])]))"),
    Case("np.array([tf.debugging.is_numeric_tensor(x) for x in (f(1), i(1), b(True), 3)])"),
]
