"""Components that differ along an axis are gathered and reduced along it, on one machine and on several workers."""

import json

import numpy as np
import pytest

import stratax as sx
from stratax.distribute.replicas import PerReplica, UnevenPerReplica, from_components, gather, specs_of
from stratax.errors import BadTypeError, StructureError
from tests.cluster.processes import run_tasks


@pytest.fixture(scope="module")
def strategy():
    return sx.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])


@pytest.fixture
def uneven(strategy):
    return strategy.experimental_distribute_values_from_function(
        lambda context: np.arange(2 * (context.replica_id_in_sync_group + 1), dtype=np.int32).reshape(-1, 2)
    )


def test_components_of_several_sizes_are_gathered(strategy, uneven):
    gathered = strategy.gather({"a": uneven, "b": np.float32(3)[None]}, axis=0)
    assert gathered["a"].tolist() == [[0, 1], [0, 1], [2, 3]]
    assert gathered["a"].dtype == np.int32
    assert [value.shape for value in strategy.experimental_local_results(uneven)] == [(1, 2), (2, 2)]


def test_they_print_as_those_of_one_size(uneven):
    assert str(uneven) == (
        "PerReplica:{\n  0: tf.Tensor([[0 1]], shape=(1, 2), dtype=int32),\n"
        "  1: tf.Tensor(\n[[0 1]\n [2 3]], shape=(2, 2), dtype=int32)\n}"
    )
    assert "<tf.Tensor: shape=(1, 2)" in repr(uneven)


def test_they_are_reduced_along_the_axis(strategy, uneven):
    assert strategy.reduce("SUM", uneven, axis=0).tolist() == [2, 5]
    assert strategy.reduce("MEAN", uneven, axis=0).tolist() == pytest.approx([2 / 3, 5 / 3])


def test_what_replicas_compute_with_has_one_shape(strategy, uneven):
    with pytest.raises(
        StructureError, match=r"strategy\.run got components of several shapes.*\(1, 2\), \(2, 2\)"
    ):
        strategy.run(lambda x: sx.distribute.get_replica_context().all_gather(x, 0), args=(uneven,))
    with pytest.raises(StructureError, match=r"strategy\.reduce got components of several shapes"):
        strategy.reduce("SUM", uneven, axis=None)
    with pytest.raises(StructureError, match=r"strategy\.gather in a compiled function got components"):
        sx.function(lambda: strategy.gather(uneven, axis=0))()
    with pytest.raises(BadTypeError, match="used as a single array or number.*shapes"):
        np.asarray(uneven)
    with pytest.raises(BadTypeError, match="can't be used in arithmetic.*shapes"):
        uneven + 1


def test_other_dimensions_have_one_size(strategy, uneven):
    with pytest.raises(StructureError, match=r"along axis 1 must be alike.*int32\[1, 2\].*int32\[2, 2\]"):
        strategy.gather(uneven, axis=1)
    with pytest.raises(StructureError, match=r"same number of dimensions.*int32\[1\], int32\[2, 2\]"):
        strategy.experimental_distribute_values_from_function(
            lambda context: np.zeros([1, (2, 2)][context.replica_id_in_sync_group], np.int32)
        )


WORKERS = """
import numpy as np
import stratax as sx
strategy = sx.distribute.MultiWorkerMirroredStrategy()
def gathered(sizes, axis=0, width=2):
    value = strategy.experimental_distribute_values_from_function(
        lambda context: np.full((sizes[context.replica_id_in_sync_group], width), context.replica_id_in_sync_group))
    return strategy.gather(value, axis=axis)
# Here every worker has components of one size, which is not the other's.
report(between=gathered([1, 1, 3, 3]).tolist(), within=gathered([0, 2, 2, 1]).tolist(), none=gathered([0] * 4).tolist())
report(alike=gathered([2] * 4).tolist(), at_one=gathered([1, 1, 1, 2]).tolist())
try:
    gathered([1, 1, 2, 2], axis=1)
except sx.errors.StructureError as error:
    report(error=str(error))
"""


@pytest.mark.programs
@pytest.mark.processes
def test_several_workers_tell_one_another_the_sizes_first():
    for result in run_tasks(2, WORKERS, devices=2):
        found = result.report
        for name, sizes in [
            ("between", [1, 1, 3, 3]),
            ("within", [0, 2, 2, 1]),
            ("none", [0] * 4),
            ("alike", [2] * 4),
            ("at_one", [1, 1, 1, 2]),
        ]:
            assert found[name] == [[k, k] for k, size in enumerate(sizes) for _ in range(size)], name
        assert "along axis 1 must be alike" in found["error"]


def test_specs_are_those_of_the_components_here(strategy, uneven):
    even = from_components([np.zeros((1, 2), np.int32)] * 2, strategy.mesh)
    assert specs_of(uneven) == [[[1, 2], "int32"], [[2, 2], "int32"]]
    assert specs_of(even) == [[[1, 2], "int32"]] * 2
    assert specs_of(PerReplica(np.zeros((3, 2)), solo=True)) is None
    assert specs_of(np.zeros(2)) is None
    assert json.loads(json.dumps(specs_of(uneven))) == specs_of(uneven)


def test_components_lie_on_their_replicas_devices_and_are_a_per_replica_where_they_are_alike(
    strategy, uneven
):
    assert isinstance(uneven, UnevenPerReplica)
    assert [value.devices() for value in uneven.values] == [{device} for device in strategy.devices]
    assert isinstance(from_components([np.zeros(2), np.ones(2)], strategy.mesh), PerReplica)
    with pytest.raises(ValueError, match="zip"):
        from_components([np.zeros(1), np.zeros(2), np.zeros(3)], strategy.mesh)


def test_what_is_gathered_is_on_every_replica_s_device(strategy, uneven):
    found = gather(
        uneven, specs_of(uneven), -2, strategy.mesh, lambda value, axis: pytest.fail("nobody else")
    )
    assert found.devices() == set(strategy.devices)
    assert found.tolist() == [[0, 1], [0, 1], [2, 3]]


@pytest.mark.parametrize(("sizes", "padded_to"), [([1, 3, 2, 0], 4), ([4, 1, 1, 1], 4), ([0, 0, 0, 0], 0)])
def test_components_of_other_workers_come_padded_to_a_power_of_two_and_are_cut_again(
    strategy, sizes, padded_to
):
    """The first two components are this worker's; the other's are made up where they would be gathered."""
    parts = [np.full((2, size), index, np.float32) for index, size in enumerate(sizes)]
    own = UnevenPerReplica(parts[:2], strategy.mesh)
    asked = []

    def gather_alike(value, dim):
        asked.append((value.shape, dim))
        rest = [np.pad(part, ((0, 0), (0, padded_to - part.shape[1]))) for part in parts[2:]]
        return np.concatenate([*(np.asarray(each) for each in value.values), *rest], dim)

    found = gather(own, [[list(part.shape), "float32"] for part in parts], 1, strategy.mesh, gather_alike)
    assert asked == [((2, padded_to), 1)]
    np.testing.assert_array_equal(found, np.concatenate(parts, 1))
