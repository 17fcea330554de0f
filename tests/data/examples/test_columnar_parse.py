"""The quick way through a batch gives what protobuf gives, whatever is in the batch."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stratax.data import (
    BytesList,
    Example,
    Feature,
    Features,
    FixedLenFeature,
    FixedLenSequenceFeature,
    FloatList,
    Int64List,
    VarLenFeature,
    parse_example,
)
from stratax.data.examples import _parse as parse
from stratax.data.examples._columnar_parse import parse_columns
from stratax.errors import DataError

FEATURES = {
    "n": VarLenFeature("int64"),
    "x": VarLenFeature("float32"),
    "s": VarLenFeature("string"),
    "a much longer name/of a feature": VarLenFeature("int64"),
}
KINDS = {"n": 3, "x": 2, "s": 1, "a much longer name/of a feature": 3}
quick = settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])


def varint(number):
    number &= (1 << 64) - 1
    encoded = bytearray()
    while number >= 128:
        encoded.append(number & 127 | 128)
        number >>= 7
    return bytes([*encoded, number])


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def values_of(kind):
    if kind == 3:
        return st.lists(st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(0, 300)), max_size=5)
    if kind == 2:
        return st.lists(st.floats(width=32, allow_nan=False), max_size=5)
    return st.lists(
        st.one_of(st.binary(max_size=4), st.sampled_from([b"", b"\0", b"x" * 130, b"y" * 300])), max_size=3
    )


def encoded_list(kind, values, packed):
    """A list of values as some writer may write it."""
    if kind == 1:
        return b"".join(field(1, value) for value in values)
    one = varint if kind == 3 else lambda value: np.float32(value).tobytes()
    if packed:
        return field(1, b"".join(map(one, values))) if values else b""
    tag = bytes([0x08 if kind == 3 else 0x0D])
    return b"".join(tag + one(value) for value in values)


@st.composite
def entries(draw):
    """One entry of the map of features: usual in most cases, unusual but valid in others."""
    key = draw(st.sampled_from([*FEATURES, "unknown", "u" * 130]))
    kind = KINDS.get(key, draw(st.integers(1, 3)))
    content = encoded_list(kind, draw(values_of(kind)), draw(st.integers(0, 4)) > 0)
    unusual = draw(st.integers(0, 12))
    feature = b"" if unusual == 1 else field(kind, content)
    if unusual == 2:
        feature = field(kind, content) + field(kind, content)
    if unusual == 3:
        feature += field(9, b"unknown")
    name, value = field(1, key.encode()), field(2, feature)
    if unusual == 4:
        return value + name
    if unusual == 5:
        return name
    if unusual == 6:
        return name + value + field(7, b"unknown")
    if unusual == 7:
        return name + b"\x12" + bytes([len(feature) & 127 | 128, len(feature) >> 7 & 127 | 128, 0]) + feature
    return name + value


@st.composite
def examples(draw):
    parts = [field(1, entry) for entry in draw(st.lists(entries(), max_size=5))]
    unusual = draw(st.integers(0, 12))
    if unusual == 0:
        parts.insert(0, field(5, b"unknown"))
    if unusual == 1 and parts:
        return field(1, b"".join(parts[:1])) + field(1, b"".join(parts[1:]))
    if unusual == 2:
        return b""
    return field(1, b"".join(parts))


@st.composite
def batches(draw):
    """Many Examples, most of them like another one."""
    kinds = draw(st.lists(examples(), min_size=1, max_size=6))
    count = draw(st.integers(1, 40))
    return [kinds[draw(st.integers(0, len(kinds) - 1))] for _ in range(count)]


def both_ways(records, features):
    by_message = parse.parse_messages(records, features, range(len(records)), None)
    return parse._parse_batch(records, features, None), by_message


def assert_same(found, expected):
    for key, ragged in expected.items():
        for ours, theirs in zip(found[key], ragged, strict=True):
            assert ours.dtype == theirs.dtype
            np.testing.assert_array_equal(ours, theirs)


@pytest.fixture(scope="module", autouse=True)
def columnar_for_small_batches():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parse, "_FEWEST_COLUMNAR", 1)
        yield


@quick
@given(batches())
def test_any_valid_batch_is_parsed_as_protobuf_parses_it(records):
    assert_same(*both_ways(records, FEATURES))


@quick
@given(batches(), st.data())
def test_damage_is_seen_or_the_result_is_protobufs(records, data):
    """No crash, no endless loop, no large allocation; what an Example does not promise is not read from another one."""
    index = data.draw(st.integers(0, len(records) - 1))
    damaged = bytearray(records[index] or b"\n")
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    damaged = bytes(
        damaged[: data.draw(st.integers(0, len(damaged)))] if data.draw(st.booleans()) else damaged
    )
    records = [*records[:index], damaged, *records[index + 1 :]]
    try:
        expected = parse.parse_messages(records, FEATURES, range(len(records)), None)
    except DataError:
        expected = None
    try:
        found = parse._parse_batch(records, FEATURES, None)
    except DataError:
        assert expected is None
        return
    if expected is not None:
        assert_same(found, expected)


@quick
@given(st.lists(st.binary(max_size=60), min_size=1, max_size=40))
def test_any_bytes_are_parsed_or_an_error(records):
    try:
        found = parse_example(records, FEATURES)
    except DataError:
        return
    assert set(found) == set(FEATURES)


@pytest.mark.parametrize("length", [1 << 31, 1 << 35, 1 << 60, (1 << 64) - 1])
@pytest.mark.parametrize("depth", range(5))
def test_a_length_that_leads_nowhere_allocates_nothing(length, depth):
    levels = [b"\x0a", b"\x0a", b"\x0a\x01n\x12", b"\x1a", b"\x0a"]
    wrong = levels[depth] + varint(length)
    for outer in reversed(levels[:depth]):
        wrong = outer + varint(len(wrong)) + wrong
    good = field(1, field(1, field(1, b"n") + field(2, field(3, field(1, b"\x01")))))
    with pytest.raises(DataError, match="Record 7 of the batch is not a serialized Example"):
        parse_example([*[good] * 7, wrong, *[good] * 30], FEATURES)


def usual(index, rng, order=("n", "x", "s")):
    features = {
        "n": Feature(int64_list=Int64List(value=[index, -index, 1 << 40])),
        "x": Feature(float_list=FloatList(value=rng.random(4, np.float32))),
        "s": Feature(bytes_list=BytesList(value=[b"s" * (index % 5)])),
    }
    written = b""
    for key in order:
        entry = field(1, key.encode()) + field(2, features[key].SerializeToString())
        written += field(1, entry)
    return field(1, written)


SOME = {key: FEATURES[key] for key in "nxs"}


@pytest.mark.parametrize("num_orders", [1, 6])
def test_usual_examples_in_any_order_of_features_need_no_protobuf(num_orders):
    rng = np.random.default_rng(0)
    orders = [
        ("n", "x", "s"),
        ("x", "s", "n"),
        ("s", "n", "x"),
        ("n", "s", "x"),
        ("x", "n", "s"),
        ("s", "x", "n"),
    ]
    records = [usual(i, rng, orders[rng.integers(num_orders)]) for i in range(300)]
    found, understood = parse_columns(records, SOME)
    assert understood.all()
    assert_same(found, parse.parse_messages(records, SOME, range(300), None))


@pytest.mark.parametrize("change", [0x01, 0x08, 0x80, 0xFF])
def test_one_changed_byte_in_examples_that_are_alike_is_seen_as_protobuf_sees_it(change):
    """Whether it is in what all begin with, in a length, or in a value: the others stay as they are."""
    rng = np.random.default_rng(0)
    records = [usual(i, rng) for i in range(12)]
    everything = parse.parse_messages(records, SOME, range(12), None)
    for place in range(len(records[5])):
        damaged = bytearray(records[5])
        damaged[place] ^= change
        changed = [*records[:5], bytes(damaged), *records[6:]]
        try:
            expected = parse.parse_messages(changed, SOME, range(12), None)
        except DataError:
            expected = None
        try:
            found = parse._parse_batch(changed, SOME, None)
        except DataError:
            assert expected is None
            continue
        if expected is not None:
            assert_same(found, expected)
        for key, ragged in found.items():
            for side in (slice(0, 5), slice(6, None)):
                np.testing.assert_array_equal(ragged.counts[side], everything[key].counts[side])
                np.testing.assert_array_equal(ragged.missing[side], everything[key].missing[side])


def test_strings_of_few_and_of_many_sizes():
    for sizes in ([3, 5, 0], range(300), [200, 300]):
        values = [bytes([i % 256]) * sizes[i % len(sizes)] for i in range(400)]
        records = [
            Example(
                features=Features(feature={"s": Feature(bytes_list=BytesList(value=[value]))})
            ).SerializeToString()
            for value in values
        ]
        found, understood = parse_columns(records, {"s": FEATURES["s"]})
        assert understood.all()
        assert found["s"].values.tolist() == values


def test_large_values_need_no_protobuf():
    features = {
        "s": Feature(bytes_list=BytesList(value=[b"0" * 200_000])),
        "n": Feature(int64_list=Int64List(value=[1])),
    }
    records = [Example(features=Features(feature=features)).SerializeToString()] * 8
    found, understood = parse_columns(records, {key: FEATURES[key] for key in "sn"})
    assert understood.all()
    assert [len(value) for value in found["s"].values] == [200_000] * 8


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda features: pickle.loads(pickle.dumps(features))])
def test_features_that_went_to_another_process_are_parsed_alike(copied):
    rng = np.random.default_rng(0)
    records = [usual(i, rng) for i in range(30)]
    assert_same(parse._parse_batch(records, copied(SOME), None), parse._parse_batch(records, SOME, None))


def test_what_nobody_asked_for_is_passed_over():
    rng = np.random.default_rng(0)
    records = [usual(i, rng) for i in range(30)]
    found, understood = parse_columns(records, {"x": FEATURES["x"]})
    assert understood.all()
    assert list(found) == ["x"]


def test_examples_that_deviate_stand_where_they_stood():
    rng = np.random.default_rng(0)
    records = [usual(i, rng) for i in range(40)]
    records[3] += records[4]
    records[20] = b""
    features = {
        "n": FixedLenSequenceFeature([], "int64", allow_missing=True),
        "x": FixedLenFeature([4], "float32", [0, 0, 0, 0]),
    }
    _, understood = parse_columns(records, features)
    assert understood.tolist() == [i != 3 for i in range(40)]
    parsed = parse_example(records, features)
    assert parsed["n"][:, 0].tolist() == [0, 1, 2, 4, *range(4, 20), 0, *range(21, 40)]
    assert not parsed["x"][20].any()
    np.testing.assert_array_equal(parsed["x"][3], parsed["x"][4])
