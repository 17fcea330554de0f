"""Where the arrays of steps are put, and what is said of them before they are there."""

import jax
import numpy as np
import pytest

from stratax.distribute import MirroredStrategy
from stratax.distribute.input._placing import OnDefaultDevice, OnHost, OnMesh, OnMeshOfWorkers
from stratax.distribute.input._steps import StepKind, Steps
from stratax.distribute.replicas import Share
from stratax.errors import BadArgumentError, BadTypeError

STRUCTURE = jax.tree.structure({"x": 0})


@pytest.fixture(scope="module")
def mesh():
    return MirroredStrategy(["/cpu:0", "/cpu:1"]).mesh


def steps(kind, *shape):
    return Steps([np.arange(np.prod(shape), dtype="float32").reshape(shape)], shape[0], STRUCTURE, kind)


@pytest.mark.parametrize("is_stacked", [False, True])
@pytest.mark.parametrize("kind", list(StepKind))
def test_a_mesh_holds_each_replicas_part_on_its_device(mesh, kind, is_stacked):
    block = steps(kind, 3, 2, 4)
    (host,) = block.leaves if is_stacked else [block.leaves[0][0]]
    (placed,) = OnMesh(mesh).place([host], kind, is_stacked=is_stacked)
    np.testing.assert_array_equal(placed, host)
    # A mesh of several devices for one replica has what is not divided on all of them.
    assert len(placed.devices()) == 2
    assert placed.is_fully_replicated == (kind is not StepKind.SPREAD)
    if kind is StepKind.SPREAD:
        dim = 1 if is_stacked else 0
        assert [shard.index[dim] for shard in placed.addressable_shards] == [slice(0, 1), slice(1, 2)]


def test_what_is_said_of_a_step_is_one_object_for_steps_of_one_kind(mesh):
    placing = OnMesh(mesh)
    described = placing.describe(steps(StepKind.SPREAD, 3, 2, 4))
    assert placing.describe(steps(StepKind.SPREAD, 1, 2, 4)) is described
    assert placing.describe(steps(StepKind.SOLO, 1, 2, 4)) is not described
    assert described["x"].array.shape == (2, 4)


def test_several_processes_tell_the_shapes_of_all_of_them(mesh):
    placing = OnMeshOfWorkers(mesh, Share(processes=3))
    for each in (placing, OnHost(placing)):
        assert each.describe(steps(StepKind.SPREAD, 1, 2, 4))["x"].array.shape == (6, 4)
        assert each.describe(steps(StepKind.SOLO, 1, 2, 4))["x"].array.shape == (2, 4)
        assert each.global_batch(steps(StepKind.SPREAD, 1, 2, 4))["x"].shape == (24,)
        assert each.global_batch(steps(StepKind.SOLO, 1, 5))["x"].shape == (5,)


def test_a_strategy_without_devices_has_its_batches_where_jax_computes():
    placing = OnDefaultDevice()
    (placed,) = placing.place([np.arange(3.0)], StepKind.PLAIN, is_stacked=False)
    assert isinstance(placed, jax.Array)
    assert placed.devices() == {jax.devices()[0]}
    with pytest.raises(BadArgumentError, match="does not fit into the 32 bits"):
        placing.place([np.array([1 << 40])], StepKind.PLAIN, is_stacked=False)


def test_steps_that_stay_on_the_host_are_not_touched(mesh):
    arrays = [np.zeros(3)]
    assert OnHost(OnMesh(mesh)).place(arrays, StepKind.SPREAD, is_stacked=False) is arrays


def test_a_program_gets_the_arrays_of_one_replica_as_they_are_where_jax_would_put_them():
    host = [np.arange(6.0, dtype="float32")]
    here, elsewhere = (OnMesh(MirroredStrategy([device]).mesh) for device in ("/cpu:0", "/cpu:1"))
    for placing in (here, OnDefaultDevice()):
        assert placing.hand_over(host, StepKind.PLAIN) == host
        with pytest.raises(BadArgumentError, match="32 bits"):
            placing.hand_over([np.full(2, 2**40)], StepKind.PLAIN)
    (placed,) = elsewhere.hand_over(host, StepKind.PLAIN)
    assert placed.devices() == {jax.devices()[1]}
    with jax.default_device(jax.devices()[2]):
        (placed,) = here.hand_over(host, StepKind.PLAIN)
    assert placed.devices() == {jax.devices()[0]}


@pytest.mark.parametrize("kind", [StepKind.SPREAD, StepKind.SOLO])
def test_a_program_of_several_replicas_gets_arrays_on_their_devices(mesh, kind):
    (placed,) = OnMesh(mesh).hand_over([np.ones((2, 4), "float32")], kind)
    assert len(placed.devices()) == 2


@pytest.mark.parametrize(
    "text", [np.array([b"a", b"b"], object), np.array(["a", "b"]), np.array([b"a", b"b"])]
)
def test_text_is_refused_with_what_to_do(mesh, text):
    for placing in (OnDefaultDevice(), OnMesh(mesh)):
        with pytest.raises(BadTypeError, match="Text does not go to a device.*StringLookup"):
            placing.place([np.arange(2.0), text], StepKind.SPREAD, is_stacked=False)
