"""Compiled functions that are called with text."""

import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax.core.known import _texts
from stratax.errors import BadArgumentError, BadTypeError


def test_a_function_of_text_does_anew_in_each_call_what_it_does(tmp_path):
    @tf.function(input_signature=[tf.TensorSpec([], tf.string)])
    def read(path):
        return tf.strings.to_number(tf.io.read_file(path)) * 2.0

    file = tmp_path / "number.txt"
    file.write_text("3")
    assert float(read(str(file))) == 6.0
    file.write_text("4")
    assert float(read(tf.constant(str(file)))) == 8.0


def test_a_function_of_text_that_does_not_fit_its_signature_is_refused():
    function = tf.function(lambda x: x, input_signature=[tf.TensorSpec([None], tf.string)])
    for wrong in ("a", tf.constant(1), [["a"]]):
        with pytest.raises(BadTypeError, match="does not fit its signature.*Pass text of this shape"):
            function(wrong)
    concrete = tf.function(lambda x: x + "!").get_concrete_function(tf.TensorSpec([], tf.string))
    assert concrete(tf.constant("a")).numpy() == b"a!"
    with pytest.raises(BadArgumentError, match="it runs in Python"):
        _ = concrete.structured_outputs


def test_what_a_function_of_text_gives_are_tensors_as_of_a_compiled_one():
    @tf.function
    def both(text, number):
        return {"text": text + "!", "kind": 1 if text == "a" else 2, "number": number * 2}

    for text, kind in (("a", 1), ("b", 2), ("a", 1)):
        made = both(tf.constant(text), tf.constant(3))
        assert (made["text"].numpy(), made["kind"].numpy(), made["number"].numpy()) == (
            f"{text}!".encode(),
            kind,
            6,
        )
    assert both.num_programs == 0


def test_text_is_refused_in_a_program_that_does_not_import_tf(monkeypatch):
    monkeypatch.setattr(_texts._taken, "as_tensor", None)
    with pytest.raises(BadTypeError, match="dtype <U1 and shape"):
        sx.function(lambda x: 1)(np.array(["a"]))
