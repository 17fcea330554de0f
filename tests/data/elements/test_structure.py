"""Structures are taken apart as JAX takes them apart, with a list as data."""

import collections
import dataclasses

import jax
import numpy as np
import pytest

import stratax as sx
from stratax.data import Dataset
from stratax.data.elements import flatten, leaf_names, unflatten

Point = collections.namedtuple("Point", "x y")

STRUCTURES = [
    1,
    (1, 2),
    {"b": 1, "a": 2},
    (1, None, [1, 2]),
    Point(1, (2,)),
    collections.OrderedDict(b=1, a=2),
    {"a": {"z": 1, "c": (3, 4)}},
    collections.defaultdict(int, {2: 1, 1: 2}),
    None,
    (),
]


@pytest.mark.parametrize("value", STRUCTURES, ids=repr)
def test_leaves_and_their_order_are_those_of_jax(value):
    leaves, structure = flatten(value)
    expected = jax.tree_util.tree_leaves(value, is_leaf=lambda part: isinstance(part, list))
    assert leaves == expected
    again = unflatten(structure, leaves)
    assert again == value
    assert type(again) is type(value)


@pytest.mark.parametrize("value", STRUCTURES, ids=repr)
def test_names_of_leaves_are_those_of_jax(value):
    paths, _ = jax.tree_util.tree_flatten_with_path(value, is_leaf=lambda part: isinstance(part, list))
    assert leaf_names(flatten(value)[1]) == ["element" + jax.tree_util.keystr(path) for path, _ in paths]


def test_a_dict_keeps_the_order_of_its_keys_and_equals_one_in_another_order():
    structure = flatten({"b": 1, "a": 2})[1]
    assert list(unflatten(structure, [2, 1])) == ["b", "a"]
    assert structure == flatten({"a": 1, "b": 2})[1]
    assert structure != flatten({"a": 1, "c": 2})[1]


def test_a_deque_is_data():
    assert flatten(collections.deque([1, 2]))[0] == [collections.deque([1, 2])]


def test_what_is_registered_with_jax_is_structure():
    @jax.tree_util.register_dataclass
    @dataclasses.dataclass
    class Example:
        image: np.ndarray
        label: np.ndarray

    dataset = Dataset.range(4).map(lambda i: Example(np.array([i, i]), i + 1)).batch(2)
    elements = list(dataset)
    assert [type(element) for element in elements] == [Example, Example]
    assert elements[1].image.tolist() == [[2, 2], [3, 3]]
    assert elements[1].label.tolist() == [3, 4]


@dataclasses.dataclass
class Protocol:
    """A class as TensorFlow's programs make them components: `constant` is not an array."""

    image: object
    label: object
    constant: str = "kept"

    def __tf_flatten__(self):
        return (self.constant,), (self.image, self.label)

    @classmethod
    def __tf_unflatten__(cls, metadata, leaves):
        return cls(*leaves, *metadata)


@dataclasses.dataclass
class OfValues(Protocol):
    """As classes of TensorFlow's own tests have it: a method of a value."""

    def __tf_unflatten__(self, metadata, leaves):
        return OfValues(*leaves, *metadata)


def elements_of(kind):
    rows = kind(np.arange(12, dtype="float32").reshape(6, 2), np.arange(6))
    return sx.data.Dataset.from_tensor_slices(rows)


@pytest.fixture(params=["protocol", "of values", "attrs"])
def kind(request):
    if request.param != "attrs":
        return Protocol if request.param == "protocol" else OfValues
    attr = pytest.importorskip("attr")
    return attr.make_class("Attributes", ["image", "label"])


def test_classes_that_say_so_are_structure(kind):
    dataset = elements_of(kind)
    assert isinstance(dataset.element_spec, kind)
    assert tuple(dataset.element_spec.image.shape) == (2,)
    batches = list(dataset.map(lambda each: kind(each.image * 2, each.label)).batch(4))
    assert [type(batch) for batch in batches] == [kind] * 2
    np.testing.assert_array_equal(batches[1].image, np.arange(12).reshape(6, 2)[4:] * 2)
    assert batches[0].label.tolist() == [0, 1, 2, 3]
    total = sx.function(lambda it: next(it).image.sum())(iter(dataset.batch(6)))
    assert float(total) == 66.0


def test_their_positions_are_exact(kind):
    def made():
        return elements_of(kind).shuffle(4, seed=1).batch(2)

    expected = [batch.label.tolist() for batch in made()]
    iterator = iter(made())
    next(iterator)
    restored = iter(made())
    restored.set_state(iterator.get_state())
    assert [batch.label.tolist() for batch in restored] == expected[1:]


def test_what_their_protocol_calls_constant_is_kept():
    (first, *_) = elements_of(lambda *arrays: Protocol(*arrays, "other")).take(1)
    assert first.constant == "other"
