"""The functions of models and objects that are to be exported (export layer)."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import jax
import keras
import numpy as np

from stratax.base.shown import shown
from stratax.core import Function
from stratax.core.functions import ConcreteFunction, is_spec
from stratax.data.elements import TensorSpec
from stratax.errors import BadArgumentError, BadTypeError
from stratax.export._manifest import STRING, TensorInfo
from stratax.export._trace import ExportedFunction

# TensorFlow's name of the one signature that there is, or that a server answers with.
DEFAULT = "serving_default"


def signatures_of(obj: object, signatures: object = None) -> dict[str, ExportedFunction]:
    """Return what is exported of an object, by name.

    Args:
        obj: A Keras model, a function with an `input_signature`, or an object with such methods.
        signatures: What is exported instead: a function, or several by name.

    Raises:
        BadArgumentError: There is nothing.
        BadTypeError: Something is no function that can be exported.
    """
    if signatures is not None:
        given = signatures if isinstance(signatures, Mapping) else {DEFAULT: signatures}
        if not given:
            raise BadArgumentError("signatures has no function. Expected: at least one, by name.")
        return {str(name): _of_function(str(name), each) for name, each in given.items()}
    if isinstance(obj, ExportedFunction | Function | ConcreteFunction):
        return {DEFAULT: _of_function(DEFAULT, obj)}
    methods = _methods(obj)
    # A method of that name is what the program wants to be served, and takes the model's place.
    if isinstance(obj, keras.Model) and DEFAULT not in methods:
        return {DEFAULT: _of_model(obj), **methods}
    if len(methods) == 1 and DEFAULT not in methods:
        # As TensorFlow does with the only one.
        return {DEFAULT: next(iter(methods.values())), **methods}
    if not methods:
        raise BadArgumentError(
            "There is nothing to export. Expected: a Keras model, a tf.function with an input_signature, or an object "
            f"with such methods. Received: {shown(obj)}."
        )
    return methods


def _methods(obj: object) -> dict[str, ExportedFunction]:
    """Return the functions with an `input_signature` among an object's public attributes."""
    found = {}
    # Properties are passed over without being asked: they may compute, or raise.
    for name in dir(type(obj)) + list(getattr(obj, "__dict__", ())):
        if name.startswith("_") or isinstance(inspect.getattr_static(obj, name, None), property):
            continue
        value = getattr(obj, name, None)
        if isinstance(value, Function) and value.input_signature is not None:
            found[name] = _of_function(name, value)
    return found


def _of_function(name: str, function: object) -> ExportedFunction:
    if isinstance(function, ExportedFunction):
        return function
    if isinstance(function, keras.Model):
        return _of_model(function)
    if isinstance(function, ConcreteFunction):
        return _of_concrete(function)
    if not isinstance(function, Function):
        raise BadTypeError(
            f"Signature {shown(name)} is no function that can be exported. Expected: a tf.function with an "
            f"input_signature. Received: {shown(function)}."
        )
    if function.input_signature is None:
        raise BadArgumentError(
            f"Signature {shown(name)} does not say what it takes. Expected: "
            f"@tf.function(input_signature=[tf.TensorSpec(shape, dtype)]). Received: {shown(function)}."
        )
    return _of_specs(function, function.input_signature)


def _of_concrete(concrete: ConcreteFunction) -> ExportedFunction:
    """Return a concrete function of its tensors; constants are those that it was made for."""
    args, kwargs = concrete.arguments
    bound = inspect.signature(concrete.function.python_function).bind(*args, **kwargs)

    def call(given: dict[str, Any]) -> Any:
        # By parameter, so that what stood in `*args`, or was given by keyword, gets there again.
        filled = inspect.BoundArguments(bound.signature, given)  # type: ignore[arg-type]
        return concrete.function(*filled.args, **filled.kwargs)

    return of_arguments(bound.arguments, call)


def of_arguments(arguments: Mapping[str, Any], call: Callable[[dict[str, Any]], Any]) -> ExportedFunction:
    """Return a function of the tensors among its arguments, by name.

    Args:
        arguments: For each parameter, a structure with a spec in each tensor's place.
        call: Calls the function with the arguments, by parameter.
    """
    leaves, structure = jax.tree.flatten(list(arguments.values()), is_leaf=is_spec)
    names = _names(list(arguments.values()), list(arguments), leaves)
    inputs = {name: info_of(leaf) for name, leaf in zip(names, leaves, strict=True) if is_spec(leaf)}

    def call_with_arrays(arrays: dict[str, Any]) -> Any:
        # Leaves that are no specs are constants of the function.
        parts = [arrays.get(name, leaf) for name, leaf in zip(names, leaves, strict=True)]
        return call(dict(zip(arguments, jax.tree.unflatten(structure, parts), strict=True)))

    return ExportedFunction(call_with_arrays, inputs)


def _of_specs(function: Any, specs: Any) -> ExportedFunction:
    parameters = list(inspect.signature(function.python_function).parameters)
    # Of a method, without `self`.
    parameters = parameters[len(parameters) - len(specs) :] if len(parameters) > len(specs) else parameters
    leaves, structure = jax.tree.flatten(list(specs), is_leaf=is_spec)
    names = _names(specs, parameters, leaves)
    inputs = {each: info_of(spec) for each, spec in zip(names, leaves, strict=True)}

    def call_with_arrays(arrays: dict[str, Any]) -> Any:
        return function(*jax.tree.unflatten(structure, list(arrays.values())))

    return ExportedFunction(call_with_arrays, inputs)


def _names(specs: Any, parameters: list[str], leaves: list[Any]) -> list[str]:
    """Return a name for each of a function's arrays: the spec's, or the parameter's, with its place in a structure."""
    paths = jax.tree_util.tree_flatten_with_path(list(specs), is_leaf=is_spec)[0]
    names = []
    for (path, _), spec in zip(paths, leaves, strict=True):
        # JAX' path: the parameter's place, then keys and places within it: `x_a_0` for `x["a"][0]`.
        first, *rest = path
        parts = [
            parameters[first.idx],
            *(str(getattr(part, "key", getattr(part, "idx", ""))) for part in rest),
        ]
        # As in TensorFlow: a spec's own name comes before that of the parameter.
        names.append(getattr(spec, "name", None) or "_".join(parts))
    if len(set(names)) < len(names):
        raise BadArgumentError(f"Inputs of a signature have one name twice: {', '.join(names)}.")
    return names


def _of_model(model: keras.Model) -> ExportedFunction:
    """Return a model's prediction: `model(x, training=False)`, by the names of its inputs."""
    specs, tree = jax.tree.flatten(inputs_of_model(model), is_leaf=is_spec)
    infos = {each.name: info_of(each) for each in specs}

    def call_with_arrays(arrays: dict[str, Any]) -> Any:
        return model(jax.tree.unflatten(tree, [arrays[each.name] for each in specs]), training=False)

    return ExportedFunction(call_with_arrays, infos)


def inputs_of_model(model: keras.Model) -> Any:
    """Return what a model takes: a structure of specs with names.

    Raises:
        BadArgumentError: It is not built, or does not say what it takes.
    """
    if not model.built:
        raise BadArgumentError(
            f"Model {shown(model.name)} has no weights yet. Expected: a model that was built. Call it on a batch, or "
            "fit it, before it is exported."
        )
    structure = _structure_of(model)
    if structure is not None:
        return keras.tree.map_structure(
            lambda each: TensorSpec(tuple(each.shape), _spec_dtype(each.dtype), each.name), structure
        )
    # Of a model with a `call` of its own, Keras keeps the shapes that it was built for.
    shapes = list((getattr(model, "_build_shapes_dict", None) or {}).values())
    if (
        len(_arrays_of_call(model)) > 1
        or len(shapes) != 1
        or not isinstance(shapes[0], tuple)
        or not all(_is_size(each) for each in shapes[0])
    ):
        raise BadArgumentError(
            f"Model {shown(model.name)} does not say what it takes, as it has a call() of its own. Expected: a "
            "function as signatures: tf.function(model, input_signature=[tf.TensorSpec((None, 10), tf.float32)])."
        )
    parameter = next(iter(inspect.signature(model.call).parameters))
    # The first size is that of the batch which built the model.
    return TensorSpec((None, *shapes[0][1:]), _spec_dtype(model.input_dtype), parameter)


def is_functional(model: keras.Model) -> bool:
    """Return whether a model was made of inputs with names, and not with a `call` of its own."""
    return _structure_of(model) is not None


def _structure_of(model: keras.Model) -> Any:
    # Private names of Keras: the public `inputs` is a flat list, without the keys of a dict.
    structure = getattr(model, "_inputs_struct", None)
    if structure is None:
        # A Sequential keeps a functional model inside of itself.
        structure = getattr(getattr(model, "_functional", None), "_inputs_struct", None)
    return structure


def _arrays_of_call(model: keras.Model) -> list[str]:
    """Return the parameters of a model's call that have to be given."""
    parameters = inspect.signature(model.call).parameters.values()
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [
        each.name
        for each in parameters
        if each.kind in positional and each.default is inspect.Parameter.empty
    ]


def _spec_dtype(dtype: object) -> Any:
    name = _dtype_name(dtype)
    return object if name == STRING else name


def _is_size(size: object) -> bool:
    return size is None or isinstance(size, int)


def info_of(spec: Any) -> TensorInfo:
    """Return what a `TensorSpec`, or an array, says of itself.

    Raises:
        BadArgumentError: Not even the number of dimensions is known.
    """
    if spec.shape is None:
        raise BadArgumentError(
            f"An exported function takes arrays with a known number of dimensions. Received: {shown(spec)}."
        )
    return TensorInfo(_dtype_name(spec.dtype), tuple(spec.shape))


def _dtype_name(dtype: Any) -> str:
    name = str(dtype)
    if name == STRING or (not isinstance(dtype, str) and np.dtype(dtype).hasobject):
        return STRING
    # As devices have it: int64 is int32 where JAX is not told otherwise.
    return np.dtype(jax.dtypes.canonicalize_dtype(dtype)).name
