"""Private modules of TensorFlow that programs import, and where what they hold is (tf layer).

`tensorflow.python` is TensorFlow's inside. The modules of it that many programs name are those of `tf` here; others
are refused. What lies below `tensorflow.contrib.x.python` is in `tf.contrib.x`.
"""

import dataclasses

from stratax.tf import _keras_alone

# What begins with this is a module of TensorBoard's.
MESSAGES = "tensorboard.compat.proto."

# Below `tensorflow.python`, and in `tf`; the longest one that fits counts.
_PLACES = {
    "client.device_lib": "stratax.tf.migration",
    "data": "stratax.tf.data",
    "data.ops.dataset_ops": "stratax.tf.data",
    "data.util.nest": "stratax.tf.nest",
    "distribute": "stratax.tf.distribute",
    "distribute.distribution_strategy_context": "stratax.tf.distribute",
    "eager.backprop": "stratax.tf",
    "eager.context": "stratax.tf._inside.context",
    "eager.def_function": "stratax.tf",
    "estimator.canned": "stratax.tf.estimator",
    "estimator.canned.head": "stratax.tf._inside.canned_head",
    "estimator.canned.metric_keys": "stratax.tf._inside.canned_head",
    "estimator.canned.optimizers": "stratax.tf._inside.canned_optimizers",
    "estimator.canned.prediction_keys": "stratax.tf._inside.canned_head",
    "estimator.estimator": "stratax.tf._estimator_inside",
    "estimator.export": "stratax.tf.estimator.export",
    "estimator.export.export": "stratax.tf.estimator.export",
    "estimator.export.export_output": "stratax.tf.estimator.export",
    "estimator.head": "stratax.tf.estimator",
    "estimator.mode_keys": "stratax.tf.estimator",
    "estimator.model_fn": "stratax.tf._inside.model_fn",
    "estimator.run_config": "stratax.tf.estimator",
    "estimator.tpu": "stratax.tf.contrib.tpu",
    "feature_column": "stratax.tf._inside.feature_column",
    "framework.constant_op": "stratax.tf",
    "framework.dtypes": "stratax.tf",
    "framework.errors": "stratax.tf.errors",
    "framework.errors_impl": "stratax.tf.errors",
    "framework.ops": "stratax.tf.compat.v1",
    "framework.smart_cond": "stratax.tf._inside.layers_utils",
    "framework.tensor_shape": "stratax.tf",
    "framework.tensor_spec": "stratax.tf",
    "framework.tensor_util": "stratax.tf._inside.tensor_util",
    "keras": "stratax.tf.keras",
    "keras.backend_config": "stratax.tf.keras.backend",
    "keras.engine.base_layer": "stratax.tf.keras.layers",
    "keras.engine.training": "stratax.tf.keras",
    "keras.optimizer_v2": "stratax.tf._inside.optimizer_v2",
    "layers.utils": "stratax.tf._inside.layers_utils",
    "lib.io.file_io": "stratax.tf._inside.file_io",
    "lib.io.tf_record": "stratax.tf.io",
    "ops": "stratax.tf.compat.v1",
    "ops.image_ops": "stratax.tf.image",
    "ops.init_ops": "stratax.tf._inside.init_ops",
    "ops.init_ops_v2": "stratax.tf._inside.init_ops_v2",
    "ops.lookup_ops": "stratax.tf.lookup",
    "ops.metrics_impl": "stratax.tf._metrics_inside",
    "ops.nn": "stratax.tf.compat.v1.nn",
    "ops.nn_ops": "stratax.tf.compat.v1.nn",
    "ops.rnn": "stratax.tf.compat.v1.nn",
    "ops.rnn_cell": "stratax.tf._inside.rnn_cell_impl",
    "ops.rnn_cell_impl": "stratax.tf._inside.rnn_cell_impl",
    "platform.app": "stratax.tf.compat.v1.app",
    "platform.flags": "stratax.tf.compat.v1.flags",
    "platform.gfile": "stratax.tf.compat.v1.gfile",
    "platform.tf_logging": "stratax.tf.compat.v1.logging",
    "saved_model.signature_constants": "stratax.tf.saved_model",
    "saved_model.tag_constants": "stratax.tf.saved_model",
    "summary": "stratax.tf.compat.v1.summary",
    "summary.summary": "stratax.tf.compat.v1.summary",
    "summary.writer.writer": "stratax.tf.compat.v1.summary",
    "tf2": "stratax.tf._inside.tf2",
    "tpu": "stratax.tf.contrib.tpu",
    "tpu.tpu_function": "stratax.tf._inside.tpu_function",
    "trackable.data_structures": "stratax.tf._inside.data_structures",
    "training": "stratax.tf.compat.v1.train",
    "training.tracking.data_structures": "stratax.tf._inside.data_structures",
    "util.function_utils": "stratax.tf._inside.function_utils",
    "util.nest": "stratax.tf.nest",
    "util.tf_inspect": "inspect",
}


# Below `tensorflow`; all else below `contrib.x.python` is what `contrib.x` has.
_OF_CONTRIB = {
    "contrib.learn.python.learn.datasets": "stratax.tf.contrib.learn.datasets",
    "contrib.learn.python.learn.datasets.base": "stratax.tf.contrib.learn.datasets.base",
    "contrib.learn.python.learn.datasets.mnist": "stratax.tf.contrib.learn.datasets.mnist",
    "contrib.learn.python.learn.learn_runner": "stratax.tf.contrib.learn.learn_runner",
    "contrib.learn.python.learn.utils": "stratax.tf.contrib.learn.utils",
    "contrib.learn.python.learn.utils.saved_model_export_utils": (
        "stratax.tf.contrib.learn.utils.saved_model_export_utils"
    ),
    "contrib.slim.python.slim.nets": "stratax.tf.contrib.slim.nets",
    "contrib.slim.python.slim.nets.inception": "stratax.tf.contrib.slim.nets.inception",
    "contrib.slim.python.slim.nets.inception_v3": "stratax.tf.contrib.slim.nets.inception",
}
# Their modules hold what these do, and they are packages of such modules themselves.
_PACKAGES = (
    "estimator.canned",
    "estimator.export",
    "estimator.head",
    "estimator.tpu",
    "feature_column",
    "keras.optimizer_v2",
    "ops",
    "summary",
    "tpu",
    "training",
)


def is_private(path: str) -> bool:
    """Return whether a module is one of TensorFlow's private ones, or of those that are there for programs alone.

    Args:
        path: The module's path below `tensorflow`, as `python.util.nest`.
    """
    first, *others = path.split(".")
    return first == "python" or first in _ROOMS or (first == "contrib" and "python" in others)


def is_known(path: str) -> bool:
    """Return whether programs import a module of this path below `tensorflow.python`."""
    return path in _PLACES or path in _PACKAGES


def place(path: str) -> str | None:
    """Return the module that has what a private module of TensorFlow has; empty for a package of such modules.

    Args:
        path: The module's path below `tensorflow`, as `python.util.nest`.

    Returns:
        None if there is nothing for it.
    """
    if path in _OF_CONTRIB:
        return _OF_CONTRIB[path]
    room = path.partition(".")[0]
    if room in _ROOMS:
        return _ROOMS[room](path)
    before, _, after = f"{path}.".partition("python.")
    if before:
        # As tensorflow.contrib.tpu.python.tpu.tpu_config.
        return f"stratax.tf.{before[:-1]}" if after.count(".") > 1 else ""
    return _place_of_python(after[:-1])


def place_within(path: str, found: str) -> str | None:
    """Return the module that has what a private module of TensorFlow has, if it is found within another one.

    Args:
        path: The module's path below `tensorflow`, as `python.util.nest`.
        found: The module that has what the one around it has; empty for a package of such modules.

    Returns:
        None if there is nothing for it.
    """
    if not is_private(path):
        return None
    own = place(path)
    # Python imports what a module of ours does not have as a module below that one.
    is_ours = bool(own and found) and is_private(path.rpartition(".")[0])
    return None if is_ours and not (is_known(path.removeprefix("python.")) or path in _OF_CONTRIB) else own


def public_place(path: str) -> str | None:
    """Return the module of `tf.contrib` whose functions and classes a package below it has, too; None elsewhere.

    Args:
        path: The package's path below `tensorflow`, as `contrib.framework.python.ops`.
    """
    before, inside, _ = f"{path}.".partition("python.")
    return f"stratax.tf.{before[:-1]}" if before and inside else None


def _place_of_python(path: str) -> str | None:
    if path in _PACKAGES:
        return ""
    if path in _PLACES:
        return _PLACES[path]
    if any(known.startswith(f"{path}.") for known in _PLACES) and path not in ("data", "distribute", "keras"):
        return ""
    parts = path.split(".")
    for length in range(len(parts) - 1, 0, -1):
        root = ".".join(parts[:length])
        if root == "keras" and (found := _keras_alone.place(path.removeprefix("keras."))) is not None:
            return found
        if root in ("keras", "data", "distribute"):
            # Their packages are laid out as the public ones are, or not found there.
            return ".".join([_PLACES[root], *parts[length:]])
        if root in _PLACES:
            return _PLACES[root]
    return None if path else ""


def _place_of_core(path: str) -> str | None:
    """Find a module of messages, which TensorBoard has, too; but for those that are settings or data here."""
    _, _, inside = path.partition(".")
    room, _, module = inside.partition(".")
    if not module:
        return ""
    if room == "example":
        return "stratax.tf.train"
    if module == "config_pb2":
        return "stratax.tf.compat.v1"
    return f"{MESSAGES}{module}" if module.endswith("_pb2") else None


# Below `tensorflow`, beside `python`.
_ROOMS = {"core": _place_of_core}


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class LocalDevice:
    """A device of this process, as `tensorflow.python.client.device_lib` describes it.

    Attributes:
        name: TensorFlow's name of it, as `/device:CPU:0`.
        device_type: "CPU", "GPU" or "TPU".
        memory_limit: Bytes of its own memory; 0 where that is not known.
        physical_device_desc: The hardware's name.
    """

    name: str
    device_type: str
    memory_limit: int
    physical_device_desc: str


def list_local_devices(session_config: object = None) -> list[LocalDevice]:
    """Return the devices of this process, as `device_lib.list_local_devices`.

    Args:
        session_config: No effect.
    """
    from stratax.cluster import list_logical_devices

    return [
        LocalDevice(
            name=f"/device:{device.device_type}:{device.name.rsplit(':', 1)[-1]}",
            device_type=device.device_type,
            memory_limit=0,
            physical_device_desc=f"device: {device.name}",
        )
        for device in list_logical_devices()
    ]
