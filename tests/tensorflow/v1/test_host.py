"""What a model computes on the host, before and after its step."""

import jax.numpy as jnp
import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax import errors
from stratax.tensorflow import v1
from tests.tensorflow.v1.host_steps import HostStep


def _lengths(calls):
    def compute(batch):
        calls.append(len(batch["s"]))
        lengths = np.array([len(text) for text in batch["s"]], np.int32)
        return {"lengths": lengths, "next": lengths + 1}

    return compute


def test_functions_run_on_the_host_before_each_step():
    calls = []

    def body(scope, features):
        made = scope.features.compute_on_host(
            _lengths(calls), [scope.features.name_of(features["s"])], "lengths"
        )
        return made["lengths"] * 10 + made["next"] + features["x"]

    step = HostStep(body)
    x = np.zeros(2, np.int32)
    assert step({"s": np.array([b"ab", b""], object), "x": x}).tolist() == [23, 1]
    assert step({"s": np.array([b"a", b"abc"], object), "x": x + 1}).tolist() == [13, 35]
    assert step.inputs.names == {"s"}
    # Once for the example of the first trace, then once for each step: traces call nothing.
    assert calls == [2, 2, 2]


def test_functions_of_one_name_are_told_apart_by_their_order():
    def body(scope, features):
        first = scope.features.compute_on_host(lambda batch: {"n": np.array([1])}, ["s"], "same")["n"]
        second = scope.features.compute_on_host(lambda batch: {"n": np.array([2])}, ["s"], "same")["n"]
        return first * 10 + second

    step = HostStep(body)
    for _ in range(2):
        assert step({"s": np.array([b""], object)}).tolist() == [12]


def test_numbers_are_read_on_the_host_too_as_long_as_the_model_has_not_changed_them():
    def body(scope, features):
        assert scope.features.name_of(features["x"]) == "x"
        assert scope.features.name_of(features["x"] + 0) is None
        return scope.features.compute_on_host(lambda batch: {"n": batch["x"] * 2}, ["x"], "double")["n"]

    assert HostStep(body)({"x": np.array([4, 5], np.int32)}).tolist() == [8, 10]


def test_what_the_host_computes_is_no_constant_of_the_model():
    def body(scope, features):
        made = scope.features.compute_on_host(lambda batch: {"n": np.ones(1, np.float32)}, ["s"], "n")["n"]
        with pytest.raises(errors.BadArgumentError, match="can't depend on features"):
            tf.Variable(made * 2)
        return made

    HostStep(body)({"s": np.array([b"a"], object), "x": np.zeros(1, np.float32)})


def test_a_batch_without_the_features_is_refused():
    inputs = v1.HostInputs()
    assert not inputs
    inputs.register("key", lambda batch: {"n": np.zeros(1)}, ["s", "t"])
    assert inputs
    with pytest.raises(errors.BadArgumentError, match=r"Expected: \['s', 't'\]. Received: \['s'\]"):
        inputs.apply({"s": np.array([b""])})


@pytest.mark.parametrize(
    "use",
    [
        lambda s: s + "a",
        lambda s: "a" + s,
        lambda s: s == "a",
        lambda s: s[0],
        lambda s: -s,
        lambda s: len(s),
        lambda s: list(s),
        lambda s: bool(s),
        lambda s: np.asarray(s),
        lambda s: jnp.asarray(s),
        lambda s: float(s),
    ],
)
def test_nothing_is_computed_with_strings_in_a_model_fn(use):
    tensor = v1.HostTensor("name", (2, 1))
    with pytest.raises(
        errors.BadTypeError, match=r"stay on the host.*Received: <HostTensor 'name' shape=\(2, 1\)"
    ):
        use(tensor)


def test_a_host_tensor_says_what_it_is():
    tensor = v1.HostTensor("name", (2, 1))
    assert (tensor.ndim, tensor.get_shape(), tensor.dtype, {tensor: 1}[tensor]) == (
        2,
        (2, 1),
        np.dtype(object),
        1,
    )
    assert v1.HostTensor("sparse", None).ndim is None


LABELS = ["daisy", "rose", "tulip"]


def test_labels_of_predictions_are_looked_up_after_the_step():
    def body(scope, features):
        classes = tf.argmax(features["x"], axis=1)
        found = tf.gather(LABELS, classes)
        with pytest.raises(errors.ModelScopeError, match="known after the step only"):
            found.value()
        return {
            "class": classes,
            "label": found,
            "again": v1.after_step(np.char.upper, v1.after_step(_text, found)),
        }

    step = HostStep(body)
    result = step({"x": np.array([[0, 2, 1], [5, 0, 0]], np.float32)})
    assert isinstance(result["label"], v1.HostResult)
    assert result["label"].dtype == np.dtype(object)
    values = v1.values_after_step(result)
    assert values["label"].tolist() == [b"rose", b"daisy"]
    assert values["again"].tolist() == ["ROSE", "DAISY"]
    assert values["class"].tolist() == [1, 0]


def _text(values):
    return values.astype(str)


def test_labels_out_of_range_are_an_error_after_the_step():
    step = HostStep(lambda scope, features: tf.gather(LABELS, features["x"]))
    with pytest.raises(errors.BadArgumentError, match=r"is not in \[0, 3\)"):
        step({"x": np.array([3], np.int32)}).value()


def test_labels_in_a_function_without_a_model_are_refused():
    with pytest.raises(errors.BadTypeError, match="look the text up outside"):
        sx.function(lambda x: tf.gather(LABELS, x))(np.array([0]))
