"""What a `model_fn` may give besides what it computes of a batch: constants; and variables that no checkpoint has."""

import functools

import keras
import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from stratax.distribute import MirroredStrategy
from stratax.tensorflow.estimator import FinalOpsHook, LoggingTensorHook, SessionRunArgs, SessionRunHook
from stratax.tensorflow.v1.train import summary_iterator

v1 = tf.compat.v1
ROWS = np.arange(8, dtype=np.float32)


def data():
    return tf.data.Dataset.from_tensor_slices((ROWS, ROWS)).batch(2)


class Watch(SessionRunHook):
    """Keeps what its fetches give."""

    def __init__(self, fetches):
        self._fetches = fetches
        self.got = []

    def before_run(self, run_context):
        return SessionRunArgs(self._fetches)

    def after_run(self, run_context, run_values):
        self.got.append(run_values.results)


def estimator(folder, give=lambda weight, features: {}, **config):
    def model_fn(features, labels, mode):
        weight = v1.get_variable("w", [], initializer=v1.zeros_initializer())
        loss = tf.reduce_mean((weight * features - (features if labels is None else labels)) ** 2)
        step = v1.assign_add(v1.train.get_global_step(), 1)
        given = {"loss": loss, "train_op": step, "predictions": features * weight, **give(weight, features)}
        return tf.estimator.EstimatorSpec(mode, **given)

    return tf.estimator.Estimator(model_fn, str(folder), tf.estimator.RunConfig(**config))


@pytest.mark.parametrize("replicas", [1, 2])
def test_hooks_fetch_constants_and_what_variables_are(tmp_path, replicas):
    hooks = []

    def give(weight, features):
        found = {
            "number": tf.constant(3.0),
            "list": tf.constant([1, 2]),
            "converted": tf.convert_to_tensor(2.5),
            "sum": tf.constant(2) + tf.constant(3),
            "read": weight.value,
            "features": features,
        }
        hooks.append(Watch(found))
        return {"training_hooks": hooks[-1:]}

    strategy = MirroredStrategy([f"cpu:{index}" for index in range(replicas)])
    estimator(tmp_path, give, train_distribute=strategy).train(data, steps=2)
    for found in hooks[0].got:
        features = found.pop("features")
        assert features.shape == (2,)
        assert {name: (value.tolist(), value.dtype.name) for name, value in found.items()} == {
            "number": (3.0, "float32"),
            "list": ([1, 2], "int32"),
            "converted": (2.5, "float32"),
            "sum": (5, "int32"),
            "read": (0.0, "float32"),
        }


def test_constants_are_found_by_name(tmp_path):
    lines = []

    def give(weight, features):
        tf.constant(7.0, name="seven")
        hook = LoggingTensorHook(
            ["seven"], every_n_iter=1, formatter=lambda found: lines.append(float(found["seven"])) or ""
        )
        return {"training_hooks": [hook]}

    estimator(tmp_path, give).train(data, steps=2)
    assert lines == [7.0, 7.0]


def test_constants_are_losses_metrics_and_predictions(tmp_path):
    def give(weight, features):
        metrics = {
            "float": (tf.constant(2.0), tf.no_op()),
            "int": (tf.constant(2), tf.constant(1)),
            "mean": v1.metrics.mean(tf.constant(3.0)),
            "variable": (weight, tf.no_op()),
        }
        predicted = {
            "row": weight * features,
            "constant": tf.constant([1.0, 2.0]),
            "text": tf.constant(["a", "b"]),
        }
        return {"loss": tf.constant(1.5), "eval_metric_ops": metrics, "predictions": predicted}

    made = estimator(tmp_path, give)
    made.train(data, steps=2)
    found = made.evaluate(data, steps=2)
    assert found == {"loss": 1.5, "float": 2.0, "int": 2, "mean": 3.0, "variable": 0.0, "global_step": 2}
    assert (found["float"].dtype, found["int"].dtype) == (np.float32, np.int32)
    rows = list(made.predict(data))
    assert [list(row.values()) for row in rows] == [[0.0, 1.0, b"a"], [0.0, 2.0, b"b"]] * 4
    # In the order of the model_fn.
    assert list(rows[0]) == ["row", "constant", "text"]


def test_metrics_that_are_arrays_are_summaries_of_an_evaluation(tmp_path):
    def give(weight, features):
        array = tf.constant([1.0, 2.0])
        return {"eval_metric_ops": {"array": v1.metrics.mean_tensor(array)}}

    made = estimator(tmp_path, give)
    made.train(data, steps=1)
    assert made.evaluate(data, steps=1)["array"].tolist() == [1.0, 2.0]
    (path,) = (tmp_path / "eval").glob("events*")
    values = [value for event in summary_iterator(str(path)) for value in event.summary.value]
    assert sorted(value.tag for value in values) == ["array", "loss"]
    (array,) = (value for value in values if value.tag == "array")
    # As TensorFlow 2.15 writes it.
    assert array.node_name == "array"
    assert [size.size for size in array.tensor.tensor_shape.dim] == [2]
    assert np.frombuffer(array.tensor.tensor_content, "<f4").tolist() == [1.0, 2.0]


def test_summaries_hold_constants(tmp_path):
    def give(weight, features):
        v1.summary.scalar("learning_rate", 0.1)
        v1.summary.scalar("constant", tf.constant(0.5))
        v1.summary.scalar("int", 3)
        return {}

    estimator(tmp_path, give, save_summary_steps=1).train(data, steps=2)
    (path,) = tmp_path.glob("events*")
    found = {
        value.tag: value.simple_value
        for event in summary_iterator(str(path))
        for value in event.summary.value
    }
    assert found["learning_rate"] == np.float32(0.1)
    assert (found["constant"], found["int"]) == (0.5, 3.0)


def test_a_hook_gets_the_bytes_of_a_summary(tmp_path):
    class Merged(Watch):
        def begin(self):
            self._fetches = {"merged": v1.summary.merge_all()}

    def give(weight, features):
        v1.summary.scalar("mine", weight + 2.0)
        return {}

    hook = Merged(None)
    estimator(tmp_path, give).train(data, hooks=[hook], steps=1)
    (value,) = v1.summary.Summary.FromString(hook.got[0]["merged"]).value
    assert (value.tag, value.simple_value) == ("mine", 2.0)


def test_names_that_are_asked_for_are_found_by_hooks(tmp_path):
    """As models do that print their features, and hooks that are given the names of tensors."""
    hooks, begun = [], []

    class Late(Watch):
        def begin(self):
            # In the trace of the model that was made in advance, and in no other.
            self._fetches = {"late": begun[0].name}

    def give(weight, features):
        total = tf.reduce_sum(features * 2.0)
        assert features.name == "IteratorGetNext:0"
        begun.append(features + 1.0)
        hooks.extend([Watch({"total": total.name, "features": features.name}), Late(None)])
        return {"training_hooks": hooks[-2:]}

    estimator(tmp_path, give).train(data, steps=2)
    assert [float(found["total"]) for found in hooks[0].got] == [2.0, 10.0]
    assert [found["features"].tolist() for found in hooks[0].got] == [[0.0, 1.0], [2.0, 3.0]]
    assert [found["late"].tolist() for found in hooks[1].got] == [[1.0, 2.0], [3.0, 4.0]]


def test_features_that_stay_on_the_host_have_names_and_shapes(tmp_path):
    seen = []

    def model_fn(features, labels, mode):
        text = features["s"]
        seen.append((text.op.name, text.graph is v1.get_default_graph(), text.shape.as_list()))
        seen.append((features["x"].name, labels.name, text.get_shape()[1]))
        step = v1.assign_add(v1.train.get_global_step(), 1)
        return tf.estimator.EstimatorSpec(mode, loss=tf.reduce_sum(features["x"]), train_op=step)

    features = {"s": np.array([["a"], ["b"]]), "x": np.ones([2, 1], np.float32)}
    tf.estimator.Estimator(model_fn, str(tmp_path)).train(lambda: (features, np.ones(2)), steps=1)
    assert seen[:2] == [
        ("IteratorGetNext", True, [2, 1]),
        ("IteratorGetNext:1", "IteratorGetNext:2", 1),
    ]


def test_a_session_gives_tensors_that_depend_on_variables_alone(tmp_path):
    hooks = []

    def give(weight, features):
        hooks.append(FinalOpsHook([tf.constant(3.0), weight + 2.0, v1.train.get_global_step() * 2]))
        return {"training_hooks": hooks[-1:]}

    estimator(tmp_path, give).train(data, steps=3)
    assert [float(value) for value in hooks[0].final_ops_values] == [3.0, 2.0, 6.0]


def counted(collections, make=v1.get_variable):
    """A model that counts its steps in a variable of some collections."""

    def give(weight, features):
        seen = make("seen", [], initializer=v1.zeros_initializer(), collections=collections, trainable=False)
        count = v1.assign_add(seen, 1.0)
        step = v1.assign_add(v1.train.get_global_step(), 1)
        return {"train_op": tf.group(step, count), "eval_metric_ops": {"seen": (seen, count)}}

    return give


def test_local_variables_begin_anew_and_are_not_saved(tmp_path):
    give = counted([v1.GraphKeys.LOCAL_VARIABLES])
    made = estimator(tmp_path, give)
    made.train(data, steps=2)
    assert made.get_variable_names() == ["global_step", "w"]
    # What TensorFlow gives: the batches of this evaluation.
    assert [made.evaluate(data, steps=3)["seen"] for _ in range(2)] == [3.0, 3.0]


def test_local_variables_that_are_global_too_are_saved(tmp_path):
    made = estimator(tmp_path, counted([v1.GraphKeys.LOCAL_VARIABLES, v1.GraphKeys.GLOBAL_VARIABLES]))
    made.train(data, steps=2)
    assert made.get_variable_names() == ["global_step", "seen", "w"]
    assert made.evaluate(data, steps=3)["seen"] == 5.0


def test_what_a_checkpoint_has_by_the_name_of_a_local_variable_is_left_out(tmp_path):
    estimator(tmp_path, counted(None)).train(data, steps=2)
    made = estimator(tmp_path, counted([v1.GraphKeys.LOCAL_VARIABLES]))
    assert made.evaluate(data, steps=3)["seen"] == 3.0


def test_local_variables_are_in_their_collection_alone(tmp_path):
    found = {}

    def give(weight, features):
        local = v1.get_local_variable("here", [])
        made = v1.Variable(0.0, name="there", collections=[v1.GraphKeys.LOCAL_VARIABLES], trainable=False)
        assert [local, made] == v1.local_variables()
        v1.metrics.mean(features)
        found["global"] = [variable.name for variable in v1.global_variables()]
        return {}

    estimator(tmp_path, give).train(data, steps=1)
    assert found["global"] == ["global_step:0", "w:0"]


@pytest.mark.parametrize("kind", [keras.optimizers.Adam, keras.optimizers.SGD])
def test_a_canned_estimator_goes_on_with_another_optimizer_object(tmp_path, kind):
    def made(folder):
        columns = [tf.feature_column.numeric_column("x")]
        return tf.estimator.DNNLinearCombinedRegressor(
            str(folder),
            linear_feature_columns=columns,
            dnn_feature_columns=columns,
            dnn_hidden_units=[2],
            linear_optimizer=kind(0.1),
            dnn_optimizer=kind(0.01),
        )

    def by_name():
        return data().map(lambda x, y: ({"x": x[:, None]}, y[:, None]))

    made(tmp_path / "a").train(by_name, steps=2)
    names = made(tmp_path / "a").get_variable_names()
    # Another model's, whose optimizers have other numbers.
    made(tmp_path / "b")
    again = made(tmp_path / "a")
    again.train(by_name, steps=2)
    assert again.get_variable_value("global_step") == 4
    assert again.get_variable_names() == names
    assert again.evaluate(by_name)["global_step"] == 4


def test_listeners_need_checkpoints(tmp_path):
    listener = tf.estimator.CheckpointSaverListener()
    made = estimator(tmp_path, save_checkpoints_steps=None, save_checkpoints_secs=None)
    train = functools.partial(made.train, data, steps=1)
    with pytest.raises(errors.BadArgumentError, match="There should be a CheckpointSaverHook"):
        train(saving_listeners=[listener])
    train(hooks=[v1.train.CheckpointSaverHook(str(tmp_path), save_steps=1)], saving_listeners=[listener])


def test_a_hook_runs_the_assignment_that_it_asks_for_and_gets_what_it_assigns(tmp_path):
    def model_fn(features, labels, mode):
        del labels
        count = v1.get_variable("count", [], initializer=v1.zeros_initializer(), trainable=False)
        with tf.control_dependencies([v1.assign_add(count, 1.0)]):
            last = count.assign_add(10.0)
        watches.append(Watch({"last": last}))
        loss = tf.reduce_mean(features * v1.get_variable("w", []))
        train_op = v1.train.GradientDescentOptimizer(0.1).minimize(loss, v1.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op, training_hooks=watches[-1:])

    watches = []
    made = tf.estimator.Estimator(model_fn, str(tmp_path))
    made.train(lambda: tf.data.Dataset.from_tensors(np.ones(2, np.float32)).repeat(2))
    got = [each["last"].item() for watch in watches for each in watch.got]
    # As TensorFlow 2.15 gives them.
    assert (got, made.get_variable_value("count")) == ([11.0, 22.0], 22.0)


def test_variables_of_a_model_fn_are_found_in_lists_sets_and_dicts(tmp_path):
    found = []

    def give(weight, features):
        bias = tf.Variable(0.0, name="b")
        step = v1.train.get_global_step()
        names = {weight: "w", bias: "b"}
        frozen = {bias, step}
        rest = [each.op.name for each in v1.trainable_variables() if each not in frozen]
        found.append((names[bias], bias in [weight, bias], step in [weight, bias], bias != weight, rest))
        return {}

    estimator(tmp_path, give).train(data, steps=1)
    assert found[0] == ("b", True, False, True, ["w"])
