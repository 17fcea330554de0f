"""A graph is written as TensorFlow's message, which TensorBoard reads."""

import pytest

import stratax.tf.compat.v1 as tf

TENSORBOARD = pytest.importorskip("tensorboard.compat.proto.graph_pb2")


@pytest.fixture(name="graph")
def make_graph():
    with tf.Graph().as_default() as made:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        w = tf.Variable([[1.0], [2.0], [3.0]], name="w")
        with tf.name_scope("sums"), tf.control_dependencies([tf.no_op("before")]):
            tf.reduce_sum(tf.matmul(x, w, name="product"), name="total")
        yield made


def test_operations_have_their_types_inputs_and_shapes(graph):
    made = TENSORBOARD.GraphDef.FromString(graph.as_graph_def().SerializeToString())
    nodes = {node.name: node for node in made.node}
    assert nodes["x"].op == "Placeholder"
    assert [each.size for each in nodes["x"].attr["_output_shapes"].list.shape[0].dim] == [-1, 3]
    assert nodes["x"].attr["T"].type == 1
    assert nodes["w"].op == "VarHandleOp"
    assert [each.size for each in nodes["w"].attr["shape"].shape.dim] == [3, 1]
    assert nodes["sums/product"].op == "MatMul"
    assert list(nodes["sums/product"].input) == ["x", "w", "^sums/before"]
    assert "sums/product" in nodes["sums/total"].input


def test_a_graph_is_written_as_text_in_bytes_and_for_tensorboard(graph, tmp_path):
    text = tf.train.write_graph(graph, str(tmp_path / "new"), "a.pbtxt")
    assert 'name: "sums/product"' in (tmp_path / "new" / "a.pbtxt").read_text()
    assert text == str(tmp_path / "new" / "a.pbtxt")
    tf.train.write_graph(graph.as_graph_def(), str(tmp_path), "a.pb", as_text=False)
    wanted = graph.as_graph_def().SerializeToString()
    assert len(TENSORBOARD.GraphDef.FromString((tmp_path / "a.pb").read_bytes()).node) == len(
        TENSORBOARD.GraphDef.FromString(wanted).node
    )
    with tf.summary.FileWriter(str(tmp_path / "events"), graph) as writer:
        writer.add_graph(None)
    (file,) = (tmp_path / "events").iterdir()
    found = [event.graph_def for event in tf.train.summary_iterator(str(file)) if event.graph_def]
    assert [len(TENSORBOARD.GraphDef.FromString(each).node) for each in found] == [
        len(graph.as_graph_def().node)
    ]
