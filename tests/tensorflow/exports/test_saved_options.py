"""Tags and options are taken as in TensorFlow."""

import pytest

import stratax.tf as tf
from stratax import errors


def test_tags_and_options_are_taken(tmp_path):
    module = tf.Module()
    io_device = "/job:localhost"
    options = tf.saved_model.SaveOptions(experimental_io_device=io_device, extra_tags=["gpu"])
    tf.saved_model.save(module, tmp_path / "a", options=options)
    load_options = tf.saved_model.LoadOptions(experimental_io_device=io_device)
    tf.saved_model.load(tmp_path / "a", tags=["serve", "gpu"], options=load_options)
    with pytest.raises(errors.BadArgumentError, match=r"other tags. Expected: None, or \['serve', 'gpu'\]"):
        tf.saved_model.load(tmp_path / "a", tags="serve")
