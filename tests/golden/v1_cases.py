"""What `make_v1.py` asks TensorFlow and the tests ask Stratax: functions of TensorFlow 1 with their arguments.

Read by both, so neither TensorFlow nor Stratax is imported here.
"""

import numpy as np

_STEPS = (0, 1, 2, 3, 4, 8, 10, 11, 12, 20, 25, 28, 60, 1000)


def _decay_cases():
    """Yield (function, arguments after the learning rate and the step)."""
    for staircase in (False, True):
        for name in ("exponential_decay", "natural_exp_decay", "inverse_time_decay"):
            yield name, {"learning_rate": 0.5, "decay_steps": 10, "decay_rate": 0.7, "staircase": staircase}
    for cycle in (False, True):
        yield "polynomial_decay", {"learning_rate": 0.5, "decay_steps": 10, "cycle": cycle}
        yield (
            "polynomial_decay",
            {
                "learning_rate": 0.5,
                "decay_steps": 7,
                "end_learning_rate": 0.05,
                "power": 0.5,
                "cycle": cycle,
            },
        )
    yield "cosine_decay", {"learning_rate": 0.5, "decay_steps": 10}
    yield "cosine_decay", {"learning_rate": 0.5, "decay_steps": 10, "alpha": 0.25}
    yield "cosine_decay_restarts", {"learning_rate": 0.5, "first_decay_steps": 4}
    yield "cosine_decay_restarts", {"learning_rate": 0.5, "first_decay_steps": 4, "t_mul": 1.0, "m_mul": 0.9}
    yield (
        "cosine_decay_restarts",
        {"learning_rate": 0.5, "first_decay_steps": 3, "t_mul": 1.5, "m_mul": 0.8, "alpha": 0.1},
    )
    yield "linear_cosine_decay", {"learning_rate": 0.5, "decay_steps": 10}
    yield (
        "linear_cosine_decay",
        {"learning_rate": 0.5, "decay_steps": 10, "num_periods": 2.0, "alpha": 0.3, "beta": 0.01},
    )
    # Without variance: the noise itself is another one.
    yield "noisy_linear_cosine_decay", {"learning_rate": 0.5, "decay_steps": 10, "initial_variance": 0.0}


DECAYS = {
    f"{name}|{arguments}|{step}": (name, {**arguments, "global_step": step})
    for name, arguments in _decay_cases()
    for step in _STEPS
} | {
    f"{name}|{boundaries}|{step}": (
        name,
        {"x": step, "boundaries": list(boundaries), "values": [1.0, 0.5, 0.25, 0.1][: len(boundaries) + 1]},
    )
    for name in ("piecewise_constant", "piecewise_constant_decay")
    for boundaries in ((2,), (2, 10), (2, 10, 11))
    for step in _STEPS
}


def _losses():
    """Yield (function, arguments, which of them gradients are taken for, weights of several kinds)."""
    random = np.random.default_rng(0)
    uniform = random.uniform(0.05, 0.95, (2, 4, 3)).astype(np.float32)
    normal = random.normal(0, 2, (2, 4, 3)).astype(np.float32)
    bits = random.integers(0, 2, (4, 3)).astype(np.float32)
    classes = np.array([2, 0, 1, 2], np.int32)
    one_hot = np.eye(3, dtype=np.float32)[classes]
    elements = {"labels": uniform[0], "predictions": uniform[1]}
    unbounded = {"labels": normal[0], "predictions": normal[1]}
    by_element = {
        "none": None,
        "scalar": np.float32(2.5),
        "examples": np.array([[1.0], [0.0], [3.0], [0.5]], np.float32),
        "columns": np.array([[1.0, 0.0, 2.0]], np.float32),
        "elements": np.abs(normal[0]) * bits,
        "zero": np.float32(0.0),
        "zeros": np.zeros((4, 1), np.float32),
    }
    by_example = {
        "none": None,
        "scalar": np.float32(2.5),
        "examples": np.array([1.0, 0.0, 3.0, 0.5], np.float32),
        "zeros": np.zeros(4, np.float32),
    }
    by_row = {
        "none": None,
        "scalar": np.float32(2.5),
        "examples": by_element["examples"],
        "zeros": by_element["zeros"],
    }
    yield "absolute_difference", unbounded, "predictions", by_element
    yield "mean_squared_error", unbounded, "predictions", by_element
    yield "huber_loss", unbounded, "predictions", by_element
    yield "huber_loss", {**unbounded, "delta": 0.3}, "predictions", by_element
    yield "log_loss", elements, "predictions", by_element
    yield "log_loss", {**elements, "epsilon": 0.1}, "predictions", by_element
    yield "hinge_loss", {"labels": bits, "logits": normal[0]}, "logits", by_element
    yield "cosine_distance", {**elements, "axis": 1}, "predictions", by_row
    yield "mean_pairwise_squared_error", unbounded, "predictions", by_element
    for smoothing in (0, 0.2):
        multi = {"multi_class_labels": bits, "logits": normal[0], "label_smoothing": smoothing}
        yield "sigmoid_cross_entropy", multi, "logits", by_element
        single = {"onehot_labels": one_hot, "logits": normal[0], "label_smoothing": smoothing}
        yield "softmax_cross_entropy", single, "logits", by_example
    yield "sparse_softmax_cross_entropy", {"labels": classes, "logits": normal[0]}, "logits", by_example
    columns = by_example | {"columns": by_element["examples"]}
    yield "sparse_softmax_cross_entropy", {"labels": classes[:, None], "logits": normal[0]}, "logits", columns
    yield "compute_weighted_loss", {"losses": normal[0]}, "losses", by_element


REDUCTIONS = (
    "none",
    "weighted_sum",
    "weighted_mean",
    "weighted_sum_over_batch_size",
    "weighted_sum_by_nonzero_weights",
)
LOSSES = {
    f"{number} {name}|{weights_name}|{reduction}": (
        name,
        {
            **arguments,
            **({} if weights is None else {"weights": weights}),
            **({} if name == "mean_pairwise_squared_error" else {"reduction": reduction}),
        },
        operand,
    )
    for number, (name, arguments, operand, kinds) in enumerate(_losses())
    for weights_name, weights in kinds.items()
    for reduction in REDUCTIONS
    if name != "mean_pairwise_squared_error" or reduction == REDUCTIONS[0]
}


def _values(shapes, seed):
    """Random values of each shape."""
    random = np.random.default_rng(seed)
    return {name: random.normal(0, 1, shape).astype(np.float32) for name, shape in shapes.items()}


# Ten steps of two variables; each gradient is there and 0 at times.
_SHAPES = {"dense/kernel": (2, 4), "bias": (3,)}
FIRST_VALUES = _values(_SHAPES, 1)
GRADIENTS = [
    {name: value * (np.abs(value) > 0.2) for name, value in _values(_SHAPES, step + 2).items()}
    for step in range(10)
]

_L1_L2 = {"l1_regularization_strength": 0.05, "l2_regularization_strength": 0.1}
_OPTIMIZERS = (
    ("GradientDescentOptimizer", {"learning_rate": 0.1}),
    ("MomentumOptimizer", {"learning_rate": 0.1, "momentum": 0.9}),
    ("MomentumOptimizer", {"learning_rate": 0.1, "momentum": 0.9, "use_nesterov": True, "name": "Nesterov"}),
    ("AdamOptimizer", {}),
    ("AdamOptimizer", {"learning_rate": 0.1, "beta1": 0.8, "beta2": 0.9, "epsilon": 0.1}),
    ("AdagradOptimizer", {"learning_rate": 0.1}),
    ("AdagradOptimizer", {"learning_rate": 0.1, "initial_accumulator_value": 1.0}),
    ("AdagradDAOptimizer", {"learning_rate": 0.1}),
    (
        "AdagradDAOptimizer",
        {"learning_rate": 0.5, "initial_gradient_squared_accumulator_value": 1.0, **_L1_L2},
    ),
    ("AdadeltaOptimizer", {}),
    ("AdadeltaOptimizer", {"learning_rate": 1.0, "rho": 0.8, "epsilon": 1e-3}),
    ("RMSPropOptimizer", {"learning_rate": 0.1}),
    ("RMSPropOptimizer", {"learning_rate": 0.1, "decay": 0.8, "momentum": 0.5, "epsilon": 0.01}),
    ("RMSPropOptimizer", {"learning_rate": 0.1, "momentum": 0.5, "centered": True, "epsilon": 0.01}),
    ("FtrlOptimizer", {"learning_rate": 0.1}),
    ("FtrlOptimizer", {"learning_rate": 0.5, "initial_accumulator_value": 1.0, **_L1_L2}),
    ("FtrlOptimizer", {"learning_rate": 0.5, "learning_rate_power": -0.3, **_L1_L2}),
    (
        "FtrlOptimizer",
        {
            "learning_rate": 0.5,
            "l2_shrinkage_regularization_strength": 0.2,
            "beta": 0.3,
            "accum_name": "squares",
            "linear_name": "sums",
            **_L1_L2,
        },
    ),
    ("ProximalAdagradOptimizer", {"learning_rate": 0.1}),
    ("ProximalAdagradOptimizer", {"learning_rate": 0.5, "initial_accumulator_value": 1.0, **_L1_L2}),
    ("ProximalGradientDescentOptimizer", {"learning_rate": 0.1}),
    ("ProximalGradientDescentOptimizer", {"learning_rate": 0.1, **_L1_L2}),
)
OPTIMIZERS = {f"{name}|{arguments}": (name, arguments) for name, arguments in _OPTIMIZERS}

# Rows of a matrix that a few ids look up, some twice, the last row never.
SPARSE_TABLE = np.random.default_rng(20).normal(size=(6, 2)).astype(np.float32)
SPARSE_BATCHES = [
    {
        "ids": np.random.default_rng(30 + number).choice([0, 1, 1, 2, 3, 4], 3).astype(np.int32),
        "distinct": np.random.default_rng(50 + number).choice(5, 3, replace=False).astype(np.int32),
        "weights": np.random.default_rng(40 + number).normal(size=(3, 2)).astype(np.float32),
    }
    for number in range(10)
]
_MOMENTUM = ("MomentumOptimizer", {"learning_rate": 0.1, "momentum": 0.9})


def _looked_up(tf, table, ids):
    return tf.nn.embedding_lookup(table, ids)


def _as_it_is(tf, gradient):
    del tf
    return gradient


# (optimizer, which ids, how rows are looked up, what is done to the gradient), as functions of TensorFlow's module.
# TensorFlow takes norms, and clips values, of a gradient in which a row that was looked up twice is not added up yet.
SPARSE = {key: (case, "ids", _looked_up, _as_it_is) for key, case in OPTIMIZERS.items()} | {
    way: (_MOMENTUM, "distinct" if way.startswith(("clip", "cast")) else "ids", look_up, change)
    for way, look_up, change in (
        ("gather", lambda tf, table, ids: tf.gather(table, ids), _as_it_is),
        (
            "cast",
            lambda tf, table, ids: tf.gather(tf.cast(tf.cast(table, tf.bfloat16), tf.float32), ids),
            _as_it_is,
        ),
        ("max_norm", lambda tf, table, ids: tf.nn.embedding_lookup(table, ids, max_norm=1.0), _as_it_is),
        ("twice", lambda tf, table, ids: tf.gather(table, ids) * tf.gather(table, ids[::-1]), _as_it_is),
        ("also whole", lambda tf, table, ids: tf.gather(table, ids) + tf.reduce_sum(table**2), _as_it_is),
        ("of a product", lambda tf, table, ids: tf.gather(table * 2.0, ids), _as_it_is),
        ("other dimension", lambda tf, table, ids: tf.gather(table, ids[:2] % 2, axis=1)[:3], _as_it_is),
        ("clip_by_value", _looked_up, lambda tf, gradient: tf.clip_by_value(gradient, -0.5, 0.5)),
        ("clip_by_norm", _looked_up, lambda tf, gradient: tf.clip_by_norm(gradient, 0.5)),
        (
            "clip_by_global_norm",
            _looked_up,
            lambda tf, gradient: tf.clip_by_global_norm([gradient], 0.5)[0][0],
        ),
        ("scalar_mul", _looked_up, lambda tf, gradient: tf.scalar_mul(0.5, gradient)),
        ("identity", _looked_up, lambda tf, gradient: tf.identity(gradient)),
        ("times", _looked_up, lambda tf, gradient: gradient * tf.constant(0.5)),
    )
}

_AVERAGES = (
    {"decay": 0.9},
    {"decay": 0.9, "num_updates": True},
    {"decay": 0.9, "zero_debias": True, "name": "own"},
)
# With num_updates, the global step is what counts them.
AVERAGES = {str(arguments): arguments for arguments in _AVERAGES}


def _metrics():
    """Yield (function, arguments that stay, batches, weights of several kinds: one for each batch)."""
    random = np.random.default_rng(9)

    def batches(**makes):
        return [{name: make(size) for name, make in makes.items()} for size in (5, 3, 5)]

    def weights(*shapes):
        yield "none", None
        yield "scalar", [np.float32(value) for value in (2.0, 0.5, 1.0)]
        for shape in shapes:
            random = np.random.default_rng(len(shape))
            yield (
                f"weights {shape}",
                [
                    (
                        random.uniform(0, 2, (size, *shape)) * (random.uniform(size=(size, *shape)) < 0.7)
                    ).astype("f4")
                    for size in (5, 3, 5)
                ],
            )
            yield f"zeros {shape}", [np.zeros((size, *shape), np.float32) for size in (5, 3, 5)]

    def normal(*shape):
        return lambda size: random.normal(size=(size, *shape)).astype(np.float32)

    def uniform(*shape):
        # Also 0 and 1 themselves.
        return lambda size: (
            np.round(random.uniform(-0.04, 1.04, (size, *shape)), 2).clip(0, 1).astype(np.float32)
        )

    def bits(*shape):
        return lambda size: random.integers(0, 2, (size, *shape)).astype(np.int32)

    def classes(count, *shape):
        return lambda size: random.integers(0, count, (size, *shape)).astype(np.int32)

    vector, matrix, column = list(weights(())), list(weights((), (2,))), list(weights((), (1,)))
    yield "mean", {}, batches(values=normal()), vector
    yield "mean", {}, batches(values=normal(2)), list(weights((1,), (2,)))
    yield "mean", {}, batches(values=lambda size: np.float32(size)), list(weights())
    same = [{"values": normal(2)(4)} for _ in range(3)]
    yield (
        "mean_tensor",
        {},
        same,
        [
            ("none", None),
            ("rows", [uniform(1)(4) for _ in range(3)]),
            ("zeros", [np.zeros((4, 1), "f4")] * 3),
        ],
    )
    yield "accuracy", {}, batches(labels=classes(3), predictions=classes(3)), vector
    yield "accuracy", {}, batches(labels=classes(3, 1), predictions=classes(3)), column
    yield "percentage_below", {"threshold": 0.1}, batches(values=normal()), vector
    errors = batches(labels=normal(), predictions=normal(1))
    for name in ("mean_absolute_error", "mean_squared_error", "root_mean_squared_error"):
        yield name, {}, errors, vector

    def normalizer(size):
        return classes(3)(size).astype(np.float32)

    yield (
        "mean_relative_error",
        {},
        batches(labels=normal(), predictions=normal(), normalizer=normalizer),
        vector,
    )
    yield (
        "mean_cosine_distance",
        {"dim": 1},
        batches(labels=normal(2), predictions=normal(2)),
        list(weights((1,))),
    )
    for name in ("mean_iou", "mean_per_class_accuracy"):
        yield (
            name,
            {"num_classes": 4},
            batches(labels=classes(3), predictions=classes(3)),
            list(weights(()))[2:] + vector[:1],
        )
        yield (
            name,
            {"num_classes": 3},
            batches(labels=classes(3, 2), predictions=classes(3, 2)),
            matrix[4:] + matrix[:1],
        )
    answers = batches(labels=bits(), predictions=bits())
    none = batches(labels=lambda size: np.zeros(size, "i4"), predictions=lambda size: np.zeros(size, "i4"))
    kinds = ("true_positives", "false_positives", "true_negatives", "false_negatives")
    for name in (*kinds, "precision", "recall"):
        yield name, {}, answers, vector
        yield name, {}, none, vector[:1]
    scores = batches(labels=bits(), predictions=uniform())
    wide = batches(labels=bits(2), predictions=uniform(2))
    negative = batches(labels=lambda size: np.zeros(size, "i4"), predictions=uniform())
    positive = batches(labels=lambda size: np.ones(size, "i4"), predictions=uniform())
    for name in (*kinds, "precision", "recall"):
        yield f"{name}_at_thresholds", {"thresholds": [0.5, 0.0, 0.25, 1.0]}, scores, vector
        yield f"{name}_at_thresholds", {"thresholds": [0.3]}, negative, vector[:1]
    for curve in ("ROC", "PR"):
        for method in ("trapezoidal", "careful_interpolation", "minoring", "majoring"):
            more = {"curve": curve, "summation_method": method}
            yield "auc", more, scores, vector
            yield "auc", {**more, "num_thresholds": 7}, wide, list(weights((2,)))[-2:]
            yield "auc", {**more, "thresholds": [0.7, 0.2]}, scores, vector[:1]
            yield "auc", more, negative, vector[:1]
            yield "auc", more, positive, vector[:1]
    for name, argument in (
        ("sensitivity_at_specificity", "specificity"),
        ("specificity_at_sensitivity", "sensitivity"),
    ):
        for value in (0.0, 0.6, 1.0):
            yield name, {argument: value}, scores, vector
            yield name, {argument: value, "num_thresholds": 5}, positive, vector[:1]
            yield name, {argument: value, "num_thresholds": 5}, negative, vector[:1]
    one = batches(labels=lambda size: classes(6)(size).astype("i8"), predictions=normal(6))
    several = batches(labels=lambda size: classes(6, 3)(size).astype("i8"), predictions=normal(6))
    beyond = batches(labels=lambda size: classes(9, 3)(size).astype("i8") - 1, predictions=normal(6))
    for name in ("precision_at_k", "recall_at_k", "average_precision_at_k"):
        for k in (1, 3):
            yield name, {"k": k}, one, vector
            yield name, {"k": k}, several, vector
            yield name, {"k": k}, beyond, vector[:1]
            if name != "average_precision_at_k":
                yield name, {"k": k, "class_id": 2}, several, vector
    ids = batches(
        labels=lambda size: classes(6, 3)(size).astype("i8"),
        predictions_idx=lambda size: classes(6, 3)(size).astype("i8"),
    )
    for name in ("precision_at_top_k", "recall_at_top_k"):
        yield name, {}, ids, vector
        yield name, {"k": 3, "class_id": 1}, ids, vector[:1]
    for name in ("sparse_precision_at_k", "sparse_average_precision_at_k"):
        yield name, {"k": 2}, several, vector[:1]


METRICS = {
    f"{number} {name}|{static}|{kind}": (
        name,
        static,
        batches
        if values is None
        else [{**batch, "weights": value} for batch, value in zip(batches, values, strict=True)],
    )
    for number, (name, static, batches, kinds) in enumerate(_metrics())
    for kind, values in kinds
}
_EMPTY = {
    "mean": {"values": np.zeros(0, np.float32)},
    "accuracy": {"labels": np.zeros(0, np.int32), "predictions": np.zeros(0, np.int32)},
    "precision": {"labels": np.zeros(0, np.int32), "predictions": np.zeros(0, np.int32)},
    "recall": {"labels": np.zeros(0, np.int32), "predictions": np.zeros(0, np.int32)},
    "auc": {"labels": np.zeros(0, np.int32), "predictions": np.zeros(0, np.float32)},
}
METRICS |= {f"empty {name}": (name, {}, [batch, batch]) for name, batch in _EMPTY.items()}
