"""Cases of functions that take dimensions away, or go along one."""

from tests.golden.surface import Case

EAGER = ("device", "host")
_F = "f([[1, -2, 3], [4, 0.5, -1]])"
_I = "i([[1, -2, 3], [4, 0, -1]])"

CASES = [
    *(
        Case(f"tf.math.reduce_{name}({_F}{arguments})")
        for name in ("sum", "mean", "max", "min", "prod", "std", "variance", "logsumexp", "euclidean_norm")
        for arguments in ("", ", 0", ", axis=[0, 1], keepdims=True", ", axis=-1, keepdims=True")
    ),
    *(Case(f"tf.math.reduce_{name}({_I}, 1)") for name in ("sum", "mean", "max", "min", "prod", "euclidean_norm")),
    *(Case(f"tf.math.reduce_{name}(f([[1, float('nan')], [float('inf'), 2]]), 1)")
      for name in ("sum", "max", "min", "logsumexp")),
    *(Case(f"tf.math.reduce_{name}(f([-float('inf'), -float('inf')]))") for name in ("logsumexp", "max")),
    *(Case(f"tf.math.reduce_{name}(f([]))") for name in ("sum", "prod", "max", "min", "mean")),
    *(Case(f"tf.math.reduce_{name}(b([[True, False], [True, True]]), 1)") for name in ("all", "any")),
    Case("tf.math.reduce_any(b([]))"),
    Case("tf.math.reduce_all(b([]))"),
    Case("tf.math.reduce_sum(f([1, 2]), 1)", modes=EAGER),
    Case("tf.math.reduce_sum(f(3))"),
    Case("tf.math.reduce_sum(a([100, 100], 'int8'))"),
    Case("tf.math.reduce_mean(a([1, 2, 2], 'float16'))", tolerance=1e-2),
    *(Case(f"tf.argm{which}({x}{axis})") for which in ("ax", "in") for x in (_F, "i([3, 5, 5, 3])")
      for axis in ("", ", axis=-1")),
    Case("tf.argmax(f([1, 3]), output_type=tf.int32)"),
    *(
        Case(f"tf.math.{name}({x}{arguments})")
        for name in ("cumsum", "cumprod")
        for x in (_F, _I)
        for arguments in ("", ", 1", ", 1, exclusive=True", ", axis=-1, reverse=True",
                          ", axis=0, exclusive=True, reverse=True")
    ),
    *(Case(f"tf.math.cumulative_logsumexp({_F}, 1{arguments})")
      for arguments in ("", ", exclusive=True", ", reverse=True")),
    Case("tf.cumsum(f([1, float('inf'), 2]), exclusive=True)"),
    Case("tf.cumsum(f([]))"),
    Case("tf.cumsum(f([1, 2]), axis=1)", modes=EAGER),
    Case("tf.math.count_nonzero(f([[0, 1], [2, 0]]))"),
    Case("tf.math.count_nonzero(f([[0, 1], [2, 3]]), 0)"),
    Case("tf.math.count_nonzero(b([[True, False]]), axis=1, keepdims=True, dtype=tf.int32)"),
    Case("tf.math.count_nonzero(s(['', 'a', ' ']))", modes=("host",)),
    *(
        Case(f"x = f([[3, 1, 3], [2, 2, 0.5]])\nwith tf.GradientTape() as tape:\n    tape.watch(x)\n"
             f"    z = tf.math.{name}(x, 1)\ntape.gradient(z, x)", modes=("function",))
        for name in ("reduce_max", "reduce_min", "reduce_mean", "reduce_logsumexp", "cumsum", "cumprod",
                     "reduce_variance", "reduce_prod")
    ),
]  # fmt: skip
