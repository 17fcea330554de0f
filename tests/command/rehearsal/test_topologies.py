"""Slices are known by both of their names, and have what their generation has."""

import pytest

from stratax import errors
from stratax.command.rehearsal import known_topologies, parse_topology


@pytest.mark.parametrize(
    ("name", "found", "devices"),
    [
        ("v5e:4x4", "v5e:4x4", 16),
        ("v5e-16", "v5e:4x4", 16),
        ("v5litepod-256", "v5e:16x16", 256),
        (" V3-8 ", "v3:2x2", 8),
        ("v2-8", "v2:2x2", 8),
        # Both cores of a chip are one device.
        ("v4-8", "v4:2x2x1", 4),
        ("v4-2048", "v4:8x8x16", 1024),
        ("v5p-12288", "v5p:16x16x24", 6144),
        ("v6e-1", "v6e:1x1", 1),
    ],
)
def test_a_slice_is_known_by_its_shape_and_by_its_size(name, found, devices):
    topology = parse_topology(name)
    assert topology.name == found
    assert topology.num_devices == devices


def test_no_two_slices_have_the_same_name():
    names = [topology.name for topology in known_topologies()]
    assert len(set(names)) == len(names)
    assert all(parse_topology(name).name == name for name in names)
    types = [topology.accelerator_type for topology in known_topologies()]
    assert len(set(types)) == len(types)


@pytest.mark.parametrize("name", ["v9:2x2", "v5e:3x3", "tpu", "", "v5e-17"])
def test_of_an_unknown_slice_the_known_ones_are_told(name):
    with pytest.raises(
        errors.BadArgumentError, match=r"no TPU topology.*v5e:4x4.*v5litepod|no TPU topology.*v5e:4x4"
    ):
        parse_topology(name)


def test_of_a_known_generation_only_its_slices_are_told():
    with pytest.raises(errors.BadArgumentError) as raised:
        parse_topology("v5e:3x3")
    assert "v5e:16x16" in str(raised.value)
    assert "v4:" not in str(raised.value)


def test_a_name_is_a_string():
    with pytest.raises(errors.BadTypeError, match=r"named by a string.*Received: topology=8"):
        parse_topology(8)


def test_dimensions_that_are_rings_are_used_in_both_directions():
    # A whole pod of v5e: its all-reduce moves 51.2 TB/s, as cloud.google.com/tpu/docs/v5e says.
    pod = parse_topology("v5e:16x16")
    assert pod.bandwidth_per_chip * pod.num_chips == pytest.approx(51.2e12)
    assert parse_topology("v5e:2x4").bandwidth_per_chip == 2 * 50e9
    # v6e's moves 102.4 TB/s.
    pod = parse_topology("v6e:16x16")
    assert pod.bandwidth_per_chip * pod.num_chips == pytest.approx(102.4e12)
    # Cubes of 4x4x4 chips are closed to rings.
    assert parse_topology("v4:4x4x4").bandwidth_per_chip == 6 * 45e9
    assert parse_topology("v4:2x2x4").bandwidth_per_chip == 3 * 45e9
    assert parse_topology("v5e:1x1").bandwidth_per_chip == 0


def test_memory_is_that_of_a_device():
    assert parse_topology("v3-8").memory_per_device == 16 * 2**30
    assert parse_topology("v4-8").memory_per_device == 32 * 2**30
