"""Going through graphs: decisions and loops of both kinds, with values that are known and that are not."""

import jax
import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from tests.tensorflow.saved_models.files import constant, dtype, function, node, write_graph

FLOAT = dtype(np.float32)
NEG = function("negate", ["x"], ["y:y:0"], [node("y", "Neg", "x")])
DOUBLE = function("double", ["x"], ["y:z:0"], [node("y", "Add", "x", "x")])


def signature(folder, nodes, **given):
    path = write_graph(folder / "model", [node("x", "Placeholder"), *nodes], ["x"], ["y:0"], **given)
    return tf.saved_model.load(path).signatures["serving_default"]


def branches(**names):
    return {key: {"func": {"name": name}} for key, name in names.items()}


@pytest.fixture
def chosen(tmp_path):
    nodes = [
        constant("zero", np.float32(0)),
        node("positive", "Greater", "x", "zero"),
        node("y", "StatelessIf", "positive", "x", **branches(then_branch="negate", else_branch="double")),
    ]
    return signature(tmp_path, nodes, functions=[NEG, DOUBLE])


def test_a_condition_calls_one_of_two_functions(chosen):
    assert float(chosen(x=np.float32(3))["y"]) == -3.0
    assert float(chosen(x=np.float32(-3))["y"]) == -6.0
    assert float(jax.grad(lambda x: chosen(x=x)["y"])(np.float32(-3))) == 2.0


def test_one_of_several_functions_is_called(tmp_path):
    nodes = [
        node("number", "Cast", "x", SrcT=FLOAT, DstT=dtype(np.int32)),
        node(
            "y", "Case", "number", "x", branches={"list": {"func": [{"name": "negate"}, {"name": "double"}]}}
        ),
    ]
    case = signature(tmp_path, nodes, functions=[NEG, DOUBLE])
    assert [float(case(x=np.float32(each))["y"]) for each in (0, 1, 5)] == [-0.0, 2.0, 10.0]


def test_what_a_decision_of_tensorflow_1_leaves_out_does_not_run(tmp_path):
    nodes = [
        constant("zero", np.float32(0)),
        node("positive", "Greater", "x", "zero"),
        node("way", "Switch", "x", "positive"),
        node("no", "Neg", "way"),
        node("yes", "Add", "way:1", "way:1"),
        node("y", "Merge", "no", "yes"),
    ]
    merged = signature(tmp_path, nodes)
    assert [float(merged(x=np.float32(each))["y"]) for each in (3, -3)] == [6.0, 3.0]


def test_functions_that_call_themselves_are_told(tmp_path):
    endless = function(
        "endless", ["x"], ["y:output:0"], [node("y", "PartitionedCall", "x", f={"func": {"name": "endless"}})]
    )
    call = signature(
        tmp_path, [node("y", "PartitionedCall", "x", f={"func": {"name": "endless"}})], functions=[endless]
    )
    with pytest.raises(errors.DataLossError, match="'endless' calls itself"):
        call(x=np.float32(1))


def test_operands_that_do_not_fit_are_told_with_the_node(tmp_path):
    add = signature(tmp_path, [constant("two", np.float32([1, 2])), node("y", "MatMul", "x", "two", T=FLOAT)])
    with pytest.raises(errors.BadArgumentError, match="Operands have two dimensions") as told:
        add(x=np.ones((2, 3), np.float32))
    assert "the node 'y' (MatMul)" in "".join(told.value.__notes__)
