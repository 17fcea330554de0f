"""`EstimatorSpec` checks what a `model_fn` returns."""

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from stratax.tensorflow.estimator import EstimatorSpec, ModeKeys, SessionRunHook
from stratax.tensorflow.estimator.export import RegressionOutput
from stratax.tensorflow.v1 import ModelScope, ModelState, group, no_op
from stratax.tf.compat.v1.train import Scaffold

LOSS = jnp.float32(1.0)


def spec(mode="train", **fields):
    return EstimatorSpec(mode, **fields)


def test_the_modes_are_tensorflows():
    assert (ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.PREDICT) == ("train", "eval", "infer")


def test_fields_have_tensorflows_order_and_defaults():
    made = spec("infer", predictions={"a": LOSS})
    assert made._fields == (
        *("mode", "predictions", "loss", "train_op", "eval_metric_ops", "export_outputs"),
        *("training_chief_hooks", "training_hooks", "scaffold", "evaluation_hooks", "prediction_hooks"),
    )
    assert tuple(made)[:5] == ("infer", {"a": LOSS}, None, None, {})
    # As in TensorFlow, a prediction has an output under the default's name, and every spec a Scaffold.
    assert [made.export_outputs[name].outputs for name in made.export_outputs] == [{"a": LOSS}]
    assert list(made.export_outputs) == ["serving_default"]
    assert isinstance(made.scaffold, Scaffold)
    assert (made.training_chief_hooks, *made[7:8], *made[9:]) == ((), (), (), ())
    assert spec("eval", loss=LOSS).export_outputs is None


def test_each_mode_needs_what_it_uses():
    with pytest.raises(ValueError, match=r"Missing train_op: .* Received: train_op=None. Pass train_op=opt"):
        spec("train", loss=LOSS)
    with pytest.raises(ValueError, match="Missing loss: an EstimatorSpec of mode 'train'"):
        spec("train", train_op=LOSS)
    with pytest.raises(ValueError, match="Missing loss: an EstimatorSpec of mode 'eval'"):
        spec("eval", predictions=LOSS)
    with pytest.raises(ValueError, match="Missing predictions: .* Pass a tensor or a dict of tensors"):
        spec("infer", loss=LOSS)
    assert spec("eval", loss=LOSS).predictions == {}


def test_a_mode_that_does_not_exist_is_refused():
    with pytest.raises(errors.BadArgumentError, match="'train', 'eval', 'infer'. Received: mode='predict'"):
        spec("predict", predictions=LOSS)


def test_a_function_that_is_not_told_the_mode_may_leave_it_out():
    made = spec(None, loss=LOSS, train_op=LOSS, predictions=LOSS)
    assert (made.mode, made.loss, made.predictions, made.export_outputs) == (None, LOSS, LOSS, None)
    assert spec(None).predictions == {}


@pytest.mark.parametrize(
    "made", [tf.sparse.SparseTensor([[0]], [0.0], [1]), tf.ragged.constant([[1.0]])], ids=["sparse", "ragged"]
)
def test_what_is_made_of_several_arrays_is_no_tensor(made):
    with pytest.raises(errors.BadTypeError, match="loss must be a tensor"):
        spec("eval", loss=made)
    with pytest.raises(errors.BadTypeError, match=r"predictions\['a'\] must be a tensor"):
        spec("infer", predictions={"a": made})


def test_a_loss_has_one_element_and_becomes_a_scalar():
    assert spec("eval", loss=jnp.ones([1])).loss.shape == ()
    assert spec("eval", loss=LOSS).loss is LOSS
    with pytest.raises(
        errors.BadArgumentError, match=r"must be a scalar. Received: a tensor of shape \(3,\)"
    ):
        spec("eval", loss=jnp.ones([3]))
    with pytest.raises(errors.BadTypeError, match="loss must be a tensor. Received: loss=1.0"):
        spec("eval", loss=1.0)


def test_tracers_variables_and_arrays_are_tensors():
    def traced(x):
        made = spec("infer", predictions={"x": x, "v": keras.Variable(1.0), "n": np.array([b"a"], object)})
        assert made.predictions["x"] is x
        return x

    jax.eval_shape(traced, LOSS)


def test_predictions_are_a_tensor_or_a_dict_of_them():
    with pytest.raises(errors.BadTypeError, match=r"predictions\['a'\] must be a tensor. Received: 'no'"):
        spec("infer", predictions={"a": "no"})
    with pytest.raises(errors.BadTypeError, match=r"dict of tensors. Received: predictions=\[1\]"):
        spec("infer", predictions=[1])


def test_a_train_op_is_an_operation_or_a_tensor():
    def traced(x):
        with ModelScope(ModelState(), "train").entered():
            operation = group(no_op())
            assert spec(loss=x, train_op=operation).train_op is operation
        return x

    jax.eval_shape(traced, LOSS)
    with pytest.raises(
        errors.BadTypeError, match=r"train_op must be an operation.* Join several with tf.group"
    ):
        spec(loss=LOSS, train_op=[LOSS, LOSS])
    with pytest.raises(errors.BadTypeError, match=r"or a tensor. Received: train_op='minimize'\.$"):
        spec(loss=LOSS, train_op="minimize")


def test_metrics_are_pairs_or_keras_metrics():
    metric, pair = keras.metrics.Mean(), (LOSS, LOSS)
    given = {"m": metric, "p": pair}
    made = spec("eval", loss=LOSS, eval_metric_ops=given).eval_metric_ops
    assert made == given
    assert made is not given
    for wrong in (LOSS, [LOSS, LOSS], (LOSS,)):
        with pytest.raises(
            errors.BadTypeError, match=r"tuples or Keras metrics. Received: eval_metric_ops\['a'\]="
        ):
            spec("eval", loss=LOSS, eval_metric_ops={"a": wrong})
    with pytest.raises(errors.BadTypeError, match="eval_metric_ops must be a dict"):
        spec("eval", loss=LOSS, eval_metric_ops=[pair])


def test_export_outputs_are_a_dict():
    output = RegressionOutput(LOSS)
    made = spec("infer", predictions=LOSS, export_outputs={"one": output})
    assert made.export_outputs == {"one": output, "serving_default": output}
    with pytest.raises(errors.BadTypeError, match="must be ExportOutput objects"):
        spec("infer", predictions=LOSS, export_outputs={"serving_default": object()})
    with pytest.raises(errors.BadArgumentError, match="none of them is specified as the default"):
        spec("infer", predictions=LOSS, export_outputs={"one": output, "two": output})
    with pytest.raises(errors.BadTypeError, match="export_outputs must be a dict by name"):
        spec("infer", predictions=LOSS, export_outputs=[1])


@pytest.mark.parametrize(
    "field", ["training_hooks", "training_chief_hooks", "evaluation_hooks", "prediction_hooks"]
)
def test_hooks_are_hooks(field):
    hook = SessionRunHook()
    assert getattr(spec("eval", loss=LOSS, **{field: [hook]}), field) == (hook,)
    with pytest.raises(
        errors.BadTypeError, match=f"All {field} must be SessionRunHook instances. Received: 3"
    ):
        spec("eval", loss=LOSS, **{field: [3]})
    with pytest.raises(errors.BadTypeError, match=r"Make an instance of the class"):
        spec("eval", loss=LOSS, **{field: [SessionRunHook]})
    with pytest.raises(errors.BadTypeError, match=rf"Write {field}=\[...\] also for one"):
        spec("eval", loss=LOSS, **{field: hook})


def test_fields_may_be_replaced_but_for_the_mode():
    made = spec("eval", loss=LOSS)
    other = made._replace(predictions={"a": LOSS}, mode="eval")
    assert isinstance(other, EstimatorSpec)
    assert (other.predictions, other.loss) == ({"a": LOSS}, LOSS)
    with pytest.raises(ValueError, match="can't be changed; it is 'eval'. Received: mode='train'"):
        made._replace(mode="train")
    with pytest.raises(errors.BadTypeError, match="loss must be a tensor"):
        made._replace(loss=1)
    with pytest.raises(errors.BadArgumentError, match="has the fields mode, .* Received: losses"):
        made._replace(losses=1)
