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


def test_what_a_function_of_variables_gives_comes_with_its_gradients():
    v = tf.Variable(3.0)
    value, ((gradient, variable),) = contrib.eager.implicit_value_and_gradients(lambda: v * v)()
    assert (float(value), float(gradient), variable is v) == (9.0, 6.0, True)


def test_labels_become_rows_with_a_one():
    for place in (contrib.learn.datasets.mnist, tf.examples.tutorials.mnist.input_data):
        assert place.dense_to_one_hot(np.array([0, 2]), 3).tolist() == [[1, 0, 0], [0, 0, 1]]


@pytest.mark.parametrize(
    "name", ["create_eval_graph", "experimental_create_eval_graph", "experimental_create_training_graph"]
)
def test_graphs_are_not_rewritten_for_whole_numbers(name):
    with pytest.raises(errors.BadArgumentError, match=f"no tf.contrib.quantize.{name} here"):
        getattr(contrib.quantize, name)()


def test_the_fields_of_what_decoders_give():
    seq2seq = contrib.seq2seq
    assert seq2seq.BasicDecoderOutput._fields == ("rnn_output", "sample_id")
    assert seq2seq.BeamSearchDecoderOutput._fields == ("scores", "predicted_ids", "parent_ids")
    assert seq2seq.BeamSearchDecoderState._fields[:4] == ("cell_state", "log_probs", "finished", "lengths")
    final = ("predicted_ids", "beam_search_decoder_output")
    assert seq2seq.FinalBeamSearchDecoderOutput._fields == final


def test_kinds_that_programs_ask_for():
    assert issubclass(contrib.opt.AdamWOptimizer, contrib.opt.DecoupledWeightDecayExtension)
    assert isinstance(contrib.predictor.SavedModelPredictor, type)
