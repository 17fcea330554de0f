"""Cases of functions that take parts of arrays by index, and put parts into them."""

from tests.golden.surface import Case

# The shape of the result, or an error, depends on values: that is for eager calls.
EAGER = ("device", "host")
# A compiled program can't raise for an index out of range.
HOST = ("host",)

CASES = [
    Case("tf.slice(f([[1, 2, 3], [4, 5, 6]]), [0, 1], [2, 2])"),
    Case("tf.slice(f([[1, 2, 3], [4, 5, 6]]), [1, 0], [-1, 2])"),
    Case("tf.slice(i([1, 2, 3]), [3], [-1])"),
    Case("tf.slice(i([1, 2, 3]), [1], [3])", modes=EAGER),
    Case("tf.slice(i([1, 2, 3]), [1, 0], [1, 1])", modes=EAGER),
    Case("tf.slice(i([1, 2, 3, 4]), [-1], [1])", modes=EAGER),
    Case("tf.slice(i([1, 2, 3, 4]), i([1]), [2])"),
    Case("tf.slice(s(['a', 'b', 'c']), [1], [2])", modes=HOST),
    Case("tf.strided_slice(i([[1, 2, 3], [4, 5, 6]]), [0, 0], [2, 3], [1, 2])"),
    Case("tf.strided_slice(i([[1, 2, 3], [4, 5, 6]]), [1, -1], [2, -3], [1, -1])"),
    Case("tf.strided_slice(i([[1, 2, 3], [4, 5, 6]]), [1, 0], [2, 3], begin_mask=1, end_mask=2)"),
    Case("tf.strided_slice(i([[1, 2, 3], [4, 5, 6]]), [0, 1], [0, 2], shrink_axis_mask=1)"),
    Case("tf.strided_slice(i([[1, 2, 3], [4, 5, 6]]), [0, 1], [0, 2], ellipsis_mask=1)"),
    Case("tf.strided_slice(i([[1, 2, 3], [4, 5, 6]]), [0, 1], [0, 2], new_axis_mask=1)"),
    Case("tf.strided_slice(i([1, 2, 3]), [0], [3], [0])", modes=EAGER),
    Case("tf.strided_slice(i([1, 2, 3]), [5], [6], shrink_axis_mask=1)", modes=HOST),
    Case("f([[1, 2], [3, 4]])[:, tf.newaxis]"),
    Case("f([[1, 2], [3, 4]])[tf.newaxis, ..., 0]"),
    Case("tf.gather_nd(f([[1, 2], [3, 4]]), i([[0, 1]]))"),
    Case("tf.gather_nd(f([[1, 2], [3, 4]]), i([[1], [0]]))"),
    Case("tf.gather_nd(f([[[1, 2], [3, 4]], [[5, 6], [7, 8]]]), i([[[0, 1], [1, 0]]]))"),
    Case("tf.gather_nd(f([[[1, 2], [3, 4]], [[5, 6], [7, 8]]]), i([[1], [0]]), batch_dims=1)"),
    Case("tf.gather_nd(f([[[1, 2], [3, 4]], [[5, 6], [7, 8]]]), i([[[1, 0]], [[0, 1]]]), batch_dims=1)"),
    Case("tf.gather_nd(f([1, 2]), i([1]))"),
    Case("tf.gather_nd(f([1, 2]), a(np.zeros((2, 0)), 'int32'))"),
    Case("tf.gather_nd(f([1, 2]), i([[2]]))", modes=HOST),
    Case("tf.gather_nd(f([1, 2]), i([[-1]]))", modes=HOST),
    Case("tf.gather_nd(f([1, 2]), i([[0, 1]]))", modes=EAGER),
    Case("tf.gather_nd(s(['a', 'b']), i([[1], [1]]))", modes=HOST),
    Case("tf.gather(f([[1, 2], [3, 4]]), i([1, 0, 1]), axis=1)"),
    Case("tf.gather(f([[1, 2], [3, 4]]), i([[1, 0], [0, 0]]), axis=1, batch_dims=1)"),
    Case("tf.gather(f([[1, 2], [3, 4]]), i([1, 0]), batch_dims=1)"),
    Case("tf.gather(f([[[1, 2], [3, 4]], [[5, 6], [7, 8]]]), i([[1], [0]]), axis=2, batch_dims=1)"),
    Case("tf.gather(f([[[1, 2], [3, 4]], [[5, 6], [7, 8]]]), i([[1], [0]]), axis=1, batch_dims=1)"),
    Case("tf.gather(f([[[1, 2], [3, 4]], [[5, 6], [7, 8]]]), i([[1], [0]]), axis=-1, batch_dims=-1)"),
    Case("tf.gather(f([[1, 2], [3, 4]]), i([[1], [0], [0]]), batch_dims=1)", modes=EAGER),
    Case("tf.gather(f([[1, 2], [3, 4]]), i([[1], [2]]), batch_dims=1)", modes=HOST),
    Case("tf.boolean_mask(f([1, 2, 3]), b([True, False, True]))", modes=EAGER),
    Case("tf.boolean_mask(f([1, 2, 3]), np.array([True, False, True]))"),
    Case("tf.boolean_mask(f([[1, 2], [3, 4]]), b([True, False]))", modes=EAGER),
    Case("tf.boolean_mask(f([[1, 2], [3, 4]]), b([[True, False], [True, True]]))", modes=EAGER),
    Case("tf.boolean_mask(f([[1, 2], [3, 4]]), b([False, True]), axis=1)", modes=EAGER),
    Case("tf.boolean_mask(f([[1, 2], [3, 4]]), b([False, False]))", modes=EAGER),
    Case("tf.boolean_mask(f([[1, 2], [3, 4]]), b([False, True, True]))", modes=EAGER),
    Case("tf.boolean_mask(f(1), b(True))", modes=EAGER),
    Case("tf.boolean_mask(s(['a', 'b']), b([False, True]))", modes=HOST),
    Case("""x = f([1, 2, 3])
with tf.GradientTape() as tape:
    tape.watch(x)
    y = tf.boolean_mask(x * x, np.array([True, False, True]))
tape.gradient(y, x)""", modes=("device", "function")),
    Case("tf.scatter_nd(i([[0], [2], [0]]), f([1, 2, 3]), [4])"),
    Case("tf.scatter_nd(i([[0], [2]]), f([[1, 2], [3, 4]]), [3, 2])"),
    Case("tf.scatter_nd(i([[0, 1]]), i([5]), i([2, 2]))", modes=EAGER),
    Case("tf.scatter_nd(i([[4]]), i([5]), [2])", modes=HOST),
    Case("tf.scatter_nd(i([[0]]), i([5, 6]), [2])", modes=EAGER),
    *(
        Case(f"tf.tensor_scatter_nd_{how}(f([1, 2, 3, 4]), i([[1], [3], [0]]), f([9, -8, 2]))")
        for how in ("update", "add", "sub", "min", "max")
    ),
    Case("tf.tensor_scatter_nd_add(i([1, 2]), i([[1], [1]]), i([3, 4]))"),
    Case("tf.tensor_scatter_nd_update(f([[1, 2], [3, 4]]), i([[1]]), f([[7, 8]]))"),
    Case("tf.tensor_scatter_nd_update(f([[1, 2], [3, 4]]), i([[[1, 0]], [[0, 1]]]), f([[7], [8]]))"),
    Case("tf.tensor_scatter_nd_update(f([1, 2]), i([[2]]), f([7]))", modes=HOST),
    Case("tf.tensor_scatter_nd_update(f([1, 2]), i([[1]]), f([7, 8]))", modes=EAGER),
    Case("tf.tensor_scatter_nd_update(s(['a', 'b']), i([[1]]), s(['c']))", modes=HOST),
    Case("""x = f([1, 2, 3]); u = f([5, 6])
with tf.GradientTape() as tape:
    tape.watch([x, u])
    y = tf.tensor_scatter_nd_update(x * x, i([[0], [2]]), u * 2)
tape.gradient(y, [x, u])""", modes=("device", "function")),
    *(
        Case(f"""x = f([1, 5, 3, 2]); u = f([4, 5, 2, 2])
with tf.GradientTape() as tape:
    tape.watch([x, u])
    y = tf.tensor_scatter_nd_{how}(x, i([[0], [1], [2], [3]]), u)
tape.gradient(y, [x, u])""", modes=("device", "function"))
        for how in ("min", "max", "sub")
    ),
    Case("tf.unravel_index(i([22, 41, 37]), [7, 6])"),
    Case("tf.unravel_index(i(5), [2, 3])"),
    Case("tf.unravel_index(i([6]), [2, 3])", modes=HOST),
    Case("tf.sequence_mask(i([1, 3, 2]), 5)"),
    Case("tf.sequence_mask(i([[1, 3], [2, 0]]), 3, tf.float32)"),
    Case("tf.sequence_mask(i([1, 3, 2]))", modes=EAGER),
    Case("tf.sequence_mask(i(2), 4)"),
    Case("tf.sequence_mask(f([1.5, 2.0]), 3)"),
    Case("tf.sequence_mask(i([0, 0]))", modes=EAGER),
    Case("tf.dynamic_partition(f([1, 2, 3, 4]), i([0, 1, 0, 2]), 4)", modes=EAGER),
    Case("tf.dynamic_partition(f([[1, 2], [3, 4]]), i([1, 0]), 2)", modes=EAGER),
    Case("tf.dynamic_partition(f([[1, 2], [3, 4]]), i([[1, 0], [1, 1]]), 2)", modes=EAGER),
    Case("tf.dynamic_partition(f([1, 2]), i(1), 2)", modes=EAGER),
    Case("tf.dynamic_partition(f([1, 2]), i([0, 2]), 2)", modes=EAGER),
    Case("tf.dynamic_stitch([i([0, 2]), i([1, 3])], [f([1, 2]), f([3, 4])])", modes=EAGER),
    Case("tf.dynamic_stitch([[0, 2], [1, 3]], [f([[1, 2], [5, 6]]), f([[3, 4], [7, 8]])])"),
    Case("tf.dynamic_stitch([i([0, 1]), i([1, 1])], [f([1, 2]), f([3, 4])])", modes=EAGER),
    Case("tf.dynamic_stitch([i(1), i([0])], [f(3), f([4])])", modes=EAGER),
    Case("tf.reverse_sequence(i([[1, 2, 3, 0], [1, 2, 0, 0]]), i([3, 2]), seq_axis=1)"),
    Case("tf.reverse_sequence(i([[1, 2], [3, 4], [5, 6]]), i([3, 2]), seq_axis=0, batch_axis=1)"),
    Case("tf.reverse_sequence(f(np.arange(12).reshape(2, 3, 2)), i([3, 0]), seq_axis=1, batch_axis=0)"),
    Case("tf.reverse_sequence(i([[1, 2], [3, 4]]), i([1]), seq_axis=1)", modes=EAGER),
    Case("tf.meshgrid(f([1, 2, 3]), f([4, 5]))"),
    Case("tf.meshgrid(i([1, 2, 3]), i([4, 5]), i([6]), indexing='ij')"),
    Case("tf.meshgrid(i([1, 2]), indexing='yx')", modes=EAGER),
    Case("tf.roll(i([1, 2, 3, 4, 5]), shift=2, axis=0)"),
    Case("tf.roll(i([[1, 2, 3], [4, 5, 6]]), shift=[1, -2], axis=[0, 1])"),
    Case("tf.roll(i([[1, 2, 3], [4, 5, 6]]), shift=[1, 1], axis=[1, 1])"),
    Case("tf.roll(i([1, 2, 3]), i(7), axis=-1)"),
    Case("tf.where(b([[True, False], [False, True]]))", modes=EAGER),
    Case("tf.where(i([0, 3, 0, -1]))", modes=EAGER),
    Case("tf.where(b([False]))", modes=EAGER),
    Case("tf.where(b(True))", modes=EAGER),
    Case("tf.where(b([True, False]), f([1, 2]), f([3, 4]))"),
    Case("tf.where(b([[True], [False]]), f([1, 2]), 0.0)"),
    Case("tf.where(b([True, False]), f([1, 2]))", modes=EAGER),
]  # fmt: skip
