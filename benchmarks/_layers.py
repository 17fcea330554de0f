"""Keras' common layers on processors, forward and backward, against TensorFlow's."""

import jax

import stratax.tf
from benchmarks import _layer_programs, _measure, _peer

_TENSORFLOW = """
os.environ["KERAS_BACKEND"] = "tensorflow"
import tensorflow as tf
group, devices = sys.argv[1], int(sys.argv[2])
(processor,) = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(processor, [tf.config.LogicalDeviceConfiguration()] * devices)
from benchmarks import _layer_programs
programs = _layer_programs.runs(tf, group)

def run(name):
    programs[name]()
"""


def group(group: str, plan: _measure.Plan) -> _measure.Figure:
    """The slowest of a group's layers in a direction, against TensorFlow's; the details have all of them.

    Args:
        group: The group of layers.
        plan: How long to measure each.

    Raises:
        NotInstalledError: There is no TensorFlow, or JAX does not run on the processor.
    """
    if jax.default_backend() != "cpu":
        raise _peer.NotInstalledError("not installed: JAX on the processor alone (JAX_PLATFORMS=cpu)")
    found = {}
    with _peer.tensorflow(_TENSORFLOW, group, str(jax.device_count())) as theirs:
        for name, program in _layer_programs.runs(stratax.tf, group).items():

            def ours(count: int, program=program) -> None:
                for _ in range(count):
                    result = program()
                jax.block_until_ready(jax.tree.leaves(result))

            def other(count: int, name=name) -> None:
                theirs(count, name)

            found[name] = _measure.ratio(*_measure.in_turns(ours, other, plan=plan))
    worst = max(found.values(), key=lambda figure: figure.value)
    details = {f"{name}_times": figure.value for name, figure in found.items()}
    return _measure.Figure(value=worst.value, low=worst.low, high=worst.high, details=details)
