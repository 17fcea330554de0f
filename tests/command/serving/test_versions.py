"""What the host does for a request it does for that alone; what the device does is done for several together."""

import asyncio
import concurrent.futures

import numpy as np
import pytest

import stratax.tf as tf
from stratax.command.serving import ServingOptions
from stratax.command.serving._versions import Computing, Version
from stratax.errors import BadArgumentError
from stratax.export import ExportedFunction, TensorInfo, save

TEXT = {"examples": TensorInfo("string", (None,))}


def scored(inputs):
    found = tf.io.parse_example(inputs["examples"], {"x": tf.io.FixedLenFeature([], tf.float32)})
    score = found["x"] * 2.0 + 1.0
    return {"score": score, "text": tf.strings.as_string(score)}


def centered(inputs):
    found = tf.io.parse_example(inputs["examples"], {"x": tf.io.FixedLenFeature([], tf.float32)})
    return {"score": found["x"] - tf.reduce_mean(found["x"])}


def example(x):
    feature = {"x": tf.train.Feature(float_list=tf.train.FloatList(value=[x]))}
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported") / "1"
    signatures = {"scored": ExportedFunction(scored, TEXT), "centered": ExportedFunction(centered, TEXT)}
    save(None, folder, signatures, platforms=["cpu"])
    return folder


def answers(folder, name, requests):
    """Return what comes of requests that are made at the same time, and how many rows were computed at a time."""
    computed = []
    options = ServingOptions(models={"m": str(folder.parent)}, port=0, max_batch=8, batch_milliseconds=200)

    async def run(executor):
        computing = Computing(
            options=options, executor=executor, computed=lambda _, rows: computed.append(rows)
        )
        version = Version.load("m", 1, str(folder), computing)
        sent = [version.answer(name, {"examples": np.array(each, object)}) for each in requests]
        return await asyncio.gather(*sent, return_exceptions=True)

    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        return asyncio.run(run(executor)), computed


def test_requests_of_text_are_parsed_one_by_one_and_computed_together(folder):
    numbers = [[1.0], [2.0, 3.0], [4.0], [5.0, 6.0, 7.0], [8.0]]
    found, computed = answers(folder, "scored", [[example(x) for x in each] for each in numbers])
    assert computed == [8]
    for made, each in zip(found, numbers, strict=True):
        np.testing.assert_array_equal(made["score"], np.float32(each) * 2 + 1)
        assert made["text"].tolist() == [b"%f" % (2 * x + 1) for x in each]


def test_text_that_can_not_be_parsed_harms_no_other(folder):
    found, computed = answers(folder, "scored", [[example(1.0)], [b"none"], [example(2.0)]])
    assert isinstance(found[1], BadArgumentError)
    assert [found[position]["score"].tolist() for position in (0, 2)] == [[3.0], [5.0]]
    assert computed == [2]


def test_what_mixes_rows_behind_the_host_s_part_is_computed_alone(folder):
    found, computed = answers(folder, "centered", [[example(1.0), example(2.0)], [example(5.0)]])
    assert [each["score"].tolist() for each in found] == [[-0.5, 0.5], [0.0]]
    assert computed == [1, 1]
