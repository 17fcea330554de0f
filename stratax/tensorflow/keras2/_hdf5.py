"""Models in HDF5 files, with the optimizers that they were trained by (keras2 layer).

Keras 3.15 writes and reads such files, and loses what is here: operations between layers, losses that are named in
short, the optimizer's state, and its learning rate where Keras 2 has written the file.
"""

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any

import keras

from stratax.base.typing import Array
from stratax.seams import keras2 as seam

_LEGACY = "keras.src.legacy.saving"
# What Keras 2 calls an optimizer of its own in a file.
_CUSTOM = "Custom>"
# Settings of Keras 2's that say how it computes.
_HOW = ("jit_compile", "is_legacy_optimizer")
# Slots of Keras 2's first optimizers (`tf.keras.optimizers.legacy`), which lie one kind after the other in a file, and
# variable by variable in Keras 3.
_PAIRS = {"m:0": "v:0", "accum_grad:0": "accum_var:0"}


def install() -> None:
    """Let files say more; safe to call again."""
    seam.widen(f"{_LEGACY}.serialization:serialize_keras_object", _serialize)
    seam.widen(f"{_LEGACY}.saving_utils:try_build_compiled_arguments", _build_optimizer)
    seam.widen(f"{_LEGACY}.legacy_h5_format:load_optimizer_weights_from_hdf5_group", _in_order)
    seam.widen("keras.src.losses:deserialize", _deserialize)
    seam.widen("keras.src.optimizers:deserialize", _deserialize_optimizer)
    seam.widen("keras.src.optimizers.base_optimizer:BaseOptimizer.set_weights", _set_optimizer_weights)


def _serialize(original: Callable[..., Any]) -> Callable[..., Any]:
    """Have HDF5 files say of an operation between layers where its class is: Keras reads them, and looks for layers."""

    @functools.wraps(original)
    def serialize_keras_object(instance: object) -> Any:
        is_operation = isinstance(instance, keras.Operation) and not isinstance(instance, keras.Layer)
        return seam.serialize(instance) if is_operation else original(instance)

    return serialize_keras_object


def _deserialize(original: Callable[..., Any]) -> Callable[..., Any]:
    """Have a loss be found by its short name, as "mse", which HDF5 files have; Keras 3.15 looks for a class then."""

    @functools.wraps(original)
    def deserialize(name: object, custom_objects: dict[str, Any] | None = None) -> Any:
        if isinstance(name, str) and not (custom_objects and name in custom_objects):
            with contextlib.suppress(ValueError):
                return keras.losses.get(name)
        return original(name, custom_objects)

    return deserialize


def _build_optimizer(original: Callable[..., Any]) -> Callable[..., Any]:
    """Have the optimizer of a model that is read from an HDF5 file be made for the model's variables.

    Keras 3.15 makes it for `model._trainable_variables`, which a functional model has none of: it could not train on.
    What this function was for, `compiled_loss.built`, no model has, and it warned of that.
    """

    @functools.wraps(original)
    def try_build_compiled_arguments(model: keras.Model) -> None:
        if isinstance(model.optimizer, keras.Optimizer) and model.trainable_variables:
            model.optimizer.build(model.trainable_variables)

    return try_build_compiled_arguments


def _deserialize_optimizer(original: Callable[..., Any]) -> Callable[..., Any]:
    """Have an optimizer be made that Keras 2 has written; Keras 3.15 makes one with its own numbers instead."""

    @functools.wraps(original)
    def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
        if isinstance(config, dict) and str(config.get("class_name")).startswith(_CUSTOM):
            inner = {name: value for name, value in config["config"].items() if name not in _HOW}
            config = {"class_name": config["class_name"].removeprefix(_CUSTOM), "config": inner}
        return original(config, custom_objects)

    return deserialize


def _in_order(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def load_optimizer_weights_from_hdf5_group(group: Any) -> list[Any]:
        values = original(group)
        names = [
            each.decode() if isinstance(each, bytes) else each
            for each in group["optimizer_weights"].attrs.get("weight_names", ())
        ]
        return order_slots(names, values) if names and names[0].endswith("/iter:0") else values

    return load_optimizer_weights_from_hdf5_group


def order_slots(names: Sequence[str], values: Sequence[Array]) -> list[Array]:
    """Return the state of one of Keras 2's first optimizers in the order of Keras 3.

    Args:
        names: Of the state's parts, as `"Adam/dense/kernel/m:0"`; the count of steps is the first.
        values: What they are.

    Example:
        >>> order_slots(["A/iter:0", "A/x/m:0", "A/y/m:0", "A/x/v:0", "A/y/v:0"], [1, 2, 3, 4, 5])
        [1, 2, 4, 3, 5]
    """
    given = dict(zip(names, values, strict=True))
    last = [name for name in names if name.endswith("/momentum_cache:0")]
    ordered = []
    for name in names:
        variable, _, slot = name.rpartition("/")
        if slot not in _PAIRS.values() and name not in last:
            ordered.append(name)
            if (second := f"{variable}/{_PAIRS.get(slot)}") in given:
                ordered.append(second)
    return [given[name] for name in (*ordered, *last)]


def _set_optimizer_weights(original: Callable[..., Any]) -> Callable[..., Any]:
    """Have an optimizer take values without the learning rate, as Keras 2 has them, and refuse too many or too few.

    Keras 3.15 sets those that there are, one after the other.
    """

    @functools.wraps(original)
    def set_weights(self: keras.Optimizer, weights: Sequence[Any]) -> None:
        weights = list(weights)
        own = self.variables if self.built else []
        if len(weights) < len(own) > 1 and own[1].name == "learning_rate":
            weights.insert(1, own[1])
        if len(weights) < len(own) and isinstance(self, keras.optimizers.Nadam):
            # The product of its momenta, which Keras 2 does not keep.
            weights.append(own[-1])
        if self.built and len(weights) != len(own):
            raise ValueError(
                f"You called `set_weights(weights)` on optimizer {self.name} with a weight list of length "
                f"{len(weights)}, but the optimizer was expecting {len(own)} weights."
            )
        original(self, weights)

    return set_weights
