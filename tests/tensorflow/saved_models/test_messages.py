"""Messages of graphs are read, and damage is told."""

import pytest

from stratax import errors
from stratax.tensorflow.saved_models.messages import MESSAGES, parse, read


def test_a_graph_is_read_with_its_attributes(tmp_path):
    graph = MESSAGES["GraphDef"](node=[{"name": "x", "op": "Placeholder", "input": ["a:1", "^b"]}])
    graph.node[0].attr["T"].type = 1
    (tmp_path / "graph.pb").write_bytes(graph.SerializeToString())
    node = read("GraphDef", str(tmp_path / "graph.pb")).node[0]
    assert (node.op, list(node.input), node.attr["T"].WhichOneof("kind")) == (
        "Placeholder",
        ["a:1", "^b"],
        "type",
    )


def test_what_is_no_message_is_told():
    with pytest.raises(errors.DataLossError, match="no GraphDef of TensorFlow, or it is damaged.*of 'here'"):
        parse("GraphDef", b"\xff\xff", "here")


def test_messages_in_one_another_without_end_are_told():
    deep = b""
    for _ in range(300):
        # A list in a list: field 51, of the values' field 1.
        inner = b"\x0a" + _length(deep) + deep
        deep = b"\x9a\x03" + _length(inner) + inner
    with pytest.raises(errors.DataLossError, match="damaged"):
        parse("StructuredValue", deep, "a structure")


def _length(content):
    number, made = len(content), b""
    while number > 127:
        made += bytes([number & 127 | 128])
        number >>= 7
    return made + bytes([number])
