"""Serving inputs: arrays, examples, alternatives and sequences are fed, and wrong ones told."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from stratax.export import load
from tests.tensorflow.estimator.test_exporting import SIZE, classifier, input_fn, predicted


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    made = tf.estimator.Estimator(classifier, str(tmp_path_factory.mktemp("model")), params={})
    made.train(input_fn, steps=2)
    return made


def test_arrays_are_fed_as_they_are(trained, tmp_path):
    raw = tf.estimator.export.build_raw_serving_input_receiver_fn(
        {"image": np.zeros((1, SIZE, SIZE, 3), np.float32)}
    )
    signature = load(trained.export_saved_model(tmp_path, raw).decode()).signatures["serving_default"]
    images = np.random.default_rng(2).random((5, SIZE, SIZE, 3), np.float32)
    expected = [each["probabilities"] for each in predicted(trained, list(images))]
    np.testing.assert_allclose(signature(image=images)["probabilities"], expected, atol=1e-6)


def test_what_a_receiver_draws_leaves_the_generator_as_it_was(trained, tmp_path):
    def receiver():
        fed = tf.placeholder(tf.float32, (None, SIZE, SIZE, 3))
        noise = tf.random.uniform([SIZE, SIZE, 3]) * 0
        return tf.estimator.export.ServingInputReceiver({"image": fed + noise}, {"image": fed})

    trained.export_saved_model(tmp_path, receiver)
    assert np.isfinite(tf.random.uniform([2])).all()


def test_examples_are_fed_and_parsed(trained, tmp_path):
    spec = {"image": tf.io.FixedLenFeature([SIZE, SIZE, 3], tf.float32)}
    receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)
    signature = load(trained.export_saved_model(tmp_path, receiver).decode()).signatures["serving_default"]
    images = np.random.default_rng(2).random((3, SIZE, SIZE, 3), np.float32)

    def example(image):
        values = tf.train.Feature(float_list=tf.train.FloatList(value=image.reshape(-1)))
        return tf.train.Example(features=tf.train.Features(feature={"image": values})).SerializeToString()

    expected = [each["probabilities"] for each in predicted(trained, list(images))]
    made = signature(examples=[example(each) for each in images])
    np.testing.assert_allclose(made["probabilities"], expected, atol=1e-6)


@pytest.mark.parametrize(
    ("receiver", "error", "message"),
    [
        (lambda: None, errors.BadTypeError, "must return a tf.estimator.export.ServingInputReceiver"),
        (
            lambda: tf.estimator.export.ServingInputReceiver(
                {"image": tf.zeros([1, SIZE, SIZE, 3])}, tf.zeros([1])
            ),
            errors.BadArgumentError,
            "is what is fed: a placeholder",
        ),
        (
            lambda: tf.estimator.export.ServingInputReceiver(tf.placeholder(tf.float32, None), {}),
            errors.BadArgumentError,
            "needs a number of dimensions",
        ),
    ],
)
def test_wrong_receivers_are_told_and_nothing_is_left(trained, tmp_path, receiver, error, message):
    with pytest.raises(error, match=message):
        trained.export_saved_model(tmp_path / "base", receiver)
    assert not (tmp_path / "base").exists() or not list((tmp_path / "base").iterdir())


def greeting(features, labels, mode):
    weight = tf.get_variable("weight", [], initializer=tf.ones_initializer())
    if mode == tf.estimator.ModeKeys.PREDICT:
        given = {"text": tf.strings.upper(features["word"]), "number": features["number"] * weight}
        return tf.estimator.EstimatorSpec(mode, given)
    train_op = tf.assign_add(tf.train.get_global_step(), 1)
    return tf.estimator.EstimatorSpec(
        mode, loss=tf.reduce_mean(features["number"] * weight), train_op=train_op
    )


@pytest.fixture(scope="module")
def greeter(tmp_path_factory):
    made = tf.estimator.Estimator(greeting, str(tmp_path_factory.mktemp("greeter")))
    made.train(lambda: tf.data.Dataset.from_tensors({"number": np.ones(4, np.float32)}), steps=1)
    return made


@pytest.mark.parametrize("shape", [[None], None])
def test_alternatives_are_fed_behind_the_parsing(greeter, tmp_path, caplog, shape):
    spec = {"word": tf.io.FixedLenFeature([], tf.string), "number": tf.io.FixedLenFeature([], tf.float32)}

    def receiver():
        serialized = tf.placeholder(tf.string, shape)
        parsed = tf.io.parse_example(serialized, spec)
        features = {"word": tf.strings.join([parsed["word"], "!"]), "number": parsed["number"]}
        alternatives = {
            "parsed": parsed,
            "number": parsed["number"],
            "made": {**features, "word": parsed["word"]},
        }
        return tf.estimator.export.ServingInputReceiver(features, serialized, alternatives)

    with caplog.at_level("INFO", "stratax"):
        exported = load(greeter.export_saved_model(tmp_path, receiver).decode())
    # The number alone is not enough for the text.
    assert sorted(exported.signatures) == [
        "made:serving_default",
        "parsed:serving_default",
        "serving_default",
    ]
    assert "number:serving_default is left out of the export: What is fed is not enough" in caplog.text
    words = [b"a", b"b"]
    made = exported.signatures["parsed:serving_default"](word=words, number=np.array([1, 2], np.float32))
    assert made["text"].tolist() == [b"A!", b"B!"]
    assert made["number"].tolist() == [1.0, 2.0]
    examples = [
        tf.train.Example(
            features=tf.train.Features(
                feature={
                    "word": tf.train.Feature(bytes_list=tf.train.BytesList(value=[word])),
                    "number": tf.train.Feature(float_list=tf.train.FloatList(value=[number])),
                }
            )
        ).SerializeToString()
        for number, word in enumerate(words, 1)
    ]
    again = exported.signatures["serving_default"](examples)
    assert {key: each.tolist() for key, each in again.items()} == {
        key: each.tolist() for key, each in made.items()
    }


def test_rows_are_computed_with_other_inputs_by_the_names_that_they_are_fed_by(greeter, tmp_path):
    def receiver():
        words, end = tf.placeholder(tf.string, [None]), tf.placeholder(tf.string, [], name="own")
        joined = tf.map_fn(lambda word: tf.strings.join([word, end]), words)
        features = {"word": joined, "number": tf.cast(tf.strings.length(words), tf.float32)}
        return tf.estimator.export.ServingInputReceiver(features, {"words": words, "end": end})

    signature = load(greeter.export_saved_model(tmp_path, receiver).decode()).signatures["serving_default"]
    made = signature(words=[b"a", b"bc"], end=b"?")
    assert made["text"].tolist() == [b"A?", b"BC?"]
    assert made["number"].tolist() == [1.0, 2.0]


def test_sequences_of_unknown_length_are_fed(tmp_path):
    def model_fn(features, labels, mode):
        weight = tf.get_variable("weight", [3], initializer=tf.ones_initializer())
        found = tf.reduce_sum(features["rows"] * weight, axis=[1, 2])
        train_op = tf.assign_add(tf.train.get_global_step(), 1)
        return tf.estimator.EstimatorSpec(mode, {"y": found}, tf.reduce_mean(found), train_op)

    def receiver():
        fed = {"rows": tf.placeholder(tf.float32, [None, None, 3])}
        return tf.estimator.export.ServingInputReceiver(fed, fed)

    rows = np.ones((4, 2, 3), np.float32)
    made = tf.estimator.Estimator(model_fn, str(tmp_path / "model"))
    made.train(lambda: tf.data.Dataset.from_tensors({"rows": rows}), steps=1)
    signature = load(made.export_saved_model(tmp_path, receiver).decode()).signatures["serving_default"]
    assert signature(rows)["y"].tolist() == [6.0] * 4
    assert signature(np.ones((2, 5, 3), np.float32))["y"].tolist() == [15.0] * 2


@pytest.mark.parametrize("wrong", [[1], "text", 2.0, True], ids=str)
def test_receivers_hold_tensors(wrong):
    receiver, right = tf.estimator.export.ServingInputReceiver, tf.zeros([1])
    with pytest.raises(ValueError, match="features has no tensor under 'x'"):
        receiver({"x": wrong}, right)
    with pytest.raises(ValueError, match="receiver_tensors has no tensor under 'x'"):
        receiver({42: right}, {"x": wrong})
    assert receiver(right, right).features == {"feature": right}


def test_raw_receivers_are_made_of_what_has_no_known_shape():
    with tf.Graph().as_default():
        like = {"a": tf.compat.v1.placeholder(tf.float32), "b": tf.zeros([2, 3])}
        found = tf.estimator.export.build_raw_serving_input_receiver_fn(like)().receiver_tensors
        assert [found[name].shape.rank for name in "ab"] == [None, 2]
        assert found["b"].shape.as_list() == [None, 3]


def test_features_and_labels_are_fed_by_different_names():
    with pytest.raises(errors.BadArgumentError, match="distinct keys"):
        tf.estimator.experimental.build_raw_supervised_input_receiver_fn(
            {"x": np.zeros(1)}, {"x": np.zeros(1)}
        )
