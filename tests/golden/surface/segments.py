"""Cases of functions that combine the elements of segments, classes or bins."""

from tests.golden.surface import Case

EAGER = ("device", "host")
HOST = ("host",)
_DATA = "f([[1, -2], [3, 4], [5, 0.5], [7, 8]])"

CASES = [
    *(
        Case(f"tf.math.segment_{how}({data}, i([0, 0, 1, 3]))", modes=EAGER)
        for how in ("sum", "mean", "max", "min", "prod")
        for data in (_DATA, "i([7, 8, -9, 4])")
    ),
    *(
        Case(f"tf.math.unsorted_segment_{how}({data}, i([2, 0, -1, 2]), 4)")
        for how in ("sum", "mean", "max", "min", "prod", "sqrt_n")
        for data in (_DATA, "f([7, 8, -9, 4])")
    ),
    *(
        Case(f"tf.math.unsorted_segment_{how}(i([7, 8, -9, 4]), i([2, 0, 1, 2]), 4)")
        for how in ("sum", "max", "min", "prod")
    ),
    Case("tf.math.unsorted_segment_sum(f([[1, 2], [3, 4]]), i([[0, 1], [1, 1]]), 3)"),
    Case("tf.math.unsorted_segment_sum(f([1, 2]), i([0, 3]), 3)", modes=HOST),
    Case("tf.math.unsorted_segment_sum(f([1, 2]), i([0, 1, 2]), 3)", modes=EAGER),
    Case("tf.math.segment_sum(f([1, 2]), i([1, 0]))", modes=EAGER),
    Case("tf.math.segment_sum(f([1, 2]), i([0]))", modes=EAGER),
    Case("tf.math.segment_sum(f([1, 2, 3]), np.array([0, 0, 2]))"),
    *(
        Case(f"x = f([1, 3, 3, 2, 2])\nwith tf.GradientTape() as tape:\n    tape.watch(x)\n"
             f"    z = tf.math.unsorted_segment_{how}(x, np.array([0, 0, 0, 1, -1]), 3)[:2] * f([2, 3])\n"
             "tape.gradient(z, x)", modes=("function",))
        for how in ("sum", "mean", "max", "min", "prod", "sqrt_n")
    ),
    Case("tf.math.bincount(i([1, 2, 1, 4]))", modes=EAGER),
    Case("tf.math.bincount(i([[1, 2], [1, 4]]))", modes=EAGER),
    Case("tf.math.bincount(i([1, 2, 1]), minlength=5, maxlength=5)"),
    Case("tf.math.bincount(i([1, 2, 1]), minlength=5)", modes=EAGER),
    Case("tf.math.bincount(i([1, 2, 7]), maxlength=3)", modes=EAGER),
    Case("tf.math.bincount(i([1, 2, 1]), weights=f([0.5, 1.5, 2]))", modes=EAGER),
    Case("tf.math.bincount(i([1, 2, 1]), dtype=tf.float32)", modes=EAGER),
    Case("tf.math.bincount(i([[1, 2, 1], [0, 0, 3]]), axis=-1)", modes=EAGER),
    Case("tf.math.bincount(i([[1, 2, 1], [0, 0, 3]]), axis=-1, binary_output=True)", modes=EAGER),
    Case("tf.math.bincount(i([1, 1, 2]), binary_output=True)", modes=EAGER),
    Case("tf.math.bincount(i([]))", modes=EAGER),
    Case("tf.math.bincount(i([-1]))", modes=EAGER),
    Case("tf.math.confusion_matrix(i([1, 2, 4]), i([2, 2, 4]))", modes=EAGER),
    Case("tf.math.confusion_matrix(i([0, 1, 1]), i([1, 1, 0]), 3)"),
    Case("tf.math.confusion_matrix(i([0, 1]), i([1, 1]), 2, weights=f([0.5, 2]), dtype=tf.float32)"),
    Case("tf.math.confusion_matrix(i([0, 3]), i([1, 1]), 2)", modes=EAGER),
    Case("tf.math.confusion_matrix(i([0, -1]), i([1, 1]), 2)", modes=EAGER),
    Case("tf.histogram_fixed_width(f([-1, 0, 1.5, 2, 5, 15]), f([0, 5]), nbins=5)"),
    Case("tf.histogram_fixed_width(f([-1, 0, 1.5, 2, 5, 15]), [0.0, 5.0], nbins=5)"),
    Case("tf.histogram_fixed_width_bins(f([-1, 0, 1.5, 2, 5, 15]), [0.0, 5.0], nbins=5)"),
    Case("tf.histogram_fixed_width_bins(f([1]), [0.0, 5.0], nbins=0)", modes=EAGER),
]  # fmt: skip
