"""What `make_feature_columns.py` asks TensorFlow and the tests ask Stratax: columns and features.

Read by both, so neither TensorFlow nor Stratax is imported here: a case gets `tf.compat.v1`.
"""

import dataclasses
import os
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True)
class Case:
    """Features and columns.

    Attributes:
        function: `"input_layer"` or `"linear_model"`.
        columns: From `tf.compat.v1` to the columns.
        features: By key: arrays, or :class:`Sparse`.
        arguments: More of the function's.
    """

    function: str
    columns: Callable[[Any], list[Any]]
    features: dict[str, Any]
    arguments: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Sparse:
    """A SparseTensor: `rows` are the values of each example, None where a cell is empty."""

    rows: list[list[Any]]

    @property
    def parts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Indices, values and shape."""
        cells = [(i, j, v) for i, row in enumerate(self.rows) for j, v in enumerate(row) if v is not None]
        values = [value for _, _, value in cells]
        dtype = (
            object
            if isinstance(values[0], bytes)
            else np.float32
            if isinstance(values[0], float)
            else np.int64
        )
        shape = [len(self.rows), max(map(len, self.rows))]
        return (
            np.array([cell[:2] for cell in cells], np.int64),
            np.array(values, dtype),
            np.array(shape, np.int64),
        )


def value_of(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return what a variable is, in both."""
    count = int(np.prod(shape))
    return np.sin(np.arange(count) * 0.7 + sum(name.encode())).reshape(shape).astype(np.float32)


def strings() -> list[list[bytes]]:
    """Return byte strings of each length that is looked at, ten of each."""
    generator = np.random.default_rng(0)
    lengths = [*range(300), 511, 512, 513, 1000, 4096]
    return [[generator.integers(0, 256, length, np.uint8).tobytes() for _ in range(10)] for length in lengths]


def _lines() -> str:
    path = os.path.join(tempfile.mkdtemp(), "vocabulary.txt")
    with open(path, "wb") as file:
        file.write(b"red\r\ngreen\nblue\n")
    return path


def _text(*rows: Any) -> np.ndarray:
    return np.array([[cell.encode() for cell in row] for row in rows], object)


NUMBERS = np.array([[-1.0], [0.0], [2.5], [9.0], [30.0]], np.float32)
PAIRS = np.array([[0, 5], [1, -3], [10, 10.5], [9.999, 0]], np.float32)
COLORS = _text(["red"], ["blue"], ["gray"], [""], ["green"])
MANY = _text(["red", "blue"], ["blue", ""], ["gray", "red"], ["", ""], ["green", "green"])
BAGS = Sparse([[b"red", b"blue", b"red"], [], [b"gray"], [b"", b"green"], [None, b"blue"]])
WEIGHTS = Sparse([[1.0, 0.5, -2.0], [], [3.0], [0.0, 0.25], [None, 2.0]])
WHOLE = np.array([[0], [3], [-1], [2], [1]], np.int64)
LIST = ["red", "green", "blue"]


def _colors(tf: Any, **arguments: Any) -> Any:
    return tf.feature_column.categorical_column_with_vocabulary_list("c", LIST, **arguments)


def _hashed(tf: Any, key: str = "c", size: int = 7) -> Any:
    return tf.feature_column.categorical_column_with_hash_bucket(key, size)


def _file(tf: Any, **arguments: Any) -> Any:
    return tf.feature_column.categorical_column_with_vocabulary_file("c", _lines(), **arguments)


def _categorical() -> dict[str, tuple[Callable[[Any], Any], dict[str, Any]]]:
    """Columns of ids, by name, with their features."""
    found: dict[str, tuple[Callable[[Any], Any], dict[str, Any]]] = {}
    for kind, features in (("one", COLORS), ("many", MANY), ("sparse", BAGS)):
        given = {"c": features}
        found[f"hash|{kind}"] = _hashed, given
        found[f"list|{kind}"] = _colors, given
        found[f"list default|{kind}"] = lambda tf: _colors(tf, default_value=1), given
        found[f"list buckets|{kind}"] = lambda tf: _colors(tf, num_oov_buckets=4), given
        found[f"file|{kind}"] = _file, given
        found[f"file 2|{kind}"] = lambda tf: _file(tf, vocabulary_size=2), given
        found[f"file buckets|{kind}"] = lambda tf: _file(tf, num_oov_buckets=2), given
    whole = {"w": WHOLE}
    found["hash|whole"] = (
        lambda tf: tf.feature_column.categorical_column_with_hash_bucket("w", 9, tf.int64),
        whole,
    )
    found["list|whole"] = (
        lambda tf: tf.feature_column.categorical_column_with_vocabulary_list("w", [3, 1], num_oov_buckets=2),
        whole,
    )
    found["identity"] = lambda tf: tf.feature_column.categorical_column_with_identity("w", 4), whole
    found["identity default"] = (
        lambda tf: tf.feature_column.categorical_column_with_identity("w", 3, default_value=1),
        whole,
    )
    found["identity sparse"] = (
        lambda tf: tf.feature_column.categorical_column_with_identity("w", 5, default_value=0),
        {"w": Sparse([[4, 1], [], [7], [-1, 2], [0]])},
    )
    found["buckets"] = (
        lambda tf: tf.feature_column.bucketized_column(
            tf.feature_column.numeric_column("n"), [0.0, 2.5, 30.0]
        ),
        {"n": NUMBERS},
    )
    found["buckets of pairs"] = (
        lambda tf: tf.feature_column.bucketized_column(
            tf.feature_column.numeric_column("p", shape=2), [0, 10]
        ),
        {"p": PAIRS},
    )
    found["weighted"] = (
        lambda tf: tf.feature_column.weighted_categorical_column(_hashed(tf), "v"),
        {"c": BAGS, "v": WEIGHTS},
    )
    found["weighted list"] = (
        lambda tf: tf.feature_column.weighted_categorical_column(_colors(tf), "v"),
        {"c": BAGS, "v": WEIGHTS},
    )
    found["weighted dense"] = (
        lambda tf: tf.feature_column.weighted_categorical_column(_hashed(tf), "v"),
        {"c": MANY[:2], "v": np.array([[2, 0.5], [1.5, 0]], np.float32)},
    )
    found["weighted whole"] = (
        lambda tf: tf.feature_column.weighted_categorical_column(_hashed(tf), "v", tf.int64),
        {"c": MANY[:2], "v": np.array([[2, 1], [3, 0]], np.int64)},
    )
    for kind, other in (("dense", MANY), ("sparse", BAGS)):
        crossed = {"c": other, "d": COLORS, "n": NUMBERS, "w": WHOLE}
        found[f"cross 2|{kind}"] = lambda tf: tf.feature_column.crossed_column(["d", "c"], 50), crossed
        found[f"cross key|{kind}"] = (
            lambda tf: tf.feature_column.crossed_column(["c", "d"], 50, hash_key=5),
            crossed,
        )
        found[f"cross 3|{kind}"] = (
            lambda tf: tf.feature_column.crossed_column(["d", "w", "c"], 1000),
            crossed,
        )
        found[f"cross columns|{kind}"] = (
            lambda tf: tf.feature_column.crossed_column(
                [
                    "d",
                    tf.feature_column.bucketized_column(tf.feature_column.numeric_column("n"), [0.0, 5.0]),
                    _colors(tf),
                ],
                1000,
            ),
            crossed,
        )
        found[f"cross of cross|{kind}"] = (
            lambda tf: tf.feature_column.crossed_column(
                [
                    tf.feature_column.crossed_column(["c", "d"], 10),
                    tf.feature_column.categorical_column_with_identity("w", 4),
                ],
                1000,
            ),
            crossed,
        )
    return found


def _cases() -> dict[str, Case]:
    found: dict[str, Case] = {}
    for name, (column, features) in _categorical().items():
        found[f"linear|{name}"] = Case("linear_model", lambda tf, c=column: [c(tf)], features)
        found[f"embedding|{name}"] = Case(
            "input_layer", lambda tf, c=column: [tf.feature_column.embedding_column(c(tf), 3)], features
        )
        found[f"indicator|{name}"] = Case(
            "input_layer", lambda tf, c=column: [tf.feature_column.indicator_column(c(tf))], features
        )
    for combiner in ("sum", "sqrtn", "mean"):
        for name in ("weighted", "hash|sparse", "list|many"):
            column, features = _categorical()[name]
            found[f"embedding {combiner}|{name}"] = Case(
                "input_layer",
                lambda tf, c=column, how=combiner: [
                    tf.feature_column.embedding_column(c(tf), 2, combiner=how)
                ],
                features,
            )
            found[f"linear {combiner}|{name}"] = Case(
                "linear_model",
                lambda tf, c=column: [c(tf)],
                features,
                {"units": 2, "sparse_combiner": combiner},
            )
    found["max_norm"] = Case(
        "input_layer",
        lambda tf: [tf.feature_column.embedding_column(_hashed(tf), 3, max_norm=0.8)],
        {"c": BAGS},
    )
    found["unsafe"] = Case(
        "input_layer",
        lambda tf: [tf.feature_column.embedding_column(_hashed(tf), 3, use_safe_embedding_lookup=False)],
        {"c": MANY[:3]},
    )
    found["numeric"] = Case(
        "input_layer",
        lambda tf: [tf.feature_column.numeric_column("n", normalizer_fn=lambda x: x / 2 - 1)],
        {"n": NUMBERS},
    )
    found["numeric whole"] = Case(
        "input_layer", lambda tf: [tf.feature_column.numeric_column("w")], {"w": WHOLE}
    )
    found["numeric flat"] = Case(
        "linear_model", lambda tf: [tf.feature_column.numeric_column("n")], {"n": NUMBERS[:, 0]}, {"units": 3}
    )
    found["numeric matrix"] = Case(
        "input_layer",
        lambda tf: [tf.feature_column.numeric_column("m", shape=(2, 2))],
        {"m": np.arange(8, dtype=np.float32).reshape(2, 2, 2)},
    )
    found["buckets dense"] = Case(
        "input_layer",
        lambda tf: [
            tf.feature_column.bucketized_column(tf.feature_column.numeric_column("p", shape=2), [0, 10])
        ],
        {"p": PAIRS},
    )
    found["not trained"] = Case(
        "input_layer",
        lambda tf: [tf.feature_column.embedding_column(_hashed(tf), 2, trainable=False)],
        {"c": COLORS},
    )
    found["shared"] = Case(
        "input_layer",
        lambda tf: [
            *tf.feature_column.shared_embedding_columns([_hashed(tf, "d", 5), _hashed(tf, "c", 5)], 2),
            tf.feature_column.embedding_column(_hashed(tf, "e", 5), 2),
        ],
        {"c": MANY, "d": COLORS, "e": COLORS},
    )
    found["several"] = Case("input_layer", _several, _SEVERAL)
    found["several linear"] = Case(
        "linear_model", lambda tf: [*_several(tf), _hashed(tf, "d", 5)], _SEVERAL, {"units": 2}
    )
    return found


def _several(tf: Any) -> list[Any]:
    return [
        tf.feature_column.numeric_column("z"),
        tf.feature_column.embedding_column(tf.feature_column.crossed_column(["c", "d"], 20), 3),
        tf.feature_column.indicator_column(_colors(tf, num_oov_buckets=1)),
        tf.feature_column.bucketized_column(tf.feature_column.numeric_column("n"), [1.0]),
        tf.feature_column.embedding_column(_hashed(tf, "d", 5), 2),
        tf.feature_column.numeric_column("B"),
    ]


_SEVERAL = {
    "z": NUMBERS,
    "B": NUMBERS[::-1],
    "n": NUMBERS,
    "c": MANY,
    "d": COLORS,
}
CASES = _cases()


STEPS = Sparse([[b"red", b"gray", b"blue"], [], [b"green"], [b"", b"red"]])
NUMBERS_OF_STEPS = Sparse([[1.0, 2.0, 3.0], [], [4.0], [5.0, 6.0]])
PAIRS_OF_STEPS = Sparse([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [], [7.0, 8.0], [9.0, 10.0, 11.0, 12.0]])


def _steps(tf: Any, **arguments: Any) -> Any:
    return tf.feature_column.sequence_categorical_column_with_vocabulary_list("c", LIST, **arguments)


SEQUENCES: dict[str, Case] = {
    key: Case(
        "SequenceFeatures", columns, {"c": STEPS, "n": NUMBERS_OF_STEPS, "p": PAIRS_OF_STEPS, "d": STEPS}
    )
    for key, columns in {
        "embedding": lambda tf: [tf.feature_column.embedding_column(_steps(tf), 3)],
        "indicator": lambda tf: [tf.feature_column.indicator_column(_steps(tf, num_oov_buckets=1))],
        "max_norm": lambda tf: [
            tf.feature_column.embedding_column(
                tf.feature_column.sequence_categorical_column_with_hash_bucket("c", 5), 2, max_norm=0.9
            )
        ],
        "numeric": lambda tf: [
            tf.feature_column.sequence_numeric_column("p", shape=2, default_value=-1.0),
            tf.feature_column.sequence_numeric_column("n"),
        ],
        "several": lambda tf: [
            tf.feature_column.sequence_numeric_column("n"),
            tf.feature_column.embedding_column(_steps(tf, default_value=0), 2),
            tf.feature_column.indicator_column(
                tf.feature_column.sequence_categorical_column_with_hash_bucket("d", 3)
            ),
        ],
    }.items()
}
