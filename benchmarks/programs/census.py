"""Incomes from columns as a census has them: a DNNLinearCombinedClassifier, which reads lines of text."""

import pathlib
import sys
import tempfile

import numpy as np
import tensorflow as tf
from _turns import Turns

v1 = tf.compat.v1
BATCH, ROWS = 128, 10_000
NUMBERS = ["age", "years_of_school", "gain", "loss", "hours"]
WORDS = {
    "work": ["private", "own", "federal", "local", "state", "none"],
    "school": ["primary", "secondary", "some-college", "bachelor", "master", "doctor"],
    "status": ["married", "divorced", "single", "widowed"],
    "relation": ["husband", "wife", "child", "other"],
    "group": ["a", "b", "c", "d", "e"],
    "sex": ["female", "male"],
}
HASHED = ["job", "country"]
COLUMNS = [*NUMBERS, *WORDS, *HASHED, "income"]


def write_rows(path):
    """Write the lines that are read."""
    random = np.random.default_rng(0)
    columns = [
        random.integers(low, high, ROWS) for low, high in [(17, 90), (1, 17), (0, 9999), (0, 4000), (1, 99)]
    ]
    columns += [random.choice(words, ROWS) for words in WORDS.values()]
    columns += [
        [f"job{i}" for i in random.integers(0, 14, ROWS)],
        [f"land{i}" for i in random.integers(0, 40, ROWS)],
    ]
    columns.append(random.choice(["<=50K", ">50K"], ROWS))
    with path.open("w") as file:
        file.writelines(",".join(map(str, row)) + "\n" for row in zip(*columns, strict=True))


def input_fn(path):
    """Read batches without end."""

    def parse(lines):
        defaults = [[0.0]] * len(NUMBERS) + [[""]] * (len(WORDS) + len(HASHED) + 1)
        features = dict(zip(COLUMNS, tf.io.decode_csv(lines, defaults), strict=True))
        return features, tf.equal(features.pop("income"), ">50K")

    data = tf.data.TextLineDataset([str(path)]).shuffle(ROWS).repeat()
    return data.batch(BATCH).map(parse, num_parallel_calls=2).prefetch(1)


def columns():
    """Make the columns of the linear and of the deep part."""
    make = tf.feature_column
    numbers = {name: make.numeric_column(name) for name in NUMBERS}
    words = {name: make.categorical_column_with_vocabulary_list(name, known) for name, known in WORDS.items()}
    hashed = {name: make.categorical_column_with_hash_bucket(name, 100) for name in HASHED}
    ages = make.bucketized_column(numbers["age"], [18, 25, 30, 35, 40, 45, 50, 55, 60, 65])
    wide = [
        make.crossed_column(["school", "job"], 1000),
        make.crossed_column([ages, "group", "job"], 1000),
        make.crossed_column(["country", "job"], 1000),
        *words.values(),
        *hashed.values(),
        ages,
    ]
    deep = [
        *numbers.values(),
        *(make.indicator_column(column) for column in words.values()),
        *(make.embedding_column(column, 8) for column in hashed.values()),
    ]
    return wide, deep


def main():
    """Train by turns."""
    v1.logging.set_verbosity(v1.logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        rows = pathlib.Path(folder, "rows.csv")
        write_rows(rows)
        wide, deep = columns()
        estimator = tf.estimator.DNNLinearCombinedClassifier(
            linear_feature_columns=wide,
            dnn_feature_columns=deep,
            dnn_hidden_units=[100, 70, 50, 25],
            config=tf.estimator.RunConfig(f"{folder}/model", save_checkpoints_steps=10**9),
        )
        estimator.train(lambda: input_fn(rows), max_steps=10**9, hooks=[Turns()])


if __name__ == "__main__":
    sys.exit(main())
