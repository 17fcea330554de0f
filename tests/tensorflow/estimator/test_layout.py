"""An element is divided into numbers and what stays on the host."""

import jax
import numpy as np

import stratax as sx
from stratax.tensorflow.estimator._layout import InputLayout, example_of, first_rows
from tests.tensorflow.estimator import strings_model


def test_an_element_is_divided_into_numbers_and_what_stays_on_the_host():
    sparse = sx.data.SparseTensor(
        np.array([[0, 0], [2, 1]]), np.array([b"x", b"y"], object), np.array([4, 2])
    )
    element = ({"s": np.array([b"a"] * 4, object), "n": {"deep": np.arange(4)}, "t": sparse}, np.ones((4, 2)))
    layout = InputLayout(element)
    assert layout.has_host
    leaves = jax.tree.leaves(element)
    assert list(layout.batch(leaves)) == ["n/deep", "s", "t", "labels"]
    assert list(layout.numbers(element)) == ["n/deep", "labels"]
    features, labels = layout.placeholders({"n/deep": 5, "labels": 6}, 2, {})
    assert (features["s"].shape, features["t"].shape, features["n"]["deep"], labels) == ((2,), None, 5, 6)
    half = first_rows(element, 2)
    assert half[0]["t"].shape == (2, 2)
    assert half[0]["t"].values.tolist() == [b"x"]
    assert half[0]["s"].shape == (2,)
    assert first_rows(element, 3)[0]["s"].shape == (4,)


def test_a_worker_without_data_has_an_example_all_the_same():
    example, label = example_of(strings_model.data().element_spec)
    assert example["words"].shape == (1, 1)
    assert (example["color"].tolist(), example["numbers"].shape, label.shape) == ([b""], (1, 3), (1,))
