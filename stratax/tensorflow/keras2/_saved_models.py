"""`load_model` of folders that TensorFlow wrote: Keras 2's `model.save("folder")`, and any SavedModel (keras2 layer).

A model of layers of Keras is built again from what the folder says of it, with its weights, and compiled as it was. One
of a program's own class is a model whose calls are the functions that were saved.
"""

import functools
import inspect
import json
import os
from collections.abc import Callable
from typing import Any

import keras
from google.protobuf.message import DecodeError

from stratax.base.shown import shown
from stratax.base.typing import PyTree
from stratax.errors import BadArgumentError, DataLossError, StrataxError
from stratax.io import make_messages
from stratax.seams import keras2 as seam
from stratax.tensorflow.checkpoints import conversion
from stratax.tensorflow.saved_models import loading

_METADATA = "keras_metadata.pb"
# The files of Keras 3's own format, as a folder.
_OF_KERAS_3 = "config.json"
_MESSAGES = make_messages(
    "stratax/keras_metadata.proto",
    {
        "KerasObject": {"node_id": (2, "int32"), "identifier": (4, "string"), "metadata": (5, "string")},
        "SavedMetadata": {"nodes": (1, "repeated KerasObject")},
    },
)
# What Keras 2 calls a metric that was given as a function.
_MEAN = "MeanMetricWrapper"
# Activations that are other functions in Keras 3.
_OTHERWISE = ("hard_sigmoid",)
# What a layer is not asked for, as Keras 2 writes it.
_BY_DEFAULT: tuple[Any, ...] = (None, False, True, 1, [], {})
_ENDPOINTS = ("serving_default", "serve")


def install() -> None:
    """Let `load_model` read folders that TensorFlow wrote; safe to call again."""
    for path in seam.LOADING:
        seam.widen(path, _load_model)


def _load_model(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def load_model(
        filepath: Any, custom_objects: Any = None, compile: bool = True, *args: Any, **kwargs: Any
    ) -> Any:
        kwargs.pop("options", None)
        if not _is_of_tensorflow(filepath):
            return original(filepath, custom_objects, compile, *args, **kwargs)
        return load_saved_model(os.fspath(filepath), custom_objects, compiles=compile)

    return load_model


def _is_of_tensorflow(path: Any) -> bool:
    if not isinstance(path, str | os.PathLike) or not os.path.isdir(path):
        return False
    return os.path.isfile(os.path.join(path, "saved_model.pb")) and not os.path.isfile(
        os.path.join(path, _OF_KERAS_3)
    )


def load_saved_model(
    path: str, custom_objects: dict[str, Any] | None = None, *, compiles: bool = True
) -> keras.Model:
    """Load a model that TensorFlow's Keras saved in a folder.

    Args:
        path: The folder.
        custom_objects: Classes and functions of the program by name.
        compiles: Whether it is compiled as it was when it was saved.

    Returns:
        The model: of layers, if it is made of Keras' and of `custom_objects`, else :class:`SavedKerasModel`.

    Raises:
        BadArgumentError: The folder has no function that a model could call.
        DataLossError: It is damaged.
    """
    described = _read(path)
    model = _build(path, described, custom_objects)
    if model is None:
        return SavedKerasModel(path)
    training = described.get("training_config")
    if compiles and training:
        seam.compile_as_keras2(model, json.dumps(_name_metrics(training)), custom_objects)
    return model


def _name_metrics(described: Any) -> Any:
    """Return what a model was compiled with, and metrics that are means of functions by the functions' names."""
    if isinstance(described, list):
        return [_name_metrics(each) for each in described]
    if not isinstance(described, dict):
        return described
    name = (described.get("config") or {}).get("fn") if described.get("class_name") == _MEAN else None
    if isinstance(name, str):
        return name
    return {key: _name_metrics(each) for key, each in described.items()}


def _read(path: str) -> dict[str, Any]:
    """Return what the folder says of its model; nothing where it has no metadata of Keras."""
    file = os.path.join(path, _METADATA)
    if not os.path.isfile(file):
        return {}
    try:
        with open(file, "rb") as content:
            nodes = _MESSAGES["SavedMetadata"].FromString(content.read()).nodes
        found: object = next((json.loads(each.metadata) for each in nodes if each.node_id == 0), {})
    except (DecodeError, ValueError, RecursionError) as error:
        raise DataLossError(
            f"The file {shown(file)} is damaged: {str(error)[:200]}. Copy it anew."
        ) from error
    return found if isinstance(found, dict) else {}


def _build(path: str, described: dict[str, Any], custom_objects: dict[str, Any] | None) -> keras.Model | None:
    """Return the model built from its configuration; None where that can't be done."""
    config = described.get("model_config")
    if not config or not (config.get("config") or {}).get("layers"):
        return None
    try:
        model = seam.model_of_keras2(json.dumps(_as_keras3(config)), custom_objects)
        if model.weights:
            conversion.load_weights(model, path)
    except (StrataxError, ValueError, TypeError, KeyError, AttributeError, ImportError, NotImplementedError):
        # Layers of the program's own, Python code, or what Keras 3 has no layer for: the functions do it.
        return None
    return model


def _as_keras3(config: Any) -> Any:
    """Return a configuration without what Keras 3's layers do not take and Keras 2's had by default."""
    if isinstance(config, list):
        return [_as_keras3(each) for each in config]
    if not isinstance(config, dict):
        return config
    if config.get("activation") in _OTHERWISE or config.get("recurrent_activation") in _OTHERWISE:
        raise NotImplementedError(config)
    made = {key: _as_keras3(each) for key, each in config.items()}
    kind = getattr(keras.layers, str(config.get("class_name")), None)
    if isinstance(kind, type) and isinstance(made.get("config"), dict):
        taken = _parameters(kind)
        made["config"] = {
            key: each for key, each in made["config"].items() if key in taken or each not in _BY_DEFAULT
        }
    return made


def _parameters(kind: type) -> set[str]:
    """Return the names of the arguments that a layer's class takes."""
    found: set[str] = set()
    for each in kind.__mro__:
        if (initialize := vars(each).get("__init__")) is None:
            continue
        parameters = inspect.signature(initialize).parameters.values()
        found |= {parameter.name for parameter in parameters}
        # Without any other names, its own are all.
        if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
            break
    return found | {"batch_input_shape", "ragged"}


@keras.saving.register_keras_serializable("stratax")
class SavedKerasModel(keras.Model):
    """A model whose calls are functions of a SavedModel; its weights are the variables that these read.

    Args:
        filepath: The folder, which has to be there when the model is loaded again.

    Raises:
        BadArgumentError: The folder has no function that a model could call.
    """

    def __init__(self, filepath: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.filepath = str(filepath)
        loaded = loading.load(self.filepath)
        self.loaded = loaded
        names = [name for name in (*_ENDPOINTS, *loaded.signatures) if name in loaded.signatures]
        if not callable(loaded) and not names:
            raise BadArgumentError(
                f"The SavedModel at {shown(self.filepath)} has no function that a model could call. Expected: a model "
                "of Keras, or a signature. Received: neither. Load it with tf.saved_model.load."
            )
        self._signature = loaded.signatures[names[0]] if names else None
        for variable in sorted(loaded.variables, key=lambda each: not each.trainable):
            self._track_variable(variable)
        self.built = True

    def call(self, inputs: PyTree, training: bool = False) -> Any:
        """Return what the saved model gives."""
        if callable(self.loaded):
            return self.loaded(inputs, training=bool(training))
        given = inputs if isinstance(inputs, dict) else {self._only_input(): inputs}
        found = self._signature(**given)  # type: ignore[misc]
        return next(iter(found.values())) if len(found) == 1 else found

    def _only_input(self) -> str:
        names = list(self._signature.structured_input_signature[1])  # type: ignore[union-attr]
        if len(names) != 1:
            raise BadArgumentError(f"The model takes several inputs, by name. Expected: a dict with {names}.")
        return str(names[0])

    def get_config(self) -> dict[str, Any]:
        """Return what the model is made of."""
        return {"filepath": self.filepath, "name": self.name}
