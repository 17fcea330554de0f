"""What TensorFlow's variables do and Keras' don't: updates of some elements, references, what they are (core layer)."""

import sys
from typing import Any

import jax
import jax.numpy as jnp
import keras

from stratax import errors
from stratax.base.indices import check_indices
from stratax.base.shown import shown
from stratax.core import regions, storage
from stratax.core.state._indexed_slices import IndexedSlices
from stratax.core.storage import note_part


class VariableReference:
    """Stands for a variable as a key of a dict or a member of a set, as what `tf.Variable.ref` returns."""

    __slots__ = ("_variable",)

    def __init__(self, variable: Any) -> None:
        self._variable = variable

    def deref(self) -> Any:
        """Return the variable."""
        return self._variable

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VariableReference) and other._variable is self._variable

    def __hash__(self) -> int:
        return id(self._variable)

    def __repr__(self) -> str:
        return f"<reference to {self._variable.path}>"


class VariableMethods:
    """TensorFlow's methods that Keras' variables do not have, all but assignments."""

    path: str
    shape: Any
    dtype: Any
    value: Any
    assign: Any
    assign_add: Any
    aggregation: Any

    def scatter_add(self, sparse_delta: object, use_locking: bool = False, name: str | None = None) -> Any:
        """Add rows, as `tf.Variable.scatter_add`; those of one index add up.

        Args:
            sparse_delta: `IndexedSlices`.
            use_locking: Ignored.
            name: Ignored.

        Raises:
            BadTypeError: If `sparse_delta` is something else.
        """
        return self._scatter("add", sparse_delta)

    def scatter_sub(self, sparse_delta: object, use_locking: bool = False, name: str | None = None) -> Any:
        """Subtract rows; see :meth:`scatter_add`."""
        return self._scatter("subtract", sparse_delta)

    def scatter_mul(self, sparse_delta: object, use_locking: bool = False, name: str | None = None) -> Any:
        """Multiply by rows; see :meth:`scatter_add`."""
        return self._scatter("multiply", sparse_delta)

    def scatter_div(self, sparse_delta: object, use_locking: bool = False, name: str | None = None) -> Any:
        """Divide by rows; see :meth:`scatter_add`."""
        return self._scatter("divide", sparse_delta)

    def scatter_max(self, sparse_delta: object, use_locking: bool = False, name: str | None = None) -> Any:
        """Keep what is larger, element by element; see :meth:`scatter_add`."""
        return self._scatter("max", sparse_delta)

    def scatter_min(self, sparse_delta: object, use_locking: bool = False, name: str | None = None) -> Any:
        """Keep what is smaller, element by element; see :meth:`scatter_add`."""
        return self._scatter("min", sparse_delta)

    def scatter_update(self, sparse_delta: object, use_locking: bool = False, name: str | None = None) -> Any:
        """Replace rows; see :meth:`scatter_add`."""
        return self._scatter("set", sparse_delta)

    def batch_scatter_update(
        self, sparse_delta: object, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Replace elements of each row, as `tf.Variable.batch_scatter_update`.

        Args:
            sparse_delta: `IndexedSlices` whose indices count along the last of their dimensions.
            use_locking: Ignored.
            name: Ignored.
        """
        slices = _slices(sparse_delta)
        indices = jnp.asarray(slices.indices)
        grid = jnp.meshgrid(*[jnp.arange(size) for size in indices.shape], indexing="ij")[:-1]
        return self._update("set", (*grid, indices), slices.values)

    def scatter_nd_add(self, indices: object, updates: object, name: str | None = None) -> Any:
        """Add elements or slices, as `tf.Variable.scatter_nd_add`.

        Args:
            indices: Positions, `[..., k]`: each of k numbers for the first k dimensions.
            updates: A value or slice for each.
            name: Ignored.
        """
        return self._update("add", self._positions(indices), updates)

    def scatter_nd_sub(self, indices: object, updates: object, name: str | None = None) -> Any:
        """Subtract elements or slices; see :meth:`scatter_nd_add`."""
        return self._update("subtract", self._positions(indices), updates)

    def scatter_nd_update(self, indices: object, updates: object, name: str | None = None) -> Any:
        """Replace elements or slices; see :meth:`scatter_nd_add`."""
        return self._update("set", self._positions(indices), updates)

    def gather_nd(self, indices: object, name: str | None = None) -> Any:
        """Return elements or slices by their positions, as `tf.Variable.gather_nd`."""
        return jnp.asarray(self.value)[self._positions(indices)]

    def sparse_read(self, indices: object, name: str | None = None) -> Any:
        """Return rows by their indices, as `tf.Variable.sparse_read`."""
        rows = jnp.asarray(indices)
        check_indices([rows], self.shape)
        return jnp.take(jnp.asarray(self.value), rows, axis=0)

    def _scatter(self, how: str, sparse_delta: object) -> Any:
        slices = _slices(sparse_delta)
        rows = jnp.asarray(slices.indices)
        check_indices([rows], self.shape)
        return self._update(how, rows, slices.values)

    def _positions(self, indices: object) -> tuple[Any, ...]:
        positions = _positions(indices)
        check_indices(positions, self.shape)
        return positions

    def _update(self, how: str, place: object, values: object) -> Any:
        return self.assign(self._with_rows(how, place, values))

    def _with_rows(self, how: str, place: object, values: object) -> Any:
        """Return what an update of some elements assigns.

        Where replicas' assignments are combined, the changes are: those of all replicas are made, one after another.
        """
        values = jnp.asarray(values, self.dtype)
        share, region = regions.share_of(self), regions.current_region()
        combined = share is not None and self.aggregation != "only_first_replica"
        if how in ("add", "subtract"):
            # Sums and means of changes are changes of sums and means.
            return getattr(jnp.asarray(regions.find_held(self)).at[place], how)(values)
        if share is None or region is None or not combined:
            return getattr(jnp.asarray(self.value).at[place], how)(values)
        if how not in ("multiply", "divide"):
            raise errors.UnimplementedError(
                f"Replicas' rows can't be combined where they replace others. Expected: a variable whose aggregation "
                f"is 'only_first_replica' or 'none'. Received: {shown(self.path)} with aggregation="
                f"{shown(str.__str__(self.aggregation))}. Combine the rows first, in get_replica_context().merge_call."
            )
        places, changes = region.gather((place, values))
        region.note_meeting()
        if self.aggregation == "mean":
            changes = changes / len(changes)
        return share.spread(getattr(jnp.asarray(self.value).at[places], how)(changes))

    def read_value(self) -> Any:
        """Return the current value, as an array."""
        return self.value

    def is_initialized(self, name: str | None = None) -> bool:
        """Return whether it has a value: always."""
        return True

    @property
    def initializer(self) -> None:
        """None: a variable has its first value when it is made, and nothing has to be run for it."""
        return None

    @property
    def initial_value(self) -> Any:
        """Refused: a first value is not kept."""
        raise errors.TracingError(
            "A variable does not keep its first value. Expected: `value` at the time, in a variable of the program."
        )

    @property
    def op(self) -> Any:
        """The variable itself, which has its operation's name."""
        return self

    @property
    def device(self) -> str:
        """The name of the device that has its value, or of the first one."""
        # Keras' own steps hold the values of a model's variables elsewhere while they run.
        devices = regions.concrete_value(self).devices() if storage.has_value(self) else jax.local_devices()
        device = min(devices, key=lambda each: each.id)
        kind = "CPU" if device.platform == "cpu" else device.platform.upper()
        return f"/job:localhost/replica:0/task:{device.process_index}/device:{kind}:{device.local_hardware_id or 0}"

    def ref(self) -> VariableReference:
        """Return what stands for the variable as a key, as `tf.Variable.ref`."""
        return VariableReference(self)

    def experimental_ref(self) -> VariableReference:
        """Return what stands for the variable as a key; the older name of :meth:`ref`."""
        return VariableReference(self)

    def get_shape(self) -> Any:
        """Return its shape."""
        return self.shape

    def set_shape(self, shape: Any) -> None:
        """Check its shape.

        Raises:
            BadArgumentError: If it has another one.
        """
        sizes = tuple(shape)
        if len(sizes) != len(self.shape) or any(
            want not in (None, have) for want, have in zip(sizes, self.shape, strict=True)
        ):
            raise errors.BadArgumentError(
                f"A variable keeps its shape. Expected: {tuple(self.shape)}. Received: shape={shown(shape)}."
            )

    def count_up_to(self, limit: int) -> Any:
        """Add 1 and return the value before, as `tf.Variable.count_up_to`.

        Raises:
            OutOfRangeError: If it has reached the limit.
        """
        before = self.value
        if isinstance(before, jax.core.Tracer):
            raise errors.TracingError(
                "A compiled function can't raise when a variable reaches a limit. Call count_up_to outside of it, or "
                "use `assign_add(1)` and a loop over `tf.range(limit)`."
            )
        if int(before) >= limit:
            raise errors.OutOfRangeError(f"Reached limit of {limit}.")
        self.assign_add(1)
        return before

    def load(self, value: object, session: object = None) -> None:
        """Assign a value, as `tf.compat.v1.Variable.load`."""
        self.assign(value)


class Updated(VariableMethods, keras.Variable):
    """A variable with TensorFlow's methods. Updates return the variable."""

    @property
    def value(self) -> Any:
        """The current value, an array; also a method, as TensorFlow's: `variable.value()`."""
        return storage.or_function(super().value, sys._getframe(1))

    def assign(
        self, value: object, use_locking: object = None, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Give it a value, as `tf.Variable.assign`, and return the variable.

        Args:
            value: An array of its shape.
            use_locking: Ignored.
            name: Ignored.
            read_value: Ignored.
        """
        super().assign(value)
        return self

    def assign_add(
        self, value: object, use_locking: object = None, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Add to it; see :meth:`assign`."""
        super().assign_add(value)
        return self

    def assign_sub(
        self, value: object, use_locking: object = None, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Subtract from it; see :meth:`assign`."""
        super().assign_sub(value)
        return self

    def __getitem__(self, index: object) -> Any:
        return note_part(super().__getitem__(index), self, index)


def _slices(value: object) -> IndexedSlices:
    if not isinstance(value, IndexedSlices):
        raise errors.BadTypeError(
            "Rows of a variable are updated by IndexedSlices. Expected: tf.IndexedSlices(values, indices). "
            f"Received: {shown(value)}. For positions of elements there is scatter_nd_update."
        )
    return value


def _positions(indices: object) -> tuple[Any, ...]:
    positions = jnp.asarray(indices)
    if not positions.ndim or not jnp.issubdtype(positions.dtype, jnp.integer):
        raise errors.BadTypeError(
            f"Positions are whole numbers of at least one dimension. Received: indices={shown(indices)}."
        )
    return tuple(positions[..., dimension] for dimension in range(positions.shape[-1]))
