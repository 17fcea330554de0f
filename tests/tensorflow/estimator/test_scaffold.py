"""A `Scaffold` says how variables begin and which are saved; a `Saver` saves and restores by name."""

import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax import errors
from stratax.summary.files import summary_iterator
from stratax.tensorflow.estimator import Estimator, EstimatorSpec, RunConfig, Scaffold
from stratax.tensorflow.v1 import ModelScope, ModelState

v1 = tf.compat.v1


def data():
    return sx.Dataset.from_tensors(np.ones((4, 2), "float32")).repeat(20)


def model_fn(features, mode, params):
    weights = v1.get_variable("weights", [2], initializer=v1.zeros_initializer())
    bias = v1.get_variable("bias", [], initializer=v1.zeros_initializer())
    loss = tf.reduce_sum(features * weights) + bias
    step, average = v1.train.get_global_step(), v1.train.ExponentialMovingAverage(0.5)
    scaffold = params["scaffold"](mode, average, loss) if "scaffold" in params else None
    if mode == "eval":
        # A copy: a metric of the variable as it is now.
        return EstimatorSpec(mode, loss=loss, scaffold=scaffold)
    train_op = v1.train.GradientDescentOptimizer(1.0).minimize(loss, step)
    with tf.control_dependencies([train_op]):
        train_op = average.apply([weights, bias])
    return EstimatorSpec(mode, loss=loss, train_op=train_op, scaffold=scaffold)


def estimator(folder, scaffold=None, **config):
    params = {} if scaffold is None else {"scaffold": scaffold}
    return Estimator(model_fn, str(folder), RunConfig(**config), params)


def value(made, name):
    return np.asarray(made.get_variable_value(name)).tolist()


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    made = estimator(tmp_path_factory.mktemp("trained"))
    made.train(data, steps=2)
    assert value(made, "weights") == [-8, -8]
    return made


def test_init_fn_gives_first_values_once(tmp_path, trained):
    calls = []

    def scaffold(mode, average, loss):
        weights, bias = v1.trainable_variables()
        saver, initializer = v1.train.Saver([weights]), v1.global_variables_initializer()

        def init_fn(scaffold, session):
            saver.restore(session, trained.latest_checkpoint())
            bias.load(5.0, session)
            found = session.run({"bias": bias, "after": bias.assign_add(1.0), "nothing": initializer})
            assert found == {"bias": 6.0, "after": 6.0, "nothing": None}
            with pytest.raises(errors.BadTypeError, match="depends on variables alone"):
                session.run(loss)
            calls.append(mode)

        return v1.train.Scaffold(init_fn=init_fn)

    # Without a checkpoint an evaluation begins with it, too.
    made = estimator(tmp_path, scaffold)
    assert made.evaluate(data, steps=1)["loss"] == 4 * -16 + 6
    made.train(data, steps=1)
    assert value(made, "weights") == [-12, -12]
    assert value(made, "bias") == 5
    made.train(data, steps=1)
    assert calls == ["eval", "train"]
    assert value(made, "bias") == 4


def test_a_savers_averages_are_evaluated(tmp_path, trained):
    def scaffold(mode, average, loss):
        return Scaffold(saver=v1.train.Saver(average.variables_to_restore()))

    made = Estimator(model_fn, trained.model_dir, params={"scaffold": scaffold})
    averages = trained.get_variable_value("weights/ExponentialMovingAverage")
    bias = trained.get_variable_value("bias/ExponentialMovingAverage")
    assert made.evaluate(data, steps=1)["loss"] == 4 * averages.sum() + bias
    assert trained.evaluate(data, steps=1)["loss"] == 4 * -16 + -2


def test_a_saver_says_how_many_checkpoints_are_kept_and_what_is_in_them(tmp_path):
    def scaffold(mode, average, loss):
        names = {"w": v1.trainable_variables()[0], "global_step": v1.train.get_global_step()}
        return Scaffold(saver=v1.train.Saver(names, max_to_keep=1))

    made = estimator(tmp_path, scaffold, save_checkpoints_steps=1)
    made.train(data, steps=3)
    assert [path.name for path in tmp_path.glob("model.ckpt-*")] == ["model.ckpt-3"]
    assert [name for name, _ in sx.train.list_variables(tmp_path) if name != "save_counter"] == [
        "global_step",
        "w",
    ]
    # What is not saved begins anew.
    made.train(data, steps=1)
    assert value(made, "w") == [-16, -16]
    assert made.evaluate(data, steps=1)["loss"] == 4 * -32


def test_what_a_saver_leaves_out_begins_with_its_initializer(tmp_path):
    def of_bias(features, mode, params):
        bias = v1.get_variable("bias", [2], initializer=v1.constant_initializer(3.0))
        other = v1.get_variable("other", [2], initializer=v1.constant_initializer(5.0))
        step = v1.train.get_global_step()
        saver = v1.train.Saver([bias, step]) if params["partial"] else None
        loss = tf.reduce_sum(bias + other)
        train_op = v1.train.GradientDescentOptimizer(1.0).minimize(loss, step)
        return EstimatorSpec(mode, loss=loss, train_op=train_op, scaffold=Scaffold(saver=saver))

    Estimator(of_bias, str(tmp_path), params={"partial": False}).train(data, steps=2)
    made = Estimator(of_bias, str(tmp_path), params={"partial": True})
    assert made.evaluate(data, steps=1)["loss"] == 2 * (1 + 5)
    made.train(data, steps=1)
    assert made.evaluate(data, steps=1)["loss"] == 2 * (0 + 5)


def test_a_summary_op_is_written_alone(tmp_path):
    def scaffold(mode, average, loss):
        wanted, _ = v1.summary.scalar("wanted", loss), v1.summary.scalar("other", loss)
        return Scaffold(summary_op=wanted)

    estimator(tmp_path, scaffold, save_summary_steps=1).train(data, steps=2)
    events = [event for path in tmp_path.glob("events*") for event in summary_iterator(str(path))]
    assert {each.tag for event in events for each in event.summary.value} == {"wanted"}


class TestSaver:
    @pytest.fixture
    def variables(self):
        return [sx.Variable(np.float32([1, 2]), name="a"), sx.Variable(3, name="b")]

    def test_variables_are_saved_and_restored(self, tmp_path, variables):
        saver = v1.train.Saver(variables, max_to_keep=2)
        paths = [saver.save(None, tmp_path / "m", global_step=step) for step in (1, 2, 3)]
        assert saver.last_checkpoints == paths[1:] == [str(tmp_path / "m-2"), str(tmp_path / "m-3")]
        variables[0].assign([0.0, 0.0])
        saver.restore(None, paths[-1])
        assert np.asarray(variables[0]).tolist() == [1, 2]
        assert saver.save(None, tmp_path / "plain") == str(tmp_path / "plain")
        assert sx.train.load_variable(tmp_path / "plain", "b") == 3

    def test_a_definition_says_what_is_kept(self, variables):
        saver = v1.train.Saver(variables, max_to_keep=3, keep_checkpoint_every_n_hours=2.0)
        assert (saver.saver_def.max_to_keep, saver.saver_def.keep_checkpoint_every_n_hours) == (3, 2.0)
        assert v1.train.Saver(variables, max_to_keep=None).as_saver_def().max_to_keep == 0
        deferred = v1.train.Saver(variables, defer_build=True)
        assert deferred.saver_def is None
        deferred.build()
        assert deferred.saver_def.max_to_keep == 5

    def test_other_shapes_are_restored_if_asked_for(self, tmp_path, variables):
        v1.train.Saver(variables).save(None, tmp_path / "m")
        column = sx.Variable(np.zeros((2, 1), "float32"), name="a")
        with pytest.raises(errors.RestoreError, match=r"a has the shape \(2, 1\) in the model and \(2,\)"):
            v1.train.Saver([column]).restore(None, tmp_path / "m")
        v1.train.Saver([column], reshape=True).restore(None, tmp_path / "m")
        assert np.asarray(column).tolist() == [[1], [2]]

    def test_values_of_another_kind_are_errors(self, tmp_path, variables):
        v1.train.Saver(variables).save(None, tmp_path / "m")
        counts = sx.Variable([0, 0], name="a")
        with pytest.raises(
            errors.RestoreError, match="another dtype for a. Expected: one that int32 can hold"
        ):
            v1.train.Saver([counts]).restore(None, tmp_path / "m")
        small = sx.Variable(np.float16([0, 0]), name="a")
        v1.train.Saver([small]).restore(None, tmp_path / "m")
        assert np.asarray(small).tolist() == [1, 2]

    def test_wrong_arguments_are_errors(self, variables):
        with pytest.raises(errors.ModelScopeError, match="made in a model_fn"):
            v1.train.Saver()
        with pytest.raises(errors.BadArgumentError, match="At least two variables have the same name: a"):
            v1.train.Saver([variables[0], sx.Variable(0, name="a")])
        with pytest.raises(errors.BadTypeError, match="must hold variables"):
            v1.train.Saver([3])
        with pytest.raises(errors.BadArgumentError, match="No variables to save"):
            v1.train.Saver([])
        with pytest.raises(errors.BadArgumentError, match="A Saver has no graph"):
            v1.train.Saver(variables, saver_def=object())
        assert v1.train.Saver([], allow_empty=True).variables == {}


class TestWrong:
    @pytest.fixture
    def scope(self):
        with ModelScope(ModelState(), "train").entered() as scope:
            yield scope

    def test_initializers_have_nothing_to_do(self, scope):
        group = tf.group(v1.global_variables_initializer(), v1.tables_initializer())
        copied = Scaffold(copy_from_scaffold=Scaffold(init_op=group, local_init_op=group, ready_op=3))
        assert copied.init_op is group
        assert copied.ready_op == 3
        assert copied.finalize() is copied
        assert copied.init_fn is None

    def test_operations_that_do_something_are_refused(self, scope):
        variable = sx.Variable(1.0)
        for name in ("init_op", "local_init_op"):
            with pytest.raises(errors.BadArgumentError, match=f"{name} would do something"):
                Scaffold(**{name: tf.group(tf.assign(variable, 2.0))})

    @pytest.mark.parametrize(
        ("arguments", "error", "message"),
        [
            ({"init_feed_dict": {"a": 1}}, errors.BadArgumentError, "Nothing is fed here"),
            ({"saver": object()}, errors.BadTypeError, "saver must be a tf.compat.v1.train.Saver"),
            ({"init_fn": 3}, errors.BadTypeError, "init_fn must be a function"),
            ({"copy_from_scaffold": 3}, errors.BadTypeError, "not a Scaffold instance"),
        ],
    )
    def test_wrong_arguments_are_errors(self, arguments, error, message):
        with pytest.raises(error, match=message):
            Scaffold(**arguments)

    def test_a_spec_takes_nothing_else(self):
        with pytest.raises(errors.BadTypeError, match="scaffold must be a tf.compat.v1.train.Scaffold"):
            EstimatorSpec("eval", loss=np.float32(1), scaffold=object())
