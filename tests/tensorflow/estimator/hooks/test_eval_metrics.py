"""Metrics of evaluations are read back from event files, also damaged ones."""

import jax.numpy as jnp
import pytest

from stratax import summary
from stratax.summary.files import FileWriter, FileWriterCache
from stratax.tensorflow.estimator.hooks import read_eval_metrics
from stratax.tensorflow.v1 import summary as summary_v1


@pytest.fixture(autouse=True)
def _forget_writers():
    yield
    FileWriterCache.clear()


def test_metrics_of_tensorflow_2s_writers_are_read_too(tmp_path):
    writer = summary.create_file_writer(tmp_path)
    with writer.as_default():
        summary.scalar("loss", 0.25, step=7)
        summary.text("notes", "none", step=8)
    writer.close()
    assert read_eval_metrics(tmp_path) == {7: {"loss": 0.25}}
    assert read_eval_metrics(tmp_path / "nothing") == {}


def test_a_damaged_file_is_read_as_far_as_it_goes(tmp_path, caplog):
    writer = FileWriter(str(tmp_path))
    for step in (1, 2):
        writer.add_summary(summary_v1.scalar("loss", jnp.float32(step)), step)
    writer.close()
    (path,) = tmp_path.iterdir()
    content = bytearray(path.read_bytes())
    content[-6] ^= 1
    path.write_bytes(content)
    assert read_eval_metrics(tmp_path) == {1: {"loss": 1}}
    assert "The rest of an event file is passed over" in caplog.text
