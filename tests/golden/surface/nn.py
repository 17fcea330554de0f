"""Cases of `tf.nn`: convolutions, poolings, non-linearities, normalization, losses, embeddings."""
# ruff: noqa: E501

from collections.abc import Callable

from tests.golden.surface import Case

_IMAGE = "x = a(np.sin(np.arange(60)).reshape(1, 4, 5, 3), 'float32')"
_KERNEL = "k = a(np.cos(np.arange(3 * 2 * 3 * 4)).reshape(3, 2, 3, 4), 'float32')"
_BACK = "k = a(np.cos(np.arange(3 * 2 * 4 * 3)).reshape(3, 2, 4, 3), 'float32')"
_SEQUENCE = "x = a(np.sin(np.arange(2 * 9 * 3)).reshape(2, 9, 3), 'float32')"
_SHORT = "k = a(np.cos(np.arange(3 * 3 * 2)).reshape(3, 3, 2), 'float32')"
_VOLUME = "x = a(np.sin(np.arange(4 * 5 * 4 * 2)).reshape(1, 4, 5, 4, 2), 'float32')"
_CUBE = "k = a(np.cos(np.arange(2 * 3 * 2 * 2 * 3)).reshape(2, 3, 2, 2, 3), 'float32')"
_DEEP = "k = a(np.cos(np.arange(3 * 2 * 3 * 2)).reshape(3, 2, 3, 2), 'float32')"
_TABLE = "t = a(np.sin(np.arange(12)).reshape(6, 2), 'float32')"
_SPARSE = "p = tf.SparseTensor(np.array([[0, 0], [0, 1], [2, 0]], 'int64'), np.array([1, 3, 0], 'int64'), np.array([4, 2], 'int64'))"
_WEIGHTS = "w = tf.SparseTensor(np.array([[0, 0], [0, 1], [2, 0]], 'int64'), np.array([2.0, 0.5, -1.0], 'float32'), np.array([4, 2], 'int64'))"


# What computes on a device wherever its operands are.
_ON_DEVICE = ("device", "function")


def _with(*before: str) -> Callable[[str], Case]:
    return lambda code: Case("; ".join([*before, code]), _ON_DEVICE, 2e-5)


_conv, _back, _seq = _with(_IMAGE, _KERNEL), _with(_IMAGE, _BACK), _with(_SEQUENCE, _SHORT)
_vol, _deep, _img = _with(_VOLUME, _CUBE), _with(_IMAGE, _DEEP), _with(_IMAGE)

CASES = [
    _conv("tf.nn.conv2d(x, k, 1, 'VALID')"),
    _conv("tf.nn.conv2d(x, k, [1, 2, 1, 1], 'SAME')"),
    _conv("tf.nn.conv2d(x, k, 2, [[0, 0], [1, 2], [0, 1], [0, 0]])"),
    _conv("tf.nn.conv2d(x, k, 1, 'SAME', dilations=2)"),
    _conv("tf.nn.conv2d(x, k[:, :, :1, :3], 1, 'SAME')"),
    _conv("tf.nn.conv2d(x[None], k, 1, 'VALID')"),
    _conv("tf.nn.conv2d(x, k[:, :, :2], 1, 'VALID')"),
    _conv("tf.nn.conv2d(x, k, 1, 'FULL')"),
    _conv("tf.nn.conv2d(tf.cast(x, tf.float16), tf.cast(k, tf.float16), 1, 'VALID')[0, 0, 0]")._replace(tolerance=2e-3),
    _conv("tf.nn.convolution(x, k, padding='SAME', strides=[2, 2])"),
    _conv("tf.nn.convolution(x, k, dilations=[1, 2])"),
    _conv("tf.nn.atrous_conv2d(x, k, 2, 'SAME')"),
    _seq("tf.nn.conv1d(x, k, 2, 'SAME')"),
    _seq("tf.nn.conv1d(x, k, [1], 'VALID', dilations=2)"),
    _seq("tf.nn.convolution(x, k)"),
    _vol("tf.nn.conv3d(x, k, [1, 1, 2, 1, 1], 'SAME')"),
    _vol("tf.nn.conv3d(x, k, [1, 1, 1, 1, 1], 'VALID')"),
    _back("tf.nn.conv2d_transpose(x, k, [1, 8, 10, 4], 2)"),
    _back("tf.nn.conv2d_transpose(x, k, [1, 6, 6, 4], [1, 1], 'VALID')"),
    _back("tf.nn.conv2d_transpose(x, k, tf.stack([tf.shape(x)[0], 7, 9, 4]), [1, 2, 2, 1])"),
    _back("tf.nn.conv2d_transpose(x, k, [1, 20, 12, 4], 2)"),
    _back("tf.nn.conv_transpose(x, k, [1, 8, 10, 4], 2)"),
    _back("tf.nn.atrous_conv2d_transpose(x, k, [1, 4, 5, 4], 2, 'SAME')"),
    _with(_SEQUENCE, "k = a(np.cos(np.arange(3 * 2 * 3)).reshape(3, 2, 3), 'float32')")("tf.nn.conv1d_transpose(x, k, [2, 18, 2], 2)"),
    _with(_VOLUME, "k = a(np.cos(np.arange(2 * 3 * 2 * 3 * 2)).reshape(2, 3, 2, 3, 2), 'float32')")("tf.nn.conv3d_transpose(x, k, [1, 8, 10, 8, 3], 2)"),
    _deep("tf.nn.depthwise_conv2d(x, k, [1, 1, 1, 1], 'SAME')"),
    _deep("tf.nn.depthwise_conv2d(x, k, [1, 2, 2, 1], 'VALID')"),
    _deep("tf.nn.depthwise_conv2d(x, k, [1, 1, 1, 1], 'SAME', dilations=[2, 2])"),
    _deep("tf.nn.depthwise_conv2d(x, k[:, :, :2], [1, 1, 1, 1], 'SAME')"),
    _deep("tf.nn.depthwise_conv2d_backprop_input([1, 4, 5, 3], k, tf.nn.depthwise_conv2d(x, k, [1, 1, 1, 1], 'SAME'), [1, 1, 1, 1], 'SAME')"),
    _deep("tf.nn.depthwise_conv2d_backprop_filter(x, [3, 2, 3, 2], tf.nn.depthwise_conv2d(x, k, [1, 1, 1, 1], 'SAME'), [1, 1, 1, 1], 'SAME')"),
    _deep("p = a(np.sin(np.arange(12)).reshape(1, 1, 6, 2), 'float32'); tf.nn.separable_conv2d(x, k, p, [1, 1, 1, 1], 'SAME')"),
    Case(f"{_IMAGE}; {_KERNEL}\nwith tf.GradientTape() as tape:\n  tape.watch(k)\n  y = tf.reduce_sum(tf.square(tf.nn.conv2d(x, k, 2, 'SAME')))\ntape.gradient(y, k)", _ON_DEVICE, 5e-5),
    Case(f"{_IMAGE}; {_BACK}\nwith tf.GradientTape() as tape:\n  tape.watch([x, k])\n  y = tf.reduce_sum(tf.square(tf.nn.conv2d_transpose(x, k, [1, 8, 10, 4], 2)))\ntape.gradient(y, [x, k])", _ON_DEVICE, 5e-5),
    _img("tf.nn.max_pool(x, 2, 2, 'VALID')"),
    _img("tf.nn.max_pool(x, [1, 3, 2, 1], [1, 2, 1, 1], 'SAME')"),
    _img("tf.nn.max_pool2d(x, [3, 3], 1, 'SAME')"),
    _img("tf.nn.max_pool2d(x, 2, 2, [[0, 0], [1, 1], [0, 1], [0, 0]])"),
    _img("tf.nn.max_pool2d(x[0], 2, 2, 'VALID')"),
    _img("tf.nn.max_pool(x, [1, 1, 1, 3], [1, 1, 1, 3], 'VALID')"),
    _img("tf.nn.avg_pool(x, 2, 2, 'SAME')"),
    _img("tf.nn.avg_pool2d(x, [1, 2, 3, 1], [1, 1, 2, 1], 'VALID')"),
    _img("tf.nn.avg_pool2d(x, 2, 2, 'ODD')"),
    _with(_SEQUENCE)("tf.nn.max_pool1d(x, 3, 2, 'SAME')"),
    _with(_SEQUENCE)("tf.nn.avg_pool1d(x, [2], [2], 'VALID')"),
    _with(_SEQUENCE)("tf.nn.avg_pool(x, 2, 1, 'SAME')"),
    _with(_VOLUME)("tf.nn.max_pool3d(x, 2, 2, 'SAME')"),
    _with(_VOLUME)("tf.nn.avg_pool3d(x, [2, 2, 2], [1, 1, 1], 'VALID')"),
    _img("tf.nn.pool(x, [2, 2], 'MAX', strides=[2, 1])"),
    _img("tf.nn.pool(x, [2, 2], 'AVG', padding='SAME')"),
    _img("tf.nn.pool(x, [2, 2], 'MAX', dilations=[2, 2])"),
    _img("tf.nn.pool(x, [2, 2], 'MIN')"),
    _img("tf.nn.max_pool_with_argmax(x, 2, 2, 'SAME')"),
    _img("tf.nn.max_pool_with_argmax(x, [1, 2, 2, 1], 1, 'VALID', include_batch_in_index=True)"),
    Case("tf.nn.max_pool_with_argmax(f(np.zeros((1, 3, 3, 1)) - 1), 2, 2, 'SAME')"),
    Case(f"{_IMAGE}\nwith tf.GradientTape() as tape:\n  tape.watch(x)\n  y = tf.reduce_sum(tf.square(tf.nn.max_pool2d(x, 3, 2, 'SAME')) + tf.square(tf.nn.avg_pool2d(x, 3, 2, 'SAME')))\ntape.gradient(y, x)", _ON_DEVICE, 5e-5),
    _img("tf.nn.dilation2d(x, f(np.cos(np.arange(12)).reshape(2, 2, 3)), [1, 1, 1, 1], 'SAME', 'NHWC', [1, 1, 1, 1])"),
    _img("tf.nn.dilation2d(x, f(np.cos(np.arange(12)).reshape(2, 2, 3)), [1, 2, 1, 1], 'VALID', 'NHWC', [1, 2, 2, 1])"),
    _img("tf.nn.erosion2d(x, f(np.cos(np.arange(12)).reshape(2, 2, 3)), [1, 1, 1, 1], 'SAME', 'NHWC', [1, 1, 1, 1])"),
    # Non-linearities.
    *(Case(f"tf.nn.{name}(f([[-3.0, -0.5, 0.0], [0.5, 3.0, 9.0]]))") for name in ("relu", "relu6", "elu", "selu", "gelu", "silu", "swish", "softplus", "softsign", "softmax", "log_softmax", "leaky_relu", "crelu", "sigmoid", "tanh", "l2_loss")),
    Case("tf.nn.gelu(f([-2.0, 0.5]), approximate=True)"),
    Case("tf.nn.silu(f([-2.0, 0.5]), beta=2.0)"),
    Case("tf.nn.swish(f([-2.0, 0.5]), 1.5)"),
    Case("tf.nn.leaky_relu(i([-2, 3]), alpha=0.5)"),
    Case("tf.nn.leaky_relu(f([-2.0, 3.0]), 0.01)"),
    Case("tf.nn.relu(i([-2, 3]))"),
    Case("tf.nn.relu(f([float('nan'), -float('inf')]))"),
    Case("tf.nn.crelu(f([[1.0, -2.0]]), axis=0)"),
    Case("tf.nn.softmax(f([[1.0, 2.0], [3.0, 5.0]]), axis=0)"),
    Case("tf.nn.softmax(f([1000.0, 1001.0]))"),
    Case("tf.nn.log_softmax(f([[1.0, 2.0], [3.0, 5.0]]), axis=0)"),
    Case("tf.nn.softmax(i([1, 2]))"),
    Case("tf.nn.relu(a([-1.0, 2.0], 'bfloat16'))"),
    # Normalization.
    Case("tf.nn.bias_add(f([[1.0, 2.0], [3.0, 4.0]]), f([0.5, -0.5]))"),
    Case("tf.nn.bias_add(f(np.zeros((1, 2, 2, 3))), f([1.0, 2.0, 3.0]), data_format='NHWC')"),
    Case("tf.nn.bias_add(f(np.zeros((1, 2, 2, 3))), f([1.0, 2.0]), data_format='NCHW')"),
    Case("tf.nn.bias_add(f(np.zeros((2, 3))), f([1.0, 2.0]))"),
    Case("tf.nn.bias_add(f([[1.0]]), f([1.0]), data_format='WRONG')"),
    Case("tf.nn.moments(f([[1.0, 2.0], [3.0, 7.0]]), [0])"),
    Case("tf.nn.moments(f([[1.0, 2.0], [3.0, 7.0]]), axes=[0, 1], keepdims=True)"),
    Case("tf.nn.moments(a([300.0, 400.0], 'float16'), [0])", tolerance=1e-3),
    Case("tf.nn.weighted_moments(f([[1.0, 2.0], [3.0, 7.0]]), [0], f([[1.0], [3.0]]))"),
    Case("tf.nn.weighted_moments(f([[1.0, 2.0], [3.0, 7.0]]), [1], f([[1.0, 0.5], [2.0, 2.0]]), keepdims=True)"),
    Case("tf.nn.sufficient_statistics(f([[1.0, 2.0], [3.0, 7.0]]), [0])"),
    Case("tf.nn.sufficient_statistics(f([[1.0, 2.0], [3.0, 7.0]]), [0, 1], shift=f(1.0), keepdims=True)"),
    Case("tf.nn.normalize_moments(f(2.0), f([4.0, 6.0]), f([10.0, 20.0]), None)"),
    Case("tf.nn.normalize_moments(f(2.0), f([4.0, 6.0]), f([10.0, 20.0]), f([1.0, 2.0]))"),
    Case("tf.nn.batch_normalization(f([[1.0, 2.0], [3.0, 7.0]]), f([2.0, 3.0]), f([1.0, 4.0]), f([0.5, 0.0]), f([2.0, 1.0]), 1e-3)"),
    Case("tf.nn.batch_normalization(f([[1.0, 2.0]]), f([2.0, 3.0]), f([1.0, 4.0]), None, None, 1e-3)"),
    Case("tf.nn.batch_norm_with_global_normalization(f(np.ones((1, 1, 2, 2))), f([2.0, 3.0]), f([1.0, 4.0]), f([0.5, 0.0]), f([2.0, 1.0]), 1e-3, True)"),
    Case("tf.nn.batch_norm_with_global_normalization(f(np.ones((1, 1, 2, 2))), f([2.0, 3.0]), f([1.0, 4.0]), f([0.5, 0.0]), f([2.0, 1.0]), 1e-3, False)"),
    _img("tf.compat.v1.nn.fused_batch_norm(x, f([1.0, 2.0, 3.0]), f([0.0, 1.0, 0.0]))"),
    _img("tf.compat.v1.nn.fused_batch_norm(x, f([1.0, 2.0, 3.0]), f([0.0, 1.0, 0.0]), f([1.0, 0.0, 2.0]), f([1.0, 2.0, 2.0]), is_training=False)[0]"),
    _img("tf.nn.local_response_normalization(x, depth_radius=1, bias=1.0, alpha=0.5, beta=0.75)"),
    _img("tf.nn.lrn(x)"),
    Case("tf.nn.lrn(f([1.0, 2.0]))"),
    Case("tf.nn.l2_normalize(f([[3.0, 4.0], [0.0, 0.0]]), axis=1)"),
    Case("tf.nn.l2_normalize(f([[3.0, 4.0], [1.0, 1.0]]))"),
    Case("tf.nn.l2_normalize(f([[3.0, 4.0], [1.0, 1.0]]), axis=[0, 1], epsilon=100.0)"),
    Case("tf.nn.zero_fraction(f([0.0, 1.0, 0.0, 2.0]))"),
    Case("tf.nn.zero_fraction(i([[0, 1, 1]]))"),
    # Losses.
    Case("tf.nn.weighted_cross_entropy_with_logits(f([1.0, 0.0, 0.5]), f([1.5, -0.1, -30.0]), 2.0)"),
    Case("tf.nn.weighted_cross_entropy_with_logits(f([1.0, 0.0]), f([1.5]), 2.0)"),
    Case("tf.nn.log_poisson_loss(f([1.0, 0.0, 5.0]), f([0.5, -1.0, 1.0]))"),
    Case("tf.nn.log_poisson_loss(f([1.0, 0.0, 5.0]), f([0.5, -1.0, 1.0]), compute_full_loss=True)"),
    Case("tf.nn.sigmoid_cross_entropy_with_logits(f([1.0, 0.0]), f([100.0, -0.1]))"),
    Case("tf.nn.softmax_cross_entropy_with_logits(f([[1.0, 0.0]]), f([[2.0, 1.0]]))"),
    Case("tf.nn.softmax_cross_entropy_with_logits(f([[1.0], [0.0]]), f([[2.0], [1.0]]), axis=0)"),
    Case("tf.nn.sparse_softmax_cross_entropy_with_logits(i([1, 0]), f([[2.0, 1.0], [0.0, 5.0]]))"),
    Case("tf.nn.in_top_k(i([0, 2]), f([[0.5, 0.3, 0.5], [0.9, 0.1, 0.0]]), 1)"),
    Case("tf.nn.top_k(f([[1.0, 3.0, 2.0]]), k=2)"),
    Case("tf.nn.approx_max_k(f([1.0, 3.0, 2.0]), 2)"),
    Case("tf.nn.isotonic_regression(f([[3.0, 1.0, 2.0, 0.5, 0.7]]))"),
    Case("tf.nn.isotonic_regression(f([3.0, 1.0, 2.0, 0.5, 4.0]), decreasing=False)"),
    Case("tf.nn.isotonic_regression(f([[3.0, 1.0], [2.0, 0.5], [5.0, 0.2]]), axis=0)"),
    # Blocks.
    Case("tf.nn.space_to_depth(f(np.arange(16).reshape(1, 4, 4, 1)), 2)"),
    Case("tf.nn.space_to_depth(f(np.arange(16).reshape(1, 4, 4, 1)), 3)"),
    Case("tf.nn.depth_to_space(i(np.arange(16).reshape(1, 2, 2, 4)), 2)"),
    Case("tf.nn.depth_to_space(f(np.arange(24).reshape(1, 2, 1, 12)), 2)"),
    Case("tf.nn.depth_to_space(f(np.arange(6).reshape(1, 2, 1, 3)), 2)"),
    Case("tf.nn.space_to_batch(f(np.arange(16).reshape(1, 4, 4, 1)), [2, 2], [[0, 0], [0, 0]])"),
    Case("tf.space_to_batch(f(np.arange(12).reshape(1, 3, 4, 1)), [2, 2], [[1, 0], [2, 0]])"),
    Case("tf.space_to_batch(f(np.arange(12).reshape(1, 3, 4, 1)), [2, 2], [[0, 0], [0, 0]])"),
    Case("tf.space_to_batch(f(np.arange(12).reshape(2, 6)), [3], [[1, 2]])"),
    Case("tf.batch_to_space(f(np.arange(16).reshape(4, 2, 2, 1)), [2, 2], [[0, 0], [0, 0]])"),
    Case("tf.batch_to_space(f(np.arange(16).reshape(4, 2, 2, 1)), [2, 2], [[0, 1], [1, 0]])"),
    Case("tf.batch_to_space(f(np.arange(12).reshape(3, 4, 1)), [2], [[0, 0]])"),
    # Embeddings.
    Case(f"{_TABLE}; tf.nn.embedding_lookup(t, i([[0, 5], [2, 2]]))"),
    Case(f"{_TABLE}; tf.nn.embedding_lookup(t, i([0, 5]), max_norm=0.5)"),
    Case(f"{_TABLE}; tf.nn.embedding_lookup([t[:3], t[3:]], i([0, 5, 3]))"),
    Case(f"{_TABLE}; tf.compat.v1.nn.embedding_lookup([t[:3], t[3:]], i([0, 5, 3]))"),
    Case(f"{_TABLE}; tf.compat.v1.nn.embedding_lookup([t[:3], t[3:]], i([0, 5, 3]), partition_strategy='div')"),
    Case(f"{_TABLE}; {_SPARSE}; tf.nn.embedding_lookup_sparse(t, p, None, combiner='sum')[:3]"),
    Case(f"{_TABLE}; {_SPARSE}; tf.nn.embedding_lookup_sparse(t, p, None)[0]"),
    Case(f"{_TABLE}; {_SPARSE}; {_WEIGHTS}; tf.nn.embedding_lookup_sparse(t, p, w, combiner='mean')[0]"),
    Case(f"{_TABLE}; {_SPARSE}; {_WEIGHTS}; tf.nn.embedding_lookup_sparse(t, p, w, combiner='sqrtn', max_norm=0.5)[:3]"),
    Case(f"{_TABLE}; {_SPARSE}; tf.nn.embedding_lookup_sparse(t, p, None, combiner='max')"),
    Case(f"{_TABLE}; {_SPARSE}; tf.nn.safe_embedding_lookup_sparse(t, p)"),
    Case(f"{_TABLE}; {_SPARSE}; {_WEIGHTS}; tf.nn.safe_embedding_lookup_sparse(t, p, w, default_id=2)"),
    Case(f"{_TABLE}; {_SPARSE}; {_WEIGHTS}; tf.nn.safe_embedding_lookup_sparse(t, p, w, combiner='sum')"),
]  # fmt: skip
