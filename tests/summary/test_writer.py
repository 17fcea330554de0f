"""Summaries as TensorBoard reads them."""

import io
import sys

import keras
import numpy as np
import pytest
from PIL import Image
from tensorboard.backend.event_processing import event_accumulator

from stratax.errors import MissingPackageError
from stratax.summary import Summary


def read(folder):
    events = event_accumulator.EventAccumulator(str(folder), size_guidance={"tensors": 0})
    events.Reload()
    return {tag: [(e.step, e.tensor_proto) for e in events.Tensors(tag)] for tag in events.Tags()["tensors"]}


def test_numbers_distributions_pictures_and_models_are_written(tmp_path):
    summary = Summary()
    writer = summary.create_file_writer(str(tmp_path))
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    with writer.as_default():
        summary.scalar("loss", 0.5, step=1)
        summary.scalar("loss", np.float32(0.25), step=keras.Variable(2))
        summary.histogram("weights", model.trainable_variables[0], step=3)
        summary.image("picture", np.full((2, 3, 4, 1), 2.0), step=4)
        summary.model("model", model, step=5)
    writer.close()
    written = read(tmp_path)
    assert [(step, proto.float_val[0]) for step, proto in written["loss"]] == [(1, 0.5), (2, 0.25)]
    ((step, histogram),) = written["weights"]
    assert (step, histogram.tensor_shape.dim[1].size) == (3, 3)
    ((step, picture),) = written["picture"]
    width, height, *pictures = picture.string_val
    assert (step, width, height, len(pictures)) == (4, b"4", b"3", 2)
    assert np.asarray(Image.open(io.BytesIO(pictures[0]))).tolist() == [[255] * 4] * 3
    ((step, config),) = written["model"]
    assert (step, b'"Dense"' in config.string_val[0]) == (5, True)


def test_nothing_is_written_without_a_writer_or_where_it_is_not_wanted(tmp_path):
    summary = Summary()
    writer = summary.create_file_writer(str(tmp_path))
    summary.scalar("outside", 1.0, step=0)
    with writer.as_default():
        with summary.record_if(lambda: False):
            summary.scalar("unwanted", 1.0, step=0)
            summary.histogram("unwanted", [1.0], step=0)
            summary.image("unwanted", np.zeros((1, 1, 1, 1)), step=0)
            summary.model("unwanted", None, step=0)
        summary.scalar("wanted", 1.0, step=0)
    summary.scalar("behind", 1.0, step=0)
    writer.close()
    assert list(read(tmp_path)) == ["wanted"]


def test_the_inner_of_two_writers_is_used_and_then_the_outer_again(tmp_path):
    summary = Summary()
    outer, inner = (summary.create_file_writer(str(tmp_path / name)) for name in ("outer", "inner"))
    with outer.as_default():
        summary.scalar("a", 1.0, step=0)
        with inner.as_default():
            summary.scalar("b", 1.0, step=0)
        summary.scalar("c", 1.0, step=0)
    outer.close()
    inner.close()
    assert [sorted(read(tmp_path / name)) for name in ("outer", "inner")] == [["a", "c"], ["b"]]


def test_a_missing_package_says_how_to_install_it(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "tensorboard.summary.writer.event_file_writer", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'stratax\[tensorboard\]'"):
        Summary().create_file_writer(str(tmp_path))
