"""Loops of functions run on the host or as part of a program, with gradients where their turns can be counted."""

import jax
import numpy as np
import pytest

import stratax.tf as tf
from tests.tensorflow.saved_models.files import constant, dtype, function, node
from tests.tensorflow.saved_models.test_run import branches, signature

INT = dtype(np.int32)


def loop(folder, limit):
    """Return a function that doubles a value as often as an operand says, or as a constant does."""
    go_on = function("go_on", ["i", "n", "v"], ["less:z:0"], [node("less", "Less", "i", "n")])
    turn = function(
        "turn",
        ["i", "n", "v"],
        ["more:z:0", "n", "twice:z:0"],
        [
            constant("one", np.int32(1)),
            node("more", "Add", "i", "one:output:0"),
            node("twice", "Add", "v", "v"),
        ],
    )
    count = (
        [node("n", "Cast", "x", SrcT=dtype(np.float32), DstT=INT)]
        if limit is None
        else [constant("n", np.int32(limit))]
    )
    nodes = [
        constant("zero", np.int32(0)),
        *count,
        node("loop", "StatelessWhile", "zero", "n", "x", **branches(cond="go_on", body="turn")),
        node("y", "Identity", "loop:2"),
    ]
    return signature(folder, nodes, functions=[go_on, turn])


def test_a_loop_whose_turns_are_counted_has_a_gradient(tmp_path):
    repeat = loop(tmp_path, 5)
    assert float(repeat(x=np.float32(1.5))["y"]) == 48.0
    assert float(jax.grad(lambda x: repeat(x=x)["y"])(np.float32(1.5))) == 32.0
    x = tf.Variable(1.5)
    with tf.GradientTape() as tape:
        y = repeat(x=x)["y"]
    assert float(tape.gradient(y, x)) == 32.0


def test_a_loop_goes_on_as_values_say(tmp_path):
    repeat = loop(tmp_path, None)
    assert [float(repeat(x=np.float32(each))["y"]) for each in (0.5, 1.0, 3.0)] == [0.5, 2.0, 24.0]


@pytest.mark.parametrize("limit", [0, 1])
def test_a_loop_may_have_no_turn(tmp_path, limit):
    assert float(loop(tmp_path, limit)(x=np.float32(3))["y"]) == 3.0 * 2**limit
