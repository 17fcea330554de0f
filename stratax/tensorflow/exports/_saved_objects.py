"""`tf.saved_model.save`: an object's functions and variables in an export's folder (export layer)."""

import contextlib
import functools
import inspect
import os
import pathlib
import types
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import keras

from stratax.base.callers import stack_level
from stratax.base.shown import shown
from stratax.core import Function
from stratax.core.functions import ConcreteFunction
from stratax.data.elements import TensorSpec
from stratax.errors import BadArgumentError, BadTypeError, TracingError
from stratax.export.parts import (
    DEFAULT,
    PLATFORMS,
    PROGRAMS,
    ExportedFunction,
    ProgramInfo,
    SignatureInfo,
    TensorInfo,
    VariableNames,
    inputs_of_model,
    is_functional,
    is_seed,
    of_arguments,
    signatures_of,
    write,
)
from stratax.seams.keras import BaseOptimizer
from stratax.tensorflow.exports import _object_file, _saved_functions
from stratax.tensorflow.exports._loaded_objects import LoadedConcreteFunction, LoadedFunction, LoadedObject
from stratax.tensorflow.exports._saved_functions import ArgumentKind, Compiled, Saved
from stratax.tensorflow.exports._saved_model import add_saved_model
from stratax.tensorflow.exports._saved_options import SaveOptions

# Where a model's prediction is found.
CALL = "__call__"
_OF_KERAS = (keras.metrics.Metric, BaseOptimizer, keras.losses.Loss, keras.callbacks.Callback)
_PLAIN = (str, bytes, int, float, complex, type, types.ModuleType, types.FunctionType, types.MethodType)


def save(
    obj: Any,
    export_dir: str | bytes | os.PathLike[Any],
    signatures: Any = None,
    options: SaveOptions | None = None,
) -> None:
    """Save an object with its functions and variables, as `tf.saved_model.save`: `load` makes it again.

    The folder is an export of Stratax (`stratax.export.save`), which `stratax serve` serves. It has the object, too:
    its variables, lists and dicts of them, the objects in its attributes, and its compiled functions, for what their
    `input_signature` declares or else for all that they were traced for. A function that can't be compiled for later,
    such as one that calls Python while it runs, is saved by name only, with a warning.
    Where TensorFlow is installed (the extra ``savedmodel``), the folder is a SavedModel of the signatures, too, which
    TensorFlow and TensorFlow Serving load; `stratax.export.convert_to_saved_model` makes one later.

    What was loaded of a SavedModel that TensorFlow wrote is written as TensorFlow's again, with the present values of
    its variables.

    Args:
        obj: A `tf.Module` or other object, a Keras model, or a compiled function.
        export_dir: The folder. An export that is there is replaced.
        signatures: What is called by name, and served: a function with an `input_signature`, a concrete function, or
            several by name. By default a model's prediction, or the only function with an `input_signature`, as
            ``"serving_default"``.
        options: Accepted for programs that were carried over.

    Raises:
        AlreadyExistsError: There is something else at `export_dir`.
        BadArgumentError: A signature changes variables, or does not say what it takes.
        BadTypeError: A signature is no function that can be saved, or the object has no attributes.
        FileAccessError: The folder can't be written, or the disk is full.
        TracingError: A signature can't be compiled for any number of examples.

    Example:
        >>> import tempfile
        >>> import stratax.tf as tf
        >>> class Scale(tf.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.by = tf.Variable(2.0)
        ...     @tf.function(input_signature=[tf.TensorSpec((None,), tf.float32)])
        ...     def scaled(self, x):
        ...         return x * self.by
        >>> folder = tempfile.mkdtemp()
        >>> tf.saved_model.save(Scale(), folder)
        >>> loaded = tf.saved_model.load(folder)
        >>> _ = loaded.by.assign(3.0)
        >>> loaded.scaled([1.0, 2.0]).tolist()
        [3.0, 6.0]
    """
    write_object(obj, export_dir, signatures, options)


def write_object(
    obj: object,
    export_dir: str | bytes | os.PathLike[Any],
    signatures: object = None,
    options: SaveOptions | None = None,
    *,
    platforms: Sequence[str] = PLATFORMS,
    endpoints: Mapping[str, Saved] | None = None,
) -> None:
    """Save an object; see :func:`save`.

    Args:
        obj: The object.
        export_dir: The folder.
        signatures: The signatures.
        options: The options.
        platforms: What it is compiled for.
        endpoints: Functions of the object besides its own, by name, which are signatures, too.
    """
    if isinstance(obj, LoadedObject) and obj._stratax_save_again is not None:
        if signatures is None or signatures is obj.signatures:
            obj._stratax_save_again(os.fsdecode(export_dir))
            return
        raise BadArgumentError(
            "What was loaded of a SavedModel is saved again with the signatures that it has. Expected: no others. "
            f"Received: signatures={shown(signatures)}. Give other functions to a tf.Module that calls it."
        )
    _check_not_loaded(obj)
    _check_object(obj)
    tags = ["serve", *((options or SaveOptions()).extra_tags or ())]
    found = _Found(obj, endpoints)
    chosen, others = _choose(obj, found, signatures, endpoints)
    programs = _Programs(found.functions, platforms)
    if signatures is None and not chosen:
        chosen = _default(found, programs)
    served: dict[int, ExportedFunction] = {}
    for name in [each for each, number in chosen.items() if programs.is_for_host(number)]:
        # With text or random numbers, for instance, for which a signature has the host; else this says what is wrong.
        number = chosen.pop(name)
        if number not in served:
            (kind,) = found.functions[number][1].kinds
            served[number] = of_arguments(kind.arguments, kind.call)
        others[name] = served[number]
    for number, error in programs.problems.items():
        if number not in served:
            _warn(found.functions[number][0], error)

    def also(folder: pathlib.Path, names: VariableNames) -> dict[str, SignatureInfo]:
        functions = programs.write(folder, names)
        body = {
            "tags": tags,
            "variables": [_describe(each, names) for each in found.variables],
            "functions": functions,
            "nodes": found.nodes,
            "signatures": {name: programs.signature(name, number) for name, number in chosen.items()},
        }
        _object_file.write(folder, body)
        return {name: programs.info(number, names) for name, number in chosen.items()}

    path = os.fsdecode(export_dir)
    finish = functools.partial(add_saved_model, path)
    write(others, path, platforms=platforms, replace=True, also=also, finish=finish)


def _check_not_loaded(obj: object) -> None:
    if isinstance(obj, LoadedObject | LoadedFunction | LoadedConcreteFunction):
        raise BadTypeError(
            f"What was loaded can't be saved again. Expected: the object that was saved, or a tf.Module. Received: "
            f"{shown(obj)}. Copy the folder, or keep its variables with tf.train.Checkpoint."
        )


def _check_object(obj: object) -> None:
    if isinstance(obj, _PLAIN) or not hasattr(obj, "__dict__"):
        raise BadTypeError(
            "An object is saved with what its attributes are. Expected: a tf.Module, a model, or a tf.function. "
            f"Received: {shown(obj)}. Give it to a tf.Module as an attribute."
        )


def _warn(name: str, error: Exception) -> None:
    warnings.warn(
        f"The function {shown(name)} is saved without a program, and raises when it is called after loading. {error}",
        RuntimeWarning,
        stacklevel=stack_level(),
    )


def _describe(variable: keras.Variable, names: VariableNames) -> dict[str, Any]:
    return {"weight": names.of(variable), "name": variable.name, "trainable": bool(variable.trainable)}


def _name_signatures(signatures: object) -> dict[str, Any]:
    """Return signatures by name, as a user gives them: several, or one."""
    if not isinstance(signatures, Mapping):
        return {DEFAULT: signatures}
    return {str(name): each for name, each in signatures.items()}


def _choose(
    obj: object, found: "_Found", signatures: object, endpoints: Mapping[str, Saved] | None
) -> tuple[dict[str, int], dict[str, ExportedFunction]]:
    """Return the numbers of the functions that are signatures, by name, and signatures that are no such functions."""
    chosen: dict[str, int] = {}
    others: dict[str, ExportedFunction] = {}
    if signatures is None:
        if endpoints is not None:
            numbers = {name: found.root[name]["function"] for name in endpoints}
            return {DEFAULT: next(iter(numbers.values())), **numbers}, others
        is_model = isinstance(obj, keras.Model) and CALL in found.root
        return {DEFAULT: found.root[CALL]["function"]} if is_model else {}, others
    for name, each in _name_signatures(signatures).items():
        _check_not_loaded(each)
        if isinstance(each, keras.Model):
            chosen[name] = found.add(name, _saved_functions.of_model(each, inputs_of_model(each)))["function"]
        elif isinstance(each, ConcreteFunction) or (
            isinstance(each, Function) and each.input_signature is not None
        ):
            chosen[name] = found.function(name, each)["function"]
        else:
            others |= signatures_of(obj, {name: each})
    return chosen, others


def _default(found: "_Found", programs: "_Programs") -> dict[str, int]:
    """Return the only function of an object that declares what it takes, and gives something, as TensorFlow does."""
    numbers = [child["function"] for child in found.root.values() if "function" in child]
    wanted = [
        number
        for number in numbers
        if found.functions[number][1].is_declared
        and (number in programs.problems or programs.is_signature(number))
    ]
    return {DEFAULT: wanted[0]} if len(wanted) == 1 else {}


def of_endpoint(model: keras.Model, inputs: Any = None) -> Saved:
    """Return a model's prediction as Keras exports it.

    Args:
        model: The model, which is built.
        inputs: Its inputs, a structure of specs; None for those that it was built for.

    Raises:
        BadArgumentError: It is not built, or does not say what it takes.
    """
    if inputs is None:
        inputs = inputs_of_model(model)
        if not is_functional(model):
            # Its name is that of a parameter of `call`, which the endpoint has not.
            inputs = TensorSpec(inputs.shape, inputs.dtype)
    return _saved_functions.of_endpoint(model, inputs)


class _Found:
    """What is found below an object.

    Attributes:
        nodes: For each object, what is below it by the attributes' names; the first is the one that is saved.
        variables: The variables.
        functions: The functions, with their names.

    Args:
        obj: The object.
        endpoints: Functions in place of a model's prediction, by name.
    """

    def __init__(self, obj: object, endpoints: Mapping[str, Saved] | None) -> None:
        self.nodes: list[dict[str, Any]] = [{}]
        self.variables: list[keras.Variable] = []
        self.functions: list[tuple[str, Saved]] = []
        self._numbers = {id(obj): 0}
        # Ids are those of live objects only.
        self._held: list[Any] = [obj]
        if isinstance(obj, Function | ConcreteFunction):
            self.nodes[0] = {CALL: self.function(CALL, obj)}
        else:
            self.nodes[0] = self._children(obj, endpoints)

    @property
    def root(self) -> dict[str, Any]:
        """What is below the object that is saved."""
        return self.nodes[0]

    def function(self, name: str, function: Any) -> dict[str, Any]:
        """Return where a compiled or concrete function is.

        Args:
            name: Its name, if it is new.
            function: The function.
        """
        # A bound method is made anew whenever it is asked for.
        is_concrete = isinstance(function, ConcreteFunction)
        held = function if is_concrete else function.identity
        if id(held) not in self._numbers:
            made = _saved_functions.of_concrete if is_concrete else _saved_functions.of_function
            self._numbers[id(held)] = self.add(name, made(function))["function"]
            self._held.append(held)
        return {"function": self._numbers[id(held)]}

    def add(self, name: str, saved: Saved) -> dict[str, Any]:
        """Return where a function is, which is a new one."""
        self.functions.append((name, saved))
        return {"function": len(self.functions) - 1}

    def _children(self, obj: object, endpoints: Mapping[str, Saved] | None = None) -> dict[str, Any]:
        found: dict[str, Any]
        if isinstance(obj, keras.layers.Layer):
            found = self._layer(obj, endpoints)
        else:
            values = {name: self._value(value) for name, value in _attributes(obj)}
            found = {name: value for name, value in values.items() if value is not None}
        return found | {name: self.function(name, function) for name, function in _methods(obj)}

    def _layer(self, layer: object, endpoints: Mapping[str, Saved] | None) -> dict[str, Any]:
        found: dict[str, Any] = {
            name: {"list": [self._variable(each) for each in getattr(layer, name)]}
            for name in ("variables", "trainable_variables", "non_trainable_variables")
        }
        if endpoints is not None:
            return found | {name: self.add(name, saved) for name, saved in endpoints.items()}
        if isinstance(layer, keras.Model) and layer.built:
            # Not where it has a `call` of its own, and is not known to take one argument.
            with contextlib.suppress(BadArgumentError):
                found[CALL] = self.add(CALL, _saved_functions.of_model(layer, inputs_of_model(layer)))
        return found

    def _value(self, value: object) -> dict[str, Any] | None:
        if isinstance(value, keras.Variable):
            return self._variable(value)
        if isinstance(value, Function | ConcreteFunction):
            return self.function(value.name, value)
        if isinstance(value, Mapping):
            parts = {str(key): self._value(part) for key, part in value.items()}
            kept = {key: part for key, part in parts.items() if part is not None}
            return {"dict": kept} if kept else None
        if isinstance(value, list | tuple):
            items = [self._value(part) for part in value]
            return {"list": items} if any(item is not None for item in items) else None
        _check_not_loaded(value)
        if isinstance(value, (*_PLAIN, *_OF_KERAS)) or not hasattr(value, "__dict__"):
            return None
        return self._object(value)

    def _object(self, value: object) -> dict[str, Any] | None:
        number = self._numbers.get(id(value))
        if number is None:
            number = self._numbers[id(value)] = len(self.nodes)
            self._held.append(value)
            # Before its parts, which may lead back to it.
            self.nodes.append({})
            self.nodes[number] = self._children(value)
            if not self.nodes[number]:
                return None
        return {"node": number}

    def _variable(self, variable: keras.Variable) -> dict[str, Any]:
        if id(variable) not in self._numbers:
            self._numbers[id(variable)] = len(self.variables)
            self.variables.append(variable)
        return {"variable": self._numbers[id(variable)]}


def _attributes(obj: object) -> Iterator[tuple[str, Any]]:
    # A copy: a property that is asked for may set attributes.
    for name, value in list(getattr(obj, "__dict__", {}).items()):
        if not (name.startswith("__") and name.endswith("__")):
            yield name, value


def _methods(obj: object) -> Iterator[tuple[str, Function]]:
    """Yield the compiled methods of an object."""
    for name in dir(type(obj)):
        if isinstance(inspect.getattr_static(type(obj), name, None), Function):
            yield name, getattr(obj, name)


class _Programs:
    """The functions of an object, compiled.

    Attributes:
        problems: Why functions can't be compiled, or not for all that they are saved for, by number.

    Args:
        functions: The functions, with their names.
        platforms: What they are compiled for.
    """

    def __init__(self, functions: Sequence[tuple[str, Saved]], platforms: Sequence[str]) -> None:
        self._functions = functions
        self._made: list[list[tuple[ArgumentKind, Compiled]]] = []
        self._files: list[list[dict[str, str]]] = []
        self.problems: dict[int, Exception] = {}
        for number, (name, saved) in enumerate(functions):
            made: list[tuple[ArgumentKind, Compiled]] = []
            for kind in saved.kinds:
                try:
                    made.append((kind, _saved_functions.compile_function(name, kind, platforms)))
                except (BadArgumentError, TracingError) as error:
                    self.problems[number] = error
            self._made.append(made)

    def is_signature(self, number: int) -> bool:
        """Return whether a function gives arrays, or a list or dict of them, and changes generators at most."""
        made = self._made[number]
        return len(made) == 1 and made[0][1].is_flat and all(map(is_seed, made[0][1].assigned))

    def is_for_host(self, number: int) -> bool:
        """Return whether a signature needs a program of its own, for which the host computes or draws."""
        if number in self.problems:
            return True
        ((_, made),) = self._made[number]
        return made.gives_text or (bool(made.assigned) and all(map(is_seed, made.assigned)))

    def write(self, folder: pathlib.Path, names: VariableNames) -> list[dict[str, Any]]:
        """Write the programs; return what the functions are."""
        written = []
        for number, ((name, saved), compiled) in enumerate(zip(self._functions, self._made, strict=True)):
            self._files.append([])
            kinds = []
            for index, (kind, each) in enumerate(compiled):
                files = {
                    platform: f"{PROGRAMS}/f{number}_{index}.{platform}.bin" for platform in each.payloads
                }
                for platform, file in files.items():
                    (folder / file).write_bytes(each.payloads[platform])
                self._files[-1].append(files)
                kinds.append(_kind(each, kind, files, names))
            problem = self.problems.get(number)
            written.append(
                {
                    "name": name,
                    "parameters": [_parameter(each) for each in saved.signature.parameters.values()],
                    "kinds": kinds,
                    "problem": None if problem is None else str(problem),
                }
            )
        return written

    def signature(self, name: str, number: int) -> dict[str, Any]:
        """Return which function a signature is, and the numbers of its tensors by name."""
        self._check(name, number)
        _, made = self._made[number][0]
        return {"function": number, "inputs": made.input_names(), "outputs": made.output_names()}

    def info(self, number: int, names: VariableNames) -> SignatureInfo:
        """Return what a signature is for those who call nothing else."""
        _, made = self._made[number][0]
        inputs, outputs = made.input_names(), made.output_names()
        return SignatureInfo(
            method="predict",
            inputs={each: _info(made.inputs[index]) for each, index in inputs.items()},
            outputs={each: _info(made.outputs[index]) for each, index in outputs.items()},
            program=ProgramInfo(
                files=self._files[number][0],
                weights=tuple(names.of(variable) for variable in made.variables),
                arguments=tuple(sorted(inputs, key=inputs.__getitem__)),
                results=tuple(sorted(outputs, key=outputs.__getitem__)),
            ),
        )

    def _check(self, name: str, number: int) -> None:
        _, made = self._made[number][0]
        if made.assigned:
            raise BadArgumentError(
                f"Signature {shown(name)} changes variables, which whoever serves it keeps as they are: it assigns "
                f"{shown(made.assigned[0].path)}. Expected: a function that reads them only. Leave it out of "
                "signatures: loaded, it is a function of the object."
            )
        if not made.outputs:
            raise BadArgumentError(f"Signature {shown(name)} gives nothing. Expected: arrays, by name.")


def _kind(made: Compiled, kind: ArgumentKind, files: dict[str, str], names: VariableNames) -> dict[str, Any]:
    alternatives = [
        [[name, {"constant": each[name]} if name in each else tree] for name, tree in made.arguments]
        for each in kind.alternatives
    ]
    return {
        "arguments": [made.arguments, *alternatives],
        "inputs": made.inputs,
        "results": made.results,
        "outputs": made.outputs,
        "files": files,
        "weights": [names.of(each) for each in made.variables],
        "assigned": [names.of(each) for each in made.assigned],
        "differentiable": made.is_differentiable,
    }


def _parameter(parameter: inspect.Parameter) -> dict[str, Any]:
    default = parameter.default
    made: dict[str, Any] = {"name": parameter.name, "kind": parameter.kind.name}
    if default is None or type(default) in (bool, int, float, str):
        made["default"] = default
    return made


def _info(described: Mapping[str, Any]) -> TensorInfo:
    return TensorInfo(described["dtype"], tuple(described["shape"]))
