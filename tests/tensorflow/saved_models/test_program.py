"""Functions of a file are divided into the host's part and what is compiled."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from tests.tensorflow.saved_models.files import constant, dtype, function, node, unpack, write_graph


def program(signature):
    signature.look()
    return signature._program.program


def test_text_is_the_hosts_and_numbers_are_compiled(tmp_path):
    loaded = tf.saved_model.load(unpack("keras3_encoded_text", tmp_path) / "model")
    found = program(loaded.signatures["serving_default"])
    assert found.is_for_host
    assert "MatMul" in {each.op for each in found._stages.program}
    assert "StringLower" in {each.op for each in found._stages.before}
    assert not found._stages.after


def test_what_the_host_names_of_results_comes_behind(tmp_path):
    folder = unpack("estimator_DNNLinearCombinedClassifier3_parsing", tmp_path)
    found = program(tf.saved_model.load(folder / "model").signatures["predict"])
    assert "ParseExampleV2" in {each.op for each in found._stages.before}
    assert "MatMul" in {each.op for each in found._stages.program}
    assert any(each.has_text for each in found._stages.after)


def test_sizes_that_the_host_computes_are_known_to_the_program(tmp_path):
    nodes = [
        node("s", "Placeholder"),
        node("length", "StringLength", "s"),
        node("tiles", "Pack", "length", N={"i": 1}, T=dtype(np.int32)),
        constant("w", np.float32([[1.0, 2.0]])),
        node("product", "MatMul", "w", "w", transpose_b={"b": True}, T=dtype(np.float32)),
        constant("one", np.int32([-1])),
        node("flat", "Reshape", "product", "one"),
        node("y", "Tile", "flat", "tiles"),
    ]
    path = write_graph(tmp_path / "model", nodes, ["s"], ["y:0"])
    loaded = tf.saved_model.load(path)
    found = loaded.signatures["serving_default"]
    found._program.inputs[0] = tf.TensorSpec([], tf.string)
    assert [np.asarray(found(s=each)["y"]).tolist() for each in (b"ab", b"abc")] == [[5.0] * 2, [5.0] * 3]


def test_functions_without_end_are_refused(tmp_path):
    def call(name, of):
        return node(name, "PartitionedCall", "x", f={"func": {"name": of}})

    functions = [function("f0", ["x"], ["y:y:0"], [node("y", "Neg", "x")])]
    for number in range(1, 30):
        nodes = [
            call("a", f"f{number - 1}"),
            call("b", f"f{number - 1}"),
            node("y", "Add", "a:output:0", "b:output:0"),
        ]
        functions.append(function(f"f{number}", ["x"], ["y:z:0"], nodes))
    path = write_graph(
        tmp_path / "model", [node("x", "Placeholder"), call("y", "f29")], ["x"], ["y:0"], functions=functions
    )
    with pytest.raises(errors.DataLossError, match="has more than 1048576 nodes"):
        tf.saved_model.load(path).signatures["serving_default"](x=np.float32(1))
