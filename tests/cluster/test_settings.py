"""Settings of devices and of JAX: what is made before JAX starts, what it changes, and what is refused after."""

import types

import jax
import pytest

import stratax.tf as tf
from stratax.cluster import _device_settings, _devices, _physical, _runtime_settings, settings
from stratax.cluster._simulate import _state
from tests.cluster.test_simulate import run_python

CPU = tf.config.PhysicalDevice("/physical_device:CPU:0", "CPU")
GPUS = [tf.config.PhysicalDevice(f"/physical_device:GPU:{index}", "GPU") for index in range(3)]


@pytest.fixture
def before_the_start_with_gpus(monkeypatch):
    """Three GPUs of NVIDIA in a process whose JAX has not started; returns what JAX is told."""
    told = {}
    monkeypatch.setattr(_state, "simulated", None)
    monkeypatch.setattr(_physical, "_counts", _physical._Counts({"GPU": 3, "CPU": 1, "TPU": 0}))
    monkeypatch.setattr(_physical, "has_started", lambda: False)
    monkeypatch.setattr(_physical, "cuda_memory", lambda index: 16 * 2**30)
    monkeypatch.setattr(_device_settings, "_settings", _device_settings._Settings())
    monkeypatch.setattr(jax.config, "update", told.__setitem__)
    for name in (
        "XLA_PYTHON_CLIENT_PREALLOCATE",
        "XLA_PYTHON_CLIENT_MEM_FRACTION",
        "XLA_CLIENT_MEM_FRACTION",
    ):
        monkeypatch.setenv(name, "before")
    return told


def test_a_program_configures_its_devices_and_then_uses_them():
    printed = run_python(
        """if True:
        import stratax.tf as tf
        cpu, = tf.config.experimental.list_physical_devices("CPU")
        for gpu in tf.config.list_physical_devices("GPU"):
            tf.config.experimental.set_memory_growth(gpu, True)
        tf.config.set_visible_devices([], "GPU")
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 3)
        strategy = tf.distribute.MirroredStrategy()
        print(strategy.num_replicas_in_sync, len(tf.config.list_logical_devices("CPU")))
        print(tf.config.list_physical_devices(), tf.config.get_visible_devices("CPU"))
        print(len(tf.config.get_logical_device_configuration(cpu)))
        # Asking for the same again is allowed, for something else not.
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 3)
        try:
            tf.config.experimental.set_virtual_device_configuration(
                cpu, [tf.config.experimental.VirtualDeviceConfiguration()] * 2)
        except RuntimeError as error:
            print(error)
        """
    ).splitlines()
    assert printed[:3] == ["3 3", f"[{CPU!r}] [{CPU!r}]", "3"]
    assert "JAX has started already" in printed[3]
    assert "logical devices can be configured before only" in printed[3]


def test_gpus_are_hidden_from_jax_and_keep_their_names(before_the_start_with_gpus):
    tf.config.set_visible_devices(GPUS[1:], "GPU")
    assert before_the_start_with_gpus == {"jax_cuda_visible_devices": "1,2"}
    assert tf.config.get_visible_devices("GPU") == GPUS[1:]
    assert tf.config.list_physical_devices("GPU") == GPUS
    tf.config.experimental.set_visible_devices(GPUS[2])
    assert before_the_start_with_gpus == {"jax_cuda_visible_devices": "2"}
    tf.config.set_visible_devices([], "GPU")
    assert before_the_start_with_gpus["jax_platforms"] == "cpu"
    assert tf.config.get_visible_devices() == [CPU]


def test_the_memory_of_gpus_grows_or_has_a_limit(before_the_start_with_gpus, monkeypatch):
    tf.config.experimental.set_memory_growth(GPUS[0], True)
    assert settings.get_memory_growth(GPUS[0])
    assert not settings.get_memory_growth(GPUS[1])
    assert _device_settings.os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] == "false"
    limit = tf.config.LogicalDeviceConfiguration(memory_limit=4096)
    tf.config.set_logical_device_configuration(GPUS[0], [limit])
    assert _device_settings.os.environ["XLA_CLIENT_MEM_FRACTION"] == "0.250000"
    assert "XLA_PYTHON_CLIENT_MEM_FRACTION" not in _device_settings.os.environ
    monkeypatch.setattr(_physical, "has_started", lambda: True)
    # As it is already.
    tf.config.experimental.set_memory_growth(GPUS[0], True)
    with pytest.raises(RuntimeError, match=r"JAX has started already.*growth of a GPU's memory"):
        tf.config.experimental.set_memory_growth(GPUS[1], True)
    with pytest.raises(RuntimeError, match=r"JAX has started already.*devices can be hidden"):
        tf.config.set_visible_devices(GPUS[0], "GPU")


def test_settings_that_devices_cannot_have_are_refused(before_the_start_with_gpus, monkeypatch):
    one = tf.config.LogicalDeviceConfiguration()
    with pytest.raises(ValueError, match=r"Memory growth is a setting of GPUs"):
        tf.config.experimental.set_memory_growth(CPU, True)
    with pytest.raises(ValueError, match=r"one of those that list_physical_devices.*device='GPU:0'"):
        tf.config.experimental.set_memory_growth("GPU:0", True)
    with pytest.raises(ValueError, match=r"This host has no such device.*GPU:9"):
        tf.config.experimental.get_memory_growth(tf.config.PhysicalDevice("/physical_device:GPU:9", "GPU"))
    with pytest.raises(ValueError, match=r"not of the kind.*'CPU'"):
        tf.config.set_visible_devices(GPUS, "CPU")
    with pytest.raises(ValueError, match=r"needs a limit of its memory in MiB"):
        tf.config.set_logical_device_configuration(GPUS[0], [one])
    with pytest.raises(ValueError, match=r"of a CPU has no settings"):
        tf.config.set_logical_device_configuration(CPU, [tf.config.LogicalDeviceConfiguration(3)])
    with pytest.raises(ValueError, match=r"one at least"):
        tf.config.set_logical_device_configuration(CPU, [])
    two = [tf.config.LogicalDeviceConfiguration(1024)] * 2
    with pytest.raises(RuntimeError, match=r"one device for each GPU.*simulate_devices\(2, kind='GPU'\)"):
        tf.config.set_logical_device_configuration(GPUS[0], two)
    monkeypatch.setattr(_physical, "cuda_memory", lambda index: None)
    with pytest.raises(RuntimeError, match=r"can't be found out.*XLA_CLIENT_MEM_FRACTION"):
        tf.config.set_logical_device_configuration(GPUS[0], two[:1])


def test_simulated_devices_are_neither_hidden_nor_divided():
    devices = tf.config.list_physical_devices()
    assert tf.config.get_visible_devices() == devices
    tf.config.set_visible_devices([], "GPU")
    tf.config.set_visible_devices(devices, "CPU")
    with pytest.raises(RuntimeError, match=r"simulated already.*2 logical devices"):
        tf.config.set_logical_device_configuration(CPU, [tf.config.LogicalDeviceConfiguration()] * 2)
    assert tf.config.get_logical_device_configuration(CPU) is None


@pytest.mark.parametrize(
    ("plugins", "cuda", "expected"),
    [((), 5, 0), (("cuda",), 5, 5), (("cuda",), None, None), (("rocm",), 5, None)],
)
def test_gpus_are_counted_without_starting_jax(monkeypatch, plugins, cuda, expected):
    monkeypatch.setattr(_physical, "simulated", lambda: None)
    monkeypatch.setattr(_physical, "has_started", lambda: False)
    monkeypatch.setattr(_physical, "_plugins", lambda: frozenset(plugins))
    monkeypatch.setattr(_physical, "_count_cuda", lambda: cuda)
    values = {"jax_platforms": None, "jax_num_cpu_devices": -1}
    monkeypatch.setattr(_physical, "jax", types.SimpleNamespace(config=types.SimpleNamespace(values=values)))
    monkeypatch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=4")
    assert _physical.known_count("GPU") == expected
    assert _physical.known_count("CPU") == 4
    values["jax_platforms"] = "cpu"
    assert _physical.known_count("GPU") == _physical.known_count("TPU") == 0


@pytest.mark.parametrize(
    ("library", "chips", "forced", "expected"),
    [(None, 4, False, 0), ("libtpu", 0, False, 0), ("libtpu", 4, False, None), ("libtpu", 0, True, None)],
)
def test_a_library_that_only_compiles_for_tpus_does_not_start_jax(
    monkeypatch, library, chips, forced, expected
):
    monkeypatch.setattr(_physical, "simulated", lambda: None)
    monkeypatch.setattr(_physical, "has_started", lambda: False)
    monkeypatch.setattr(_physical, "_plugins", frozenset)
    monkeypatch.setattr(_physical.importlib.util, "find_spec", lambda name: library)
    monkeypatch.setattr(
        _physical.hardware_utils, "num_available_tpu_chips_and_device_id", lambda: (chips, None)
    )
    values = {"jax_platforms": None}
    monkeypatch.setattr(_physical, "jax", types.SimpleNamespace(config=types.SimpleNamespace(values=values)))
    if forced:
        monkeypatch.setenv("JAX_FORCE_TPU_INIT", "1")
    assert _physical.known_count("TPU") == expected


def test_the_driver_of_nvidia_is_asked_where_there_is_one():
    # None here: no driver, or one that answers.
    assert _physical._count_cuda() in range(1000)
    assert (_physical.cuda_memory(0) or 2**40) > 2**20


def test_memory_in_use_and_details_are_told_by_jax(monkeypatch):
    assert settings.get_memory_info("CPU:0") == {"current": 0, "peak": 0}
    assert settings.get_device_details(CPU) == {}

    class Gpu:
        device_kind, platform, compute_capability = "NVIDIA H200", "gpu", "9.0"

        def memory_stats(self):
            return {"bytes_in_use": 3, "peak_bytes_in_use": 5}

    monkeypatch.setattr(_device_settings, "resolve_device", lambda device: Gpu())
    assert tf.config.experimental.get_memory_info("GPU:0") == {"current": 3, "peak": 5}
    assert tf.config.experimental.get_memory_usage("GPU:0") == 3
    monkeypatch.setattr(_state, "simulated", None)
    monkeypatch.setattr(_physical, "_counts", _physical._Counts({"GPU": 1}))
    monkeypatch.setattr(_device_settings, "local_devices", lambda kind: [Gpu()])
    assert settings.get_device_details(GPUS[0]) == {
        "device_name": "NVIDIA H200",
        "compute_capability": (9, 0),
    }


def test_a_missing_device_is_replaced_unless_the_program_forbids_it(monkeypatch):
    monkeypatch.setattr(_devices, "_placement", _devices._Placement())
    assert tf.config.get_soft_device_placement()
    with tf.device("/GPU:3"):
        assert tf.constant(1).device == jax.devices()[0]
    tf.config.set_soft_device_placement(False)
    assert not tf.config.get_soft_device_placement()
    with pytest.raises(ValueError, match="no such device"), tf.device("/GPU:3"):
        pass


def test_what_has_no_effect_is_told_again(monkeypatch):
    monkeypatch.setattr(_runtime_settings, "_settings", _runtime_settings._Settings())
    assert tf.config.optimizer.get_jit() == ""
    tf.config.optimizer.set_jit(True)
    assert tf.config.optimizer.get_jit() == "autoclustering"
    tf.config.optimizer.set_jit("other")
    assert tf.config.optimizer.get_jit() == ""
    tf.config.optimizer.set_experimental_options({"layout_optimizer": True})
    assert tf.config.optimizer.get_experimental_options() == {
        "layout_optimizer": True,
        "disable_model_pruning": False,
        "disable_meta_optimizer": False,
    }
    threading = tf.config.threading
    assert threading.get_intra_op_parallelism_threads() == threading.get_inter_op_parallelism_threads() == 0
    threading.set_intra_op_parallelism_threads(2)
    threading.set_inter_op_parallelism_threads(3)
    assert threading.get_intra_op_parallelism_threads() == 2
    assert threading.get_inter_op_parallelism_threads() == 3
    with pytest.raises(ValueError, match=r"number of threads.*num_threads='2'"):
        threading.set_intra_op_parallelism_threads("2")
    assert tf.config.experimental.get_synchronous_execution()
    tf.config.experimental.set_synchronous_execution(False)
    assert not tf.config.experimental.get_synchronous_execution()
    assert tf.config.experimental.get_device_policy() == "silent"
    with pytest.raises(ValueError, match=r"one of silent, .*device_policy='loud'"):
        tf.config.experimental.set_device_policy("loud")


def test_settings_of_jax_are_made_under_tensorflows_names(monkeypatch):
    told = {}
    monkeypatch.setattr(_runtime_settings, "_settings", _runtime_settings._Settings())
    monkeypatch.setattr(jax.config, "update", told.__setitem__)
    tf.config.experimental.set_device_policy("explicit")
    tf.config.experimental.enable_tensor_float_32_execution(False)
    assert told == {
        "jax_transfer_guard_device_to_device": "disallow",
        "jax_default_matmul_precision": "highest",
    }
    assert tf.config.experimental.get_device_policy() == "explicit"
    assert tf.config.experimental.tensor_float_32_execution_enabled()


def test_gpus_are_asked_to_be_deterministic_before_they_start(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--some=1")
    tf.config.experimental.enable_op_determinism()
    assert _runtime_settings.os.environ["XLA_FLAGS"] == "--some=1"
    monkeypatch.setattr(_physical, "has_plugin", lambda platform: platform == "cuda")
    with pytest.raises(RuntimeError, match=r"JAX has started already.*XLA_FLAGS=--xla_gpu_deterministic_ops"):
        tf.config.experimental.enable_op_determinism()
    monkeypatch.setattr(_physical, "has_started", lambda: False)
    tf.config.experimental.enable_op_determinism()
    assert _runtime_settings.os.environ["XLA_FLAGS"] == "--some=1 --xla_gpu_deterministic_ops=true"
