"""Nodes refer to one another, constants are checked before memory is taken, and loops are found."""

import numpy as np
import pytest

from stratax import errors
from stratax.tensorflow.saved_models.graph import (
    array_of,
    dtype_of,
    function_of,
    graph_of,
    order_of,
    shape_of,
)
from stratax.tensorflow.saved_models.messages import MESSAGES
from stratax.tensorflow.saved_models.operations import first_output
from tests.tensorflow.saved_models.files import constant, function, node, tensor


def graph(*nodes):
    return graph_of(MESSAGES["GraphDef"](node=nodes))


def test_nodes_are_ordered_behind_what_they_take():
    made = graph(
        node("c", "Add", "a", "b:0"), node("b", "Neg", "a", "^d"), constant("a", 1), node("d", "NoOp")
    )
    assert [each.name for each in order_of(made, ["c"], ())] == ["a", "d", "b", "c"]
    assert [each.name for each in order_of(made, ["c"], ("b",))] == ["a", "c"]
    assert made.nodes["b"].controls == ("d",)


def test_nodes_that_wait_for_one_another_are_told():
    with pytest.raises(errors.DataLossError, match="waits for itself"):
        order_of(graph(node("a", "Neg", "b"), node("b", "Neg", "a")), ["a"], ())
    with pytest.raises(errors.DataLossError, match="has no node 'x'"):
        order_of(graph(node("a", "Neg", "x")), ["a"], ())
    with pytest.raises(errors.DataLossError, match="names no output"):
        graph(node("a", "Neg", "x:y"))


def test_outputs_of_functions_are_numbered_by_their_names():
    nodes = [node("top", "TopKV2", "x", "k"), constant("k", np.int32(2)), node("y", "Neg", "top:indices:0")]
    made = function_of(function("f", ["x"], ["y:y:0", "top:values:0"], nodes), first_output)
    assert made.nodes["y"].inputs == (("top", 1),)
    assert made.results == (("y", 0), ("top", 0))


def test_constants_are_read_in_each_of_their_ways():
    assert array_of(MESSAGES["AttrValue"](**tensor(np.float32([[1, 2]]))).tensor, "x").tolist() == [
        [1.0, 2.0]
    ]
    text = MESSAGES["AttrValue"](**tensor(np.array([b"a", b"b"], object))).tensor
    assert array_of(text, "x").tolist() == [b"a", b"b"]
    filled = MESSAGES["TensorProto"](dtype=1, tensor_shape={"dim": [{"size": 3}]}, float_val=[2.5])
    assert array_of(filled, "x").tolist() == [2.5, 2.5, 2.5]


def test_a_constant_that_would_take_all_memory_is_refused():
    large = MESSAGES["TensorProto"](dtype=1, tensor_shape={"dim": [{"size": 1 << 50}]}, float_val=[0.0])
    with pytest.raises(errors.DataLossError, match="1 values of"):
        array_of(large, "x")
    short = MESSAGES["TensorProto"](dtype=1, tensor_shape={"dim": [{"size": 2}]}, tensor_content=b"1234")
    with pytest.raises(errors.DataLossError, match="4 bytes, expected 2"):
        array_of(short, "x")


def test_dtypes_and_shapes_are_those_of_numpy():
    assert (dtype_of(101, "x"), dtype_of(7, "x"), dtype_of(20, "x")) == (np.float32, np.dtype(object), None)
    with pytest.raises(errors.DataLossError, match="has the dtype 77"):
        dtype_of(77, "x")
    assert shape_of(MESSAGES["TensorShapeProto"](dim=[{"size": -1}, {"size": 2}])) == (None, 2)
    assert shape_of(MESSAGES["TensorShapeProto"](unknown_rank=True)) is None
