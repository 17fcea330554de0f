"""Small parts of `tf.contrib`: what layers collect, what gradients become, and what cells and scopes are asked."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from stratax.tensorflow import v1
from tests.tensorflow.v1.steps import Step

contrib = tf.contrib


def test_results_have_names_in_collections():
    def body(scope, x):
        utils = contrib.slim.utils
        made = utils.collect_named_outputs(["ends", "others"], "first/", x + 1)
        utils.append_tensor_alias(made, "again")
        assert utils.get_tensor_aliases(made) == ["first", "again"]
        assert utils.gather_tensors_aliases([made, made]) == ["first", "again"] * 2
        assert v1.get_collection("others") == [made]
        assert list(utils.convert_collection_to_dict("ends", clear_collection=True)) == ["first", "again"]
        assert v1.get_collection("ends") == []
        return made

    Step(body)(np.float32(1))


def test_gradients_are_clipped_multiplied_and_summarized():
    training = contrib.training

    def body(scope, x):
        w = v1.get_variable("w", (2,), initializer=v1.ones_initializer())
        pairs = [(x, w)]
        ((clipped, _),) = training.clip_gradient_norms(pairs, 1.0)
        ((same, _),) = training.clip_gradient_norms_fn(1.0)(pairs)
        ((doubled, variable),) = training.multiply_gradients(pairs, {w: 2.0})
        assert variable is w
        assert len(training.add_gradients_summaries(pairs)) == 2
        with pytest.raises(errors.BadArgumentError, match="multiple of `None`"):
            training.multiply_gradients([(None, w)], {"w": 2.0})
        return clipped, same, doubled

    clipped, same, doubled = Step(body)(np.float32([3, 4]))
    np.testing.assert_allclose(clipped, [0.6, 0.8], rtol=1e-6)
    np.testing.assert_array_equal(clipped, same)
    assert doubled.tolist() == [6, 8]


def test_variables_of_layers_of_the_process_and_of_checkpoints(tmp_path):
    framework = contrib.framework
    path = tf.train.Checkpoint(old=tf.Variable([5.0, 6.0])).save(str(tmp_path / "ckpt"))
    (name,) = (name for name, _ in tf.train.list_variables(path) if name.startswith("old"))

    def body(scope, x):
        w = v1.get_variable("a/w", (2,), initializer=v1.ones_initializer())
        framework.add_model_variable(w)
        framework.add_model_variable(w)
        assert framework.get_model_variables() == [w]
        assert framework.get_variable_full_name(w) == "a/w"
        local = v1.get_local_variable("count", (), initializer=v1.zeros_initializer())
        assert framework.get_local_variables() == [local]
        operation, feeds = framework.assign_from_checkpoint(path, {name: w})
        scope.run([operation])
        assert feeds == {}
        return x

    step = Step(body)
    step(np.float32(0))
    assert step.value("a/w").tolist() == [5, 6]


def test_what_scopes_cells_and_optimizers_are_asked():
    assert contrib.framework.arg_scope_func_key(contrib.layers.fully_connected).endswith("fully_connected")
    assert set(contrib.layers.OPTIMIZER_CLS_NAMES) == {
        "Adagrad",
        "Adam",
        "Ftrl",
        "Momentum",
        "RMSProp",
        "SGD",
    }
    assert "global_gradient_norm" in contrib.layers.OPTIMIZER_SUMMARIES
    strategy = contrib.learn.ExportStrategy("mine", lambda estimator, path, checkpoint: (estimator, path))
    assert strategy.export("an Estimator", "a folder") == ("an Estimator", "a folder")
    x = np.zeros((3, 2, 4), np.float32)
    assert contrib.rnn.transpose_batch_time(x).shape == (2, 3, 4)
    assert contrib.rnn.best_effort_input_batch_size([x]) == 2
    assert issubclass(contrib.rnn.TimeReversedFusedRNN, contrib.rnn.FusedRNNCell)
    assert issubclass(contrib.rnn.LSTMCell, contrib.rnn.LayerRNNCell)
    cell = contrib.crf.CrfForwardRnnCell(np.log(np.full((2, 2), 0.5, np.float32)))
    # The chances of both tags are 1/2 after any: log(e^0 / 2 + e^0 / 2) is 0.
    _, state = cell(np.zeros((1, 2), np.float32), np.zeros((1, 2), np.float32))
    np.testing.assert_allclose(state, [[0, 0]], atol=1e-6)
