"""Calling a user's functions with those arguments that their signatures name (estimator layer)."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from stratax import errors
from stratax.base.shown import shown
from stratax.data.dataset import symbolic_iterators
from stratax.tensorflow.estimator._spec import is_tensor
from stratax.tensorflow.v1.parts import leave_graph


def arguments_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of the arguments that a function takes; `partial` objects and methods are looked through."""
    return tuple(
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    )


def takes_any(function: Callable[..., Any]) -> bool:
    """Return whether a function takes arguments of any name."""
    kinds = (parameter.kind for parameter in inspect.signature(function).parameters.values())
    return inspect.Parameter.VAR_KEYWORD in kinds


def check_model_fn(model_fn: object, params: object) -> None:
    """Check that a `model_fn` can be called.

    Raises:
        BadTypeError: If it is no function.
        BadArgumentError: If its arguments are not those of a `model_fn`.
    """
    if not callable(model_fn):
        raise errors.BadTypeError(f"model_fn must be a function. Received: model_fn={shown(model_fn)}.")
    names = arguments_of(model_fn)
    known = {"features", "labels", "params", "mode", "config", "self"}
    if "features" not in names:
        raise errors.BadArgumentError(
            f"model_fn must take features as an argument. Received: arguments {', '.join(names) or 'none'}."
        )
    if params is not None and "params" not in names:
        raise errors.BadArgumentError(
            f"model_fn does not take params, but params was given to the Estimator. Received: params={shown(params)}. "
            "Add the argument, or leave params out."
        )
    unknown = [
        name
        for name, parameter in inspect.signature(model_fn).parameters.items()
        if name not in known
        and parameter.default is parameter.empty
        and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    ]
    if unknown:
        raise errors.BadArgumentError(
            "model_fn has arguments that an Estimator does not know. Expected: features, labels, mode, params, config. "
            f"Received: {', '.join(unknown)}. Bind them with functools.partial."
        )


def call_model_fn(
    model_fn: Callable[..., Any], features: object, labels: object, mode: str, params: object, config: object
) -> Any:
    """Call a `model_fn` with any of TensorFlow's signatures; `**kwargs` get nothing, as there.

    Raises:
        BadArgumentError: If there are labels and it takes none.
    """
    names = arguments_of(model_fn)
    arguments: dict[str, Any] = {}
    if "labels" in names:
        arguments["labels"] = labels
    elif labels is not None:
        raise errors.BadArgumentError(
            "model_fn does not take labels, but input_fn returns labels. Add the argument, or return features only."
        )
    for name, value in (("mode", mode), ("params", params), ("config", config)):
        if name in names:
            arguments[name] = value
    return model_fn(features=features, **arguments)


def add_param(params: Any, name: str, value: object) -> None:
    """Add a setting to `params`: an item of a dict, or what `HParams` have."""
    if hasattr(params, "set_hparam"):
        (params.set_hparam if name in params else params.add_hparam)(name, value)
    else:
        params[name] = value


def call_logit_fn(
    logit_fn: Callable[..., Any],
    features: object,
    mode: str,
    params: Mapping[str, Any] | None,
    config: object,
) -> Any:
    """Call a function that gives logits with those arguments that it names, as `tf.estimator.experimental`'s.

    Args:
        logit_fn: A function of `features`, and of those of `mode`, `params` and `config` that it names.
        features: The features.
        mode: One of `ModeKeys`.
        params: What it gets as `params`.
        config: What it gets as `config`.

    Returns:
        A tensor, or a dict of them.

    Raises:
        BadTypeError: It gave something else.
    """
    names = arguments_of(logit_fn)
    given = {"mode": mode, "params": params, "config": config}
    logits = logit_fn(features=features, **{name: given[name] for name in given if name in names})
    if not all(map(is_tensor, logits.values() if isinstance(logits, Mapping) else [logits])):
        raise errors.BadTypeError(
            f"logit_fn should return a Tensor or a dictionary of Tensors. Received: {shown(logits)}."
        )
    return logits


@leave_graph
def call_input_fn(input_fn: object, given: Mapping[str, Any]) -> Any:
    """Call an `input_fn` with those of some arguments that it takes.

    Args:
        input_fn: The function.
        given: `mode`, `params`, `config`, `input_context`.

    Raises:
        BadTypeError: If it is no function.
        BadArgumentError: If it needs an argument that there is none of.
    """
    if not callable(input_fn):
        raise errors.BadTypeError(
            f"input_fn must be a function that returns the input. Received: input_fn={shown(input_fn)}."
        )
    parameters = inspect.signature(input_fn).parameters
    missing = [
        name
        for name, parameter in parameters.items()
        if name not in given
        and parameter.default is parameter.empty
        and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    ]
    if missing:
        raise errors.BadArgumentError(
            f"input_fn needs arguments that an Estimator does not give. Expected: none, or some of {', '.join(given)}. "
            f"Received: {', '.join(missing)}. Bind them with functools.partial."
        )
    with symbolic_iterators():
        return input_fn(**{name: value for name, value in given.items() if name in parameters})
