"""Exports of Estimators: what they are fed, what the host does with it, and what signatures give."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from stratax.export import load
from stratax.image import encode_jpeg

CLASSES = ["daisy", "rose", "tulip"]
SIZE = 8


def jpegs(count):
    random = np.random.default_rng(0)
    return [encode_jpeg(random.integers(0, 255, (20 + 7 * n, 30, 3), np.uint8)) for n in range(count)]


def pixels(contents, *, augment=False):
    image = tf.image.convert_image_dtype(tf.image.decode_jpeg(contents, channels=3), tf.float32)
    image = tf.squeeze(tf.image.resize_bilinear(tf.expand_dims(image, 0), [SIZE + 2, SIZE + 2]))
    image = tf.random_crop(image, [SIZE, SIZE, 3]) if augment else image[:SIZE, :SIZE]
    return tf.multiply(tf.subtract(image, 0.5), 2.0)


def classifier(features, labels, mode, params):
    logits = tf.layers.dense(tf.layers.flatten(features["image"]), 3)
    found = {
        "probabilities": tf.nn.softmax(logits),
        "class": tf.gather(CLASSES, tf.argmax(logits, axis=1)),
    }
    if mode == tf.estimator.ModeKeys.PREDICT:
        outputs = {"classes": tf.estimator.export.PredictOutput(found)}
        return tf.estimator.EstimatorSpec(mode, predictions=found, export_outputs=outputs)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    train_op = tf.train.AdamOptimizer(0.1).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def input_fn():
    images = np.random.default_rng(1).random((12, SIZE, SIZE, 3), np.float32)
    return tf.data.Dataset.from_tensor_slices(({"image": images}, np.arange(12, dtype=np.int32) % 3)).batch(4)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    made = tf.estimator.Estimator(classifier, str(tmp_path_factory.mktemp("model")), params={})
    made.train(input_fn, steps=2)
    return made


def batch_receiver():
    contents = tf.placeholder(tf.string, [None], name="contents")
    images = tf.map_fn(pixels, contents, dtype=tf.float32)
    return tf.estimator.export.ServingInputReceiver({"image": images}, {"bytes": contents})


def of_single(augment):
    def receiver():
        fed = {"bytes": tf.placeholder(tf.string, shape=())}
        image = pixels(tf.squeeze(fed["bytes"]), augment=augment)
        return tf.estimator.export.ServingInputReceiver({"image": tf.expand_dims(image, 0)}, fed)

    return receiver


def predicted(trained, images):
    given = {"image": np.stack(images)}
    return list(trained.predict(lambda: tf.data.Dataset.from_tensor_slices(given).batch(2)))


def test_images_are_served_from_their_bytes_with_what_predict_gives(trained, tmp_path):
    extra = tmp_path / "words.txt"
    extra.write_text("a")
    path = trained.export_savedmodel(
        tmp_path / "base", batch_receiver, assets_extra={"a/words.txt": str(extra)}
    )
    assert isinstance(path, bytes)
    exported, contents = load(path.decode()), jpegs(3)
    assert sorted(exported.signatures) == ["classes", "serving_default"]
    expected = predicted(trained, [np.asarray(pixels(each)) for each in contents])
    for count in (1, 3):
        made = exported.signatures["serving_default"](contents[:count])
        np.testing.assert_allclose(
            made["probabilities"], [each["probabilities"] for each in expected[:count]], atol=1e-5
        )
        assert made["class"].tolist() == [each["class"] for each in expected[:count]]
    assert (
        tmp_path / "base" / path.decode().rpartition("/")[2] / "assets.extra/a/words.txt"
    ).read_text() == "a"


def test_exports_of_one_second_have_names_that_grow(trained, tmp_path):
    names = [
        int(trained.export_saved_model(tmp_path, of_single(False)).rpartition(b"/")[2]) for _ in range(2)
    ]
    assert names[0] < names[1]
    signature = load(tmp_path / str(names[1])).signatures["serving_default"]
    assert signature(jpegs(1)[0])["probabilities"].shape == (1, 3)


def test_what_a_receiver_draws_differs_in_each_call(trained, tmp_path):
    signature = load(trained.export_saved_model(tmp_path, of_single(True)).decode()).signatures["classes"]
    made = [signature(jpegs(1)[0])["probabilities"] for _ in range(8)]
    assert any(not np.array_equal(made[0], each) for each in made[1:])


def test_words_that_the_host_looks_up_make_sentences_of_any_length(tmp_path):
    words, most = ["a", "b", "c"], 4

    def tagger(features, labels, mode):
        if isinstance(features, dict):
            features = features["words"], features["count"]
        ids = tf.contrib.lookup.index_table_from_tensor(tf.constant(words), num_oov_buckets=1).lookup(
            features[0]
        )
        rows = tf.nn.embedding_lookup(tf.get_variable("rows", [len(words) + 1, 3]), ids)
        last = tf.gather(rows, 0, axis=1) + rows[:, 0]
        tags, scores = tf.contrib.crf.crf_decode(rows, tf.get_variable("pairs", [3, 3]), features[1])
        if mode == tf.estimator.ModeKeys.PREDICT:
            found = {"tags": tags, "scores": scores, "last": last}
            return tf.estimator.EstimatorSpec(mode, predictions=found)
        loss = tf.reduce_mean(tf.square(scores - 1.0))
        train_op = tf.train.AdamOptimizer(0.1).minimize(loss, tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

    def input_fn():
        texts = np.array([["a", "b", "c", "x"], ["c", "a", "", ""]], object)
        return tf.data.Dataset.from_tensors(((texts, np.array([most, 2], np.int32)), np.zeros(2, np.int32)))

    def receiver():
        fed = {"words": tf.placeholder(tf.string, [None, None]), "count": tf.placeholder(tf.int32, [None])}
        return tf.estimator.export.ServingInputReceiver(fed, fed)

    made = tf.estimator.Estimator(tagger, str(tmp_path / "model"))
    made.train(input_fn, steps=1)
    signature = load(made.export_saved_model(tmp_path, receiver).decode()).signatures["serving_default"]
    expected = list(made.predict(input_fn))
    whole = signature(words=[["a", "b", "c", "x"], ["c", "a", "", ""]], count=[most, 2])
    for name in ("tags", "scores", "last"):
        np.testing.assert_allclose(whole[name], [each[name] for each in expected], rtol=1e-5)
    shorter = signature(words=[["c", "a"]], count=[2])
    np.testing.assert_array_equal(shorter["tags"], whole["tags"][1:, :2])
    np.testing.assert_allclose(shorter["scores"], whole["scores"][1:], rtol=1e-5)
    assert signature(words=[["c"]], count=[1])["tags"].shape == (1, 1)


def speller(features, labels, mode):
    (words, counts), (letters, lengths) = features["words"], features["letters"]
    table = tf.contrib.lookup.index_table_from_tensor(tf.constant(["a", "b", "c"]), num_oov_buckets=1)
    spelled = tf.nn.embedding_lookup(tf.get_variable("letters", [4, 3]), table.lookup(letters))
    # Behind a word's end, and a sentence's, there are no letters.
    sizes = tf.shape(spelled)
    mask = tf.reshape(tf.to_float(tf.sequence_mask(lengths)), [sizes[0] * sizes[1], sizes[2], 1])
    spelled = tf.reduce_sum(tf.reshape(spelled, [-1, sizes[2], 3]) * mask, axis=1)
    spelled = tf.reshape(spelled, [-1, sizes[1], 3])
    rows = tf.nn.embedding_lookup(tf.get_variable("words", [4, 2]), table.lookup(words))
    joined = tf.transpose(tf.concat([rows, spelled], axis=-1), [1, 0, 2])
    outputs, _ = tf.contrib.rnn.LSTMBlockFusedCell(2)(joined, dtype=tf.float32, sequence_length=counts)
    found = tf.reduce_sum(outputs, axis=[0, 2])
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"sum": found})
    loss = tf.reduce_mean(tf.square(found - 1.0))
    train_op = tf.train.AdamOptimizer(0.1).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def test_inputs_that_a_model_combines_have_sizes_in_common(tmp_path):
    def input_fn():
        words = np.array([["a", "bc"], ["c", ""]], object)
        letters = np.array([[["a", ""], ["b", "c"]], [["c", ""], ["", ""]]], object)
        given = {"words": (words, np.int32([2, 1])), "letters": (letters, np.int32([[1, 2], [1, 0]]))}
        return tf.data.Dataset.from_tensors((given, np.zeros(2, np.int32)))

    def receiver():
        fed = {
            "words": tf.placeholder(tf.string, [None, None]),
            "counts": tf.placeholder(tf.int32, [None]),
            "letters": tf.placeholder(tf.string, [None, None, None]),
            "lengths": tf.placeholder(tf.int32, [None, None]),
        }
        features = {"words": (fed["words"], fed["counts"]), "letters": (fed["letters"], fed["lengths"])}
        return tf.estimator.export.ServingInputReceiver(features, fed)

    made = tf.estimator.Estimator(speller, str(tmp_path / "model"))
    made.train(input_fn, steps=1)
    signature = load(made.export_saved_model(tmp_path, receiver).decode()).signatures["serving_default"]
    expected = [each["sum"] for each in made.predict(input_fn)]
    letters = [[["a", ""], ["b", "c"]], [["c", ""], ["", ""]]]
    whole = signature(
        words=[["a", "bc"], ["c", ""]], counts=[2, 1], letters=letters, lengths=[[1, 2], [1, 0]]
    )
    np.testing.assert_allclose(whole["sum"], expected, rtol=1e-5)
    one = signature(words=[["c"]], counts=[1], letters=[[["c"]]], lengths=[[1]])
    np.testing.assert_allclose(one["sum"], expected[1:], rtol=1e-5)
    with pytest.raises(ValueError, match="can't be computed for these shapes together"):
        signature(words=[["c"]], counts=[1], letters=[[["c"]]], lengths=[[1, 0]])


def test_updates_that_a_model_only_writes_down_are_no_part_of_an_export(tmp_path):
    def model_fn(features, labels, mode):
        weight = tf.get_variable("weight", [], initializer=tf.ones_initializer())
        found = features["rows"] * weight
        with tf.control_dependencies([tf.assign_add(tf.train.get_global_step(), 1)]):
            train_op = tf.constant(2.0)
        return tf.estimator.EstimatorSpec(mode, {"y": found}, tf.reduce_mean(found), train_op)

    def receiver():
        fed = {"rows": tf.placeholder(tf.float32, [None])}
        return tf.estimator.export.ServingInputReceiver(fed, fed)

    rows = np.arange(3, dtype=np.float32)
    made = tf.estimator.Estimator(model_fn, str(tmp_path / "model"))
    made.train(lambda: tf.data.Dataset.from_tensors({"rows": rows}), steps=1)
    signature = load(made.export_saved_model(tmp_path, receiver).decode()).signatures["serving_default"]
    assert signature(rows)["y"].tolist() == [0.0, 1.0, 2.0]


def test_a_model_that_was_not_trained_is_not_exported(tmp_path):
    made = tf.estimator.Estimator(classifier, str(tmp_path), params={})
    with pytest.raises(errors.FileMissingError, match="Could not find trained model"):
        made.export_saved_model(tmp_path / "base", batch_receiver)


def measured(features, labels, mode):
    """A model with metrics of both kinds, and with dropout."""
    x = tf.layers.dropout(features["x"], 0.5, training=mode == tf.estimator.ModeKeys.TRAIN)
    logits = tf.layers.dense(x, 3)
    found = {"class": tf.argmax(logits, 1), "p": tf.nn.softmax(logits)}
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions=found)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    entropy = tf.keras.metrics.SparseCategoricalCrossentropy()
    entropy.update_state(labels, found["p"])
    metrics = {"accuracy": tf.metrics.accuracy(labels, found["class"]), "entropy": entropy}
    train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(
        mode, predictions=found, loss=loss, train_op=train_op, eval_metric_ops=metrics
    )


@pytest.fixture(scope="module")
def measuring(tmp_path_factory):
    x, y = np.random.default_rng(2).random((8, 4), np.float32), np.arange(8, dtype=np.int32) % 3
    made = tf.estimator.Estimator(measured, str(tmp_path_factory.mktemp("measured")))
    made.train(lambda: tf.data.Dataset.from_tensor_slices(({"x": x}, y)).batch(4), steps=2)
    supervised = tf.estimator.experimental.build_raw_supervised_input_receiver_fn(
        {"x": np.zeros((2, 4), np.float32)}, np.zeros(2, np.int32)
    )
    return made, x, y, supervised


def raw():
    fed = {"x": tf.placeholder(tf.float32, [None, 4])}
    return tf.estimator.export.ServingInputReceiver(fed, fed)


def test_an_export_of_all_modes_gives_what_an_evaluation_finds_in_a_batch(measuring, tmp_path):
    estimator, x, y, supervised = measuring
    modes = {"train": supervised, "eval": supervised, "infer": raw}
    export = load(estimator.experimental_export_all_saved_models(tmp_path, modes))
    assert {name: each.method for name, each in export.signatures.items()} == {
        "train": "train",
        "eval": "eval",
        "serving_default": "predict",
    }
    evaluated = export.signatures["eval"]
    assert list(evaluated.inputs) == ["x", "label"]
    # As TensorFlow 2.15 names them.
    metrics = [
        f"metrics/{name}/{part}" for name in ("accuracy", "entropy") for part in ("update_op", "value")
    ]
    assert sorted(evaluated.outputs) == ["loss", *metrics, "predictions/class", "predictions/p"]
    for size in (3, 8, 3):
        # Nothing is left of the batch before.
        found = evaluated(x=x[:size], label=y[:size])
        rows = tf.data.Dataset.from_tensor_slices(({"x": x[:size]}, y[:size])).batch(size)
        expected = estimator.evaluate(lambda rows=rows: rows)
        assert found["loss"] == pytest.approx(expected["loss"], rel=1e-6)
        assert found["metrics/accuracy/value"] == found["metrics/accuracy/update_op"] == expected["accuracy"]
        assert found["metrics/entropy/value"] == pytest.approx(expected["entropy"], rel=1e-6)
        served = export.signatures["serving_default"](x=x[:size])
        np.testing.assert_allclose(found["predictions/p"], served["p"], rtol=1e-6)
    # In training there is dropout, drawn anew in each call; no step is made.
    drawn = {float(export.signatures["train"](x=x, label=y)["loss"]) for _ in range(4)}
    assert len(drawn) > 1


def test_an_export_may_be_of_an_evaluation_alone(measuring, tmp_path):
    estimator, _, _, supervised = measuring
    path = estimator.export_saved_model(tmp_path, supervised, experimental_mode=tf.estimator.ModeKeys.EVAL)
    assert list(load(path).signatures) == ["eval"]


@pytest.mark.parametrize(
    ("modes", "error", "message"),
    [
        ({}, errors.BadArgumentError, "at least one of train, eval, infer"),
        ({"test": raw}, errors.BadArgumentError, r"Received: \['test'\]"),
        ({"eval": raw}, errors.BadTypeError, "takes labels, too"),
    ],
)
def test_wrong_modes_are_told(measuring, tmp_path, modes, error, message):
    with pytest.raises(error, match=message):
        measuring[0].experimental_export_all_saved_models(tmp_path / "exports", modes)
    assert not (tmp_path / "exports").exists()
