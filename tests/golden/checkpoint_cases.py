"""Estimators that begin with the values of another one's checkpoint, for TensorFlow's library and for Stratax'.

`cases(tf, estimator, data, folder)` makes them of a library's names.
"""

import os
import types

import ml_dtypes
import numpy as np

WEIGHTS = [
    np.arange(6, dtype="float32").reshape(2, 3) / 10,
    np.array([1, 2, 3], "float32"),
    np.array([[1], [-1], [2]], "float32"),
    np.array([0.5], "float32"),
]
# How much further the Estimator of `estimator_cases` is trained.
STEPS = 3
WORDS = {
    "old": ["mercury", "venus", "mars", "jupiter"],
    "new": ["venus", "saturn", "mercury", "pluto", "mars"],
}
CLASSES = {"old": ["good", "better", "best"], "new": ["best", "fantastic", "good"]}
OTHERS = {"old": 1, "new": 2}


def many(*, is_version_2):
    """Return variables of many dtypes by name, one of which is saved in slices, of the one or the other format."""
    numbers = {
        "bool": [True, False],
        "complex64": [1 + 2j],
        "float32": [[1.5, -2.0], [0.0, 3e38]],
        "float64": 1e-300,
        "int8": [-128, 127],
        "int16": [-32768, 1],
        "int32": [-(2**31), 2**31 - 1],
        "int64": [2**40, -1, 0, 1, 2, 3],
        "uint8": [0, 255],
    }
    found = {name: np.array(value, name) for name, value in numbers.items()}
    found["empty"] = np.zeros((0, 3), "float32")
    # More than a block of a table.
    found["large"] = np.arange(2400, dtype="float32").reshape(60, 40)
    found["scope/sliced"] = np.arange(40, dtype="float32").reshape(10, 4)
    found["global_step"] = np.array(3, "int64")
    if is_version_2:
        found["bfloat16"] = np.array([1.5, -2], ml_dtypes.bfloat16)
        found["float16"] = np.array([1.5, -2], "float16")
        found["text"] = np.array([b"", b"ab\0c", "\xfc".encode()], object)
    return found


def counted(shape, dtype=None):
    """Count 1, 2, 3 and so on: how much is drawn and where it goes shows in the values."""
    return np.arange(1, np.prod(shape) + 1, dtype="float32").reshape(shape) + 1000 * shape[1]


def cases(tf, estimator, data, folder, draw=counted):
    """Return estimators of an old and of a new model, the settings of warm starts, and the input."""
    files = {}
    for kind, words in (("words", WORDS), ("classes", CLASSES)):
        for age, entries in words.items():
            files[kind, age] = os.path.join(folder, f"{kind}_{age}.txt")
            with open(files[kind, age], "w", encoding="utf-8") as file:
                file.write("\n".join(entries) + "\n")

    def input_fn():
        features = {"x": np.ones((4, 2), "float32")}
        return data.Dataset.from_tensors((features, np.zeros((4,), "float32"))).repeat()

    def model_fn(features, labels, mode, params):
        age, begin = params["age"], params["begin"]

        def values(shape, dtype=None, partition_info=None):
            size = int(np.prod(shape))
            return np.arange(begin, begin + size, dtype="float32").reshape(shape)

        rows, columns = len(WORDS[age]) + OTHERS[age], len(CLASSES[age])
        scope = "old" if age == "old" else "new"
        with tf.variable_scope(scope):
            table = tf.get_variable("table", [rows, columns], initializer=values)
            scores = tf.get_variable("scores", [3, columns], initializer=values)
            bias = tf.get_variable("bias", [4], initializer=values)
        with tf.variable_scope("same"):
            kernel = tf.get_variable("kernel", [2, 3], initializer=values)
            frozen = tf.get_variable("frozen", [3], initializer=values, trainable=False)
        if params.get("begin_fn") is not None:
            params["begin_fn"](tf, bias)
        step = tf.train.get_global_step()
        total = sum(tf.reduce_sum(each) for each in (table, scores, bias, kernel)) + tf.reduce_sum(frozen)
        loss = 0.0 * total + tf.reduce_sum(features["x"]) * 0.0
        optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
        return estimator.EstimatorSpec(mode, loss=loss, train_op=optimizer.minimize(loss, global_step=step))

    def made(name, params, warm_start_from=None):
        return estimator.Estimator(
            model_fn, os.path.join(folder, name), params=params, warm_start_from=warm_start_from
        )

    def vocabulary(kind, age_of_new="new", **more):
        info = {
            "new_vocab": files[kind, age_of_new],
            "new_vocab_size": len((WORDS if kind == "words" else CLASSES)["new"]),
            "num_oov_buckets": OTHERS["new"] if kind == "words" else 0,
            "old_vocab": files[kind, "old"],
        }
        return estimator.VocabInfo(**{**info, **more})

    old = os.path.join(folder, "old")
    renamed = {f"new/{name}": f"old/{name}" for name in ("table", "scores", "bias")}
    settings = {
        "rows": estimator.WarmStartSettings(
            old,
            ["new/table[^/]", "same/"],
            {"new/table": vocabulary("words", backup_initializer=draw)},
            {"new/table": "old/table"},
        ),
        "columns": estimator.WarmStartSettings(
            old,
            vars_to_warm_start=None,
            var_name_to_vocab_info={
                "new/scores": vocabulary("classes", axis=1, backup_initializer=draw),
                "new/table": vocabulary("words", old_vocab_size=2),
            },
            var_name_to_prev_var_name={name: renamed[name] for name in ("new/scores", "new/table")},
        ),
        "trained": estimator.WarmStartSettings(old, "same|new/bias", None, {"new/bias": "old/bias"}),
        "momentum": estimator.WarmStartSettings(old, ["same", "global_step"]),
    }

    def begin_fn(tf, bias):
        tf.train.init_from_checkpoint(old, {"old/bias": bias, "same/": "same/", "old/scores": "new/scores"})

    return types.SimpleNamespace(
        input_fn=input_fn,
        old=lambda: made("old", {"age": "old", "begin": 1}),
        new=lambda name, settings: made(name, {"age": "new", "begin": 100}, settings),
        initialized=lambda: made("initialized", {"age": "new", "begin": 100, "begin_fn": begin_fn}),
        settings=settings,
        files=files,
        folder=old,
    )
