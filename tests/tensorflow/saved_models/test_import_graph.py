"""Frozen graphs are imported into a session's graph, by the names of their nodes."""

import numpy as np
import pytest
from google.protobuf import text_format

import stratax.tf as tf
from stratax import errors
from tests.tensorflow.saved_models.files import constant, dtype, node

V1 = tf.compat.v1
FLOAT = dtype(np.float32)


@pytest.fixture
def frozen():
    """A graph that adds to a product, or subtracts where the product is negative."""
    shape = {"shape": {"dim": [{"size": -1}, {"size": 2}]}}
    nodes = [
        node("x", "Placeholder", dtype=FLOAT, shape=shape),
        constant("w", np.float32([[1], [2]])),
        node("layer/MatMul", "MatMul", "x", "w", T=FLOAT),
        constant("zero", np.float32(0)),
        constant("axes", np.int32([0, 1])),
        node("sum", "Sum", "layer/MatMul", "axes"),
        node("positive", "Greater", "sum", "zero"),
        node("way", "Switch", "layer/MatMul", "positive"),
        node("less", "Neg", "way"),
        node("more", "Add", "way:1", "way:1"),
        node("y", "Merge", "less", "more"),
    ]
    made = V1.GraphDef()
    made.ParseFromString(V1.GraphDef(node=nodes).SerializeToString())
    return made


def test_tensors_have_the_names_of_the_nodes(frozen):
    x = np.float32([[1, 2], [3, 4]])
    with tf.Graph().as_default() as graph, V1.Session(graph=graph) as session:
        y, product = tf.import_graph_def(frozen, return_elements=["y:0", "layer/MatMul:0"], name="frozen")
        assert (product.name, product.op.type) == ("frozen/layer/MatMul:0", "MatMul")
        assert graph.get_tensor_by_name("frozen/y:0") is y
        found = session.run([y, "frozen/layer/MatMul:0"], {"frozen/x:0": x})
        np.testing.assert_allclose(found[1], [[5], [11]])
        np.testing.assert_allclose(found[0], [[10], [22]])
        np.testing.assert_allclose(session.run(y, {"frozen/x:0": -x}), [[5], [11]])


def test_a_graph_is_imported_under_a_tensor_of_the_program(frozen):
    with tf.Graph().as_default() as graph, V1.Session(graph=graph) as session:
        given = V1.placeholder(tf.float32, [None, 2])
        (y,) = tf.import_graph_def(frozen, {"x:0": given * 2.0}, ["y:0"])
        gradient = tf.gradients(y, given)[0]
        found = session.run([y, gradient], {given: np.float32([[1, 1]])})
        np.testing.assert_allclose(found[0], [[12]])
        np.testing.assert_allclose(found[1], [[4, 8]])


def test_what_can_not_be_imported_is_told(frozen):
    with tf.Graph().as_default():
        with pytest.raises(errors.BadTypeError, match=r"graph_def is a tf.compat.v1.GraphDef"):
            tf.import_graph_def("graph.pb")
        with pytest.raises(
            errors.BadArgumentError, match="return_elements names what is not in the graph: 'z:0'"
        ):
            tf.import_graph_def(frozen, return_elements=["z:0"])
        with pytest.raises(errors.BadArgumentError, match="input_map names what is not in the graph: 'z:0'"):
            tf.import_graph_def(frozen, {"z:0": 1})
        strange = V1.GraphDef(node=[node("odd", "DoMagic")])
        with pytest.raises(errors.UnimplementedError, match="operation DoMagic is not known.*'odd'"):
            tf.import_graph_def(strange)


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (node("y", "Switch", "x"), "takes a value and a condition"),
        (node("y", "Neg", "product:1"), "damaged"),
    ],
)
def test_nodes_without_what_they_take_are_told(broken, told):
    shape = {"shape": {"dim": [{"size": -1}, {"size": 2}]}}
    nodes = [
        node("x", "Placeholder", dtype=FLOAT, shape=shape),
        constant("w", np.float32([[1], [2]])),
        node("product", "MatMul", "x", "w", T=FLOAT),
        broken,
    ]
    with tf.Graph().as_default(), pytest.raises(errors.DataLossError, match=told):
        tf.import_graph_def(V1.GraphDef(node=nodes), return_elements=["y:0"])


# As TensorFlow's `tf.io.write_graph(graph, folder, "graph.pbtxt")` writes it.
TEXT = r"""
node {
  name: "x"
  op: "Placeholder"
  device: "/device:CPU:0"
  attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: -1 } dim { size: 2 } } } }
}
node {
  name: "w"
  op: "Const"
  attr { key: "_output_shapes" value { list { shape { dim { size: 2 } dim { size: 1 } } } } }
  attr { key: "dtype" value { type: DT_FLOAT } }
  attr {
    key: "value"
    value {
      tensor {
        dtype: DT_FLOAT
        tensor_shape { dim { size: 2 } dim { size: 1 } }
        tensor_content: "\000\000\200?\000\000\000@"
      }
    }
  }
}
node {
  name: "y"
  op: "MatMul"
  input: "x"
  input: "w"
  attr { key: "T" value { type: DT_FLOAT } }
  attr { key: "transpose_a" value { b: false } }
  experimental_debug_info { original_node_names: "y" }
  experimental_type { type_id: TFT_PRODUCT args { type_id: TFT_TENSOR args { type_id: TFT_FLOAT } } }
}
versions { producer: 1645 min_consumer: 12 }
library { gradient { function_name: "f" gradient_func: "g" } }
"""


def test_a_graph_in_text_is_read_as_tensorflow_wrote_it():
    made = text_format.Parse(TEXT, V1.GraphDef())
    assert (made.versions.producer, made.node[0].attr["dtype"].type) == (1645, 1)
    assert "type: DT_FLOAT" in text_format.MessageToString(made)
    with tf.Graph().as_default(), V1.Session() as session:
        (y,) = tf.import_graph_def(made, return_elements=["y:0"], name="")
        assert session.run(y, {"x:0": [[1, 2], [3, 4]]}).tolist() == [[5], [11]]


def test_a_graph_is_written_in_text_with_the_names_of_dtypes(tmp_path):
    with tf.Graph().as_default() as graph:
        V1.placeholder(tf.int64, [None], name="x")
        V1.get_variable("v", [2], tf.float32)
        path = tf.io.write_graph(graph, str(tmp_path), "graph.pbtxt")
        message = V1.GraphDef()
        with open(path, encoding="utf-8") as file:
            text_format.Parse(file.read(), message)
    kinds = {each.name: each.attr["dtype" if each.op == "VarHandleOp" else "T"].type for each in message.node}
    assert (kinds["x"], kinds["v"]) == (9, 1)
