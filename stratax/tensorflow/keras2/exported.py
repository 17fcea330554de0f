"""`Model.export` and `TFSMLayer`, for folders that `tf.saved_model.load` reads (keras2 layer).

Keras writes a SavedModel with TensorFlow, which is not there. Here a model is exported as Stratax does, with the
endpoint `serve`; where TensorFlow is installed, the folder is a SavedModel of it besides.
"""

import functools
from collections.abc import Callable
from typing import Any

import keras

from stratax.base.shown import shown
from stratax.base.typing import DTypeLike, TensorLike
from stratax.data.elements import TensorSpec
from stratax.errors import BadArgumentError
from stratax.seams import keras2 as seam
from stratax.seams.keras import print_msg
from stratax.tensorflow.exports import saved_model
from stratax.tensorflow.saved_models import loading

SERVE = "serve"
_FORMAT = "tf_saved_model"


def install() -> None:
    """Let `Model.export` write exports; safe to call again."""
    seam.widen("keras.src.models.model:Model.export", _export)


def _export(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def export(
        self: Any,
        filepath: Any,
        format: str = _FORMAT,
        verbose: bool | None = None,
        input_signature: Any = None,
        **kwargs: object,
    ) -> None:
        if format != _FORMAT:
            original(self, filepath, format, verbose, input_signature, **kwargs)
            return
        endpoint = saved_model.of_endpoint(self, _inputs(input_signature))
        saved_model.write_object(self, filepath, endpoints={SERVE: endpoint})
        if verbose or verbose is None:
            print_msg(f"Saved an export of {self.name!r} at {str(filepath)!r}, with the endpoint {SERVE!r}.")

    return export


def _inputs(signature: object) -> Any:
    """Return the structure of specs that an `input_signature` of Keras gives; None for none."""
    if signature is None:
        return None
    if not isinstance(signature, list | tuple) or len(signature) != 1:
        raise BadArgumentError(
            "input_signature has what the model's call takes besides training. Expected: a list with one spec, or one "
            f"structure of specs. Received: input_signature={shown(signature)}. Give a tf.function that calls it "
            "to tf.saved_model.save(model, path, signatures)."
        )
    names = iter(range(len(keras.tree.flatten(signature[0]))))

    def spec(each: Any) -> TensorSpec:
        number = next(names)
        # As TensorFlow names what comes by position.
        default = "args_0" if number == 0 else f"args_0_{number}"
        return TensorSpec(tuple(each.shape), each.dtype, getattr(each, "name", None) or default)

    return keras.tree.map_structure(spec, signature[0])


@keras.saving.register_keras_serializable("stratax")
class TFSMLayer(keras.layers.Layer):
    """Calls an endpoint of what was saved, as `tf.keras.layers.TFSMLayer`.

    Its weights are the variables of the loaded functions, and are trained with the model around it.

    Args:
        filepath: A folder that `tf.saved_model.save`, `Model.export`, `stratax.export.save` or TensorFlow has written.
        call_endpoint: The name of the function, or of the signature, that it calls.
        call_training_endpoint: What it calls while training; None for the same.
        trainable: Whether its weights are trained.
        name: Its name.
        dtype: Its dtype.

    Raises:
        BadArgumentError: There is no such endpoint.
    """

    def __init__(
        self,
        filepath: Any,
        call_endpoint: str = SERVE,
        call_training_endpoint: str | None = None,
        trainable: bool = True,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(trainable=trainable, name=name, dtype=dtype)
        self.filepath = str(filepath)
        self.call_endpoint = call_endpoint
        self.call_training_endpoint = call_training_endpoint
        loaded = loading.load(filepath)
        self.call_endpoint_fn = _endpoint(loaded, call_endpoint)
        self.call_training_endpoint_fn = (
            _endpoint(loaded, call_training_endpoint) if call_training_endpoint else self.call_endpoint_fn
        )
        found = [*self.call_endpoint_fn.variables, *self.call_training_endpoint_fn.variables]
        unique = list({id(variable): variable for variable in found}.values())
        for variable in sorted(unique, key=lambda variable: not variable.trainable):
            self._track_variable(variable)
        self.built = True

    def call(self, inputs: TensorLike, training: bool = False) -> Any:
        """Return what the endpoint gives."""
        return (self.call_training_endpoint_fn if training else self.call_endpoint_fn)(inputs)

    def get_config(self) -> dict[str, Any]:
        """Return what the layer is made of; the folder has to be there when it is made again."""
        names = ("filepath", "call_endpoint", "call_training_endpoint")
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}


def _endpoint(loaded: Any, name: str) -> Any:
    found = vars(loaded).get(name)
    if callable(found):
        return found
    if name not in loaded.signatures:
        own = [each for each, value in vars(loaded).items() if callable(value) and not each.startswith("_")]
        raise BadArgumentError(
            f"There is no endpoint {shown(name)}. Expected: one of {sorted({*own, *loaded.signatures})}. Received: "
            f"call_endpoint={shown(name)}."
        )
    return loaded.signatures[name]
