"""`tf.sparse`, on the host."""

from tests.golden.surface import Case

_A = "a = tf.sparse.from_dense(np.array([[1, 0, 2], [0, 0, 0], [0, 3, 4]], np.float32)); "
_B = _A + "b = tf.sparse.from_dense(np.array([[0, 5, -2], [0, 0, 0], [7, 0, 1]], np.float32)); "
_T = "t = tf.sparse.from_dense(np.array([['a', ''], ['', 'b'], ['', '']])); "

_HOST = [
    _A + "a",
    _T + "t",
    "tf.sparse.from_dense(np.array([0, 7, 0]))",
    _A + "[tf.sparse.to_dense(a), tf.sparse.to_dense(a, -1.0)]",
    "tf.sparse.reorder(tf.SparseTensor(np.array([[1, 0], [0, 1]]), np.array([5, 6]), np.array([2, 2])))",
    _A + "[tf.sparse.reset_shape(a), tf.sparse.reset_shape(a, [4, 5])]",
    _A + "tf.sparse.reset_shape(a, [2, 2])",
    _A + "[tf.sparse.reshape(a, [9]), tf.sparse.reshape(a, [-1, 1, 3])]",
    _A + "tf.sparse.reshape(a, [2, 2])",
    _A + "[tf.sparse.expand_dims(a), tf.sparse.expand_dims(a, 0), tf.sparse.expand_dims(a, -2)]",
    _A + "[tf.sparse.transpose(a), tf.sparse.transpose(a, [0, 1])]",
    _B + "[tf.sparse.concat(0, [a, b]), tf.sparse.concat(1, [a, b]), tf.sparse.concat(-1, [a, b])]",
    _A + "tf.sparse.concat(0, [a, tf.sparse.eye(2)])",
    _A + "tf.sparse.concat(0, [a, tf.sparse.eye(2)], expand_nonconcat_dims=True)",
    _A + "[tf.sparse.slice(a, [0, 1], [3, 2]), tf.sparse.slice(a, [2, 0], [9, 9])]",
    _A + "tf.sparse.split(a, 2, 1)",
    _A + "tf.sparse.split(a, 5, 0)",
    _A + "tf.sparse.retain(a, np.array([True, False, False, True]))",
    _A + "tf.sparse.fill_empty_rows(a, 9.0)",
    _T + "tf.sparse.fill_empty_rows(t, '-')",
    "tf.sparse.to_indicator(tf.SparseTensor(np.array([[0, 0], [1, 1]]), np.array([3, 0]), np.array([2, 2])), 4)",
    _A + "tf.sparse.map_values(tf.multiply, a, 2.0)",
    _B + "tf.sparse.map_values(tf.multiply, a, a)",
    _B + "tf.sparse.add(a, b)",
    _B + "tf.sparse.add(a, b, 3.0)",
    _A + "[tf.sparse.add(a, np.ones((3, 3), np.float32)), tf.sparse.add(np.ones((3, 3), np.float32), a)]",
    _B + "[tf.sparse.maximum(a, b), tf.sparse.minimum(a, b)]",
    _A + "tf.sparse.add(a, tf.sparse.eye(2))",
    _A + "[tf.sparse.reduce_sum(a), tf.sparse.reduce_sum(a, 0), tf.sparse.reduce_sum(a, 1)]",
    _A
    + "[tf.sparse.reduce_sum(a, 1, keepdims=True), tf.sparse.reduce_sum(a, [0, 1]), tf.sparse.reduce_max(a, -1)]",
    _A + "tf.sparse.reduce_sum(a, 1, output_is_sparse=True)",
    _A + "tf.sparse.reduce_sum(a, 2)",
    _A + "tf.sparse.softmax(a)",
    "[tf.sparse.eye(2), tf.sparse.eye(2, 3, tf.int32)]",
    _T + "tf.sparse.cross([t, tf.constant([['x'], ['y'], ['z']])])",
    _T + "tf.sparse.cross_hashed([tf.constant([[1], [-2], [3]]), t])",
    _T + "tf.sparse.cross_hashed([t, tf.constant([['x', 'y'], ['y', ''], ['z', 'z']]), t], 1000, 7)",
    _A + "b = tf.sparse.map_values(tf.cast, a, tf.int64); tf.sparse.cross_hashed([b, b], 100)",
    "tf.sparse.cross_hashed([tf.constant([['a', 'b']])], 10)",
    _T + "tf.sparse.cross_hashed([t, tf.constant([['x']])])",
]

CASES = [Case(code, modes=("host",)) for code in _HOST] + [
    Case(_A + "tf.sparse.sparse_dense_matmul(a, f([[1, 2], [3, 4], [5, 6]]))"),
    Case(_A + "tf.sparse.sparse_dense_matmul(a, f([[1, 2], [3, 4], [5, 6]]), adjoint_a=True)"),
    Case(_A + "tf.sparse.sparse_dense_matmul(a, f([[1, 2, 3], [3, 4, 5]]), adjoint_b=True)"),
    Case(_A + "tf.sparse.sparse_dense_matmul(f([[1, 2, 3], [3, 4, 5]]), a)", modes=("host", "device")),
    Case(_A + "tf.sparse.sparse_dense_matmul(a, f([[1, 2]]))", modes=("host", "device")),
    Case("tf.sparse.segment_sum(f([[1, 2], [3, 4], [5, 6]]), [0, 2, 1], [0, 0, 2])"),
    Case("tf.sparse.segment_mean(f([[1, 2], [3, 4], [5, 6]]), [0, 2, 1], [0, 0, 1])"),
    Case("tf.sparse.segment_sqrt_n(f([[1, 2], [3, 4], [5, 6]]), [0, 2, 1], [0, 0, 1], num_segments=3)"),
]
