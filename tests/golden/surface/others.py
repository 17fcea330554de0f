"""Cases of what is small and belongs to no family: codes, dtypes, structures, aliases."""

from tests.golden.surface import Case

_CODES = (
    *("OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS"),
    *("PERMISSION_DENIED", "UNAUTHENTICATED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED"),
    *("OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS"),
)
_LOSSES = ("MSE", "mse", "MAE", "mae", "MAPE", "mape", "MSLE", "msle", "KLD", "kld")

CASES = [
    *(Case(f"tf.errors.{code}", ("host",)) for code in _CODES),
    *(
        Case(f"tf.compat.v1.{name}(f([1.5, -2.5]))", ("device", "function"))
        for name in ("to_float", "to_int32", "to_int64", "to_double", "to_bfloat16")
    ),
    *(
        Case(f"tf.keras.{door}.{name}(f([[0.2, 0.8], [0.5, 0.5]]), f([[0.3, 0.7], [0.9, 0.1]]))")
        for door in ("losses", "metrics")
        for name in _LOSSES
    ),
    Case("tf.debugging.assert_greater_equal(i([2, 3]), i([2, 1]))", ("device",)),
    Case("tf.debugging.assert_less_equal(i([2, 3]), i([2, 4]))", ("device",)),
    Case("tf.debugging.assert_less_equal(i([2, 5]), i([2, 4]))", ("device",)),
    Case("tf.debugging.assert_negative(f([-1.0, -2.0]))", ("device",)),
    Case("tf.debugging.assert_non_positive(f([0.0, -2.0]))", ("device",)),
    Case("tf.debugging.assert_non_positive(f([0.0, 2.0]))", ("device",)),
    Case("tf.debugging.assert_none_equal(i([1, 2]), i([2, 1]))", ("device",)),
    Case("tf.debugging.assert_none_equal(i([1, 2]), i([2, 2]))", ("device",)),
    Case("tf.nest.flatten({'b': [1, 2], 'a': (3,)})", ("host",)),
    Case("tf.nest.pack_sequence_as({'b': [1, 2], 'a': (3,)}, [4, 5, 6])", ("host",)),
    Case("[tf.nest.is_nested(value) for value in ([1], {}, 1, 'text', (2,))]", ("host",)),
    Case("tf.nest.assert_same_structure([1, {'a': 2}], [3, {'a': 4}])", ("host",)),
    Case("tf.nest.assert_same_structure([1, {'a': 2}], [3, {'b': 4}])", ("host",)),
    Case("[tf.as_dtype(name).name for name in ('float32', 'bool', 'int64')]", ("host",)),
    Case("[tf.dtypes.as_dtype(np.int16) == tf.int16, tf.DType is tf.dtypes.DType]", ("host",)),
    Case("[1 in tf.compat.integral_types, isinstance(1.5, tf.compat.real_types)]", ("host",)),
    Case("[isinstance(1j, tf.compat.complex_types), isinstance(2, tf.compat.integral_types)]", ("host",)),
    Case("tf.version.GRAPH_DEF_VERSION > 1000 > tf.version.GRAPH_DEF_VERSION_MIN_CONSUMER", ("host",)),
    Case("tf.shape(tf.image.stateless_random_brightness(f(np.ones((2, 2, 3))), 0.2, (1, 2)))", ("device",)),
    Case(
        "tf.shape(tf.image.stateless_random_contrast(f(np.ones((2, 2, 3))), 0.2, 0.5, (1, 2)))", ("device",)
    ),
    Case("tf.shape(tf.image.stateless_random_flip_left_right(f(np.ones((2, 2, 3))), (1, 2)))", ("device",)),
    Case("tf.shape(tf.image.stateless_random_flip_up_down(f(np.ones((2, 2, 3))), (1, 2)))", ("device",)),
    Case("tf.shape(tf.image.stateless_random_hue(f(np.ones((2, 2, 3))), 0.2, (1, 2)))", ("device",)),
    Case(
        "tf.shape(tf.image.stateless_random_saturation(f(np.ones((2, 2, 3))), 0.2, 0.5, (1, 2)))", ("device",)
    ),
    *(
        Case(f"tf.shape(tf.compat.v1.{name}()([3, 4]))", ("device",))
        for name in ("orthogonal_initializer", "truncated_normal_initializer", "variance_scaling_initializer")
    ),
    Case("tf.shape(tf.compat.v1.uniform_unit_scaling_initializer()([3, 4]))", ("device",)),
    Case("tf.sort(tf.compat.v1.random_shuffle(i([3, 1, 2])))", ("device",)),
    Case("tf.shape(tf.random.experimental.stateless_split([1, 2], 3))", ("device",)),
    Case("tf.nn.experimental.general_dropout(f([1.0, 2.0]), 0.5, tf.zeros)", ("device",)),
    Case("tf.keras.backend.binary_focal_crossentropy(f([[0.0, 1.0]]), f([[0.3, 0.6]]))"),
    Case("tf.keras.backend.pool3d(f(np.arange(8.0).reshape(1, 2, 2, 2, 1)), (2, 2, 2))"),
    Case("tf.keras.backend.pool3d(f(np.arange(8.0).reshape(1, 2, 2, 2, 1)), (2, 1, 2), pool_mode='avg')"),
    Case(
        "tf.keras.backend.resize_volumes(f(np.arange(8.0).reshape(1, 2, 2, 2, 1)), 1, 2, 1, 'channels_last')"
    ),
    Case("tf.keras.backend.spatial_3d_padding(f(np.ones((1, 1, 1, 1, 2))))"),
    Case("tf.keras.backend.is_sparse(f([1.0]))", ("device",)),
    Case("tf.shape(tf.keras.backend.random_bernoulli([2, 3], 0.5))", ("device",)),
]
