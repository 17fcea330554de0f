"""SavedModels that TensorFlow wrote: their objects, with functions and variables (saved_models layer)."""

import inspect
import os
import shutil
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.data import SparseTensorSpec
from stratax.data.elements import TensorSpec
from stratax.errors import BadArgumentError, DataLossError, FileMissingError, StrataxError, UnimplementedError
from stratax.export.parts import new_folder
from stratax.tensorflow.checkpoints.writing import rewrite_bundle
from stratax.tensorflow.exports.loaded import (
    CallableObject,
    LoadedConcreteFunction,
    LoadedFunction,
    LoadedObject,
    SignatureMap,
)
from stratax.tensorflow.ops.tables import lookup
from stratax.tensorflow.saved_models import structures
from stratax.tensorflow.saved_models._resources_operations import Table, VariableHandle
from stratax.tensorflow.saved_models.graph import (
    FileGraph,
    Output,
    dtype_of,
    function_of,
    graph_of,
    shape_of,
    tensor_name,
)
from stratax.tensorflow.saved_models.messages import Message, parse, read
from stratax.tensorflow.saved_models.operations import Value, first_output
from stratax.tensorflow.saved_models.program import FileProgram
from stratax.tensorflow.saved_models.run import GraphRun
from stratax.tensorflow.saved_models.state import State

FILE = "saved_model.pb"
# What belongs to a SavedModel besides the values of its variables.
_COPIED = (FILE, "fingerprint.pb", "keras_metadata.pb", "assets", "assets.extra")
_INIT = "__saved_model_init_op"
_INIT_COLLECTIONS = ("saved_model_main_op", "legacy_init_op")
_VALUE = "VARIABLE_VALUE"
_NEWEST = 1
_METHODS = {"classify": "classify", "regress": "regress", "eval": "eval", "training": "train"}


def is_saved_model(folder: str) -> bool:
    """Return whether TensorFlow has written a SavedModel into a folder."""
    return os.path.isfile(os.path.join(folder, FILE))


class SavedModel:
    """A SavedModel that TensorFlow wrote.

    Attributes:
        folder: Its folder.
        tags: The tags of its graph.
        root: The object that was saved.
        signatures: What is called by name.
        methods: What signatures are for, by name: ``"predict"``, ``"classify"``, ``"regress"``, ``"eval"`` or
            ``"train"``.

    Args:
        folder: Its folder.
        tags: Those of the graph that is wanted; None for the only one, or the one that is served.

    Raises:
        BadArgumentError: There is no graph with such tags.
        DataLossError: It is damaged.
        FileMissingError: There is none.
    """

    def __init__(self, folder: str, tags: Any = None) -> None:
        self.folder = folder
        self.meta = meta = read_meta_graph(folder, tags)
        self.tags = list(meta.meta_info_def.tags)
        self.state = State(functions_of(meta.graph_def.library), folder)
        # By the keys that they have in the file of values.
        self.handles: dict[str, VariableHandle] = {}
        self.methods = {name: _method(meta.signature_def[name].method_name) for name in meta.signature_def}
        try:
            loader = _Objects(self) if meta.object_graph_def.nodes else _Graph(self)
            self.root: Any = loader.root()
        except StrataxError:
            raise
        except (LookupError, AttributeError, TypeError, ValueError, RecursionError) as error:
            raise DataLossError(
                f"The SavedModel at {shown(folder)} is damaged ({type(error).__name__}: {str(error)[:300]})."
            ) from error
        self.signatures: Mapping[str, Any] = self.root.signatures
        self.root._stratax_save_again = self.save_again

    def save_again(self, path: str) -> None:
        """Write the SavedModel into another folder, with the present values of its variables.

        Args:
            path: The folder. A SavedModel that is there is replaced.

        Raises:
            AlreadyExistsError: There is something else.
            UnimplementedError: A variable lies in the file in parts.
        """
        found = {id(each) for each in self.handles.values()}
        lost = [
            each.name
            for each in self.state.variables.values()
            if each.variable is not None and id(each) not in found
        ]
        if lost:
            raise UnimplementedError(
                f"The variable {shown(lost[0])} of the SavedModel is saved as a part of a larger one, which can't be "
                f"written. Received: {shown(self.folder)}. Keep its value with tf.train.Checkpoint."
            )
        with new_folder(path, replace=True) as folder:
            for name in _COPIED:
                source = os.path.join(self.folder, name)
                if os.path.isdir(source):
                    shutil.copytree(source, folder / name)
                elif os.path.isfile(source):
                    shutil.copyfile(source, folder / name)
            if os.path.isfile(os.path.join(self.folder, "variables", "variables.index")):
                values = {key: self._find_change(key, each) for key, each in self.handles.items()}
                rewrite_bundle(
                    os.path.join(self.folder, "variables", "variables"),
                    folder / "variables" / "variables",
                    {key: value for key, value in values.items() if value is not None},
                )

    def _find_change(self, key: str, handle: VariableHandle) -> np.ndarray | None:
        """Return a variable's value; None where it is what the file has, perhaps with more digits."""
        value, old = np.asarray(handle.read()), self.state.bundle.read(key)
        return None if np.array_equal(value, old.astype(value.dtype)) else value

    def asset(self, number: int) -> str:
        """Return the path of an asset."""
        if not 0 <= number < len(self.meta.asset_file_def):
            raise DataLossError(f"The SavedModel at {shown(self.folder)} has no asset {number}.")
        return self.state.asset(
            os.path.join(self.folder, "assets", self.meta.asset_file_def[number].filename)
        )


def read_meta_graph(folder: str, tags: Any = None) -> Message:
    """Return the graph of a SavedModel, with what belongs to it.

    Args:
        folder: Its folder.
        tags: Those of the graph that is wanted; None for the only one, or the one that is served.

    Raises:
        BadArgumentError: There is no graph with such tags.
        DataLossError: It is damaged.
        FileMissingError: There is none.
    """
    try:
        message = read("SavedModel", os.path.join(folder, FILE))
    except FileNotFoundError as error:
        raise FileMissingError(f"There is no SavedModel at {shown(folder)}.") from error
    if message.saved_model_schema_version > _NEWEST:
        raise DataLossError(
            f"The SavedModel at {shown(folder)} has the format {message.saved_model_schema_version}, which is not "
            "known."
        )
    if not message.meta_graphs:
        raise DataLossError(f"The SavedModel at {shown(folder)} has no graph.")
    return _choose(message.meta_graphs, tags, folder)


def functions_of(library: Message) -> dict[str, FileGraph]:
    """Return the functions of a `FunctionDefLibrary`, by name."""
    return {each.signature.name: function_of(each, first_output) for each in library.function}


def _choose(graphs: Sequence[Any], tags: Any, folder: str) -> Any:
    wanted = None if tags is None else {tags} if isinstance(tags, str) else set(tags)
    found = [set(each.meta_info_def.tags) for each in graphs]
    if wanted is None:
        wanted = {"serve"} if {"serve"} in found or len(found) != 1 else found[0]
    for each, own in zip(graphs, found, strict=True):
        if own == wanted:
            return each
    raise BadArgumentError(
        f"The SavedModel at {shown(folder)} has no graph with these tags. Expected: "
        f"tags={shown([sorted(each) for each in found])}. Received: tags={shown(tags)}."
    )


def _method(name: str) -> str:
    return _METHODS.get(name.rpartition("/")[2], "predict")


class FileFunction:
    """A function of a file, as `stratax.tensorflow.exports` calls those that it has loaded.

    Attributes:
        name: Its name.
        inputs: What it takes, in order.
        outputs: What it gives, in order.

    Args:
        name: Its name.
        takes: Its tensors.
        gives: Those of its results.
        make: Makes the program when it is first needed.
        variables: Those that it reads.
    """

    def __init__(
        self, name: str, takes: structures.Leaves, gives: structures.Leaves, make: Any, variables: Any
    ) -> None:
        self.name = name
        self.inputs = takes.specs
        self.outputs = gives.specs
        self._takes = takes
        self._gives = gives
        self._make = make
        self._variables = variables
        self._program: FileProgram | None = None

    @property
    def variables(self) -> list[Any]:
        """The variables that it reads."""
        return list(
            {
                id(each.variable): each.variable for each in self._variables() if each.variable is not None
            }.values()
        )

    @property
    def program(self) -> FileProgram:
        """The program.

        Raises:
            UnimplementedError: An operation of it is not known.
        """
        if self._program is None:
            try:
                self._program = self._make()
            except (LookupError, AttributeError, TypeError, ValueError, RecursionError) as error:
                if isinstance(error, StrataxError):
                    raise
                raise DataLossError(
                    f"The function {shown(self.name)} of a file is damaged ({type(error).__name__}: "
                    f"{str(error)[:200]})."
                ) from error
        return self._program

    def look(self) -> None:
        """Look whether all operations are known.

        Raises:
            UnimplementedError: One is not.
        """
        _ = self.program

    def __call__(self, arrays: list[Any]) -> list[Any]:
        return self._gives.pack(self.program(self._takes.unpack([plain_text(each) for each in arrays])))


def plain_text(value: Value) -> Any:
    """Return text as an array of bytes; other values as they are."""
    if isinstance(value, str | bytes):
        one = np.empty((), object)
        one[()] = value.encode() if isinstance(value, str) else value
        return one
    # What stands for text in programs that say `import tensorflow` is an array of NumPy's.
    if isinstance(value, np.ndarray) and value.dtype.kind in "OSU":
        flat = [
            each.encode() if isinstance(each, str) else each
            for each in np.asarray(value, object).reshape(-1).tolist()
        ]
        made = np.empty(len(flat), object)
        made[:] = flat
        return made.reshape(value.shape)
    return value


class Asset:
    """A file that was saved with an object.

    Attributes:
        asset_path: Its path.

    Args:
        path: Its path.
    """

    def __init__(self, path: str) -> None:
        self.asset_path = path

    def __repr__(self) -> str:
        return f"<asset {self.asset_path!r}>"


class _Objects:
    """Makes the objects of a SavedModel that TensorFlow 2 wrote.

    Args:
        model: The SavedModel.
    """

    def __init__(self, model: SavedModel) -> None:
        self._model = model
        self._state = model.state
        self._graph = graph_of(model.meta.graph_def)
        described = model.meta.object_graph_def
        self._nodes = described.nodes
        self._concrete = described.concrete_functions
        self._keys = self._find_keys()
        self._names = {each.node_id: str(each.local_name) for node in self._nodes for each in node.children}
        self._made: list[Any] = [self._make(number, node) for number, node in enumerate(self._nodes)]
        for number, node in enumerate(self._nodes):
            if node.WhichOneof("kind") == "resource":
                self._made[number] = self._create(number, node)
        # Lists and dicts first, from which objects take what is in them.
        for is_object in (False, True):
            for number, node in enumerate(self._nodes):
                if isinstance(self._made[number], LoadedObject) == is_object:
                    self._fill(number, node)
        for number, node in enumerate(self._nodes):
            self._initialize(number, node)

    def root(self) -> Any:
        """Return the object that was saved."""
        root = self._made[0]
        if not isinstance(root, LoadedObject):
            holder = LoadedObject()
            holder.signatures = SignatureMap({})
            vars(holder)["root"] = root
            return holder
        if not hasattr(root, "signatures"):
            root.signatures = SignatureMap({})
        if not root._stratax_variables:
            handles = [each for each in self._made if isinstance(each, VariableHandle)]
            root._stratax_variables = [each.variable for each in handles if each.variable is not None]
        return root

    def _child(self, number: int, name: str) -> int | None:
        found = next((each.node_id for each in self._nodes[number].children if each.local_name == name), None)
        return found if found is None or 0 <= found < len(self._nodes) else self._missing(found)

    def _missing(self, number: int) -> Any:
        raise DataLossError(
            f"The SavedModel at {shown(self._model.folder)} is damaged: it has no object {number}."
        )

    def _find_keys(self) -> dict[int, dict[str, str]]:
        """Return for each object under which keys the variables' file has what is its, by their last names."""
        found: dict[int, dict[str, str]] = {}
        if not any(each.WhichOneof("kind") in ("variable", "resource") for each in self._nodes):
            return found
        if not os.path.isdir(os.path.join(self._model.folder, "variables")):
            return found
        saved = self._state.bundle.nodes
        waiting = [(0, 0)]
        seen = set()
        while waiting:
            here, there = waiting.pop()
            if (here, there) in seen or not 0 <= there < len(saved) or not 0 <= here < len(self._nodes):
                continue
            seen.add((here, there))
            keys = {name: key for name, _, key in saved[there].attributes}
            if keys:
                found.setdefault(here, {}).update(keys)
            children = saved[there].children
            waiting += [
                (each.node_id, children[each.local_name])
                for each in self._nodes[here].children
                if each.local_name in children
            ]
        return found

    def _make(self, number: int, node: Any) -> Any:
        kind = node.WhichOneof("kind")
        if kind == "variable":
            return self._variable(number, node.variable)
        if kind == "constant":
            return self._graph.node(node.constant.operation)["value"]
        if kind == "asset":
            return Asset(self._model.asset(node.asset.asset_file_def_index))
        if kind == "function":
            return self._function(number, node.function)
        if kind == "bare_concrete_function":
            return self._signature(node.bare_concrete_function)
        if kind != "user_object":
            return LoadedObject()
        names = {each.local_name for each in node.children}
        identifier = node.user_object.identifier
        if identifier == "trackable_list_wrapper" and all(each.isdigit() for each in _own(names)):
            return []
        if identifier in ("trackable_dict_wrapper", "signature_map"):
            return {}
        return CallableObject() if "__call__" in names else LoadedObject()

    def _variable(self, number: int, described: Message) -> VariableHandle:
        handle = VariableHandle(
            described.name, dtype_of(described.dtype, "A variable"), is_trainable=described.trainable
        )
        key = self._keys.get(number, {}).get(_VALUE)
        if key is not None:
            handle.assign(self._state.bundle.read(key))
            self._model.handles[key] = handle
        return handle

    def _fill(self, number: int, node: Any) -> None:
        made = self._made[number]
        if not isinstance(made, LoadedObject | list | dict):
            return
        children = [(each.local_name, self._value(each.node_id)) for each in node.children]
        if isinstance(made, list):
            made += [
                value for _, value in sorted((int(name), value) for name, value in children if name.isdigit())
            ]
            return
        if isinstance(made, dict):
            made.update(children)
            return
        for name, value in children:
            if name == "__call__":
                vars(made)["_stratax_call"] = value
            elif name == "variables" and isinstance(value, list):
                made._stratax_variables = value
            elif name == "signatures":
                made.signatures = SignatureMap(value if isinstance(value, dict) else {})
            elif not isinstance(getattr(LoadedObject, name, None), property):
                vars(made)[name] = value

    def _value(self, number: int) -> Any:
        if not 0 <= number < len(self._made):
            self._missing(number)
        made = self._made[number]
        return made.variable if isinstance(made, VariableHandle) else made

    # Functions.

    def _function(self, number: int, described: Message) -> LoadedFunction:
        signature = structures.signature_of(described.function_spec)
        kinds = []
        problem = None
        for name in described.concrete_functions:
            concrete = self._describe(name)
            takes, gives = structures.Leaves(), structures.Leaves()
            try:
                arguments = structures.arguments_of(concrete.canonicalized_input_signature, signature, takes)
                results = structures.decode(concrete.output_signature, gives)
            except UnimplementedError as error:
                problem = str(error)
                continue
            kinds.append((arguments, self._program(name, takes, gives), results))
        return LoadedFunction(self._names.get(number, "function"), signature, kinds, problem)

    def _describe(self, name: str) -> Any:
        if name not in self._concrete:
            raise DataLossError(
                f"The SavedModel at {shown(self._model.folder)} does not describe {shown(name)}."
            )
        return self._concrete[name]

    def _program(self, name: str, takes: Any, gives: Any) -> FileFunction:
        concrete = self._describe(name)
        bound = list(concrete.bound_inputs)

        def make() -> FileProgram:
            graph = self._state.function(name)
            if len(graph.parameters) != takes.count + len(bound) or len(graph.results) != gives.count:
                raise DataLossError(
                    f"The SavedModel at {shown(self._model.folder)} is damaged: {graph} takes {len(graph.parameters)} "
                    f"values, of which {takes.count} and {len(bound)} are described."
                )
            own = [(each, 0) for each in graph.parameters]
            captured = dict(zip(own[takes.count :], map(self._value_for, bound), strict=True))
            return FileProgram(
                name, self._state, graph, own[: takes.count], captured, graph.results, graph.effects
            )

        def variables() -> list[Any]:
            return [each for each in map(self._value_for, bound) if isinstance(each, VariableHandle)]

        return FileFunction(name, takes, gives, make, variables)

    def _value_for(self, number: int) -> Any:
        if not 0 <= number < len(self._made):
            self._missing(number)
        made = self._made[number]
        if isinstance(made, Asset):
            return plain_text(made.asset_path)
        return made

    def _signature(self, described: Message) -> LoadedConcreteFunction | LoadedFunction:
        name = described.concrete_function_name
        concrete = self._describe(name)
        takes, gives = structures.Leaves(), structures.Leaves()
        try:
            structures.decode(concrete.canonicalized_input_signature, takes)
            results = structures.decode(concrete.output_signature, gives)
        except UnimplementedError as error:
            # Such as one that takes an iterator; the object has others.
            return LoadedFunction(name, inspect.Signature(), [], str(error))
        keywords = list(described.argument_keywords)
        if len(keywords) != len(takes.specs):
            raise DataLossError(
                f"The SavedModel at {shown(self._model.folder)} is damaged: {shown(name)} takes other names."
            )
        outputs = {key: each["tensor"] for key, each in results.get("dict", ()) if "tensor" in each}
        if "tensor" in results:
            outputs = {"output_0": 0}
        elif "list" in results or "tuple" in results:
            ((_, parts),) = results.items()
            outputs = {
                f"output_{index}": each["tensor"] for index, each in enumerate(parts) if "tensor" in each
            }
        program = self._program(name, takes, gives)
        return LoadedConcreteFunction(
            name, program, {key: index for index, key in enumerate(keywords)}, outputs
        )

    # Tables.

    def _create(self, number: int, node: Any) -> Any:
        created = self._concrete_of(number, "_create_resource")
        if created is None:
            return LoadedObject()
        graph = self._state.function(created)
        fresh = State(self._state.functions, self._state.folder)
        bound = list(self._describe(created).bound_inputs)
        known = {(each, 0): self._value_for(one) for each, one in zip(graph.parameters, bound, strict=True)}
        program = FileProgram(created, fresh, graph, [], known, graph.results, graph.effects)
        (table,) = program.on_host()
        keys = self._keys.get(number, {})
        saved = [
            next((key for name, key in keys.items() if key.endswith(end) or name.endswith(end)), None)
            for end in ("-keys", "-values")
        ]
        if isinstance(table, Table) and saved[0] is not None and saved[1] is not None:
            found, values = self._state.bundle.read(saved[0]), self._state.bundle.read(saved[1])
            table.fill(lookup.KeyValueTensorInitializer(found, values, table.key_dtype, table.value_dtype))
        return table

    def _concrete_of(self, number: int, name: str) -> str | None:
        child = self._child(number, name)
        if child is None or self._nodes[child].WhichOneof("kind") != "function":
            return None
        names = self._nodes[child].function.concrete_functions
        return names[0] if names else None

    def _initialize(self, number: int, node: Any) -> None:
        if node.WhichOneof("kind") != "resource":
            return
        name = self._concrete_of(number, "_initialize")
        if name is None:
            return
        graph = self._state.function(name)
        bound = list(self._describe(name).bound_inputs)
        known = {(each, 0): self._value_for(one) for each, one in zip(graph.parameters, bound, strict=True)}
        FileProgram(name, self._state, graph, [], known, graph.results, graph.effects).on_host()


def _own(names: set[str]) -> set[str]:
    return {each for each in names if not each.startswith("_")}


class _Graph:
    """Makes the signatures of a SavedModel that TensorFlow 1 wrote.

    Args:
        model: The SavedModel.
    """

    def __init__(self, model: SavedModel) -> None:
        self._model = model
        self._state = model.state
        self._meta = model.meta
        self.graph = graph_of(model.meta.graph_def)
        self._state.trainable |= trainable_names(model.meta)
        self.known = {
            tensor_name(each.tensor_info.name): plain_text(model.asset(number))
            for number, each in enumerate(model.meta.asset_file_def)
        }
        restore_variables(self._state, self.graph, self._meta, self.known)
        self._initialize()

    def root(self) -> LoadedObject:
        """Return an object with the signatures."""
        root = LoadedObject()
        root._stratax_variables = self._variables()
        found = self._state.variables
        if self._variables():
            shapes = self._state.bundle.shapes
            self._model.handles |= {name: each for name, each in found.items() if name in shapes}
        names = [name for name in sorted(self._meta.signature_def) if name != _INIT]
        root.signatures = SignatureMap({name: self._signature(name) for name in names})
        return root

    def _variables(self) -> list[Any]:
        return [each.variable for each in self._state.variables.values() if each.variable is not None]

    def _initialize(self) -> None:
        names = [
            value
            for each in _INIT_COLLECTIONS
            if each in self._meta.collection_def
            for value in self._meta.collection_def[each].node_list.value
        ]
        if _INIT in self._meta.signature_def:
            names += [each.name for each in self._meta.signature_def[_INIT].outputs.values()]
        ends = [tensor_name(each)[0] for each in names]
        if ends:
            # Tables alone: variables have the values that were saved.
            FileProgram("initialization", self._state, self.graph, [], self.known, [], ends).on_host()

    def _signature(self, name: str) -> LoadedConcreteFunction:
        described = self._meta.signature_def[name]
        takes, gives = structures.Leaves(), structures.Leaves()
        inputs: list[Output] = []
        outputs: list[Output] = []
        places: dict[str, dict[str, int]] = {"inputs": {}, "outputs": {}}
        for kind, leaves, found in (("inputs", takes, inputs), ("outputs", gives, outputs)):
            infos = getattr(described, kind)
            for key in sorted(infos):
                places[kind][key] = len(leaves.specs)
                found += _add_tensor(infos[key], key, leaves)

        def make() -> FileProgram:
            return FileProgram(name, self._state, self.graph, inputs, self.known, outputs)

        program = FileFunction(name, takes, gives, make, lambda: list(self._state.variables.values()))
        return LoadedConcreteFunction(name, program, places["inputs"], places["outputs"])


def _add_tensor(info: Message, key: str, leaves: structures.Leaves) -> list[Output]:
    dtype = dtype_of(info.dtype, f"The tensor {key!r}")
    if dtype is None:
        raise DataLossError(f"The tensor {shown(key)} of a signature has no dtype that is known.")
    shape = shape_of(info.tensor_shape)
    if info.WhichOneof("kind") == "coo_sparse":
        leaves.add(SparseTensorSpec(shape, dtype))
        sparse = info.coo_sparse
        return [
            tensor_name(each)
            for each in (
                sparse.indices_tensor_name,
                sparse.values_tensor_name,
                sparse.dense_shape_tensor_name,
            )
        ]
    leaves.add(TensorSpec(shape, dtype, key))
    return [tensor_name(info.name)]


def trainable_names(meta: Message) -> set[str]:
    """Return the names of the variables of a `MetaGraphDef` that are trained."""
    if "trainable_variables" not in meta.collection_def:
        return set()
    found = [
        parse("VariableDef", each, "a collection of variables")
        for each in meta.collection_def["trainable_variables"].bytes_list.value
    ]
    return {tensor_name(each.variable_name)[0] for each in found}


def restore_variables(state: State, graph: FileGraph, meta: Message, known: Mapping[Output, Any]) -> None:
    """Give the variables of a graph the values that were saved, by the operations that the file has for that."""
    end = meta.saver_def.restore_op_name
    folder = state.folder
    if not end or folder is None or not os.path.isfile(os.path.join(folder, "variables", "variables.index")):
        return
    given = dict(known)
    given[tensor_name(meta.saver_def.filename_tensor_name)] = plain_text("variables")
    name = tensor_name(end)[0]
    order = graph.order([name], frozenset(each for each, _ in given))
    GraphRun(state, is_host=True).follow(graph, order, given, ())
