"""The messages of Examples: what they hold and what they look like on the wire."""

import copy
import os
import pickle
import subprocess
import sys

import pytest

from stratax import data


def int64(*values):
    return data.Feature(int64_list=data.Int64List(value=values))


def test_an_example_is_read_as_it_was_written():
    example = data.Example(
        features=data.Features(
            feature={
                "label": int64(1, -2),
                "weights": data.Feature(float_list=data.FloatList(value=[0.5])),
                "name": data.Feature(bytes_list=data.BytesList(value=[b"a", b""])),
            }
        )
    )
    again = data.Example.FromString(example.SerializeToString())
    assert again == example
    assert again.features.feature["label"].int64_list.value == [1, -2]
    assert again.features.feature["name"].bytes_list.value == [b"a", b""]


def test_the_bytes_are_those_of_the_wire_format():
    example = data.Example(features=data.Features(feature={"a": int64(1, 300)}))
    packed = b"\x0a\x03\x01\xac\x02"
    feature = b"\x1a" + bytes([len(packed)]) + packed
    entry = b"\x0a\x01a\x12" + bytes([len(feature)]) + feature
    features = b"\x0a" + bytes([len(entry)]) + entry
    assert example.SerializeToString() == b"\x0a" + bytes([len(features)]) + features


def test_a_feature_holds_one_kind_of_values():
    feature = data.Feature(int64_list=data.Int64List(value=[1]))
    feature.float_list.value.append(2.0)
    assert feature.WhichOneof("kind") == "float_list"
    assert not feature.int64_list.value


def test_a_sequence_example_is_read_as_it_was_written():
    example = data.SequenceExample(
        context=data.Features(feature={"id": int64(7)}),
        feature_lists=data.FeatureLists(
            feature_list={"steps": data.FeatureList(feature=[int64(1), int64(2, 3)])}
        ),
    )
    again = data.SequenceExample.FromString(example.SerializeToString())
    assert [list(step.int64_list.value) for step in again.feature_lists.feature_list["steps"].feature] == [
        [1],
        [2, 3],
    ]


def test_equal_messages_give_equal_bytes_when_that_is_asked_for():
    names = [f"feature {i}" for i in range(20)]
    one, other = (
        data.Example(features=data.Features(feature={name: int64(1) for name in order}))
        for order in (names, names[::-1])
    )
    assert one.SerializeToString(deterministic=True) == other.SerializeToString(deterministic=True)


def test_messages_are_copied_and_pickled():
    example = data.Example(features=data.Features(feature={"a": int64(1)}))
    assert copy.deepcopy(example) == example
    assert pickle.loads(pickle.dumps(example)) == example


def test_a_value_of_another_kind_is_refused():
    with pytest.raises(TypeError):
        data.Int64List(value=["one"])


@pytest.mark.processes
def test_messages_of_one_name_in_protobufs_own_pool_do_not_clash():
    program = """
from google.protobuf import descriptor_pb2, descriptor_pool
file = descriptor_pb2.FileDescriptorProto(name="tensorflow/core/example/example.proto", package="tensorflow")
file.message_type.add(name="Example")
descriptor_pool.Default().Add(file)
from stratax.data import Example
assert Example.DESCRIPTOR.full_name == "tensorflow.Example"
assert descriptor_pool.Default().FindMessageTypeByName("tensorflow.Example") is not Example.DESCRIPTOR
"""
    subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, "STRATAX_SIMULATE": ""}, check=True, timeout=120
    )
