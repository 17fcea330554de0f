"""The model scope: what stands for TensorFlow's graph while a `model_fn` is traced (v1 layer).

A `model_fn` is one step's function. Each trace of it begins with fresh names, collections and operations, as a new
graph does. The variables are those of the :class:`ModelState`, found by name: the same objects in every trace. What
the function computes is recorded by a tape, so that gradients can be asked for at any time; what it assigns waits until
it is run.
"""

import collections
import contextlib
import functools
import random
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import jax
import keras
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.base.surroundings import Surroundings
from stratax.core import GradientTape, Variable, control, known, regions
from stratax.core.gradients import rows_of_gradient
from stratax.core.state import Creator, creating_by, drawing_from, is_made_now, last_name
from stratax.seams import keras as seam
from stratax.summary import forms
from stratax.tensorflow.ops.calls import labels, naming
from stratax.tensorflow.v1 import _keras_optimizers, _names, _summaries, _variables
from stratax.tensorflow.v1._current import current as current
from stratax.tensorflow.v1._current import current_or_none as current_or_none
from stratax.tensorflow.v1._current import entering
from stratax.tensorflow.v1._host import Compute, HostResult, HostTensor, HostTrace, after_step
from stratax.tensorflow.v1._operations import Operation, operations_of
from stratax.tensorflow.v1._variable_scope import VariableScope

GLOBAL_STEP = "global_step"
# The variable of the generator that functions without a seed draw from.
_GENERATOR = "seed_generator_state"

# The attribute in which a variable's name waits while its `__init__` runs, which may create others.
_NAME = "_stratax_full_name"


def _of_symbols(function: Callable[..., Any], operands: Sequence[Any], name: str, gives: Any) -> Any:
    # That module needs this one.
    from stratax.tensorflow.v1._on_host import of_symbols

    return of_symbols(function, operands, name, gives)


def _operation_of(tensor: Any) -> Any:
    # That module needs this one.
    from stratax.tensorflow.v1._graph import operation_of

    return operation_of(tensor)


naming.find_operations_by(_operation_of)


class DerivativesError(errors.TapeError):
    """A trace was asked for a derivative of a higher order than it follows; the next one will follow it."""


class ModelState:
    """The variables of a model, by name, which every trace of its `model_fn` shares.

    Args:
        seed: What the first values of variables follow from, where no other seed is given.
        restored: The names of variables that get their values from a checkpoint before anybody reads them: their
            initializers are not called, as in TensorFlow.

    Attributes:
        variables: The variables.
        seed: The seed.
        derivatives: Of which order derivatives are that a trace follows; it grows with what is asked for.
        begins: Whether the model is being built and no checkpoint is read into it afterwards: values that the
            `model_fn` takes from another model's checkpoint count then.
        begun: What it has taken: the checkpoint, the name there and the variable's.
        skipped: The initializers that were not called, by name of the variable.
        given: What variables begin with instead of what their initializers give, by name: once the model is built, and
            the chief's in all workers.
        local: The names of variables that no checkpoint has: those of the collection of local variables.
    """

    def __init__(self, seed: int | None = None, restored: Collection[str] = ()) -> None:
        self.variables: dict[str, keras.Variable] = {}
        self.seed = seed
        self.derivatives = 1
        self.restored = frozenset(restored)
        self.begins = False
        self.begun: set[tuple[str, str, str]] = set()
        self.skipped: dict[str, Any] = {}
        self.given: dict[str, np.ndarray] = {}
        self.local: set[str] = set()

    def saved(self) -> dict[str, keras.Variable]:
        """Return the variables that a checkpoint holds, by name: neither local ones nor the sums that metrics keep."""
        return {name: variable for name, variable in self.variables.items() if name not in self.local}


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
        host: What this trace takes from the host, if a driver provides it.
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
        self.host: HostTrace | None = None
        self._names = _names.UniqueNames()
        self._prefix = ""
        # By full name: the variables that this trace has asked for, in that order.
        self._used: dict[str, keras.Variable] = {}
        # By the name that `get_variable` was given.
        self._shared: dict[str, keras.Variable] = {}
        self._collections: dict[str, list[Any]] = {}
        # By id of what is in a collection, which keeps it.
        self._item_names: dict[int, str] = {}
        self._tensors: dict[str, Any] = {}
        # By id, with the tensor itself.
        self._tensor_names: dict[int, tuple[Any, str]] = {}
        # Those that nobody gave.
        self._own_names: set[str] = set()
        self._operations: list[Operation] = []
        self._controls: list[list[Operation]] = []
        # By order: operations whose updates variables have now, although the others' wait.
        self._in_effect: frozenset[int] = frozenset()
        self._always: list[Operation] = []
        self._full_name: str | None = None
        self._is_reusing = False
        # The first is the innermost: each of the others records what gradients of the one before consist of.
        self._tapes = [GradientTape(persistent=True) for _ in range(state.derivatives)]
        # What `gradients` has given, by tape: what cannot be on the way to what its gradients are asked of.
        self._gradients: list[list[Any]] = [[] for _ in self._tapes]
        # By id of a gradient, with the gradient itself: gives the rows that it consists of.
        self._rows: dict[int, tuple[Any, Callable[[], Any]]] = {}
        self._known: known.KnownTrace | None = None
        self._generator: keras.random.SeedGenerator | None = None

    @contextlib.contextmanager
    def entered(self, watched: object = None) -> Iterator["ModelScope"]:
        """Make it the scope of a block: the body of a step.

        Args:
            watched: Arrays whose gradients may be asked for, such as features; others than floating point are passed
                over.
        """
        _keras_optimizers.install()
        drawn = random.getstate()
        self._known = known.KnownTrace(regions.current_trace())
        self._around = regions.current_region()
        try:
            if self.state.seed is not None:
                # Keras' initializers and dropout layers draw their seeds from Python's generator when they are made.
                random.seed(self.state.seed)
            with (
                self._surroundings(),
                seam.fresh_names(),
                self._known.entered(),
                contextlib.ExitStack() as tapes,
            ):
                for tape in reversed(self._tapes):
                    tapes.enter_context(tape)
                for leaf in jax.tree.leaves(watched):
                    self._known.number(leaf)
                    if isinstance(leaf, jax.Array) and jax.numpy.issubdtype(leaf.dtype, jax.numpy.floating):
                        for tape in self._tapes:
                            tape.watch(leaf)
                yield self
        finally:
            random.setstate(drawn)

    def _surroundings(self) -> Surroundings:
        """Return what finds the scope, from wherever its function computes, writes, draws, or makes variables."""
        return (
            entering(self)
            | forms.collecting(_summaries.ScopeCollector())
            | labels.looked_up_by(after_step, _of_symbols)
            | creating_by(self)
            | drawing_from(self._drawn_from)
            | naming.telling(self._note, self.note_same_rows)
        )

    def _drawn_from(self) -> keras.random.SeedGenerator:
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

    def global_step(self) -> keras.Variable:
        """Return the global step."""
        return self.make_variable(
            GLOBAL_STEP, (), "int32", initializer="zeros", aggregation="only_first_replica"
        )

    def number_of(self, tensor: object) -> int | None:
        """Return which result of this trace a tensor is: the same number in every trace of the function."""
        return None if self._known is None else self._known.number_of(tensor)

    def result(self, number: int) -> Any:
        """Return the tensor of a number."""
        if self._known is None:
            raise IndexError
        return self._known.result(number)

    def constant_of(self, value: Any) -> Any:
        """Return the constant that a tensor of this trace is.

        Raises:
            LookupError: If it is none.
        """
        return value if self._known is None else self._known.constant_of(value)

    def variable_of(self, value: object) -> keras.Variable | None:
        """Return the variable that a tensor was read from, before anything was assigned to it; None for others."""
        return None if self._known is None else self._known.variable_of(value)

    def value_now(self, value: Any) -> Any:
        """Return what a tensor is when the model is built, for the first value of a variable.

        Raises:
            LookupError: If it depends on features or labels.
        """
        return value if self._known is None else self._known.value_of(value)

    def is_known(self, value: Any) -> bool:
        """Return whether a tensor depends neither on features nor on labels."""
        return self._known is None or self._known.is_known(value)

    def value_later(self, value: Any) -> Any:
        """Return what a tensor would be with the values that variables have now, after the trace.

        Raises:
            LookupError: If it depends on features or labels.
            BadArgumentError: If it can't be computed again.
        """
        try:
            return value if self._known is None else self._known.value_later(value)
        except known.OpaqueError as error:
            raise errors.BadArgumentError(
                "A metric's value was made by a function with a derivative of its own, which can't be computed once "
                f"more behind the last batch. Expected: plain arithmetic of metrics' values. Received: {error}."
            ) from None

    # Names and collections.

    @property
    def prefix(self) -> str:
        """The name scopes that are entered, with slashes between them."""
        return self._prefix.rstrip("/")

    def unique_name(self, name: str) -> str:
        """Return the full name of an operation, below the name scopes, that no other of this trace has: `a`, `a_1`."""
        return self._names.unique(f"{self._prefix}{name}")

    @contextlib.contextmanager
    def name_scope(self, name: str) -> Iterator[str]:
        """Have the names of operations in a block begin with a name of its own; yields it with a slash behind it."""
        before = self._prefix
        if name.endswith("/"):
            self._prefix = name
        else:
            self._prefix = f"{self.unique_name(name)}/" if name else ""
        try:
            yield self._prefix
        finally:
            self._prefix = before

    @contextlib.contextmanager
    def below(self, path: str) -> Iterator[None]:
        """Have what Keras creates in a block, and operations, be named below a variable scope."""
        with contextlib.ExitStack() as stack:
            stack.enter_context(seam.at_path(path.split("/")))
            stack.enter_context(self.name_scope(f"{path}/"))
            yield

    def add_to_collection(self, key: str, value: object) -> None:
        """Add to a collection, as `tf.add_to_collection`."""
        self.get_collection_ref(key).append(value)
        # Tensors have no names of their own; TensorFlow's begin with the name scope.
        self._item_names[id(value)] = self._prefix

    def get_collection_ref(self, key: str) -> list[Any]:
        """Return the list that a collection is; of those of variables, which are the model's, a copy."""
        if key in ("variables", "trainable_variables", GLOBAL_STEP):
            return self.get_collection(key)
        return self._collections.setdefault(key, [])

    def get_collection(self, key: str, scope: str | None = None) -> list[Any]:
        """Return a collection, as `tf.get_collection`.

        Args:
            key: Its name.
            scope: A regular expression: only what has a name that begins like this.
        """
        if key == "variables":
            found: list[Any] = self.global_variables()
        elif key == "trainable_variables":
            found = self.trainable_variables()
        elif key == GLOBAL_STEP:
            found = [self._used[GLOBAL_STEP]] if GLOBAL_STEP in self._used else []
        else:
            found = list(self._collections.get(key, ()))
        if scope is None:
            return found
        return [value for value in found if re.match(scope, self._item_name(value))]

    def collection_keys(self) -> list[str]:
        """Return the names of collections in which there is something."""
        of_variables = [
            key for key in (GLOBAL_STEP, "variables", "trainable_variables") if self.get_collection(key)
        ]
        return [*of_variables, *(key for key, values in self._collections.items() if values)]

    def operations(self) -> list[Operation]:
        """Return the operations of this trace."""
        return list(self._operations)

    def _item_name(self, value: Any) -> str:
        if isinstance(value, keras.Variable):
            return value.path
        return value.name if isinstance(value, Operation) else self._item_names.get(id(value), "")

    def name_tensor(self, name: str, tensor: Any) -> str:
        """Give a tensor a name by which hooks fetch it; return the name, made unique."""
        name = self.unique_name(name)
        self._note_name(name, tensor)
        return name

    def _note_name(self, name: str, tensor: Any) -> None:
        self._tensors[name] = tensor
        # The first one stays.
        self._tensor_names.setdefault(id(tensor), (tensor, name))

    def name_inputs(self, tensors: Iterable[Any]) -> None:
        """Give features and labels, in the order of their structure, the names that TensorFlow's have."""
        operation = self.unique_name("IteratorGetNext")
        for index, tensor in enumerate(tensors):
            self._note_name(f"{operation}:{index}" if index else operation, tensor)

    def name_of(self, tensor: Any) -> str:
        """Return the name of a tensor, without the number of a first output; it gets one if it has none."""
        found = self._tensor_names.get(id(tensor))
        if found is None or found[0] is not tensor:
            name = self.unique_name("Tensor")
            self._tensor_names[id(tensor)] = found = tensor, name
            self._tensors[name] = tensor
            self._own_names.add(name)
        return found[1]

    def is_named(self, name: str) -> bool:
        """Return whether the `model_fn` gave a tensor this name, which is in every trace of it then."""
        return name in self._tensors and name not in self._own_names

    def _note(self, name: str | None, result: Any) -> Any:
        """Take note of what a function of `stratax.tensorflow.ops` gives: its name, and what it has to run behind."""
        if isinstance(result, jax.Array):
            result = self.note_behind(result)
        if name is not None:
            if isinstance(result, jax.core.Tracer) and id(result) in self._tensor_names:
                # What has a name already stays what it is: another tensor of the same value.
                source, result = result, jax.numpy.array(result, copy=True)
                self.note_same_rows(result, source)
            self.name_tensor(name, result)
        return result

    def tensors(self) -> dict[str, Any]:
        """Return the tensors that have names."""
        return dict(self._tensors)

    # The host.

    def host_name(self, value: object) -> str | None:
        """Return the name under which the host has a feature; None for what was computed in the `model_fn`."""
        return None if self.host is None else self.host.name_of(value)

    def example_of(self, value: object) -> Any:
        """Return what a feature or label is in the first batch, on the host; None where that is not known."""
        return None if self.host is None else self.host.example_of(value)

    def host_input(
        self, function: Compute, names: Sequence[str], key: str, fills: Mapping[str, float] | None = None
    ) -> dict[str, Any]:
        """Return what a function makes of features on the host before each step, as arrays of this trace.

        Args:
            function: From the features by name, as they are on the host, to NumPy arrays of numbers by name, whose
                first dimension is the batch's.
            names: The features that it takes, as :meth:`host_name` gives them.
            key: What the results are called, made unique.
            fills: With what those of its results are filled up, by name, whose second dimension differs between
                batches.

        Raises:
            ModelScopeError: If nobody runs functions on the host for this trace.
        """
        return self._numbered(self._host_of(names).request(function, names, key, fills))

    def shared_host_inputs(
        self,
        wanted: Sequence[Hashable],
        function_of: Callable[[list[Any]], tuple[Compute, Mapping[str, float]]],
        names: Sequence[str],
        key: str,
    ) -> list[dict[str, Any]]:
        """Return what functions make of features on the host, each of which runs once for all who want the same.

        Args:
            wanted: What is wanted, and of which features: equal ones are the same.
            function_of: Called with those that nobody has wanted before in this trace; returns their function and its
                fills, as for :meth:`host_input`.
            names: The features that it takes, as :meth:`host_name` gives them.
            key: What the results are called, made unique.

        Returns:
            For each of what is wanted all results of the function that gives it.

        Raises:
            ModelScopeError: If nobody runs functions on the host for this trace.
        """
        host = self._host_of(names)
        new = [each for each in wanted if each not in host.requested]
        if new:
            function, fills = function_of(new)
            request = host.request(function, names, key, fills)
            host.requested.update(dict.fromkeys(new, request))
            # Only once: in the step they are the same arrays each time.
            self._numbered(request)
        requests = [host.requested[each] for each in wanted]
        with self._unrecorded():
            made = {request: request() for request in dict.fromkeys(requests)}
        return [made[request] for request in requests]

    def _host_of(self, names: Sequence[str]) -> HostTrace:
        if self.host is None:
            raise errors.ModelScopeError(
                "Nothing is computed on the host for this model_fn. Expected: a model_fn that an Estimator traces. "
                f"Received: a function of {shown(list(names))}."
            )
        return self.host

    def _numbered(self, request: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        with self._unrecorded():
            made = request()
        self._number(made)
        return made

    def host_strings(
        self,
        function: Callable[[dict[str, Any]], Any],
        names: Sequence[str],
        shape: Sequence[int],
        key: str,
    ) -> HostTensor:
        """Return strings that a function makes of features on the host, as a further feature.

        Args:
            function: From the features by name to an array of strings.
            names: The features that it takes, as :meth:`host_name` gives them.
            shape: The shape of the result in this trace.
            key: What it is called, made unique.

        Raises:
            ModelScopeError: If nobody runs functions on the host for this trace.
        """
        return self._host_of(names).strings(function, names, shape, key)

    def as_result(self, value: HostTensor) -> HostResult:
        """Return a feature of strings as a result of the step, which is there after it.

        Args:
            value: The feature.

        Raises:
            BadTypeError: If it is a SparseTensor or a scalar.
            ModelScopeError: If nobody runs functions on the host for this trace.
        """
        if self.host is None:
            raise errors.ModelScopeError(
                f"Nothing is computed on the host for this model_fn. Received: {shown(value)} as a prediction."
            )
        if not value.shape:
            raise errors.BadTypeError(
                "A prediction has one row for each example. Expected: strings of shape (batch, ...). Received: "
                f"{shown(value)}. Make a SparseTensor dense in the input_fn's dataset.map."
            )
        with self._unrecorded():
            made = self.host.keep(value.name)
        self._number(made.tensors)
        return made

    def _unrecorded(self) -> contextlib.AbstractContextManager[Any]:
        # What stands for results of the host in the first trace is computed: the results of others have no number.
        return contextlib.nullcontext() if self._known is None else self._known.left()

    def _number(self, made: Any) -> None:
        for leaf in jax.tree.leaves(made):
            if self._known is not None:
                self._known.number(leaf)

    def as_one_result(self, compute: Callable[[], Any]) -> Any:
        """Return what a function computes, which counts as one result of the trace.

        For what takes more or fewer operations in other traces: where one replica stands for all, or batches are wider.

        Args:
            compute: Computes one tensor, or a list of them, each of which counts as one; None is passed over.
        """
        with self._uncounted():
            made = compute()
        self._number(made)
        return made

    def _uncounted(self) -> contextlib.AbstractContextManager[Any]:
        return contextlib.nullcontext() if self._known is None else self._known.as_one()

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
                None, self.unique_name(name or "op"), (), len(self._operations), value, is_done=True
            )
        before = [*inputs, *self._controlling()]
        made = Operation(update, self.unique_name(name or "op"), before, len(self._operations), value)
        self._operations.append(made)
        return made

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
        self._controls = [] if operations is None else [*before, operations]
        try:
            with self._trial(operations or []), self._marking(self._controlling()):
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
        written = [(variable, variable.value) for variable in self._used.values()]
        equal = {id(variable) for variable, _ in written if region.is_equal(variable)}
        in_effect = self._in_effect
        self._make(operations)
        changed = [(variable, value) for variable, value in written if variable.value is not value]
        with self._not_recorded(len(self._tapes)):
            for variable, _ in changed:
                # Whoever reads it depends on them, and no other tensor that was assigned to it.
                value = jax.numpy.array(variable.value, copy=True)
                with _as_equal(is_equal=region.is_equal(variable)):
                    keras.Variable.assign(variable, value)
                self.note_value(variable.value, self._controlling())
        after = [(variable, variable.value) for variable, _ in changed]
        self._in_effect = in_effect.union(_reached(operations))
        try:
            yield
        finally:
            self._in_effect = in_effect
            for (variable, value), (_, given) in zip(changed, after, strict=True):
                # What a layer has assigned in the block stays.
                if variable.value is given:
                    with _as_equal(is_equal=id(variable) in equal):
                        keras.Variable.assign(variable, value)

    def note_behind(self, tensor: Any) -> Any:
        """Return a tensor as one that depends on the control dependencies that are entered."""
        operations = self._controlling()
        if self._known is None or not operations or self._known.marks_of(tensor).issuperset(operations):
            return tensor
        if not isinstance(tensor, jax.core.Tracer):
            self._known.mark(tensor, operations)
            return tensor
        # A tensor of its own, as in TensorFlow: the one of before the block does not depend on them.
        made = jax.numpy.array(tensor, copy=True)
        self.note_same_rows(made, tensor)
        return made

    def note_value(self, tensor: Any, operations: Iterable[Operation]) -> None:
        """Take note that a tensor, and what is computed of it, is there once operations were run."""
        if self._known is not None:
            self._known.mark(tensor, operations)

    def operations_behind(self, tensor: Any) -> list[Operation]:
        """Return the operations that a tensor depends on, through whatever it was computed of."""
        return [] if self._known is None else list(self._known.marks_of(tensor))

    def is_in_effect(self, operation: Operation) -> bool:
        """Return whether variables have what an operation gives them: behind it, or as it has been run."""
        return operation.order in self._in_effect

    def _controlling(self) -> list[Operation]:
        return [each for controls in self._controls for each in controls]

    def _marking(self, operations: Iterable[Operation]) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext() if self._known is None else self._known.marking(operations)

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
        reached = _reached(operations)
        found: dict[object, Any] = {}
        before, self._is_making = self._is_making, True
        in_effect = self._in_effect
        try:
            # Updates are no part of what gradients are asked of.
            with self._not_recorded(len(self._tapes)), self._marking(()):
                for order in sorted(reached):
                    reached[order].make()
                    self._in_effect |= {order}
                    if order in worth:
                        found[order] = reached[order].value()
        finally:
            self._is_making, self._in_effect = before, in_effect
        return found

    def gradients(
        self, ys: Any, xs: Any, grad_ys: Any = None, stop_gradients: Any = None, *, zero: bool = False
    ) -> list[Any]:
        """Return the gradients of the sum of `ys`, as `tf.gradients`; None where it does not depend on one of `xs`.

        Args:
            ys: A tensor or several.
            xs: Variables and tensors.
            grad_ys: The gradients of each of `ys`; None for ones.
            stop_gradients: Refused where given.
            zero: Whether to return zeros instead of None.

        Raises:
            DerivativesError: If `ys` depends on what this function has given before, more often than the model's
                traces were made for so far; the next trace is made for it.
        """
        if stop_gradients is not None:
            raise errors.BadArgumentError(
                f"stop_gradients is not supported. Received: stop_gradients={shown(stop_gradients)}. Wrap these "
                "tensors in tf.stop_gradient where they are used."
            )
        targets, sources = _as_list(ys), _as_list(xs)
        given = None if grad_ys is None else _as_list(grad_ys)
        for level, tape in enumerate(self._tapes):
            found, is_whole = self._found(level, targets, sources, given)
            if not is_whole:
                continue
            made = [
                self._followed(gradient, source, level, zero=zero)
                for gradient, source in zip(found, sources, strict=True)
            ]
            for gradient, source in zip(made, sources, strict=True):
                if level == 0 and gradient is not None and isinstance(source, keras.Variable):
                    rows = functools.partial(rows_of_gradient, tape, targets, source)
                    self._rows[id(gradient)] = gradient, rows
            return made
        self.state.derivatives += 1
        raise DerivativesError(
            "A gradient was asked for of something that is computed of gradients. Expected: a trace that follows "
            f"derivatives of this order. Received: ys={shown(ys)}. Trace the function again: from now on it is "
            "followed."
        )

    def _found(
        self, level: int, targets: list[Any], sources: list[Any], given: list[Any] | None
    ) -> tuple[list[Any], bool]:
        """Return a tape's gradients, and whether they are all there is: no gradient lies on the way."""
        before = self._gradients[level]
        try:
            # What was given before is asked for too: a tape does not know what its own gradients came from.
            with self._not_recorded(level + 1), self._uncounted():
                found = self._tapes[level].gradient(targets, [*sources, *before], output_gradients=given)
        except errors.TapeError as error:
            if "recorded" not in str(error):
                raise
            return [None] * len(sources), True
        return found[: len(sources)], all(gradient is None for gradient in found[len(sources) :])

    @contextlib.contextmanager
    def _not_recorded(self, count: int) -> Iterator[None]:
        """Have the first tapes not record a block."""
        with contextlib.ExitStack() as stack:
            for tape in self._tapes[:count]:
                stack.enter_context(tape.stop_recording())
            yield

    def rows_of(self, gradient: Any) -> Any:
        """Return the rows that a gradient consists of, as booleans; None for one of a whole variable.

        TensorFlow's gradient of a matrix whose rows are looked up (`IndexedSlices`) consists of these rows, also where
        they are zero. What is computed of it is of the whole, but for what :meth:`note_same_rows` is told of.

        Args:
            gradient: A gradient that this trace has given, or something else.
        """
        found = self._rows.get(id(gradient))
        return None if found is None or found[0] is not gradient else found[1]()

    def note_whole(self, gradient: Any) -> None:
        """Take note that a gradient counts as one of the whole variable."""
        self._rows.pop(id(gradient), None)

    def note_same_rows(self, made: Any, source: Any) -> None:
        """Take note that something that was made of a gradient consists of the same rows."""
        found = self._rows.get(id(source))
        if found is not None and found[0] is source:
            self._rows[id(made)] = made, found[1]

    def _followed(self, gradient: Any, source: Any, level: int, *, zero: bool) -> Any:
        """Return a gradient as a value of its own, which its tape follows: what is computed of it is known then."""
        if gradient is None:
            return jax.numpy.zeros_like(getattr(source, "value", source)) if zero else None
        with self._not_recorded(level + 1):
            # The derivative of a product is its other factor: the same object would count as a gradient everywhere.
            made = jax.numpy.array(gradient, copy=True)
        if jax.numpy.issubdtype(made.dtype, jax.numpy.floating):
            for tape, gradients in zip(self._tapes[: level + 1], self._gradients, strict=False):
                tape.watch(made)
                gradients.append(made)
        return made


def _reached(operations: Iterable[Operation]) -> dict[int, Operation]:
    """Return operations and all that run before them, by their places in the program."""
    reached: dict[int, Operation] = {}
    waiting = list(operations)
    while waiting:
        operation = waiting.pop()
        if operation.order not in reached:
            reached[operation.order] = operation
            waiting.extend(operation.control_inputs)
    return reached


def _as_list(values: Any) -> list[Any]:
    return list(values) if isinstance(values, list | tuple) else [values]


def _default_name(cls: type) -> str:
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
