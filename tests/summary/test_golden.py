"""Summaries are those that TensorFlow makes of the same calls: `tests/golden/summaries.json`."""

import base64
import io
import json
import pathlib

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest
from PIL import Image
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.util import tensor_util

import stratax as sx
from stratax import summary
from stratax.tensorflow import v1
from stratax.tensorflow.v1 import summary as summary_v1
from stratax.tensorflow.v1.train import summary_iterator
from tests.summary import golden_calls

GOLDEN = json.loads((pathlib.Path(__file__).parent.parent / "golden" / "summaries.json").read_text())


def written(folder):
    (path,) = folder.iterdir()
    return [(event.step, event.summary) for event in summary_iterator(path) if event.HasField("summary")]


def expected(kind):
    return [(step, Summary.FromString(base64.b64decode(text))) for step, text in GOLDEN[kind]]


def comparable(value):
    """What a value of a summary is, with files as what is in them."""
    value = Summary.FromString(Summary(value=[value]).SerializeToString()).value[0]
    kind = value.WhichOneof("value")
    content = getattr(value, kind)
    if kind == "tensor":
        array = tensor_util.make_ndarray(content)
        content = (array.dtype.kind, array.shape, [decoded(each) for each in array.ravel().tolist()])
    elif kind == "image":
        content = (content.height, content.width, content.colorspace, decoded(content.encoded_image_string))
    elif kind == "histo":
        numbers = [content.min, content.max, content.num, content.sum, content.sum_squares]
        content = (numbers, list(content.bucket_limit), list(content.bucket))
    elif kind == "audio":
        content = str(content)
    return value.tag, kind, value.metadata.SerializeToString(), content


def decoded(content):
    if isinstance(content, bytes) and content.startswith(b"\x89PNG"):
        return np.asarray(Image.open(io.BytesIO(content))).tolist()
    return content


def assert_equal(found, wanted):
    assert [step for step, _ in found] == [step for step, _ in wanted]
    for (_, left), (_, right) in zip(found, wanted, strict=True):
        assert [value.tag for value in left.value] == [value.tag for value in right.value]
        for mine, theirs in zip(left.value, right.value, strict=True):
            mine, theirs = comparable(mine), comparable(theirs)
            assert mine[:3] == theirs[:3]
            _compare(mine[3], theirs[3], mine[0])


def _compare(mine, theirs, tag):
    if isinstance(mine, tuple | list):
        assert len(mine) == len(theirs), tag
        for left, right in zip(mine, theirs, strict=True):
            _compare(left, right, tag)
    elif isinstance(mine, float):
        assert mine == pytest.approx(theirs, rel=1e-5, abs=1e-12), tag
    else:
        assert mine == theirs, tag


def test_summaries_are_those_of_tensorflow_2(tmp_path):
    writer = summary.create_file_writer(tmp_path)
    with writer.as_default():
        golden_calls.eager(summary, keras.name_scope)
    writer.close()
    assert_equal(written(tmp_path), expected("eager"))


def constant(value):
    return value if isinstance(value, str) else jnp.asarray(value)


@pytest.mark.parametrize("replicas", [None, 2])
def test_summaries_of_a_model_fn_are_those_of_tensorflow_1(tmp_path, replicas):
    state = v1.ModelState()

    def step():
        with v1.ModelScope(state, "train").entered():
            golden_calls.graph(summary_v1, v1.name_scope, constant)
            return summary_v1.merge_all()

    if replicas is None:
        run = sx.function(step)
    else:
        strategy = sx.distribute.MirroredStrategy(jax.devices()[:replicas])

        def run():
            return strategy.experimental_local_results(strategy.run(step))[0]

    with summary_v1.FileWriter(tmp_path) as writer:
        for number in range(2):
            writer.add_summary(run(), number)
    assert_equal(written(tmp_path), expected("graph"))
