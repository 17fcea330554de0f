"""The files that patterns name, and functions that say what to use instead of them."""

import pytest

import stratax.tf as tf
from stratax import errors

get_data_files = tf.contrib.slim.parallel_reader.get_data_files


def test_patterns_and_paths_are_files(tmp_path):
    for name in ("a-1", "a-2", "b"):
        (tmp_path / name).write_text("")
    folder = str(tmp_path)
    found = get_data_files([f"{folder}/a-*", f"{folder}/b"])
    assert sorted(found) == [f"{folder}/{name}" for name in ("a-1", "a-2", "b")]
    assert get_data_files("not there") == ["not there"]
    with pytest.raises(errors.BadArgumentError, match="No data files found"):
        get_data_files(f"{folder}/c*")


def test_what_is_not_there_says_what_is():
    for function, instead in [
        (tf.contrib.quantize.create_training_graph, "quantize what you export"),
        (tf.contrib.tensorrt.create_inference_graph, "Serve an export"),
        (tf.contrib.cloud.BigtableClient, "from_generator"),
        (tf.contrib.cloud.configure_gcs, "gcsfs"),
    ]:
        with pytest.raises(errors.BadArgumentError, match=instead):
            function("anything", option=1)
