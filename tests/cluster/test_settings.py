"""Settings of devices and of JAX: what is made before JAX starts, what it changes, and what is refused after."""

import stratax.tf as tf
from tests.cluster.test_simulate import run_python

CPU = tf.config.PhysicalDevice("/physical_device:CPU:0", "CPU")


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
