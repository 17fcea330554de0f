"""What `make_layers.py` asks TensorFlow and the tests ask Stratax: layers of TensorFlow 1 with their arguments.

Read by both, so neither TensorFlow nor Stratax is imported here.
"""

import numpy as np


def weights(shape, dtype=None, partition_info=None):
    """Initializer of all variables that a case does not give another one: no two elements alike."""
    return (0.4 * np.cos(1.0 + np.arange(np.prod(shape)))).reshape([int(n) for n in shape]).astype(np.float32)


def inputs(shape, seed=0):
    """Return what a case computes."""
    return np.random.RandomState(seed).normal(size=shape).astype(np.float32)


_KERNELS = {"kernel_initializer": weights, "bias_initializer": weights}
_SEPARABLE = {
    "depthwise_initializer": weights,
    "pointwise_initializer": weights,
    "bias_initializer": weights,
}
_LINE, _IMAGE, _VOLUME = (2, 9, 3), (1, 8, 7, 3), (1, 3, 5, 4, 2)
_STATISTICS = {
    "beta_initializer": weights,
    "gamma_initializer": weights,
    "moving_mean_initializer": weights,
}


def _cases():
    """Yield (function, inputs' shape, arguments)."""
    yield "dense", (4, 5), {"units": 3, **_KERNELS}
    yield "dense", (2, 3, 5), {"units": 4, "use_bias": False, "activation": "relu", **_KERNELS}
    yield "conv1d", _LINE, {"filters": 4, "kernel_size": 3, **_KERNELS}
    yield (
        "conv1d",
        _LINE,
        {"filters": 4, "kernel_size": 2, "strides": 2, "padding": "same", "activation": "tanh", **_KERNELS},
    )
    yield "conv2d", _IMAGE, {"filters": 4, "kernel_size": 3, **_KERNELS}
    yield (
        "conv2d",
        _IMAGE,
        {"filters": 2, "kernel_size": (3, 2), "strides": 2, "padding": "SAME", "use_bias": False, **_KERNELS},
    )
    yield (
        "conv2d",
        _IMAGE,
        {"filters": 2, "kernel_size": 3, "dilation_rate": 2, "padding": "same", **_KERNELS},
    )
    yield "conv3d", _VOLUME, {"filters": 3, "kernel_size": 2, "strides": (1, 2, 1), **_KERNELS}
    for padding in ("valid", "same"):
        for strides in (1, 2):
            yield (
                "conv2d_transpose",
                _IMAGE,
                {"filters": 4, "kernel_size": 3, "strides": strides, "padding": padding, **_KERNELS},
            )
        yield (
            "conv3d_transpose",
            _VOLUME,
            {"filters": 2, "kernel_size": 3, "strides": 2, "padding": padding, **_KERNELS},
        )
        yield (
            "separable_conv1d",
            _LINE,
            {"filters": 4, "kernel_size": 3, "depth_multiplier": 2, "padding": padding, **_SEPARABLE},
        )
        yield (
            "separable_conv2d",
            _IMAGE,
            {"filters": 4, "kernel_size": 3, "strides": 2, "padding": padding, **_SEPARABLE},
        )
        for kind in ("average", "max"):
            for dims, shape in enumerate((_LINE, _IMAGE, _VOLUME), 1):
                yield (
                    f"{kind}_pooling{dims}d",
                    shape,
                    {"pool_size": 3, "strides": 2, "padding": padding},
                )
    yield "flatten", _IMAGE, {}
    yield "flatten", _IMAGE, {"data_format": "channels_first"}
    yield "flatten", (3,), {}
    yield "dropout", (3, 4), {"training": False}


CASES = {f"{name}|{number}": (name, shape, given) for number, (name, shape, given) in enumerate(_cases())}

# Three steps of training, and then one of evaluation.
STATISTICS = {
    "of rows": ((6, 3), {**_STATISTICS}),
    "of a line": ((2, 5, 3), {"momentum": 0.9, "epsilon": 0.1, **_STATISTICS}),
    "of an image": ((2, 4, 3, 3), {"momentum": 0.8, **_STATISTICS}),
    "of an image with a small epsilon": ((2, 4, 3, 3), {"momentum": 0.8, "epsilon": 1e-7, **_STATISTICS}),
    "of an image, not fused": ((2, 4, 3, 3), {"momentum": 0.8, "fused": False, **_STATISTICS}),
    "of rows in an image": ((2, 4, 3, 3), {"axis": 2, "fused": False, "momentum": 0.8, **_STATISTICS}),
    "of a volume": ((2, 2, 3, 2, 3), {"axis": [-1], "scale": False, "momentum": 0.8, **_STATISTICS}),
    "of a frozen layer": ((6, 3), {"trainable": False, "center": False, **_STATISTICS}),
}


def models(layers, scope, get_scope, auto_reuse):
    """Models whose variables' names are compared, by what they show."""
    x = inputs((2, 4))
    reuse = {"reuse": True}

    def plain():
        layers.dense(x, 2)
        layers.dense(x, 2)
        layers.dense(x, 2, name="head")
        layers.dense(x, 2)
        layers.batch_normalization(x)
        layers.conv1d(x[..., None], 1, 1)
        layers.separable_conv1d(x[..., None], 1, 1)

    def explicit_names_count():
        layers.dense(x, 2, name="dense")
        layers.dense(x, 2)
        with scope("dense_2"):
            layers.dense(x, 2)
        layers.dense(x, 2)

    def a_scope_entered_twice_shares():
        for given in ({}, reuse):
            with scope("s", **given):
                layers.dense(x, 2)
                layers.dense(x, 2)
        layers.dense(x, 2)

    def a_scope_entered_as_an_object():
        with scope("s") as outer:
            layers.dense(x, 2)
            with scope(outer):
                layers.dense(x, 2)
        with scope(outer, **reuse):
            layers.dense(x, 2)

    def scopes_within_scopes():
        with scope("a"), scope("b"):
            layers.dense(x, 2)
            with scope(None, default_name="c"):
                layers.dense(x, 2, name="d/e")
            with scope(None, default_name="c"):
                layers.dense(x, 2)
                layers.dense(x, 2, name="f")
                layers.dense(x, 2, name="f", reuse=True)

    def classes():
        first, second = layers.Dense(2), layers.Dense(2)
        second.apply(x)
        first(x)
        first(x)
        layers.Dense(2, name="named")(x)
        layers.Dense(2, name="named")(x)
        with scope("s"):
            layers.Conv2D(1, 1)(x[..., None, None])
            layers.BatchNormalization(name="bn")(x)

    def shared_scope_of_a_function():
        for _ in range(2):
            with scope(get_scope(), reuse=auto_reuse):
                layers.dense(x, 2, name="shared")

    made = (
        plain,
        explicit_names_count,
        a_scope_entered_twice_shares,
        a_scope_entered_as_an_object,
        scopes_within_scopes,
        classes,
        shared_scope_of_a_function,
    )
    return {each.__name__: each for each in made}


def _nn_cases():
    """Yield (function of `tf.nn`, its arguments)."""
    image, kernel = inputs((1, 6, 5, 2)), weights((3, 2, 2, 3))
    for padding in ("SAME", "VALID"):
        yield "conv2d", {"input": image, "filter": kernel, "strides": [1, 2, 1, 1], "padding": padding}
        for name in ("max_pool", "avg_pool"):
            yield name, {"value": image, "ksize": [1, 3, 2, 1], "strides": [1, 2, 2, 1], "padding": padding}
    yield (
        "conv2d",
        {"input": image, "filters": kernel, "strides": 1, "padding": [[0, 0], [1, 2], [0, 1], [0, 0]]},
    )
    yield (
        "conv2d",
        {"input": image, "filter": kernel, "strides": 1, "padding": "SAME", "dilations": [1, 2, 1, 1]},
    )
    yield "bias_add", {"value": image, "bias": weights((2,))}
    yield "bias_add", {"value": image, "bias": weights((6,)), "data_format": "NCHW"}
    yield "moments", {"x": image, "axes": [0, 2], "keep_dims": True}
    given = {"mean": weights((2,)), "variance": weights((2,)) ** 2, "variance_epsilon": 0.1}
    yield "batch_normalization", {"x": image, "offset": weights((2,)), "scale": weights((2,)), **given}
    yield "batch_normalization", {"x": image, "offset": None, "scale": None, **given}
    yield "l2_normalize", {"x": image, "dim": 1}
    ids = np.array([[0, 2], [1, 1]])
    yield "embedding_lookup", {"params": weights((3, 4)), "ids": ids}
    yield "embedding_lookup", {"params": weights((3, 4)), "ids": ids, "max_norm": 0.5}
    scores = np.float32([[1, 2, 3], [3, 2, 2], [1, 1, np.inf]])
    yield "in_top_k", {"predictions": scores, "targets": np.array([0, 2, 2]), "k": 2}
    yield "xw_plus_b", {"x": inputs((2, 3)), "weights": weights((3, 4)), "biases": weights((4,))}


NN = {f"nn|{number}": case for number, case in enumerate(_nn_cases())}
