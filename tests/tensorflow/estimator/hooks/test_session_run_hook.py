"""Hooks find variables, read and assign them."""

import pytest

from stratax import errors
from stratax.summary.files import FileWriterCache
from stratax.tensorflow import estimator as es
from stratax.tensorflow.v1 import train
from stratax.tensorflow.v1 import trainable_variables as train_variables
from tests.tensorflow.estimator.hooks.test_in_estimator import features, model


@pytest.fixture(autouse=True)
def _forget_writers():
    yield
    FileWriterCache.clear()


@pytest.fixture(params=[1, 7])
def steps(request):
    return request.param


@pytest.fixture
def make(tmp_path, steps):
    class Made(es.Estimator):
        def _steps_per_dispatch(self):
            return steps

    def make(*make_hooks, **config):
        return Made(model(*make_hooks), str(tmp_path), es.RunConfig(tf_random_seed=1, **config))

    return make


def test_hooks_find_variables_and_read_them_by_name(make):
    read = {}

    class Reading(es.SessionRunHook):
        def begin(self):
            self.step = train.get_global_step()
            self.note("begin")

        def after_create_session(self, session, coord):
            self.note("after_create_session", session)

        def before_run(self, run_context):
            self.note("before_run", run_context.session)
            return es.SessionRunArgs("global_step:0")

        def after_run(self, run_context, run_values):
            self.note("after_run", run_context.session)
            self.results = int(run_values.results)
            with pytest.raises(errors.BadTypeError, match="the name of one"):
                run_context.session.run("loss:0")

        def end(self, session):
            self.note("end", session)

        def note(self, method, session=None):
            assert train.get_global_step() is train.get_or_create_global_step() is self.step
            assert self.step.name == "global_step:0"
            names = [variable.name for variable in train_variables()]
            assert names == ["dense/kernel:0", "dense/bias:0"]
            if session is not None:
                values = session.run({"step": "global_step:0", "kernel": names[0], "bias": ["dense/bias"]})
                assert (values["kernel"].shape, values["bias"][0].shape) == ((3, 1), (1,))
                read[method] = int(values["step"])

    hook = Reading()
    made = make()
    made.train(features(), hooks=[hook], steps=7)
    assert read == {"after_create_session": 0, "before_run": read["before_run"], "after_run": 7, "end": 7}
    assert read["before_run"] in (0, 6)
    # Before the last step, as in TensorFlow.
    assert hook.results == 6
    made.evaluate(features(), hooks=[hook], steps=1)
    assert set(read.values()) == {7}
    # There is none outside, as in TensorFlow.
    assert train.get_global_step() is None


def test_what_a_hook_assigns_after_a_step_takes_effect_at_once(make):
    class Assigning(es.SessionRunHook):
        def after_run(self, run_context, run_values):
            train.get_global_step().assign(100)

    made = make()
    made.train(features(), hooks=[Assigning()], steps=1)
    assert made.get_variable_value("global_step") == 100
