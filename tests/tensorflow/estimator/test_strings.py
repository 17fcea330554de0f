"""A `model_fn` whose features are strings and SparseTensors."""

import pathlib

import numpy as np
import pytest

import stratax as sx
import stratax.tf.compat.v1 as tf
from stratax import errors
from stratax.tensorflow.estimator import (
    Estimator,
    EstimatorSpec,
    RunConfig,
    SessionRunArgs,
    SessionRunHook,
    tpu,
)
from stratax.tensorflow.estimator._layout import InputLayout
from stratax.tensorflow.feature_column import Transformation
from stratax.tensorflow.v1 import ByRow, HostInputs
from stratax.tensorflow.v1._host import Kept
from tests.cluster.processes import run_tasks
from tests.golden import strings_cases
from tests.tensorflow.estimator import strings_model
from tests.tensorflow.estimator.noted import Noted

fc = tf.feature_column
PROGRAM = """
import sys
import numpy as np
import stratax as sx
from tests.tensorflow.estimator.strings_model import data, estimator, trained

options = sx.distribute.CommunicationOptions(timeout_seconds=60.0)
strategy = sx.distribute.MultiWorkerMirroredStrategy(communication_options=options)
found, variables = trained(sys.argv[1], strategy)
# Each worker has predictions of its own: of another number of examples, beginning with others.
worker = strategy.extended.membership.share.index
predicted = estimator(sys.argv[1], strategy).predict(lambda: data(4).skip(3 * worker), predict_keys=["key", "label"])
report(keys=[row["key"].decode() for row in predicted])
report(found={key: float(value) for key, value in found.items()},
       variables={name: np.asarray(value).tolist() for name, value in variables.items()})
"""


@pytest.fixture(scope="module")
def of_one_device(tmp_path_factory):
    folder = tmp_path_factory.mktemp("one")
    return folder, *strings_model.trained(folder)


def _check_same(found, variables, wanted):
    _, wanted_found, wanted_variables = wanted
    assert found["global_step"] == wanted_found["global_step"] == 6
    for key, value in wanted_found.items():
        np.testing.assert_allclose(found[key], value, rtol=1e-5, atol=1e-6, err_msg=key)
    assert variables.keys() == wanted_variables.keys()
    for name, value in wanted_variables.items():
        np.testing.assert_allclose(variables[name], value, rtol=1e-5, atol=1e-6, err_msg=name)


def test_eight_replicas_are_one_device(of_one_device, tmp_path):
    strategy = sx.distribute.MirroredStrategy([f"/cpu:{index}" for index in range(8)])
    _check_same(*strings_model.trained(tmp_path, strategy), of_one_device)


@pytest.mark.stress
@pytest.mark.processes
def test_two_workers_with_four_replicas_are_one_device(of_one_device, tmp_path):
    results = run_tasks(2, PROGRAM, str(tmp_path), devices=4)
    assert [result.code for result in results] == [0, 0], results[0].err + results[1].err
    for worker, result in enumerate(results):
        _check_same(result.report["found"], result.report["variables"], of_one_device)
        assert result.report["keys"] == strings_model.KEYS[6 * worker :]


def test_predictions_have_strings_of_the_features_and_of_the_results(of_one_device):
    predicted = list(strings_model.estimator(of_one_device[0]).predict(strings_model.data))
    assert [each["key"].decode() for each in predicted] == strings_model.KEYS
    assert {each["label"] for each in predicted} == {b"no", b"yes"}
    for each in predicted:
        assert each["label"] == [b"no", b"yes"][int(each["scores"].argmax())]


class Fetching(SessionRunHook):
    """Notes what tensors of the model are at each step."""

    def __init__(self, fetches):
        self.fetches = fetches
        self.seen = []

    def before_run(self, run_context):
        return SessionRunArgs(self.fetches)

    def after_run(self, run_context, run_values):
        self.seen += [float(value) for value in run_values.each_step["total"]]


def _counting(features, labels, mode, params):
    """Its loss is the number of the strings' places, which a variable follows."""
    places = fc.indicator_column(fc.categorical_column_with_vocabulary_list("s", ["a", "b", "c"]))
    shares = fc.input_layer({"s": features["s"]}, places)
    total = tf.reduce_sum(shares * tf.constant([[1.0, 10.0, 100.0]]))
    weight = tf.get_variable("weight", initializer=0.0)
    loss = total + 0.0 * weight
    params["hooks"].append(Fetching({"total": total, "loss": loss}))
    train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
    return EstimatorSpec(mode, loss=loss, train_op=train_op, training_hooks=params["hooks"][:1])


def test_hooks_get_what_is_computed_of_strings(tmp_path):
    hooks = Noted()
    made = Estimator(_counting, str(tmp_path), params={"hooks": hooks})
    texts = np.array([["a", "b"], ["b", "b"], ["c", ""]], object)

    made.train(lambda: sx.data.Dataset.from_tensor_slices({"s": texts}).batch(1))
    assert hooks[0].seen == [11.0, 20.0, 100.0]


def test_an_input_without_batches_says_so(tmp_path):
    empty = strings_model.data().take(0)
    with pytest.raises(errors.DataError, match="The input has no batches"):
        strings_model.estimator(tmp_path).train(lambda: empty)


def test_cores_take_parts_of_batches_of_strings(of_one_device, tmp_path):
    def model_fn(features, labels, mode, params):
        return strings_model.model_fn(features, labels, mode)

    config = tpu.RunConfig(
        tf_random_seed=1,
        train_distribute=sx.distribute.MirroredStrategy([f"/cpu:{index}" for index in range(4)]),
        tpu_config=tpu.TPUConfig(iterations_per_loop=3),
    )
    made = tpu.TPUEstimator(model_fn, str(tmp_path), config, train_batch_size=8, eval_on_tpu=False)
    made.train(lambda params: strings_model.data())
    variables = {name: made.get_variable_value(name) for name in made.get_variable_names()}
    for name, value in of_one_device[2].items():
        np.testing.assert_allclose(variables[name], value, rtol=1e-5, atol=1e-6, err_msg=name)


def test_training_evaluation_and_prediction_are_tensorflows(tmp_path):
    with np.load(pathlib.Path(__file__).parents[2] / "golden" / "strings.npz") as found:
        golden = {name: found[name] for name in found}

    def of(kind):
        return {name.split(" ", 1)[1]: value for name, value in golden.items() if name.startswith(kind)}

    model_fn, train, evaluation = strings_cases.cases(tf, tf.estimator, tf.lookup)
    made = tf.estimator.Estimator(model_fn, str(tmp_path))
    made.train(train, steps=strings_cases.STEPS)
    assert made.get_variable_names() == sorted(of("variable"))
    for name, value in of("variable").items():
        own = np.ravel(made.get_variable_value(name))[: len(value)]
        np.testing.assert_allclose(own, value, rtol=1e-5, atol=1e-6, err_msg=name)
    metrics = made.evaluate(evaluation)
    assert metrics == pytest.approx({name: float(value) for name, value in of("metric").items()}, rel=1e-5)
    predicted = list(made.predict(evaluation))
    assert len(predicted) == strings_cases.ROWS
    assert predicted[0].keys() == of("prediction").keys()
    for name, value in of("prediction").items():
        own = np.array([row[name] for row in predicted[-20:]])
        if name == "scores":
            np.testing.assert_allclose(own, value, rtol=1e-5)
        else:
            assert own.tolist() == value.tolist()


def test_hooks_are_told_that_strings_stay_on_the_host(tmp_path):
    class Wrong(SessionRunHook):
        def before_run(self, run_context):
            return SessionRunArgs(found[-1])

    found = []

    def model_fn(features, labels, mode):
        found.append(features["s"])
        train_op = tf.assign_add(tf.train.get_global_step(), 1)
        return EstimatorSpec(mode, loss=tf.reduce_sum(features["x"]), train_op=train_op)

    data = {"s": np.array([b"a", b"b"], object), "x": np.zeros(2)}
    with pytest.raises(errors.BadTypeError, match="Hooks get numbers of the step"):
        Estimator(model_fn, str(tmp_path)).train(
            lambda: sx.data.Dataset.from_tensor_slices(data).batch(1), hooks=[Wrong()]
        )


def _of_ids(features, labels, mode, params):
    user = fc.categorical_column_with_hash_bucket("user", 5, dtype=tf.int64)
    pair = fc.crossed_column(["user", "color"], 7)
    net = fc.input_layer(features, [fc.indicator_column(user), fc.indicator_column(pair)])
    if params.get("computes"):
        net = net + tf.cast(features["user"], tf.float32)[:, None]
    if mode == "infer":
        return EstimatorSpec(mode, predictions=net)
    loss = tf.reduce_mean(tf.layers.dense(net, 1) - tf.cast(labels, tf.float32))
    train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
    return EstimatorSpec(mode, loss=loss, train_op=train_op)


IDS = np.array([3, 2**33, -(2**40) - 7, 2**62, 5, 6, 2**31, 2**63 - 1])


def _ids(rows=8):
    features = {"user": IDS[:rows], "color": np.array(["red"] * rows)}
    return sx.Dataset.from_tensor_slices((features, np.ones((rows, 1), np.int64))).batch(1)


def test_numbers_that_only_the_host_reads_may_have_64_bits(tmp_path):
    strategy = sx.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    made = Estimator(_of_ids, str(tmp_path), RunConfig(train_distribute=strategy))
    made.train(_ids)
    user, pair = (
        fc.categorical_column_with_hash_bucket("user", 5, dtype=tf.int64),
        fc.crossed_column(["user", "color"], 7),
    )
    ids = Transformation([user, pair]).host_features({"user": IDS, "color": np.array(["red"] * 8)})
    # Columns are in the order of their names.
    of_columns = [np.eye(size)[ids[f"{column.name}/ids"][:, 0]] for column, size in ((pair, 7), (user, 5))]
    np.testing.assert_array_equal(np.stack(list(made.predict(_ids))), np.concatenate(of_columns, 1))


def test_numbers_of_64_bits_that_the_step_computes_with_are_refused(tmp_path):
    made = Estimator(_of_ids, str(tmp_path), params={"computes": True})
    message = rf"computes with 'user' in its step.* Received: {IDS[1]}\. Let feature columns alone"
    with pytest.raises(errors.BadArgumentError, match=message):
        made.train(lambda: _ids(2))


@pytest.mark.parametrize("is_read_first", [True, False])
def test_they_are_refused_whether_the_step_is_traced_before_they_are_read_or_behind(is_read_first):
    layout = InputLayout({"id": IDS})
    inputs = HostInputs()
    layout.choose_packing(inputs, {"id": IDS[:1]}, None, lambda own: [own])
    if is_read_first:
        layout.prepare_batches(inputs, [IDS[None]], 1)
        with pytest.raises(errors.BadArgumentError, match="computes with 'id'"):
            layout.note_used({"id"})
    else:
        layout.note_used({"id"})
        layout.prepare_batches(inputs, [IDS[None, :1]], 1)
        with pytest.raises(errors.BadArgumentError, match="computes with 'id'"):
            layout.prepare_batches(inputs, [IDS[None]], 1)


def test_strings_that_nobody_asks_for_are_not_kept(tmp_path, monkeypatch):
    kept = []
    put = Kept.put
    monkeypatch.setattr(Kept, "put", lambda self, batch: kept.append(1) or put(self, batch))

    def model(features, labels, mode):
        number = tf.get_variable("number", initializer=1.0)
        step = tf.assign_add(tf.train.get_global_step(), 1)
        predictions = {"key": features["key"], "n": features["n"] * number}
        return EstimatorSpec(mode, loss=0.0 * number, train_op=step, predictions=predictions)

    features = {"key": np.array(["a", "b", "c", "d"]), "n": np.arange(4.0, dtype="float32")}
    made = Estimator(model, str(tmp_path))

    def given():
        return sx.Dataset.from_tensor_slices(features).batch(2)

    made.train(given, steps=1)

    assert [row["n"] for row in made.predict(given, predict_keys="n")] == [0, 1, 2, 3]
    assert not kept
    assert [row["key"] for row in made.predict(given)] == [b"a", b"b", b"c", b"d"]
    assert kept


def _prepared(count, *, is_by_row):
    """Prepare batches of 3 examples at once and each by itself; return both, and how many examples calls got."""
    sizes = []

    def lengths(features):
        sizes.append(len(features["word"]))
        return {"lengths": np.array([[len(word)] for word in features["word"]], np.int32)}

    words = np.array([b"a" * (place % 7) for place in range(3 * count)], object).reshape(count, 3)
    numbers = np.arange(6.0 * count, dtype=np.float32).reshape(count, 3, 2)
    layout = InputLayout({"number": numbers[0], "word": words[0]})
    inputs = HostInputs()
    inputs.register("made", ByRow(lengths) if is_by_row else lengths, ["word"], {"lengths": -1})
    layout.choose_packing(inputs, {"number": numbers[0], "word": words[0]}, None, lambda own: [own])
    sizes.clear()
    at_once = layout.prepare_batches(inputs, [numbers, words], count)
    of_calls = list(sizes)
    each = [
        layout.prepare_batches(inputs, [numbers[i : i + 1], words[i : i + 1]], 1).unpack()
        for i in range(count)
    ]
    return at_once.unpack(), each, of_calls


@pytest.mark.parametrize(("is_by_row", "of_calls"), [(True, [12]), (False, [3, 3, 3, 3])])
def test_batches_that_are_prepared_at_once_are_those_that_are_prepared_one_by_one(is_by_row, of_calls):
    (numbers, given, _), each, found = _prepared(4, is_by_row=is_by_row)
    assert found == of_calls
    for step, (own_numbers, own_given, _) in enumerate(each):
        np.testing.assert_array_equal(numbers["number"][step], own_numbers["number"][0])
        np.testing.assert_array_equal(given["made"]["lengths"][step], own_given["made"]["lengths"][0])


@pytest.mark.parametrize(
    ("make", "is_by_row"),
    [
        (lambda: fc.categorical_column_with_hash_bucket("w", 5), True),
        (lambda: fc.categorical_column_with_vocabulary_list("w", ["a"]), True),
        (lambda: fc.categorical_column_with_identity("w", 5), True),
        (lambda: fc.bucketized_column(fc.numeric_column("n"), [0.0]), True),
        # What a function of the user's makes of a batch may depend on all of it.
        (lambda: fc.bucketized_column(fc.numeric_column("n", normalizer_fn=np.mean), [0.0]), False),
        (lambda: fc.crossed_column(["w", fc.bucketized_column(fc.numeric_column("n"), [0.0])], 9), True),
        (
            lambda: fc.crossed_column(
                ["w", fc.bucketized_column(fc.numeric_column("n", normalizer_fn=np.mean), [0.0])], 9
            ),
            False,
        ),
    ],
)
def test_columns_say_whether_their_ids_of_an_example_depend_on_others(make, is_by_row):
    assert make().is_by_row == is_by_row


def test_a_column_is_looked_up_once_for_all_who_take_it(tmp_path, monkeypatch):
    def model(features, labels, mode):
        color = fc.categorical_column_with_vocabulary_list("color", ["red", "green", "blue"])
        # Of the same name, but another one.
        other = fc.categorical_column_with_vocabulary_list("color", ["green", "red"])
        user = fc.categorical_column_with_hash_bucket("user", 5, dtype=tf.int64)
        deep = fc.input_layer(features, fc.indicator_column(color))
        wide = fc.input_layer(features, [fc.indicator_column(user), fc.indicator_column(color)])
        mixed = fc.input_layer(features, [fc.indicator_column(user), fc.indicator_column(other)])
        swapped = fc.input_layer({"color": features["other"]}, fc.indicator_column(color))
        predictions = {"deep": deep, "wide": wide[:, :3], "mixed": mixed[:, :2], "swapped": swapped}
        step = tf.assign_add(tf.train.get_global_step(), 1)
        return EstimatorSpec(mode, loss=tf.reduce_sum(wide), train_op=step, predictions=predictions)

    colors = np.array(["red", "green", "blue", "red"])
    features = {"color": colors, "other": colors[::-1].copy(), "user": IDS[:4]}
    made = Estimator(model, str(tmp_path))
    made.train(lambda: sx.Dataset.from_tensors(features))
    seen = []
    whole = Transformation.ids_on_host

    def noted(self, features):
        seen.append([column.name for column in self.columns])
        return whole(self, features)

    monkeypatch.setattr(Transformation, "ids_on_host", noted)
    (found,) = made.predict(lambda: sx.Dataset.from_tensors(features), yield_single_examples=False)
    # Without those of values, of which there are none. Each time: when the model is traced, to choose how arrays
    # travel, for their structure, and for the batch.
    assert [columns for columns in seen if columns] == [["color"], ["user"], ["color"], ["color"]] * 4
    ids = np.array([0, 1, 2, 0])
    np.testing.assert_array_equal(found["deep"], np.eye(3)[ids])
    np.testing.assert_array_equal(found["wide"], np.eye(3)[ids])
    np.testing.assert_array_equal(found["mixed"], np.eye(3)[[1, 0, 2, 1]][:, :2])
    np.testing.assert_array_equal(found["swapped"], np.eye(3)[ids[::-1]])


def test_batches_of_words_are_as_wide_as_their_longest_sentence(tmp_path):
    sentences = [[b"a"], [b"b"], [b"a", b"b", b"c"], [b"c", b"c"], [b"b", b"a"], [b"c"]]

    def elements():
        for sentence in sentences:
            number = float(len(sentence))
            yield {"words": sentence, "tags": [1.0] * len(sentence), "one": number, "two": 2 * number}, number

    def input_fn():
        types = {"words": tf.string, "tags": tf.float32, "one": tf.float32, "two": tf.float32}, tf.float32
        shapes = {"words": [None], "tags": [None], "one": [], "two": []}, []
        dataset = tf.data.Dataset.from_generator(elements, types, shapes)
        return dataset.padded_batch(2, shapes, ({"words": b"", "tags": 0.0, "one": 0.0, "two": 0.0}, 0.0))

    def model_fn(features, labels, mode):
        table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer([b"a", b"b", b"c"], tf.constant([1, 2, 3], tf.int64)), 0
        )
        ids = tf.cast(table.lookup(features["words"]), tf.float32)
        # What it is padded with has no number.
        assert features["words"].shape == ids.shape == features["tags"].shape
        there = tf.sequence_mask(features["one"], dtype=tf.float32)
        sums = tf.reduce_sum(ids * there, 1) + 10 * tf.reduce_sum(features["tags"] * there, 1)
        total = sums + 100 * features["one"] + 1000 * features["two"]
        if mode == "infer":
            return EstimatorSpec(mode, predictions={"total": total})
        weight = tf.get_variable("weight", [], initializer=tf.zeros_initializer())
        loss = tf.reduce_mean(weight * total + 0 * labels)
        step = tf.train.get_or_create_global_step()
        train_op = tf.train.GradientDescentOptimizer(1.0).minimize(loss, global_step=step)
        return EstimatorSpec(mode, loss=loss, train_op=train_op)

    made = Estimator(model_fn, str(tmp_path))
    numbers = {b"a": 1, b"b": 2, b"c": 3}
    wanted = [sum(numbers[word] for word in sentence) + 2110 * len(sentence) for sentence in sentences]
    made.train(input_fn)
    # Each batch's mean, in one pass.
    assert made.get_variable_value("weight") == -sum(np.mean(wanted[i : i + 2]) for i in (0, 2, 4))
    assert [each["total"] for each in made.predict(input_fn)] == wanted
