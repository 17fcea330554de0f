"""Operations of variables and tables (saved_models layer)."""

from typing import Any

import jax
import numpy as np

from stratax.base.shown import shown
from stratax.core import Variable
from stratax.errors import DataLossError, FailedPreconditionError
from stratax.tensorflow.ops.arrays import arrays, indexing
from stratax.tensorflow.ops.tables import lookup
from stratax.tensorflow.saved_models.graph import FileNode
from stratax.tensorflow.saved_models.operations import OperationContext, Value, define, plain


class VariableHandle:
    """Where a graph's variable is.

    Attributes:
        name: Its name in the graph.
        dtype: Its dtype.
        is_reference: Whether operations take it for its value, as those of TensorFlow 1 do.
        is_trainable: Whether it is trained.
        variable: The variable; None before it has a value.
    """

    def __init__(
        self, name: str, dtype: Value, *, is_reference: bool = False, is_trainable: bool = False
    ) -> None:
        self.name = name
        self.dtype = dtype
        self.is_reference = is_reference
        self.is_trainable = is_trainable
        self.variable: Variable | None = None

    def read(self) -> Any:
        """Return its value.

        Raises:
            FailedPreconditionError: It has none.
        """
        if self.variable is None:
            raise FailedPreconditionError(f"The variable {shown(self.name)} of the file has no value.")
        return self.variable.value

    def assign(self, value: Value) -> None:
        """Give it a value."""
        if self.variable is None:
            name = self.name.rpartition("/")[2] or "variable"
            dtype = jax.dtypes.canonicalize_dtype(value.dtype)
            self.variable = Variable(value, trainable=self.is_trainable, name=name, dtype=dtype.name)
        else:
            self.variable.assign(value)


class Table:
    """A graph's table from keys to values.

    Attributes:
        key_dtype: The keys' dtype.
        value_dtype: The values'.
    """

    def __init__(self, key_dtype: Value, value_dtype: Value) -> None:
        self.key_dtype = key_dtype
        self.value_dtype = value_dtype
        self._initializer: Any = lookup.KeyValueTensorInitializer(
            np.zeros(0, key_dtype), np.zeros(0, value_dtype), key_dtype, value_dtype
        )
        # One for each value of other keys, which operations say.
        self._tables: dict[Any, lookup.StaticHashTable] = {}

    def fill(self, initializer: Value) -> None:
        """Have it hold what an initializer says."""
        self._initializer = initializer
        self._tables = {}

    def with_default(self, default: Value) -> lookup.StaticHashTable:
        """Return the table with a value of other keys."""
        key = np.asarray(default).item()
        if key not in self._tables:
            # Every default that a graph has is a constant; many come of damage only.
            if len(self._tables) > 8:
                self._tables.clear()
            self._tables[key] = lookup.StaticHashTable(self._initializer, key)
        return self._tables[key]

    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the keys and their values."""
        made = self.with_default(b"" if self.value_dtype.hasobject else 0).as_constants()
        return made["keys"], made["values"]


define("VarHandleOp", lambda run, node: run.variable(node), stateful=True)
define("Variable VariableV2", lambda run, node: run.variable(node, is_reference=True), stateful=True)
define("ReadVariableOp", lambda run, node, handle: run.read(handle), stateful=True)
define(
    "VarIsInitializedOp IsVariableInitialized",
    lambda run, node, handle: np.bool_(handle.variable is not None),
)
plain("DisableCopyOnRead", lambda handle: (), stateful=True)
define(
    "VariableShape",
    lambda run, node, handle: np.array(run.read(handle).shape, node.get("out_type", np.int32)),
)
define("AssignVariableOp", lambda run, node, handle, value: run.assign(handle, value), stateful=True)
define("Assign", lambda run, node, handle, value: (run.assign(handle, value), handle)[1], stateful=True)
define(
    "AssignAddVariableOp AssignAdd",
    lambda run, node, handle, value: _change(run, handle, run.read(handle) + value),
    stateful=True,
)
define(
    "AssignSubVariableOp AssignSub",
    lambda run, node, handle, value: _change(run, handle, run.read(handle) - value),
    stateful=True,
)
define(
    "ResourceGather",
    lambda run, node, handle, indices: arrays.gather(
        run.read(handle), indices, axis=node.get("batch_dims", 0), batch_dims=node.get("batch_dims", 0)
    ),
    stateful=True,
)
define(
    "ResourceGatherNd",
    lambda run, node, handle, indices: indexing.gather_nd(run.read(handle), indices),
    stateful=True,
)


def _change(run: OperationContext, handle: VariableHandle, value: Value) -> VariableHandle:
    run.assign(handle, value)
    return handle


define(
    "HashTable HashTableV2 MutableHashTable MutableHashTableV2 AnonymousHashTable AnonymousMutableHashTable",
    lambda run, node: run.table(node),
    stateful=True,
)


def _find(run: OperationContext, node: FileNode, table: Value, keys: Value, default: Value) -> Any:
    if not isinstance(table, Table):
        raise DataLossError(f"The node {node} takes something that is no table.")
    return table.with_default(default).lookup(keys)


define("LookupTableFind LookupTableFindV2", _find, stateful=True)


def _import(run: OperationContext, node: FileNode, table: Table, keys: Value, values: Value) -> tuple[()]:
    table.fill(lookup.KeyValueTensorInitializer(keys, values, table.key_dtype, table.value_dtype))
    return ()


define(
    "LookupTableImport LookupTableImportV2 InitializeTable InitializeTableV2",
    _import,
    host=True,
    stateful=True,
)


def _insert(run: OperationContext, node: FileNode, table: Table, keys: Value, values: Value) -> tuple[()]:
    before = table.pairs()
    found = dict(zip(before[0].tolist(), before[1].tolist(), strict=True))
    found.update(zip(np.reshape(keys, -1).tolist(), np.reshape(values, -1).tolist(), strict=True))
    return _import(
        run, node, table, _array(found, table.key_dtype), _array(found.values(), table.value_dtype)
    )


def _array(values: Value, dtype: Value) -> np.ndarray:
    made = np.empty(len(values), dtype)
    made[:] = list(values)
    return made


define("LookupTableInsert LookupTableInsertV2", _insert, host=True, stateful=True)
define(
    "LookupTableExport LookupTableExportV2",
    lambda run, node, table: table.pairs(),
    outputs="keys values",
    host=True,
    stateful=True,
)
define(
    "LookupTableSize LookupTableSizeV2",
    lambda run, node, table: np.int64(len(table.pairs()[0])),
    stateful=True,
)


def _from_file(run: OperationContext, node: FileNode, table: Table, filename: Value) -> tuple[()]:
    size = node.get("vocab_size", -1)
    table.fill(
        lookup.TextFileInitializer(
            run.asset(np.asarray(filename).item()),
            table.key_dtype,
            node.get("key_index", -2),
            table.value_dtype,
            node.get("value_index", -1),
            None if size < 0 else size,
            node.text("delimiter", "\t"),
            value_index_offset=node.get("offset", 0),
        )
    )
    return ()


define("InitializeTableFromTextFile InitializeTableFromTextFileV2", _from_file, host=True, stateful=True)
define(
    "RestoreV2",
    lambda run, node, prefix, names, slices: run.restore(names, slices, node["dtypes"]),
    host=True,
    stateful=True,
)
