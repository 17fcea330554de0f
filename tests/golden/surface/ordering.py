"""Cases of functions that order elements, or look for equal ones."""

from tests.golden.surface import Case

EAGER = ("device", "host")
HOST = ("host",)
_X = "[[3, 1, 2], [1, 3, 1]]"

CASES = [
    *(
        Case(f"tf.{name}({make}({_X}), axis={axis}, direction='{direction}')")
        for name in ("sort", "argsort")
        for make in "fi"
        for axis in (-1, 0)
        for direction in ("ASCENDING", "DESCENDING")
    ),
    Case("tf.sort(a([3, 200, 7], 'uint8'))"),
    Case("tf.argsort(a([3, 200, 7, 3], 'uint8'), direction='DESCENDING')"),
    Case("tf.sort(i([-2147483648, 5, 2147483647]))"),
    Case("tf.sort(f([]))"),
    Case("tf.sort(f([[2, 1]]), axis=2)", modes=EAGER),
    Case("tf.sort(f([2, 1]), direction='UP')", modes=EAGER),
    Case("tf.sort(a([2, 0.5, 1], 'bfloat16'))"),
    Case("tf.math.top_k(f([1, 3, 2, 3]), 2)"),
    Case("tf.math.top_k(f([[1, 3], [4, 2]]))"),
    Case("tf.math.top_k(i([1, 3, 2, 3]), k=3, sorted=True)"),
    Case("tf.math.top_k(f([1, 2]), 0)"),
    Case("tf.math.top_k(f([1, 2]), 3)", modes=EAGER),
    Case("tf.math.top_k(f([2, 1]), 1).indices"),
    Case("tf.nn.top_k(f([2, 1]), 1).values"),
    Case("tf.searchsorted(f([1, 3, 3, 5]), f([0, 3, 6]))"),
    Case("tf.searchsorted(f([1, 3, 3, 5]), f([0, 3, 6]), side='right')"),
    Case("tf.searchsorted(i([[1, 3, 5], [2, 4, 6]]), i([[3, 9], [2, 5]]), out_type=tf.int64)"),
    Case("tf.searchsorted(i([[1, 3, 5]]), i([[3], [2]]))", modes=EAGER),
    Case("tf.unique(i([3, 1, 3, 2, 1]))", modes=EAGER),
    Case("tf.unique(f([]))", modes=EAGER),
    Case("tf.unique(f([1, 2, 1]), out_idx=tf.int64)", modes=EAGER),
    Case("tf.unique(s(['b', 'a', 'b']))", modes=HOST),
    Case("tf.unique(i([[1], [2]]))", modes=EAGER),
    Case("tf.unique_with_counts(i([3, 1, 3, 2, 1, 3]))", modes=EAGER),
    Case("tf.unique_with_counts(s(['b', 'a', 'b'])).count", modes=HOST),
    Case("tf.math.invert_permutation(i([3, 4, 0, 2, 1]))"),
    Case("tf.math.invert_permutation(i([3, 0, 0]))", modes=HOST),
    Case("tf.math.in_top_k(i([1, 0]), f([[1, 2, 3], [3, 2, 1]]), 2)"),
    Case("tf.math.in_top_k(i([1, 2]), f([[1, 2, 2], [3, 2, 1]]), 1)"),
    *(
        Case(f"x = f([3, 1, 3, 2])\nwith tf.GradientTape() as tape:\n    tape.watch(x)\n"
             f"    z = tf.{what} * f([1, 2, 3, 4])[:2]\ntape.gradient(z, x)", modes=("function",))
        for what in ("sort(x)[:2]", "sort(x, direction='DESCENDING')[:2]", "math.top_k(x, 2).values",
                     "math.top_k(x, 2)[0]")
    ),
]  # fmt: skip
