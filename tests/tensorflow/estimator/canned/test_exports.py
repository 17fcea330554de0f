"""Exports of ready-made Estimators: what heads give, and what feature columns compute on the host."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from stratax.export import load

COUNT = 12
RANDOM = np.random.default_rng(0)
DATA = {
    "age": RANDOM.random((COUNT, 1)).astype(np.float32),
    "color": RANDOM.choice(np.array([b"red", b"green", b"blue"], object), COUNT),
    "word": RANDOM.choice(np.array([b"a", b"b", b"c", b""], object), COUNT),
    "place": RANDOM.integers(0, 5, COUNT),
}
LABELS = RANDOM.integers(0, 3, COUNT).astype(np.int32)
fc = tf.feature_column


def columns():
    color = fc.categorical_column_with_vocabulary_list("color", ["red", "green"], num_oov_buckets=2)
    return [
        fc.numeric_column("age"),
        fc.bucketized_column(fc.numeric_column("age"), [0.3, 0.6]),
        fc.indicator_column(color),
        fc.embedding_column(fc.categorical_column_with_hash_bucket("word", 7), 2),
        fc.indicator_column(fc.categorical_column_with_identity("place", 5)),
    ]


def input_fn():
    return tf.data.Dataset.from_tensor_slices((DATA, LABELS)).batch(4)


def example(index):
    lists = {
        "age": tf.train.Feature(float_list=tf.train.FloatList(value=DATA["age"][index])),
        "color": tf.train.Feature(bytes_list=tf.train.BytesList(value=[DATA["color"][index]])),
        "place": tf.train.Feature(int64_list=tf.train.Int64List(value=[DATA["place"][index]])),
    }
    if DATA["word"][index]:
        lists["word"] = tf.train.Feature(bytes_list=tf.train.BytesList(value=[DATA["word"][index]]))
    return tf.train.Example(features=tf.train.Features(feature=lists)).SerializeToString()


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    made = tf.estimator.DNNClassifier(
        [4], columns(), model_dir=str(tmp_path_factory.mktemp("model")), n_classes=3
    )
    made.train(input_fn, steps=3)
    return made


def expected(trained, key):
    return np.stack([each[key] for each in trained.predict(input_fn)])


def test_a_classifier_answers_to_examples_with_scores_and_names_of_all_classes(trained, tmp_path):
    receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn(
        fc.make_parse_example_spec(columns())
    )
    exported = load(trained.export_saved_model(tmp_path, receiver).decode())
    assert {name: each.method for name, each in exported.signatures.items()} == {
        "serving_default": "classify",
        "classification": "classify",
        "predict": "predict",
    }
    examples = [example(index) for index in range(COUNT)]
    made = exported.signatures["classification"](inputs=examples)
    np.testing.assert_allclose(made["scores"], expected(trained, "probabilities"), atol=1e-6)
    assert made["classes"].tolist() == [[b"0", b"1", b"2"]] * COUNT
    made = exported.signatures["predict"](examples=examples)
    np.testing.assert_allclose(made["logits"], expected(trained, "logits"), atol=1e-6)
    assert made["classes"].tolist() == expected(trained, "classes").tolist()


def test_dense_features_are_fed_as_they_are(trained, tmp_path):
    raw = tf.estimator.export.build_raw_serving_input_receiver_fn(
        {key: np.asarray(value) for key, value in DATA.items()}
    )
    exported = load(trained.export_saved_model(tmp_path, raw).decode())
    # Those of classes take Examples only.
    assert list(exported.signatures) == ["predict"]
    given = {**DATA, "place": DATA["place"].astype(np.int32)}
    made = exported.signatures["predict"](given)
    np.testing.assert_allclose(made["probabilities"], expected(trained, "probabilities"), atol=1e-6)


def test_a_regressor_answers_with_numbers(tmp_path):
    made = tf.estimator.LinearRegressor([fc.numeric_column("age")], model_dir=str(tmp_path / "model"))
    made.train(input_fn, steps=2)
    spec = {"age": tf.io.FixedLenFeature([1], tf.float32)}
    receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)
    exported = load(made.export_saved_model(tmp_path / "base", receiver).decode())
    assert {name: each.method for name, each in exported.signatures.items()} == {
        "serving_default": "regress",
        "regression": "regress",
        "predict": "predict",
    }
    outputs = exported.signatures["serving_default"]([example(index) for index in range(COUNT)])["outputs"]
    np.testing.assert_allclose(outputs, expected(made, "predictions"), atol=1e-6)


def crosses():
    age = fc.bucketized_column(fc.numeric_column("age"), [0.3, 0.6])
    place = fc.categorical_column_with_identity("place", 5)
    color = fc.categorical_column_with_vocabulary_list("color", ["red", "green"])
    return [
        fc.crossed_column(["color", "word"], 50),
        fc.crossed_column([age, "word", place], 100, hash_key=3),
        fc.crossed_column([color, age], 100),
    ]


def crossing(folder):
    made = tf.estimator.LinearClassifier(crosses(), model_dir=str(folder), n_classes=3)
    made.train(input_fn, steps=3)
    return made


def test_crosses_of_examples_are_computed_as_they_were_trained(tmp_path):
    made = crossing(tmp_path / "model")
    receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn(
        fc.make_parse_example_spec(crosses())
    )
    exported = load(made.export_saved_model(tmp_path / "base", receiver).decode())
    # As in TensorFlow, hashes differ where text is dense, as in training here: what is sparse comes first in them.
    text = {key: tf.sparse.from_dense(DATA[key][:, None]) for key in ("color", "word")}
    rows = made.predict(lambda: tf.data.Dataset.from_tensors({**DATA, **text}))
    found = exported.signatures["predict"](examples=[example(index) for index in range(COUNT)])["logits"]
    np.testing.assert_allclose(found, [each["logits"] for each in rows], atol=1e-6)


def test_crosses_of_arrays_are_computed_as_they_were_trained(tmp_path):
    made = crossing(tmp_path / "model")
    raw = tf.estimator.export.build_raw_serving_input_receiver_fn(
        {key: np.asarray(value) for key, value in DATA.items()}
    )
    exported = load(made.export_saved_model(tmp_path / "base", raw).decode())
    found = exported.signatures["predict"]({**DATA, "place": DATA["place"].astype(np.int32)})["logits"]
    np.testing.assert_allclose(found, expected(made, "logits"), atol=1e-6)


def test_a_column_that_exports_do_not_have_is_told(tmp_path):
    age = fc.numeric_column("age", normalizer_fn=lambda age: age * 2)
    crossed = fc.crossed_column([fc.bucketized_column(age, [1.0]), "word"], 5)
    made = tf.estimator.LinearClassifier([crossed], model_dir=str(tmp_path / "model"), n_classes=3)
    made.train(input_fn, steps=1)
    receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn(
        fc.make_parse_example_spec([crossed])
    )
    with pytest.raises(errors.BadTypeError, match="computes on the host what an export can't"):
        made.export_saved_model(tmp_path / "base", receiver)


def test_words_of_unknown_number_are_weighted(tmp_path):
    column = fc.weighted_categorical_column(
        fc.categorical_column_with_vocabulary_list("word", ["a", "b", "c"]), "weight"
    )
    given = {"word": [["a", "b"], ["c", "a"], ["b", "c"]], "weight": [[1.0, 2.0], [0.5, 1.0], [1.0, 3.0]]}
    estimator = tf.estimator.LinearRegressor([column], model_dir=str(tmp_path / "model"))
    data = tf.data.Dataset.from_tensors((given, [[0.0], [1.0], [2.0]]))
    estimator.train(lambda: data.repeat(5))
    receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn(
        fc.make_parse_example_spec([column])
    )
    exported = load(estimator.export_saved_model(tmp_path / "export", receiver).decode())
    examples = [
        tf.train.Example(
            features=tf.train.Features(
                feature={
                    "word": tf.train.Feature(
                        bytes_list=tf.train.BytesList(value=[w.encode() for w in words])
                    ),
                    "weight": tf.train.Feature(float_list=tf.train.FloatList(value=weights)),
                }
            )
        ).SerializeToString()
        for words, weights in zip(given["word"], given["weight"], strict=True)
    ]
    wanted = [each["predictions"] for each in estimator.predict(lambda: data.map(lambda x, _: x))]
    np.testing.assert_allclose(
        exported.signatures["predict"](examples=examples)["predictions"], wanted, atol=1e-6
    )
    assert np.ptp(wanted) > 0.01
