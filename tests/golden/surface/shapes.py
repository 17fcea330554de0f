"""Cases of functions about shapes."""

from tests.golden.surface import Case

CASES = [
    Case("tf.broadcast_dynamic_shape([2, 1, 3], [5, 1])"),
    Case("tf.broadcast_dynamic_shape([2], [])"),
    Case("tf.broadcast_dynamic_shape([2, 3], [5, 1])", modes=("device", "host")),
    Case("tf.broadcast_static_shape(tf.TensorShape([2, 1, 3]), tf.TensorShape([5, 1])).as_list()"),
    Case(
        "tf.broadcast_static_shape(tf.TensorShape([2, 3]), tf.TensorShape([5, 1]))", modes=("device", "host")
    ),
    Case("tf.shape_n([f([1, 2]), f([[3]])])"),
    Case("tf.identity_n([f([1, 2]), i([[3]])])"),
    Case("tf.ensure_shape(f([[1, 2]]), [1, None])"),
    Case("tf.ensure_shape(f([[1, 2]]), [None, 3])", modes=("device", "host")),
    Case("tf.ensure_shape(f([[1, 2]]), [2])", modes=("device", "host")),
    Case("tf.required_space_to_batch_paddings([5, 7], [2, 3])"),
    Case("tf.required_space_to_batch_paddings([5, 7], [2, 3], [[1, 0], [0, 1]])"),
    Case("tf.shape(f([[1, 2]]))"),
    Case("tf.size(f([[1, 2]]))"),
]
