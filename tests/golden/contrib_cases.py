"""What `make_contrib.py` asks TensorFlow 1.15 and the tests ask Stratax: `tf.contrib`'s layers and scopes.

Read by both, so neither TensorFlow nor Stratax is imported here.
"""

import numpy as np

_LINE, _IMAGE, _VOLUME = (2, 9, 3), (2, 8, 7, 4), (1, 3, 5, 4, 2)


def weights(shape, dtype=None, partition_info=None):
    """Initializer of all variables: no two elements alike."""
    return (0.4 * np.cos(1.0 + np.arange(np.prod(shape)))).reshape([int(n) for n in shape]).astype(np.float32)


def inputs(shape):
    """Return what a case computes."""
    return np.random.RandomState(0).normal(size=shape).astype(np.float32)


_W = {"weights_initializer": weights}
_WB = {**_W, "biases_initializer": weights}
_AFFINE = {"param_initializers": {"beta": weights, "gamma": weights}}


def _layer(name, shape, *args, **kwargs):
    return shape, lambda tf, x: getattr(tf.contrib.layers, name)(x, *args, **kwargs)


def _scoped(tf, x):
    slim = tf.contrib.slim
    with slim.arg_scope([slim.conv2d, slim.fully_connected], activation_fn=tf.nn.tanh, **_WB):
        with slim.arg_scope([slim.conv2d], stride=2, normalizer_fn=slim.batch_norm) as scope:
            x = slim.conv2d(x, 3, [3, 3], normalizer_params={"is_training": False}, scope="first")
        x = slim.repeat(x, 2, slim.conv2d, 3, [2, 2], scope="twice")
        x = slim.stack(slim.flatten(x), slim.fully_connected, [5, 4], scope="fc")
    with slim.arg_scope(scope):
        return slim.fully_connected(x, 2, activation_fn=None)


def _shared(tf, x):
    layers = tf.contrib.layers
    first = layers.fully_connected(x, 3, scope="same", **_WB)
    return first + layers.fully_connected(x, 3, scope="same", reuse=True, **_WB)


def _collected(tf, x):
    slim = tf.contrib.slim
    with slim.arg_scope([slim.conv2d, slim.max_pool2d], outputs_collections="ends"):
        x = slim.conv2d(x, 2, 3, scope="a/b", variables_collections={"weights": ["kernels"]}, **_WB)
        slim.max_pool2d(x, 2, scope="pool")
    found = slim.utils.convert_collection_to_dict("ends")
    assert list(found) == ["a/b", "pool"], list(found)
    assert [each.op.name for each in tf.get_collection("kernels")] == ["a/b/weights"]
    assert [each.op.name for each in slim.get_model_variables()] == ["a/b/weights", "a/b/biases"]
    assert [each.op.name for each in slim.get_variables_to_restore(exclude=["a/b/w"])] == ["a/b/biases"]
    assert [each.op.name for each in slim.get_variables_by_suffix("biases")] == ["a/b/biases"]
    return found["pool"]


def _embedded(tf, x):
    ids = np.array([[1, 2, 0], [3, 3, 0], [0, 0, 0]])
    return tf.contrib.layers.embed_sequence(ids, 5, 4, initializer=weights)


def _bags(tf, x):
    ids = np.array([[1, 2, 0], [3, 3, 0], [0, 0, 0]])
    return tf.contrib.layers.bow_encoder(ids, 5, 4, initializer=weights)


def _default_names(tf, x):
    layers = tf.contrib.layers
    x = layers.conv2d(x, 2, 3, **_WB)
    x = layers.conv2d(x, 2, 3, normalizer_fn=layers.layer_norm, **_W)
    x = layers.batch_norm(x, scale=True)
    x = layers.flatten(x)
    x = layers.dropout(x, 0.5, is_training=False)
    return layers.linear(layers.relu(x, 4, **_WB), 2, **_WB)


def _optimized(optimizer, **kwargs):
    def case(tf, x):
        made = tf.contrib.layers.fully_connected(x, 1, activation_fn=None, **_WB)
        loss = tf.reduce_mean(tf.square(made - 1.0))
        step = tf.train.get_or_create_global_step()
        return tf.contrib.layers.optimize_loss(loss, step, 0.1, optimizer, **kwargs)

    return (4, 3), case


CASES = {
    "fully_connected": _layer("fully_connected", (4, 5), 3, **_WB),
    "fully_connected of three dimensions": _layer("fully_connected", (2, 3, 5), 4, None, **_WB),
    "fully_connected, normalized": (
        (4, 5),
        lambda tf, x: tf.contrib.layers.fully_connected(
            x, 3, normalizer_fn=tf.contrib.layers.batch_norm, normalizer_params={"scale": True}, **_W
        ),
    ),
    "conv1d": _layer("conv1d", _LINE, 4, 3, **_WB),
    "conv2d": _layer("conv2d", _IMAGE, 4, [3, 2], 2, **_WB),
    "conv2d, valid, rate": _layer("conv2d", _IMAGE, 4, 3, padding="VALID", rate=2, **_WB),
    "conv3d": _layer("conv3d", _VOLUME, 3, 2, **_WB),
    "conv2d_transpose": _layer("conv2d_transpose", _IMAGE, 3, 3, 2, **_WB),
    "separable_conv2d": _layer("separable_conv2d", _IMAGE, 3, 3, 2, **_WB),
    "separable_conv2d, unmixed": _layer("separable_conv2d", _IMAGE, None, 3, 2, **_WB),
    "batch_norm": _layer("batch_norm", _IMAGE, **_AFFINE, scale=True),
    "batch_norm of vectors": _layer("batch_norm", (6, 4), activation_fn=None, decay=0.9),
    "batch_norm, moving": _layer("batch_norm", _IMAGE, is_training=False, **_AFFINE),
    "layer_norm": _layer("layer_norm", _IMAGE),
    "layer_norm from the last": _layer("layer_norm", (2, 3, 5), begin_norm_axis=-1, begin_params_axis=-1),
    "layer_norm of parameters": _layer("layer_norm", (2, 3, 5), begin_params_axis=1),
    "instance_norm": _layer("instance_norm", _IMAGE, **_AFFINE),
    "group_norm": _layer("group_norm", _IMAGE, 2, **_AFFINE),
    "max_pool2d": _layer("max_pool2d", _IMAGE, [2, 2]),
    "avg_pool2d": _layer("avg_pool2d", _IMAGE, 3, 1, "SAME"),
    "flatten": _layer("flatten", _IMAGE),
    "bias_add": _layer("bias_add", _IMAGE, initializer=weights),
    "one_hot_encoding": (
        (2,),
        lambda tf, x: tf.contrib.layers.one_hot_encoding(np.array([0, 2]), 3, 2.0, -1.0),
    ),
    "softmax": _layer("softmax", (3, 4)),
    "unit_norm": _layer("unit_norm", (3, 4), 1),
    "maxout": _layer("maxout", (3, 4), 2),
    "a scope": (_IMAGE, _scoped),
    "shared": ((4, 5), _shared),
    "collected": (_IMAGE, _collected),
    "embed_sequence": ((1,), _embedded),
    "bow_encoder": ((1,), _bags),
    "default names": (_IMAGE, _default_names),
    "SGD": _optimized("SGD"),
    "Adam, clipped": _optimized("Adam", clip_gradients=0.5),
    "Momentum, multiplied": _optimized(
        "Momentum", gradient_multipliers={"fully_connected/weights:0": 2.0}, summaries=["gradients"]
    ),
}
