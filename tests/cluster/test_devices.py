"""Devices: their names, what a name means, and `device` blocks."""

import jax
import jax.numpy as jnp
import pytest

import stratax.tf as tf
from stratax.cluster import (
    LogicalDevice,
    PhysicalDevice,
    SimulatedDevices,
    _devices,
    device,
    device_kind,
    device_name,
    list_logical_devices,
    list_physical_devices,
    local_devices,
    placed_devices,
    resolve_device,
)
from stratax.errors import BadTypeError, DeviceError
from tests.cluster import simulated


@pytest.fixture
def as_tpu(monkeypatch):
    """Presents this process's eight CPU devices as a TPU."""
    simulated.replace(monkeypatch, SimulatedDevices(kind="TPU", count=8))


def test_a_device_prints_as_tensorflow_prints_it(as_tpu):
    assert repr(list_logical_devices("TPU")[7]) == (
        "LogicalDevice(name='/job:worker/replica:0/task:0/device:TPU:7', device_type='TPU')"
    )
    assert repr(list_physical_devices("TPU")[0]) == (
        "PhysicalDevice(name='/physical_device:TPU:0', device_type='TPU')"
    )


def test_local_devices_have_the_short_names():
    assert list_logical_devices("CPU")[3] == LogicalDevice("/device:CPU:3", "CPU")
    assert list_physical_devices()[0] == PhysicalDevice("/physical_device:CPU:0", "CPU")


def test_a_simulated_tpu_comes_with_one_cpu_and_nothing_else(as_tpu):
    kinds = [found.device_type for found in list_logical_devices()]
    assert kinds == ["CPU"] + ["TPU"] * 8
    assert (len(local_devices("CPU")), local_devices("GPU")) == (1, [])


def test_real_devices_are_found_by_their_platform(monkeypatch):
    simulated.replace(monkeypatch, None)
    assert local_devices("CPU") == jax.devices("cpu")
    assert local_devices("TPU") == []
    assert list_logical_devices("gpu") == []


def test_an_unknown_kind_is_refused():
    for kind in ("NPU", 3):
        with pytest.raises(DeviceError, match=r"one of CPU, GPU, TPU, or None.*device_type="):
            list_logical_devices(kind)


@pytest.mark.parametrize(
    "name",
    [
        "/TPU:3",
        "tpu:3",
        "/tpu:3",
        "/device:TPU:3",
        "device:TPU:3",
        "/job:worker/replica:0/task:0/device:TPU:3",
        "/job:localhost/replica:0/task:0/device:TPU:3",
        LogicalDevice("/job:worker/replica:0/task:0/device:TPU:3", "TPU"),
        PhysicalDevice("/physical_device:TPU:3", "TPU"),
    ],
)
def test_every_spelling_means_the_same_device(as_tpu, name):
    assert resolve_device(name) is jax.devices()[3]


def test_a_name_without_a_number_means_the_first_device(as_tpu):
    assert resolve_device("tpu") is jax.devices()[0]
    assert resolve_device("cpu") is jax.devices()[0]


def test_a_jax_device_is_itself():
    assert resolve_device(jax.devices()[5]) is jax.devices()[5]


def test_names_and_devices_go_back_and_forth(as_tpu):
    for found in list_logical_devices("TPU"):
        assert device_name(resolve_device(found)) == found.name
    assert device_kind(jax.devices()[0]) == "TPU"


@pytest.mark.parametrize("name", ["/gpu:0", "CPU:8", "/job:worker/replica:0/task:1/device:CPU:0"])
def test_a_device_that_does_not_exist_is_refused_with_a_list_of_those_that_do(name):
    with pytest.raises(
        DeviceError, match=r"no such device.*Devices of this process: '/device:CPU:0'.*CPU:7'"
    ):
        resolve_device(name)


@pytest.mark.parametrize("name", ["", "my laptop", "/cpu/0", "npu:0", "cpu:-1"])
def test_what_is_not_a_devices_name_is_refused(name):
    with pytest.raises(DeviceError, match=r"must be like '/gpu:0'.*Received: device="):
        resolve_device(name)


def test_what_is_not_a_name_at_all_is_refused():
    with pytest.raises(BadTypeError, match=r"given by its name.*device=0"):
        resolve_device(0)


def test_a_device_block_computes_there_and_ends():
    with device("/CPU:2"):
        assert (jnp.ones(3) + 1).devices() == {jax.devices()[2]}
    assert jnp.ones(3).devices() == {jax.devices()[0]}


@pytest.fixture
def placement(monkeypatch):
    """What is said of devices that don't exist, as in a new process."""
    monkeypatch.setattr(_devices, "_placement", _devices._Placement())


@pytest.mark.usefixtures("placement")
def test_a_missing_device_is_replaced_and_reported_once(caplog):
    for _ in range(2):
        with device("/CPU:2"), device("/GPU:0"):
            assert jnp.ones(3).devices() == {jax.devices()[0]}
    assert (
        caplog.text.count("Some requested devices are not visible: /GPU:0. What was to run there runs on")
        == 1
    )
    with pytest.raises(DeviceError, match="must be like '/gpu:0'"), device("nonsense"):
        pass


@pytest.mark.usefixtures("placement")
def test_a_missing_device_is_refused_if_the_program_wants_that():
    _devices.set_soft_device_placement(False)
    with pytest.raises(DeviceError, match="no such device.*device='/GPU:0'"), device("/GPU:0"):
        pass
    with pytest.raises(DeviceError, match="no such device.*device='/gpu:1'"):
        placed_devices(["/cpu:0", "/gpu:1"])


def test_no_name_ends_an_enclosing_block():
    with device("/CPU:2"), device(None):
        assert jnp.ones(3).devices() == {jax.devices()[0]}


@pytest.mark.parametrize(
    ("names", "numbers"),
    [
        (["/gpu:0", "/gpu:1"], [0, 1]),
        (["/gpu:0", "/cpu:3"], [3]),
        (["/cpu:5", "/cpu:3", "/cpu:99"], [5, 3]),
        ([f"/tpu:{number}" for number in range(12)], list(range(8))),
    ],
)
def test_missing_devices_are_left_out_or_others_take_their_places(names, numbers):
    assert placed_devices(names) == [jax.devices()[number] for number in numbers]


def test_a_missing_device_is_replaced_unless_the_program_forbids_it(monkeypatch):
    monkeypatch.setattr(_devices, "_placement", _devices._Placement())
    assert tf.config.get_soft_device_placement()
    with tf.device("/GPU:3"):
        assert tf.constant(1).device == jax.devices()[0]
    tf.config.set_soft_device_placement(False)
    assert not tf.config.get_soft_device_placement()
    with pytest.raises(ValueError, match="no such device"), tf.device("/GPU:3"):
        pass
