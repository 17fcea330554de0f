"""Input functions of arrays and tables."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax.data import Dataset
from stratax.tensorflow.estimator import Estimator, EstimatorSpec
from tests.tensorflow.estimator.test_estimator import FEATURES, LABELS, estimator, model_fn

INPUTS = {
    "a dataset": lambda dataset: dataset,
    "an iterator": lambda dataset: dataset.make_one_shot_iterator(),
    "an iterator of Python": iter,
    "its element": lambda dataset: dataset.make_one_shot_iterator().get_next(),
    "what a session would initialize": lambda dataset: dataset.make_initializable_iterator().get_next(),
    "its parts": lambda dataset: tuple(tf.compat.v1.data.make_one_shot_iterator(dataset).get_next()),
}


@pytest.mark.parametrize("given", INPUTS)
def test_an_input_fn_returns_a_dataset_or_what_an_iterator_gives(tmp_path, given):
    dataset = Dataset.from_tensor_slices((FEATURES, LABELS)).batch(16)
    made = estimator(tmp_path, model_fn)
    made.train(lambda: INPUTS[given](dataset), steps=2)
    assert made.get_variable_value("global_step") == 2
    found = made.evaluate(lambda: INPUTS[given](dataset))
    assert found["loss"] == pytest.approx(made.evaluate(lambda: dataset)["loss"])


TENSORS = {
    "nothing": (({}, None), ({}, None)),
    "tuples of numbers": (({"x": ((1,), (2,))}, ((10.0,), (20.0,))), ({"x": (2, 1)}, (2, 1))),
    "lists of numbers": (({"x": [[1], [2]]}, [10.0, 20.0]), ({"x": (2, 1)}, (2,))),
    "names and numbers": (({0: np.ones(2), "x": np.ones(3)}, np.ones(2)), ({0: (2,), "x": (3,)}, (2,))),
    "nested tuples": (
        (({"x": np.ones(2)}, [np.ones(3)]), (np.ones(2), {"y": np.ones(1)})),
        (({"x": (2,)}, ((3,),)), ((2,), {"y": (1,)})),
    ),
}


@pytest.mark.parametrize("given", TENSORS)
def test_an_input_fn_returns_tensors_in_any_structure(tmp_path, given):
    seen = []

    def shapes(value):
        if isinstance(value, dict):
            return {key: shapes(each) for key, each in value.items()}
        return tuple(map(shapes, value)) if isinstance(value, tuple) else getattr(value, "shape", None)

    def function(features, labels, mode):
        seen.append((shapes(features), shapes(labels)))
        step = tf.compat.v1.train.get_global_step()
        return EstimatorSpec(mode, loss=tf.constant(1.0), train_op=step.assign_add(1))

    tensors, wanted = TENSORS[given]
    made = Estimator(function, str(tmp_path))
    made.train(lambda: tensors, steps=2)
    assert seen[0] == wanted
    assert made.get_variable_value("global_step") == 2
