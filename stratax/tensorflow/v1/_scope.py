"""The model scope: what stands for TensorFlow's graph while a `model_fn` is traced (v1 layer).

A `model_fn` is one step's function. Each trace of it begins with fresh names, collections and operations, as a new
graph does. The variables are those of the :class:`ModelState`, found by name: the same objects in every trace. What
the function computes is recorded by a tape, so that gradients can be asked for at any time; what it assigns waits until
it is run.
"""

import collections
import contextlib
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import jax
import keras
import numpy as np

from stratax import errors
from stratax.base.surroundings import Surroundings
from stratax.base.tracing import is_symbolic_size
from stratax.base.typing import Array, TensorLike
from stratax.core import Variable, control, regions
from stratax.core.host import check
from stratax.core.state import Creator, creating_by, drawing_from, is_made_now, last_name
from stratax.seams import keras as seam
from stratax.seams import keras2 as keras2_seam
from stratax.summary import forms
from stratax.tensorflow.ops.calls import labels, naming
from stratax.tensorflow.v1 import _keras_optimizers, _summaries, _variables
from stratax.tensorflow.v1._current import current as current
from stratax.tensorflow.v1._current import current_or_none as current_or_none
from stratax.tensorflow.v1._current import entering
from stratax.tensorflow.v1._derivatives import Derivatives
from stratax.tensorflow.v1._graph import operation_of
from stratax.tensorflow.v1._graph_collections import GLOBAL_STEP, GraphCollections
from stratax.tensorflow.v1._host import after_step
from stratax.tensorflow.v1._host_features import TraceFeatures
from stratax.tensorflow.v1._model_state import ModelState
from stratax.tensorflow.v1._operation import Operation, operations_of
from stratax.tensorflow.v1._tensor_names import TensorNames
from stratax.tensorflow.v1._trace_values import TraceValues
from stratax.tensorflow.v1._variable_defaults import VariableScope

# The variable of the generator that functions without a seed draw from.
_GENERATOR = "seed_generator_state"

# The attribute in which a variable's name waits while its `__init__` runs, which may create others.
_NAME = "_stratax_full_name"


# Array functions ask for these, and know no scopes.
naming.find_operations_by(operation_of)


def _longest_of(lengths: object) -> int | None:
    scope = current_or_none()
    return None if scope is None else scope.longest_of(lengths)


naming.find_longest_by(_longest_of)


class ModelScope(Creator):
    """One trace of a `model_fn`.

    Args:
        state: The model's variables.
        mode: `"train"`, `"eval"` or `"infer"`.

    Attributes:
        mode: The mode.
        state: The model's variables.
        seed: What `tf.set_random_seed` was given in it; the state's before that.
        variable_scope: The variable scope that is entered.
        scope_counts: How often each variable scope was entered, by full name.
        slot_path: Gives the full name of an optimizer's slot, of the variable's path, the slot and what the optimizer
            calls it; a second slot of the name gets `_1` behind it.
        values: What is known of tensors.
        names: The names of tensors and operations.
        collections: The graph's collections.
        features: What the trace takes from the host.
        derivatives: Gives gradients.
        graph: What stands for its graph, once a program has asked for that.
    """

    def __init__(self, state: ModelState, mode: str) -> None:
        self.state = state
        self.mode = mode
        self.seed = state.seed
        # What `tf.get_default_graph` returns, once it is asked for.
        self.graph: Any = None
        self._is_making = False
        self._around: regions.Region | None = None
        self.variable_scope = VariableScope("")
        # How often variable scopes were entered, by full name: layers without a name count with them.
        self.scope_counts: collections.Counter[str] = collections.Counter()
        # Below the variable scope, as in TensorFlow: `train/w/Adam` of a variable `w`.
        self.slot_path: Callable[[str, str, str], str] = lambda path, slot, called: (
            self.variable_scope.full_name(f"{path}/{called}")
        )
        self.values = TraceValues()
        self.names = TensorNames()
        self.collections = GraphCollections(self.names, self._variables_in, Operation)
        self.features = TraceFeatures(self.values)
        self.derivatives = Derivatives(state, self.values)
        # By full name: the variables that this trace has asked for, in that order.
        self._used: dict[str, keras.Variable] = {}
        # By the name that `get_variable` was given.
        self._shared: dict[str, keras.Variable] = {}
        self._operations: list[Operation] = []
        self._controls: list[list[Operation]] = []
        # By order: operations whose updates variables have now, although the others' wait.
        self._in_effect: frozenset[int] = frozenset()
        self._always: list[Operation] = []
        self._full_name: str | None = None
        self._is_reusing = False
        self._generator: keras.random.SeedGenerator | None = None

    @contextlib.contextmanager
    def entered(self, watched: object = None) -> Iterator["ModelScope"]:
        """Make it the scope of a block: the body of a step.

        Args:
            watched: Arrays whose gradients may be asked for, such as features; others than floating point are passed
                over.
        """
        _keras_optimizers.install()
        # Behind the block Python's generator goes on as if nothing had been drawn in it.
        drawn = random.getstate()
        self._around = regions.current_region()
        try:
            if self.state.seed is not None:
                # Keras' initializers and dropout layers draw their seeds from Python's generator when they are made.
                random.seed(self.state.seed)
            with (
                self._surroundings(),
                seam.fresh_names(),
                self.values.follow(watched),
                self.derivatives.record(jax.tree.leaves(watched)),
            ):
                yield self
        finally:
            random.setstate(drawn)

    def _surroundings(self) -> Surroundings:
        """Return what finds the scope, from wherever its function computes, writes, draws, or makes variables."""
        return (
            entering(self)
            | forms.collecting(_summaries.ScopeCollector())
            | labels.look_up_by(after_step, self.features.apply)
            | keras2_seam.building_by_calls()
            | creating_by(self)
            | drawing_from(self._find_generator)
            | naming.telling(self._note, self.derivatives.note_same_rows)
        )

    def _find_generator(self) -> keras.random.SeedGenerator:
        """Return what functions without a seed draw from: part of the model, so that a checkpoint has its state."""
        if self._generator is None:
            with self.naming(_GENERATOR):
                self._generator = keras.random.SeedGenerator(self.state.seed)
        return self._generator

    # Variables.

    def give(self, cls: type, kwargs: dict[str, Any]) -> keras.Variable:
        """Return the variable of the name that Keras or TensorFlow gives to the one that is created now."""
        if is_made_now():
            # The default generator belongs to the program, not to a model.
            return object.__new__(cls)
        name = self._full_name
        if name is None:
            given = kwargs.get("name") or _default_name(cls)
            # Keras' optimizers may call a slot by the name of its variable.
            last = given if issubclass(cls, Variable) else last_name(given)
            name = "/".join([*seam.current_path(), last])
        # An explicit full name is used for what it says; of others TensorFlow makes a new one.
        if self._full_name is None and not self._is_reusing:
            name = self._free_name(name)
        # The sums of Keras' metrics, which it does not name so.
        is_sum = kwargs.get("aggregation") == "sum" and not issubclass(cls, Variable)
        if is_sum or _variables.is_local(kwargs.get("collections")):
            self.state.local.add(name)
        found = self.state.variables.get(name)
        if found is None:
            # `tf.Variable` gives one whose assignments are operations.
            made: Any = object.__new__(_variables.ModelVariable if cls is Variable else cls)
            made.__dict__[_NAME] = name
            return made
        _check_same(name, found, kwargs)
        self._used[name] = found
        return found

    def note_made(self, variable: keras.Variable) -> None:
        """Keep a new variable under its name."""
        name = variable.__dict__.pop(_NAME, None)
        if name is not None:
            # Keras itself takes names without slashes only.
            variable._path = name
            # As in TensorFlow, where it is that of the operation's first output: programs choose variables by it.
            variable._name = f"{name}:0"
            if not isinstance(variable, _variables.ModelVariable):
                variable.op = _variables.VariableOperation(name)
            self.state.variables[name] = self._used[name] = variable
            # What is saved nowhere begins anew, whatever else a checkpoint has by its name.
            if name in self.state.restored and name not in self.state.local:
                self.state.skipped[name] = variable._initializer
                variable._initializer = np.zeros

    def _free_name(self, name: str) -> str:
        if name not in self._used:
            return name
        number = 1
        while f"{name}_{number}" in self._used:
            number += 1
        return f"{name}_{number}"

    @contextlib.contextmanager
    def naming(self, full_name: str) -> Iterator[None]:
        """Give the variable that is created in a block a full name."""
        before, self._full_name = self._full_name, full_name
        try:
            yield
        finally:
            self._full_name = before

    @contextlib.contextmanager
    def reusing(self, is_reusing: bool = True) -> Iterator[None]:
        """Have a name that this trace has used already mean the same variable, in a block."""
        before, self._is_reusing = self._is_reusing, is_reusing
        try:
            yield
        finally:
            self._is_reusing = before

    def is_used(self, name: str) -> bool:
        """Return whether `get_variable` has made a variable of a full name in this trace."""
        return name in self._shared

    def variable(self, name: str) -> keras.Variable:
        """Return the variable that `get_variable` has made for a full name."""
        return self._shared[name]

    @contextlib.contextmanager
    def sharing(self, name: str, *, is_local: bool = False) -> Iterator[None]:
        """Give the variable that is created in a block a full name by which `get_variable` finds it.

        If a layer of Keras has a variable of that name, the new one has a free name like it.

        Args:
            name: The full name.
            is_local: Whether it begins anew in each session.
        """
        # A variable that `get_variable` has not made may have the name already.
        path = self._free_name(name)
        if is_local:
            self.state.local.add(path)
        with self.naming(path):
            yield
        self._shared[name] = self._used[path]

    def make_variable(
        self,
        name: str,
        shape: Sequence[int],
        dtype: object = "float32",
        initializer: Callable[..., Any] | str = "zeros",
        *,
        trainable: bool = False,
        aggregation: str = "none",
        synchronization: str = "auto",
    ) -> keras.Variable:
        """Return a variable by its full name, made if the model has none of the name yet.

        Args:
            name: The full name, such as ``"dense/kernel/Momentum"``.
            shape: Its shape.
            dtype: Its dtype.
            initializer: Gives the first value: a function of a shape and a dtype, or the name of one of Keras'.
            trainable: Whether optimizers see it.
            aggregation: How the replicas' values become one.
            synchronization: When they do.
        """
        if name in self._used:
            return self._used[name]
        # The sums of metrics.
        with self.sharing(name, is_local=aggregation == "sum"):
            return _variables.ModelVariable.of_initializer(
                initializer,
                tuple(shape),
                dtype,
                trainable=trainable,
                aggregation=aggregation,
                synchronization=synchronization,
                name=name.rpartition("/")[2],
            )

    def global_variables(self) -> list[keras.Variable]:
        """Return the variables that this trace has asked for and that are no local ones."""
        return [variable for name, variable in self._used.items() if name not in self.state.local]

    def trainable_variables(self) -> list[keras.Variable]:
        """Return those that this trace has asked for and that are trained."""
        return [variable for variable in self._used.values() if variable.trainable]

    def _variables_in(self, key: str) -> list[Any]:
        """Return the variables in one of the collections of variables."""
        if key == "variables":
            return self.global_variables()
        if key == "trainable_variables":
            return self.trainable_variables()
        return [self._used[GLOBAL_STEP]] if GLOBAL_STEP in self._used else []

    def longest_of(self, lengths: Any) -> int | None:
        """Return how long the longest of sequences is whose lengths are computed in this trace.

        Features are padded to the batch's longest sequence, so it is their first dimension behind those of `lengths`.
        When the step has run it raises if the batch was padded further.

        Args:
            lengths: One for each example, or for each part of it.

        Returns:
            None if it is not known: for other lengths, or where features and labels are of different sizes.
        """
        shape = tuple(np.shape(lengths))
        rank = len(shape)
        widths = {own[rank] for own in self.names.input_shapes if len(own) > rank > 0 and own[:rank] == shape}
        if not isinstance(lengths, jax.core.Tracer) or len(widths) != 1 or self.values.is_known(lengths):
            return None
        (width,) = widths
        if is_symbolic_size(width):
            # An export has nobody to tell: a mask of a batch that was padded further is that of its features.
            return width  # type: ignore[no-any-return]
        check(
            jax.numpy.max(lengths) == width,
            [jax.numpy.max(lengths)],
            lambda longest: (
                "tf.sequence_mask without maxlen takes the size of padded features. Expected: a batch whose longest "
                f"sequence is {width}, to which it is padded. Received: {longest}. Pass maxlen."
            ),
        )
        return int(width)

    def global_step(self) -> keras.Variable:
        """Return the global step."""
        return self.make_variable(
            GLOBAL_STEP, (), "int32", initializer="zeros", aggregation="only_first_replica"
        )

    def operations(self) -> list[Operation]:
        """Return the operations of this trace."""
        return list(self._operations)

    def _note(self, name: str | None, result: Array) -> Any:
        """Take note of what a function of `stratax.tensorflow.ops` gives: its name, and what it has to run behind."""
        if isinstance(result, jax.Array):
            result = self.note_behind(result)
        if name is not None:
            if isinstance(result, jax.core.Tracer) and self.names.has(result):
                # What has a name already stays what it is: another tensor of the same value.
                source, result = result, jax.numpy.array(result, copy=True)
                self.derivatives.note_same_rows(result, source)
            self.names.give(name, result)
        return result

    # Operations.

    def operation(
        self,
        update: Callable[[], object] | None,
        *,
        name: str | None = None,
        inputs: Iterable[Operation] = (),
        value: Callable[[], Any] | None = None,
    ) -> Operation:
        """Add an operation, which runs behind those of the control dependencies that are entered.

        Args:
            update: Makes the update; called once if the operation is run.
            name: Its name, made unique.
            inputs: More operations to run before it, such as those that what it assigns depends on.
            value: What it is worth as a tensor.
        """
        if self._is_in_control_flow() and update is not None:
            # Behind the branch or loop nobody could run it any more.
            update()
        if self._is_in_control_flow():
            return Operation(
                None, self.names.unique(name or "op"), (), len(self._operations), value, is_done=True
            )
        # What runs first: what it is computed of, and what the blocks around it depend on.
        before = [*inputs, *self._controlling()]
        made = Operation(update, self.names.unique(name or "op"), before, len(self._operations), value)
        self._operations.append(made)
        return made

    def initializer(self, variables: Sequence[keras.Variable], name: str) -> Operation:
        """Return an operation that does nothing: variables have their first values once they are there."""
        del variables
        return self.operation(None, name=name)

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return what a function of tensors gives."""
        return function(*args)

    @property
    def is_running(self) -> bool:
        """Whether what is assigned takes effect at once: operations are being run, or a branch or loop is traced."""
        return self._is_making or self._is_in_control_flow()

    def _is_in_control_flow(self) -> bool:
        region = regions.current_region()
        return region is not self._around and isinstance(region, control.BranchRegion | control.LoopRegion)

    def operation_of(self, order: object) -> Operation:
        """Return the operation that stands at a place in the program."""
        return next(operation for operation in self._operations if operation.order == order)

    @contextlib.contextmanager
    def depending_on(self, operations: list[Operation] | None) -> Iterator[None]:
        """Have the operations of a block run behind others, and its reads see what those assign."""
        before = self._controls
        # None clears the control dependencies around the block, as in TensorFlow.
        self._controls = [] if operations is None else [*before, operations]
        try:
            with self._trial(operations or []), self.values.marking(self._controlling()):
                yield
        finally:
            self._controls = before

    @contextlib.contextmanager
    def _trial(self, operations: list[Operation]) -> Iterator[None]:
        """Make updates for the time of a block: whether they are run is known only at the end of the step."""
        region = regions.current_region()
        if not operations or region is None or self.is_running:
            yield
            return
        # What variables have before the block: they get it back behind it.
        written = [(variable, variable.value) for variable in self._used.values()]
        equal = {id(variable) for variable, _ in written if region.is_equal(variable)}
        in_effect = self._in_effect
        self._make(operations)
        changed = [(variable, value) for variable, value in written if variable.value is not value]
        with self.derivatives.not_recorded():
            for variable, _ in changed:
                # Whoever reads it depends on them, and no other tensor that was assigned to it.
                value = jax.numpy.array(variable.value, copy=True)
                with _as_equal(is_equal=region.is_equal(variable)):
                    keras.Variable.assign(variable, value)
                self.values.note_behind(variable.value, self._controlling())
        after = [(variable, variable.value) for variable, _ in changed]
        self._in_effect = in_effect.union(_find_reached(operations))
        try:
            yield
        finally:
            self._in_effect = in_effect
            for (variable, value), (_, given) in zip(changed, after, strict=True):
                # What a layer has assigned in the block stays.
                if variable.value is given:
                    with _as_equal(is_equal=id(variable) in equal):
                        keras.Variable.assign(variable, value)

    def note_behind(self, tensor: TensorLike) -> Any:
        """Return a tensor as one that depends on the control dependencies that are entered."""
        operations = self._controlling()
        if not operations or set(operations) <= set(self.values.operations_behind(tensor)):
            return tensor
        if not isinstance(tensor, jax.core.Tracer):
            self.values.note_behind(tensor, operations)
            return tensor
        # A tensor of its own, as in TensorFlow: the one of before the block does not depend on them.
        made = jax.numpy.array(tensor, copy=True)
        self.derivatives.note_same_rows(made, tensor)
        return made

    def is_in_effect(self, operation: Operation) -> bool:
        """Return whether variables have what an operation gives them: behind it, or as it has been run."""
        return operation.order in self._in_effect

    def _controlling(self) -> list[Operation]:
        return [each for controls in self._controls for each in controls]

    def always(self, operation: Operation) -> None:
        """Run an operation at the end of the step, whatever is run."""
        self._always.append(operation)

    def run(self, fetched: object, worth: Iterable[object] = ()) -> dict[object, Any]:
        """Run what is fetched, and all it depends on, each once, in the order of the program.

        Args:
            fetched: Operations and tensors, in any nested structure.
            worth: The places of operations among them of which the value is wanted.

        Returns:
            These operations' values by place, each as it is once the operation has been run.
        """
        return self._make([*operations_of(fetched), *self._always], frozenset(worth))

    def _make(
        self, operations: Iterable[Operation], worth: frozenset[object] = frozenset()
    ) -> dict[object, Any]:
        reached = _find_reached(operations)
        found: dict[object, Any] = {}
        before, self._is_making = self._is_making, True
        in_effect = self._in_effect
        try:
            # Updates are no part of what gradients are asked of.
            with self.derivatives.not_recorded(), self.values.marking(()):
                # In the order in which they were written, whatever asks for them: as a program in Python would run.
                for order in sorted(reached):
                    reached[order].make()
                    self._in_effect |= {order}
                    if order in worth:
                        found[order] = reached[order].value()
        finally:
            self._is_making, self._in_effect = before, in_effect
        return found


def _find_reached(operations: Iterable[Operation]) -> dict[int, Operation]:
    """Return operations and all that run before them, by their places in the program."""
    reached: dict[int, Operation] = {}
    waiting = list(operations)
    while waiting:
        operation = waiting.pop()
        if operation.order not in reached:
            reached[operation.order] = operation
            waiting.extend(operation.control_inputs)
    return reached


def _default_name(cls: type) -> str:
    # TensorFlow's default is `Variable`, that of Keras `variable`.
    return "Variable" if cls.__module__.startswith("stratax") else "variable"


def _check_same(name: str, found: keras.Variable, kwargs: dict[str, Any]) -> None:
    shape = kwargs.get("shape")
    if shape is not None and tuple(shape) != tuple(found.shape):
        raise errors.BadArgumentError(
            f"Trying to share variable {name}, but specified shape {tuple(shape)} and found shape "
            f"{tuple(found.shape)}. A model has one variable of a name, in every trace and mode. Give them different "
            "names, or make the shape independent of the batch."
        )


def _as_equal(*, is_equal: bool) -> contextlib.AbstractContextManager[None]:
    """Have what is assigned in a block be equal on all replicas, where it is."""
    return regions.equal_on_all_replicas() if is_equal else contextlib.nullcontext()
