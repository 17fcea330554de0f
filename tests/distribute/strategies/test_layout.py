"""Rules say which dimensions of variables are divided, and bad ones are refused with what is wrong."""

import warnings

import jax
import keras
import numpy as np
import pytest
from jax.sharding import PartitionSpec

from stratax import errors
from stratax.distribute import ShardedStrategy


def layout_of(rules=None, **options):
    """The layout of a strategy on four devices."""
    return ShardedStrategy(jax.devices()[:4], layout=rules, **options).extended.placement.layout


def spec(layout, path, shape):
    return layout.place_of(path, shape).sharding.spec


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((64, 128), (None, "shard")),
        ((128, 64), ("shard",)),
        ((128, 128), ("shard",)),
        ((3, 3, 64, 127), (None, None, "shard")),
        # Fewer than 8,192 elements.
        ((8191,), ()),
        ((8192,), ("shard",)),
        ((63, 127, 3), ()),
        ((), ()),
    ],
)
def test_without_a_rule_the_largest_dimension_that_divides_is_divided(shape, expected):
    assert spec(layout_of(), "dense/kernel", shape) == PartitionSpec(*expected)


def test_the_first_rule_that_is_found_in_a_path_decides():
    layout = layout_of({r"out/kernel$": ("shard",), r"kernel$": (None, "shard"), r"table": None})
    assert spec(layout, "block/out/kernel", (8, 8)) == PartitionSpec("shard")
    assert spec(layout, "block/in/kernel", (8, 8)) == PartitionSpec(None, "shard")
    # A copy on each device, though it is large.
    assert spec(layout, "table", (1 << 10, 1 << 10)) == PartitionSpec()
    assert layout.find_idle() == []


def test_slots_of_fewer_dimensions_than_a_rule_has_axes_are_not_meant():
    strategy = ShardedStrategy(jax.devices()[:4], layout={"kernel": (None, "shard")})
    with strategy.scope():
        layer = keras.layers.Dense(128, name="dense")
        layer.build((64,))
        optimizer = keras.optimizers.Adafactor()
        optimizer.build(layer.trainable_variables)
    assert layer.kernel.value.sharding.spec == PartitionSpec(None, "shard")
    assert any(len(variable.shape) == 1 and "kernel" in variable.path for variable in optimizer.variables)
    with pytest.raises(errors.BadArgumentError, match="more axes than a variable has dimensions"):
        strategy.extended.placement.layout.place_of("kernel", (64,))


def test_axes_of_size_one_leave_variables_whole():
    layout = layout_of(replicas=4)
    assert spec(layout, "kernel", (1 << 10, 1 << 10)) == PartitionSpec()


def test_rules_that_decide_about_nothing_are_named():
    layout = layout_of([("kernel", ("shard",)), ("dense/kernel", None), ("embeding", ("shard",))])
    spec(layout, "dense/kernel", (8, 8))
    hidden, missing = layout.find_idle()
    assert "'dense/kernel': None is hidden by an earlier rule, which matches dense/kernel" in hidden
    assert "'embeding': ('shard',) matches no variable" in missing


def test_a_large_variable_that_does_not_divide_is_told_once():
    layout = layout_of()
    with pytest.warns(UserWarning, match=r"'embeddings' of shape \(50257, 257\) has no dimension"):
        assert spec(layout, "embeddings", (50257, 257)) == PartitionSpec()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        spec(layout, "embeddings", (50257, 257))
        spec(layout, "small", (255, 257))


@pytest.mark.parametrize(
    ("rules", "error", "message"),
    [
        ("kernel", errors.BadTypeError, "a mapping or list of pairs"),
        ([("kernel",)], errors.BadTypeError, "a mapping or list of pairs"),
        ({3: None}, errors.BadTypeError, "begins with a regular expression. Received: 3: None"),
        ({"(kernel": None}, errors.BadArgumentError, "is broken: .*Received: '\\(kernel'"),
        ({"kernel": "shard"}, errors.BadTypeError, "Write a tuple"),
        (
            {"kernel": ("width",)},
            errors.BadArgumentError,
            r"Expected: \['shard', 'model'\]. Received: 'width'",
        ),
        ({"kernel": ("replica",)}, errors.BadArgumentError, "not divided by"),
        ({"kernel": ("shard", "shard")}, errors.BadArgumentError, "divides two dimensions by one axis"),
        (
            {"kernel": (("shard", "model"), None)},
            errors.BadArgumentError,
            r"a dimension by several axes. Expected: one of \['shard', 'model'\], or None.*\('shard', 'model'\)",
        ),
    ],
)
def test_bad_rules_are_refused(rules, error, message):
    with pytest.raises(error, match=message):
        layout_of(rules)


def test_a_rule_that_does_not_fit_its_variable_names_both():
    layout = layout_of({"kernel": ("shard", None)})
    with pytest.raises(errors.BadArgumentError, match=r"Expected: at most 1 for 'kernel' of shape \(8,\)"):
        layout.place_of("kernel", (8,))
    with pytest.raises(errors.BadArgumentError, match=r"multiples of 4, .*'kernel' of shape \(6, 8\)"):
        layout.place_of("kernel", np.zeros((6, 8)).shape)
    with pytest.raises(errors.BadArgumentError, match=r"multiples of 4, .*'kernel' of shape \(1, 8\)"):
        layout.place_of("kernel", (1, 8))
