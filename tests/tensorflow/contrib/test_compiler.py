"""What asks for XLA, which compiles everything: `tf.contrib.compiler`."""

import numpy as np

import stratax.tf as tf


def test_a_scope_leaves_its_block_as_it_is():
    with tf.contrib.compiler.jit.experimental_jit_scope(compile_ops=False):
        assert float(tf.add(1.0, 2.0)) == 3


def test_a_compiled_function_gives_a_list():
    compile_ = tf.contrib.compiler.xla.compile
    x = np.float32([1, 2])
    (made,) = compile_(lambda a: a * 2, [x])
    assert list(made) == [2, 4]
    assert [float(each) for each in compile_(lambda: (1.0, 2.0))] == [1, 2]
    assert compile_(lambda: None) is None
    assert compile_(lambda: {"a": 1}) == {"a": 1}
