"""SavedModels are loaded into sessions, as programs of TensorFlow 1 do it."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from tests.golden.saved_models_cases import answers_of, differences
from tests.tensorflow.saved_models.files import unpack

V1 = tf.compat.v1


@pytest.mark.parametrize("name", ["graph_nested_control", "graph_partitioned", "graph_table"])
def test_a_session_computes_what_tensorflow_does(name, tmp_path):
    folder = unpack(name, tmp_path)
    case = answers_of(folder)["serving_default"]
    with tf.Graph().as_default() as graph, V1.Session(graph=graph) as session:
        assert V1.saved_model.loader.maybe_saved_model_directory(folder / "model")
        meta = V1.saved_model.load(session, ["serve"], folder / "model")
        signature = meta.signature_def["serving_default"]
        fed = {signature.inputs[key].name: value for key, value in case["in"].items()}
        received = session.run({key: each.name for key, each in signature.outputs.items()}, fed)
    assert differences(case["out"], received) == []


def test_variables_are_those_of_the_session(tmp_path):
    folder = unpack("graph_partitioned", tmp_path) / "model"
    with tf.Graph().as_default() as graph, V1.Session(graph=graph) as session:
        V1.saved_model.loader.load(session, ["serve"], folder)
        values = session.run(V1.global_variables())
        assert [each.shape for each in values] == [(2, 4)] * 3
        assert all(np.abs(each).max() > 0 for each in values)
        with pytest.raises(errors.BadArgumentError, match="no graph with these tags"):
            V1.saved_model.load(session, ["train"], folder)
