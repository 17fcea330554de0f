"""The arguments that layers with kernels share, each described once (v1 layer)."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from stratax.tensorflow.ops.calls.described import bind, docstring, parameter
from stratax.tensorflow.v1._layer import Layer

Class = TypeVar("Class", bound=type[Layer])

_Sizes = int | Sequence[int]
_Activation = Callable[..., Any] | str | None
_REQUIRED = inspect.Parameter.empty
_LOSS = "that gives a loss"
_AFTER = "after each update of an optimizer."
_DEFAULT_OF_SCOPE = "first value; by default the variable scope's"

# The name of each, its annotation, its default and its description.
_ARGUMENTS: dict[str, tuple[Any, Any, str]] = {
    "units": (int, _REQUIRED, "The size of the last dimension of what it gives."),
    "filters": (int, _REQUIRED, "The number of channels of what it gives."),
    "kernel_size": (_Sizes, _REQUIRED, "The kernel's size in each dimension, or one number for all."),
    "strides": (_Sizes, 1, "The steps in each dimension, or one number for all."),
    "padding": (str, "valid", '`"valid"` or `"same"`, in letters of either case.'),
    "data_format": (str, "channels_last", '`"channels_last"` or `"channels_first"`.'),
    "dilation_rate": (_Sizes, 1, "The distances between the kernel's elements, or one number for all."),
    "depth_multiplier": (int, 1, "How many channels each channel becomes at first."),
    "activation": (_Activation, None, "A function of a tensor, or the name of one of Keras'."),
    "use_bias": (bool, True, "Whether a bias is added."),
    "kernel_initializer": (Any, None, f"Gives the kernel's {_DEFAULT_OF_SCOPE}, or Glorot's uniform."),
    "depthwise_initializer": (Any, None, f"Gives the depthwise kernel's {_DEFAULT_OF_SCOPE}."),
    "pointwise_initializer": (Any, None, f"Gives the pointwise kernel's {_DEFAULT_OF_SCOPE}."),
    "bias_initializer": (Any, "zeros", "Gives the bias' first value."),
    "kernel_regularizer": (Any, None, f"A function of the kernel {_LOSS}."),
    "depthwise_regularizer": (Any, None, f"A function of the depthwise kernel {_LOSS}."),
    "pointwise_regularizer": (Any, None, f"A function of the pointwise kernel {_LOSS}."),
    "bias_regularizer": (Any, None, f"A function of the bias {_LOSS}."),
    "activity_regularizer": (
        Any,
        None,
        f"A function of what the layer gives {_LOSS}, which is divided by the batch size.",
    ),
    "kernel_constraint": (Any, None, f"Applied to the kernel {_AFTER}"),
    "depthwise_constraint": (Any, None, f"Applied to the depthwise kernel {_AFTER}"),
    "pointwise_constraint": (Any, None, f"Applied to the pointwise kernel {_AFTER}"),
    "bias_constraint": (Any, None, f"Applied to the bias {_AFTER}"),
    "trainable": (bool, True, "Whether optimizers see the variables."),
    "name": (str | None, None, "The layer's name."),
}
# What is given to Keras' layer as another type.
_CONVERSIONS: dict[str, Callable[[Any], Any]] = {"units": int, "filters": int}


def with_arguments(names: str) -> Callable[[Class], Class]:
    """Decorate a class of layers: give it an `__init__` that passes arguments on, and describe them in its docstring.

    Args:
        names: The arguments' names, in order; further ones, by name only, are those of :class:`Layer`.
    """
    rows = {name: _ARGUMENTS[name] for name in names.split()}
    signature = inspect.Signature(
        [
            parameter("self", _REQUIRED),
            *(parameter(name, annotation, default) for name, (annotation, default, _) in rows.items()),
            inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD, annotation=Any),
        ],
        return_annotation=None,
    )

    def decorate(layer: Class) -> Class:
        owner: Any = layer

        def __init__(*args: object, **kwargs: object) -> None:
            given = bind(signature, layer.__name__, *args, **kwargs)
            self, others = given.pop("self"), given.pop("kwargs")
            for name in _CONVERSIONS.keys() & given.keys():
                given[name] = _CONVERSIONS[name](given[name])
            super(owner, self).__init__(**given, **others)

        __init__.__qualname__ = f"{layer.__qualname__}.__init__"
        __init__.__module__ = layer.__module__
        __init__.__signature__ = signature  # type: ignore[attr-defined]
        layer.__init__ = __init__  # type: ignore[method-assign]
        described = {name: description for name, (_, _, description) in rows.items()}
        described["**kwargs"] = "Those of :class:`Layer`."
        layer.__doc__ = docstring(layer.__doc__ or "", {"Args": described})
        return layer

    return decorate
