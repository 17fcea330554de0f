"""`stratax.function`: a Python function, state and all, as a compiled program (core layer)."""

import collections
import contextlib
import dataclasses
import functools
import inspect
import itertools
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.extend.core
import keras
import numpy as np
from jax.sharding import NamedSharding

from stratax import errors
from stratax.base import tracebacks
from stratax.base.shown import shown
from stratax.base.tracing import CHOSEN, PIPELINE, TRACING
from stratax.base.typing import PyTree
from stratax.core import autograph as core_autograph
from stratax.core import control, cpu, functions, host, jaxprs, programs, regions
from stratax.core import storage as core_storage
from stratax.core.functions import _concrete, _eagerly, _log_placement, _retracing, _signature
from stratax.core.known import (
    NotKeptError,
    as_result,
    is_spec_of_text,
    is_taken,
    is_text,
    keeping,
    watches_of,
)
from stratax.core.regions import TensorType
from stratax.core.storage import Move, MoveOfOne, read_listeners, store_of
from stratax.seams import jax as seam
from stratax.seams.keras import in_stateless_scope

# What streams have shown while a program was traced, as `ProgramRegion.seen`.
_Seen = Mapping[Any, list[tuple[Any, int]]]
# How many programs one function keeps; the oldest goes first.
MAX_PROGRAMS = 256
# How many of them for arguments of one kind, where they differ in what streams hold.
_MAX_VARIANTS = 32
_TRACES_BEFORE_WARNING = 5
# How often a function is traced anew at most because of what a trace has found out.
_MAX_TRACES = 8


class Function(_signature.Alias):
    """A Python function that runs as one compiled program. Made by :func:`function`.

    Args:
        python_function: The function to wrap.
        autograph: Whether loops and conditions become compiled control flow.
        donate: Whether variables' old buffers may be reused.
        traces_before_warning: After how many traces another one warns; 0 for never.
        calls_argument: Whether the function calls its first argument, so that traces are counted for each of those.
        compiled: Where to look for what was compiled for another function before; None to compile for this one.
        input_signature: A `TensorSpec` for each argument, or None for any arguments.
        on_trace: Called with the `ClosedJaxpr` of each program, before it is compiled; what it raises ends the call.
        may_run_eagerly: Whether it runs in Python while `tf.config.run_functions_eagerly` says so: a program's own
            functions do.

    Attributes:
        python_function: The function that was wrapped.
    """

    def __init__(
        self,
        python_function: Callable[..., Any],
        *,
        autograph: bool = True,
        donate: bool = True,
        traces_before_warning: int = _TRACES_BEFORE_WARNING,
        calls_argument: bool = False,
        compiled: programs.CompiledPrograms | None = None,
        input_signature: Any = None,
        on_trace: Callable[[jax.extend.core.ClosedJaxpr], None] | None = None,
        may_run_eagerly: bool = False,
    ) -> None:
        # Sets `__wrapped__` too, by which AutoGraph finds the user's function.
        functools.update_wrapper(self, python_function)
        self._identity = object()
        self._history = _retracing.History(traces_before_warning, by_callee=calls_argument)
        self.python_function = python_function
        self._autograph = autograph
        self._donate = donate
        self._compiled = compiled
        self._on_trace = on_trace
        self._may_run_eagerly = may_run_eagerly
        self._converted: Callable[..., Any] | None = None
        # Once for all calls: `inspect.signature` is slow beside a call.
        self._signature = inspect.signature(python_function)
        self._plain = _takes_positional_only_defaults(self._signature)
        self._declared_specs = input_signature
        self._input_signature: _concrete.InputSignature | None = None
        self._num_traces = 0
        self._keeps_known = False
        # Whether a dataset that calls the function has it run in Python, as it can't be compiled.
        self._in_pipelines_eagerly = False
        # The keys of arguments with which it can't be compiled: see `_python_only`.
        self._in_python: set[Any] = set()
        self._programs: collections.OrderedDict[Any, _Variants] = collections.OrderedDict()
        self._kinds: dict[Any, tuple[tuple[Any, ...], dict[str, Any]]] = {}
        self._bound: dict[int, Function] = {}
        # Most functions have no closure, and their calls need not look into its cells.
        self._has_closure = bool(getattr(inspect.unwrap(python_function), "__closure__", None))

    def __get__(self, instance: object, owner: type | None = None) -> "Function":
        if instance is None:
            return self
        # By identity, as an object may have no hash or be equal to others; a finalizer removes the entry
        # (`_bind_method`).
        shared = self._bound.get(id(instance))
        if shared is None:
            method = _bind_method(self.python_function, instance, self._bound)
            shared = self._bound[id(instance)] = Function(
                method,
                autograph=self._autograph,
                donate=self._donate,
                may_run_eagerly=self._may_run_eagerly,
                traces_before_warning=self._history.limit,
                input_signature=self._declared_specs,
            )
        return _BoundFunction(shared, instance)

    def __repr__(self) -> str:
        return f"<stratax.function {getattr(self.python_function, '__qualname__', self.python_function)!r}>"

    @property
    def identity(self) -> Any:
        return self._identity

    @property
    def num_programs(self) -> int:
        """How many programs have been traced and are kept."""
        return sum(len(variants) for variants in self._programs.values())

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Run the function as a compiled program.

        Inside another compiled function it becomes part of that one, and under an eager `GradientTape`, which
        has to see its operations and variables, it runs as plain Python.
        """
        if self._may_run_eagerly and _eagerly.functions_run_eagerly():
            return self._run_eagerly(args, kwargs)
        if self._in_pipelines_eagerly and PIPELINE.get() is not None and not in_stateless_scope():
            return self._run_eagerly(args, kwargs)
        if self._declared_specs is not None:
            args, kwargs = self._signature_of_inputs().bind(args, kwargs)
        # A compiled function is opaque to an eager tape: it would see neither the operations nor the reads of
        # variables. In a scope of Keras' own, variables have the values that its step was given.
        if in_stateless_scope() or read_listeners():
            return self.converted(*args, **kwargs)
        try:
            # What has no defaults and no closure, such as a step of `fit`, is neither bound nor looked into.
            if kwargs or self._plain != len(args):
                args, kwargs = self._canonical(args, kwargs)
            arguments = _signature.sort_arguments((args, kwargs))
            key = self._key(arguments) if self._has_closure else arguments.key
            variants = self._programs.get(key)
            if variants is None:
                # There is no program for text, which stays on the host: what the function does with it, such as
                # reading a file of that name, is done anew in each call.
                if is_taken(arguments.dynamic):
                    if not self._may_run_eagerly:
                        raise regions.PythonOnlyError("No program takes text: make it numbers before.")
                    return jax.tree.map(as_result, self._run_eagerly(args, kwargs))
                variants = self._new_variants(key)
            if not variants and key in self._in_python:
                return functions.run_python_only(self._run_eagerly, args, kwargs)
            try:
                program, traced = self._find(variants, arguments)
            except Exception as error:
                if isinstance(error, regions.PythonOnlyError) and self._may_run_eagerly and not TRACING.get():
                    functions.note_python_only(self, self._in_python, key)
                    return functions.run_python_only(self._run_eagerly, args, kwargs)
                if PIPELINE.get() is None or self._declared_specs is not None:
                    raise
                # What a compiled function can't do, such as shapes that depend on values, works for one element.
                result = self._run_eagerly(args, kwargs)
                self._in_pipelines_eagerly = True
                return result
            try:
                if not program.is_driven:
                    return program(arguments.dynamic, arguments.streams, traced)
                retrace = functools.partial(self._retrace, arguments)
                return program(arguments.dynamic, arguments.streams, traced, retrace)
            except jax.errors.UnexpectedTracerError as error:
                # JAX finds a value that has left its loop when the whole program is put together, on its first call.
                variants.remove((program, traced))
                raise errors.TracingError(_explain(self, error)) from error
        except Exception as error:
            tracebacks.shorten(error)
            raise

    def _new_variants(self, key: object) -> "_Variants":
        variants = self._programs[key] = []
        # The oldest goes, not the least recently used one: moving an entry would cost every call.
        while len(self._programs) > MAX_PROGRAMS:
            self._programs.popitem(last=False)
        return variants

    def prepared(
        self, *args: object, **kwargs: object
    ) -> tuple[programs.Program, list[Any], _signature.Arguments]:
        """Return the program of a call, traced if need be, without running it.

        Returns:
            The program, what stands in it for each of the call's streams, and the call's arguments, sorted.
        """
        arguments = _signature.sort_arguments(self._canonical(args, kwargs))
        key = self._key(arguments)
        variants = self._programs.get(key)
        program, traced = self._find(self._new_variants(key) if variants is None else variants, arguments)
        return program, traced, arguments

    def _run_eagerly(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            return self.python_function(*args, **kwargs)
        except control.RunAgainError as error:
            return error.rewritten(self.python_function)(*args, **kwargs)
        except StopIteration as error:
            # As of the compiled function: Python's `next` says it otherwise.
            if isinstance(error, errors.OutOfRangeError):
                raise
            raise errors.OutOfRangeError("The iterator has no more elements.") from error

    @property
    def input_signature(self) -> Any:
        """The `TensorSpec` of each argument, where they were declared."""
        return None if self._declared_specs is None else tuple(self._declared_specs)

    def _note_kind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        leaves, structure = jax.tree.flatten((args, kwargs))
        # Specs of several classes mean the same.
        parts = [
            _concrete.kind_of(leaf) if _concrete.is_spec(leaf) else _signature.static_key(leaf)
            for leaf in leaves
        ]
        self._kinds[structure, tuple(parts)] = (args, kwargs)
        while len(self._kinds) > MAX_PROGRAMS:
            del self._kinds[next(iter(self._kinds))]

    @property
    def name(self) -> str:
        """The function's name."""
        return str(getattr(self.python_function, "__name__", "function"))

    def experimental_get_tracing_count(self) -> int:
        """Return how often the function was traced."""
        return self._num_traces

    def get_concrete_function(self, *args: object, **kwargs: object) -> _concrete.ConcreteFunction:
        """Return the function for arguments of one kind, which checks what it is called with.

        Args:
            *args: A `TensorSpec`, or a tensor, for each tensor, and constants. Left out where there is an
                `input_signature`.
            **kwargs: The same, by name.

        Raises:
            BadTypeError: If they do not fit the function.
        """
        if self._declared_specs is not None:
            specs = self._signature_of_inputs().specs
            args = specs if not args and not kwargs else args
        args, kwargs = jax.tree.map(_spec_of, (args, kwargs))
        try:
            concrete = _concrete.ConcreteFunction(
                self, self._signature, args, kwargs, self.name, self._outputs_for
            )
        except TypeError as error:
            raise errors.BadTypeError(f"{shown(self)} does not take these arguments: {error}.") from None
        # Traced now, as in TensorFlow, where the sizes are known: variables that it creates are there then.
        if self._declared_specs is None:
            self._note_kind(*concrete.arguments)
        known = [leaf for leaf in jax.tree.leaves((args, kwargs)) if _concrete.is_spec(leaf)]
        if all(_concrete.is_full(spec) and not is_spec_of_text(spec) for spec in known):
            self._outputs_for(args, kwargs)
        return concrete

    def _signature_of_inputs(self) -> _concrete.InputSignature:
        # Not before the first call: of a method, the signature is that without `self`.
        if self._input_signature is None:
            self._input_signature = _concrete.InputSignature(self._declared_specs, self._signature)
        return self._input_signature

    def _stand_ins(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _signature.Arguments:
        args, kwargs = jax.tree.map(
            lambda leaf: _concrete.stand_in(leaf) if _concrete.is_spec(leaf) else leaf, (args, kwargs)
        )
        return _signature.sort_arguments(self._canonical(args, kwargs))

    def _outputs_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the types of the results for full specs, and keep the program that was traced for them."""
        arguments = self._stand_ins(args, kwargs)
        program, _ = self._find(self._programs.setdefault(self._key(arguments), []), arguments)
        return program.output_types()

    @property
    def converted(self) -> Callable[..., Any]:
        """The Python function with its loops and conditions made traceable."""
        if self._converted is None:
            convert = self._autograph
            self._converted = (
                core_autograph.convert(self.python_function) if convert else self.python_function
            )
        return self._converted

    def jaxpr(self, *args: object, **kwargs: object) -> Any:
        """Return the program as a `jax.extend.core.ClosedJaxpr`, traced anew, for inspection."""
        arguments = _signature.sort_arguments(self._canonical(args, kwargs))

        def trace(kept: list[Any]) -> Any:
            region = regions.ProgramRegion(known=arguments.dynamic)
            region.kept = kept
            return self._trace_jaxpr(arguments, region)[0]

        return _trace_again(trace)

    def _key(self, arguments: _signature.Arguments) -> Any:
        # Values in a closure are constants of the program, and so part of its key.
        if not self._has_closure:
            return arguments.key
        return arguments.key, _signature.closure_key(self.python_function)

    def _canonical(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return bound.args, bound.kwargs

    def _find(
        self, variants: "_Variants", arguments: _signature.Arguments
    ) -> tuple[programs.Program, list[Any]]:
        for program, traced in variants:
            if program.matches(arguments.streams, traced, arguments.dynamic):
                return program, traced
        # Before the trace, which may take long: the user sees at once what it is about.
        self._history.warn(self, arguments, list(self._signature.parameters))
        entry = self._trace(arguments)
        variants.append(entry)
        # Variants are searched one by one, hence a limit of their own; the newest stay.
        del variants[:-_MAX_VARIANTS]
        return entry

    def _trace_jaxpr(
        self, arguments: _signature.Arguments, region: regions.ProgramRegion
    ) -> tuple[Any, Any, Any]:
        # Filled by `body`: what is no array can't be returned through JAX.
        outputs: list[Any] = []

        def body(*dynamic: object) -> tuple[list[Any], list[Any], list[Any]]:
            # So that a loop over `range(n)` is known to be as long as the argument n: it may then take input from
            # streams.
            region.arguments = {id(tracer): index for index, tracer in enumerate(dynamic)}
            args, kwargs = arguments.rebuild(dynamic)
            noted = host.note_objects((args, kwargs))
            with region, keeping(self._keeps_known):
                if self.converted is self.python_function:
                    control.check_surroundings(self.python_function, args, kwargs)
                result = self.converted(*args, **kwargs)
                host.check_objects(noted, result)
                arrays, structure = _sort_outputs(result)
                outputs.append(structure)
                region.combine_kept()
                written = list(region.writes.values())
                handed = [array for part in region.handed_on for array in part.arrays]
                return [region.final_value(variable) for variable in written], arrays, handed

        body.__name__ = getattr(self.python_function, "__name__", "function")
        try:
            # A pipeline calls its functions where JAX computes what it can, and inputs of a program have no value.
            with seam.without_folding():
                closed = jax.make_jaxpr(body)(*[_abstract(value) for value in arguments.dynamic])
                closed = jaxprs.settle_sizes(closed, cuts=True) if CHOSEN else closed
        except _FOREIGN_ERRORS as error:
            raise errors.TracingError(_explain(self, error)) from error
        except Exception as error:
            if host.is_of_outer_module(error):
                raise errors.TracingError(_OUTER_MODULE + str(error).partition("\n")[0][:200]) from error
            raise
        finally:
            # Also when the trace failed: the layers that it built keep their variables, and the next call expects
            # values.
            regions.initialize_pending()
        return closed, region, outputs[-1]

    def _trace(self, arguments: _signature.Arguments) -> tuple[programs.Program, list[Any]]:
        """Return the program for arguments of a kind, and what stands in it for each of their streams."""
        try:
            return _trace_again(lambda kept: self._trace_once(arguments, kept))
        except NotKeptError:
            if self._keeps_known:
                raise
        # It creates a variable of a value that it computes. Few functions do, and keeping how values come about costs.
        self._keeps_known = True
        return _trace_again(lambda kept: self._trace_once(arguments, kept))

    def _trace_once(
        self, arguments: _signature.Arguments, kept: list[Any]
    ) -> tuple[programs.Program, list[Any]]:
        region = regions.ProgramRegion(known=arguments.dynamic)
        region.kept = kept
        observer = core_storage.observer()
        try:
            with contextlib.nullcontext() if observer is None else observer.compiling():
                closed, _, outputs = self._trace_jaxpr(arguments, region)
        except BaseException:
            region.close_passes()
            raise
        self._check_created(region, arguments)
        self._num_traces += 1
        if self._on_trace is not None:
            self._on_trace(closed)
        # Only after a trace that succeeded: the next one after a failure may create variables, too.
        self._history.add(arguments)
        if self._declared_specs is None and not arguments.streams:
            kinds = [
                TensorType(tuple(each.shape), _signature.plain_dtype(each.dtype))
                for each in arguments.dynamic
            ]
            self._note_kind(*arguments.rebuild(kinds))
        if region.divide is not None:
            avals = closed.out_avals[len(region.writes) :]
            types = jax.tree.map(
                lambda output: None if output.index is None else avals[output.index], outputs
            )
            places = region.divide(arguments.rebuild(arguments.dynamic), types)
            region.argument_places, region.result_places = places
        # The program outlives this call's streams; later calls give theirs by position.
        stand_ins = region.detach(arguments.streams)
        name = getattr(self.python_function, "__name__", "function")
        program = build_program(closed, region, outputs, name=name, donate=self._donate)
        if regions.is_heard():
            self._make_retraceable(program, arguments, region)
        _log_placement.note(name, region.placement)
        program.afterwards = region.afterwards
        program.result_types = [
            TensorType(tuple(aval.shape), aval.dtype)
            for aval in closed.out_avals[len(region.writes) : len(closed.out_avals) - region.num_handed_on]
        ]
        if self._compiled is not None:
            program.share(self._compiled, (*closed.in_avals, *closed.out_avals))
        return program, stand_ins

    def traced_for(
        self,
        arguments: _signature.Arguments,
        specs: Sequence[jax.ShapeDtypeStruct],
        move: Move,
        devices: Sequence[jax.Device],
        seen: _Seen | None = None,
    ) -> regions.MadeProgram:
        """Trace a program for other devices than it is to run on.

        Args:
            arguments: A call's arguments, sorted.
            specs: The types that its arrays have on the other devices, with shardings.
            move: Has whoever divides the work do so among other devices.
            devices: The other devices.
            seen: What its streams show, as `ProgramRegion.seen`, with the types of elements on the other devices.
        """
        # All of it: variables are where the other devices have them within the block only.
        with move.to(devices) as placement:
            # Of numbers that say how long a loop is, the values count.
            region = regions.ProgramRegion(known=arguments.dynamic)
            region.placement = placement
            region.seen = dict(seen or {})
            closed, _, outputs = self._trace_jaxpr(
                dataclasses.replace(arguments, dynamic=list(specs)), region
            )
            name = getattr(self.python_function, "__name__", "function")
            program = build_program(closed, region, outputs, name=name, donate=self._donate)
            if program.is_driven:
                raise errors.UnimplementedError(
                    f"{shown(self)} has a loop whose input the host hands over in parts, so it can't be traced for "
                    "other devices than it runs on. Expected: a function that is given its batches. Simulate as many "
                    "devices as the topology has (stratax compile --simulate)."
                )
            return regions.describe_compiled(
                program.compiled, name, program.donated, program.kept, specs, placement
            )

    def _make_retraceable(
        self, program: programs.Program, arguments: _signature.Arguments, region: regions.ProgramRegion
    ) -> None:
        move, placement = region.move, region.placement
        if placement is None and _is_on_one_device([*arguments.dynamic, *region.inputs]):
            move = MoveOfOne()
        if move is None or program.is_driven:
            return
        num_devices = 1 if placement is None else len(placement.device_set)
        seen = dict(region.seen)
        # The function, and one that `strategy.run` is given.
        names = control.ReboundNames([self.python_function, *arguments.leaves])
        again = functools.partial(self._trace_again_for, arguments, move, num_devices, seen, names)
        regions.retraceable(program.compiled, again)

    def _trace_again_for(
        self,
        arguments: _signature.Arguments,
        move: Move,
        num_devices: int,
        seen: _Seen,
        names: control.ReboundNames,
        devices: Sequence[jax.Device],
        per_device: int | None,
    ) -> regions.MadeProgram:
        """Trace a call's program for other devices, each of which gets as many examples, or as many as are named.

        A program of one device, such as that of a `OneDeviceStrategy`, stays one: it gets the first of them.
        """
        if num_devices == 1:
            devices = devices[:1]
        seen = {
            key: [(move.element(structure), count) for structure, count in runs] for key, runs in seen.items()
        }
        with move.to(devices) as placement:
            specs, shown_there = _move(arguments.dynamic, seen, placement, per_device)
        with names.use_kept():
            return self.traced_for(arguments, specs, move, devices, shown_there)

    def _retrace(
        self, arguments: _signature.Arguments, memory: programs.TraceMemory, hints: dict[Any, Any]
    ) -> tuple[Any, regions.ProgramRegion]:
        """Trace the function once more for a program that is running; see `_extension`."""
        reason = "The shapes of the elements that a loop takes from a dataset vary."
        self._history.warn(self, arguments, list(self._signature.parameters), reason)
        region = regions.ProgramRegion(known=arguments.dynamic)
        # A copy: what this trace sees besides belongs to it alone.
        region.seen = dict(memory.seen)
        region.structures = memory.structures
        region.kept = memory.kept
        region.hints = hints
        observer = core_storage.observer()
        try:
            with contextlib.nullcontext() if observer is None else observer.compiling():
                closed, _, _ = self._trace_jaxpr(arguments, region)
        finally:
            # The running program has its own passes; what this trace has opened nobody goes on with.
            region.close_passes()
        self._check_created(region, arguments)
        self._history.add(arguments)
        return closed, region

    def _check_created(self, region: regions.ProgramRegion, arguments: _signature.Arguments) -> None:
        if region.created and self._history.is_known(arguments):
            names = ", ".join(repr(variable.path) for variable in region.created)
            raise errors.VariableCreationError(
                f"A compiled function created variables on a later call. Expected: variables are created on the first "
                f"call of a function, once. Received: function={shown(self)}, new variables={names}. Create "
                "them before "
                "the function is called, or keep them (`if self.v is None: self.v = stratax.Variable(...)`)."
            )


def kinds_of(function: Function) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Return what a function was traced for, or asked for a concrete function of.

    Args:
        function: The function.

    Returns:
        The arguments of each kind, by position and by keyword, with a spec in each tensor's place.
    """
    return list(function._kinds.values())


class _BoundFunction(Function):
    """A compiled method of one object: the state that all of them for this object share, and the object.

    The shared state only has a weak reference to the object, so that the table of methods keeps no object alive; a
    method that was taken out of an object does.
    """

    __slots__ = ("instance",)

    def __init__(self, shared: Function, instance: object) -> None:
        # One dictionary for all: the programs and the history of traces are found by every bound method of
        # the object.
        self.__dict__ = shared.__dict__
        self.instance = instance


def function(
    func: Callable[..., Any] | None = None,
    *,
    autograph: bool = True,
    donate: bool = True,
    input_signature: object = None,
    reduce_retracing: bool = False,
    **unsupported: object,
) -> Any:
    """Compile a Python function, with the state that it reads and write, into one program.

    Follows `tf.function`. The function is traced the first time it is called with arguments of a kind: arrays
    (`jax.Array`, NumPy) by shape and dtype, everything else by value. Keras variables that it reads and writes
    (weights, optimizer slots, metrics, seeds) become inputs and outputs of the program; those that are created on the
    first call (layers that build lazily) are initialised then. The results and the variables' new values stay on
    the devices. A call that raises, or Ctrl-C, leaves every variable with its last good value.

    Args:
        func: The function. Without it, the result is a decorator.
        autograph: Whether `for _ in stratax.range(n)`, and `if` and `while` on arrays, become compiled control flow.
        donate: Whether variables' old buffers may be reused for their new values. An array that was
            taken out of a variable before stays valid in either case.
        input_signature: A list with a `TensorSpec`, or a nested structure of them, for each argument without a default.
            Numbers and NumPy's arrays become tensors of these dtypes, and other arguments are refused. Each new size
            of a dimension that is `None` there traces the function once, without a warning.
        reduce_retracing: Whether new shapes trace the function without a warning.
        **unsupported: `tf.function`'s other arguments (`jit_compile`, `experimental_implements`, ...) are accepted for
            programs that were carried over, and ignored: there is nothing else than compiling.

    Returns:
        A :class:`Function`, called like `func`. Arrays in its results are `jax.Array`.

    Raises:
        BadTypeError: If an array among the arguments is of a dtype that devices don't have.
        TracingError: If the function does what a compiled program can't.
        VariableCreationError: If it creates variables on a later call than its first.

    Example:
        >>> import stratax as sx
        >>> counter = sx.Variable(0.0)
        >>> @sx.function
        ... def add(amount):
        ...     counter.assign_add(amount)
        ...     return counter * 2
        >>> float(add(3.0)), float(counter.numpy())
        (6.0, 3.0)
    """
    unknown = set(unsupported) - _IGNORED_ARGUMENTS
    if unknown:
        raise errors.BadTypeError(
            f"stratax.function got unknown arguments. Expected: func, autograph, donate or, ignored, one of "
            f"{sorted(_IGNORED_ARGUMENTS)}. Received: {sorted(unknown)}."
        )
    quiet = (
        reduce_retracing or input_signature is not None or bool(unsupported.get("experimental_relax_shapes"))
    )
    options: dict[str, Any] = {"autograph": autograph, "donate": donate, "input_signature": input_signature}
    if func is None:
        return functools.partial(function, **options, reduce_retracing=quiet)
    if not callable(func):
        raise errors.BadTypeError(f"stratax.function expects a callable. Received: func={shown(func)}.")
    if isinstance(func, Function):
        return func
    limit = 0 if quiet else _TRACES_BEFORE_WARNING
    return Function(func, **options, traces_before_warning=limit, may_run_eagerly=True)


_IGNORED_ARGUMENTS = frozenset(
    {
        "jit_compile",
        "experimental_relax_shapes",
        "experimental_implements",
        "experimental_autograph_options",
        "experimental_attributes",
        "experimental_compile",
        "experimental_follow_type_hints",
    }
)


def build_program(
    closed: jax.extend.core.ClosedJaxpr,
    region: regions.ProgramRegion,
    outputs: PyTree,
    *,
    name: str,
    donate: bool,
) -> programs.Program:
    """Compile what was traced. JAX compiles for real on the first call."""
    if region.builder is not None:
        return region.builder(closed, region, outputs, name)
    can_fail = programs.calls_back(closed.jaxpr)
    sites = programs.sites_of(closed.jaxpr) if can_fail else []
    if region.loops or region.passes:
        _check_leaks(name, closed, region)
        return programs.DrivenProgram(closed, region, outputs, donate=donate, can_fail=can_fail, sites=sites)
    sources = region.inputs
    written = list(region.writes.values())
    read = {
        id(source): position for position, source in enumerate(sources) if isinstance(source, keras.Variable)
    }
    # A program that calls back into Python may fail halfway; what it was given to overwrite would be gone.
    donated = [variable for variable in written if id(variable) in read and donate and not can_fail]
    # `Program` expects those that are donated first.
    order = donated + [variable for variable in written if not any(variable is d for d in donated)]
    positions = [next(i for i, v in enumerate(written) if v is variable) for variable in order]
    num_sources, num_written = len(sources), len(written)
    donated_positions = [read[id(variable)] for variable in donated]
    kept_positions = [i for i in range(len(sources)) if i not in set(donated_positions)]
    description: dict[str, Any] = {
        "donated": donated,
        "kept": [sources[position] for position in kept_positions],
        "written": order,
        "feeds": region.feeds,
        "outputs": outputs,
        "can_fail": can_fail,
        "sites": sites,
        "watches": watches_of(closed, sources, region.placement),
        "argument_places": region.argument_places,
    }
    placement, storage = region.placement, region.storage
    if placement is not None and storage is not None and storage != placement:
        staged = programs.StagedProgram(
            closed,
            donated=donated_positions,
            kept=kept_positions,
            written=positions,
            num_written=num_written,
            placement=placement,
            storage=storage,
        )
        return programs.Program(compiled=staged, placement=storage, **description)
    places = [programs.place_of(variable, placement) for variable in order]
    are_whole = programs.are_whole(order, placement)
    closed = cpu.hold_shared(cpu.join_small(closed, list(itertools.compress(positions, are_whole))))
    flat = jaxprs.lift_inputs(closed, num_sources)
    result_places = region.result_places

    # It holds no variable: it may be run for others' later (`CompiledPrograms`).
    def run(
        donated_values: list[Any], kept_values: list[Any], arguments: list[Any]
    ) -> tuple[list[Any], list[Any]]:
        # Donated and kept values come apart, as JAX donates whole arguments; here they are put in order
        # again.
        inputs: list[Any] = [None] * num_sources
        for position, value in zip(donated_positions, donated_values, strict=True):
            inputs[position] = value
        for position, value in zip(kept_positions, kept_values, strict=True):
            inputs[position] = value
        results = flat(*inputs, *arguments)
        new = [results[position] for position in positions]
        if placement is not None:
            # XLA would be free to leave them elsewhere, and the next call had to move them.
            new = jax.lax.with_sharding_constraint(new, places)
        return new, [*map(_place, results[num_written:], result_places)] if result_places else results[
            num_written:
        ]

    # The name in JAX's logs and profiles.
    run.__name__ = name
    variables = {0: donated, 1: description["kept"]}
    options = programs.options_of([*donated, *description["kept"]], placement)
    compiled = regions.jit(run, name=name, donated=(0,), variables=variables, **options)
    return programs.Program(compiled=compiled, placement=placement, **description)


def _place(value: Any, where: jax.sharding.Sharding | None) -> Any:
    return value if where is None else jax.lax.with_sharding_constraint(value, where)


def _trace_again(trace: Callable[[list[Any]], Any]) -> Any:
    """Call a function that traces another one, again with what it finds out that it had to know before."""
    kept: list[Any] = []
    for _ in range(_MAX_TRACES):
        try:
            return trace(kept)
        except regions.TraceAgainError as found:
            kept = [*kept, *found.kept]
    raise errors.TracingError(
        f"A function was traced {_MAX_TRACES} times, and each time has assigned other variables in replicas. Expected: "
        "the same variables whenever it is traced. Create them before the function is called."
    )


def _move(
    values: Sequence[Any], seen: _Seen, placement: NamedSharding, per_device: int | None
) -> tuple[list[jax.ShapeDtypeStruct], _Seen]:
    """Return the types of arguments, and what streams show, on other devices; see `_compiling.move_specs`."""
    leaves, treedef = jax.tree.flatten([structure for runs in seen.values() for structure, _ in runs])
    specs = regions.move_specs([*values, *leaves], placement, per_device)
    structures = iter(jax.tree.unflatten(treedef, specs[len(values) :]))
    there = {key: [(next(structures), count) for _, count in runs] for key, runs in seen.items()}
    return specs[: len(values)], there


def _is_on_one_device(values: Sequence[Any]) -> bool:
    """Return whether none of the values and variables is spread over several devices, or kept elsewhere."""
    variables = [each for each in values if isinstance(each, keras.Variable)]
    if any(store_of(each) is not None for each in variables):
        return False
    arrays = [*values, *map(core_storage.read, variables)]
    return all(len(each.sharding.device_set) == 1 for each in arrays if isinstance(each, jax.Array))


def _check_leaks(name: str, closed: jax.extend.core.ClosedJaxpr, region: regions.ProgramRegion) -> None:
    """Raise if a program that the host drives uses values of a loop outside of it. JAX tells it of all others."""
    jaxprs = [closed, *(step.jaxpr for loop in region.loops.values() for step in loop.steps)]
    if any(isinstance(value, jax.core.Tracer) for jaxpr in jaxprs for value in jaxpr.consts):
        raise errors.TracingError(f"{shown(name)} {_LEAK}")


_LEAK = (
    "uses a value outside of the compiled loop, condition or transformation that computed it (a list that a loop "
    "appends to, an attribute that it sets). Expected: values leave a loop as local variables, or in a "
    "stratax.Variable. Give the loop an array to write to (`array = array.at[i].set(x)`)."
)
_OUTER_MODULE = (
    "A function that is compiled (by strategy.run or stratax.function) changes or differentiates a module of Flax NNX "
    "that was made outside of it, whose values are no part of the program. Expected: the module's state in variables, "
    "and the module merged in the function (`nnx.split`, `nnx.merge`), as docs/jax_libraries.md shows. Received: "
)
_NEED_VALUES: tuple[type[Exception], ...] = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
)
_FOREIGN_ERRORS: tuple[type[Exception], ...] = (jax.errors.UnexpectedTracerError, *_NEED_VALUES)


def _explain(function: Function, error: Exception) -> str:
    """Return what a program that JAX refused to trace did, and how to mend it."""
    if isinstance(error, jax.errors.UnexpectedTracerError):
        return f"{shown(function)} {_LEAK} Received: {error}"
    return (
        f"{shown(function)} needs the value of an array while it is traced, when there is none yet: `float(x)`, "
        "`int(x)`, "
        "`numpy.asarray(x)`, a shape or an `if` in code that is not converted. Expected: operations of jax.numpy or "
        "keras.ops on it. Pass the value as a Python number, which the program is specialised on, or compute with "
        f"arrays. Received: {error}"
    )


def _spec_of(leaf: object) -> Any:
    """Return what stands for a tensor by its shape and dtype; anything else is a constant."""
    leaf = leaf.value if isinstance(leaf, keras.Variable) else leaf
    if not isinstance(leaf, jax.Array | np.ndarray | np.generic):
        return leaf
    return TensorType(tuple(leaf.shape), np.dtype(leaf.dtype))


def _sort_outputs(result: object) -> tuple[list[Any], Any]:
    """Split a function's result into arrays and a structure that says where they belong."""
    leaves, treedef = jax.tree.flatten(result)
    arrays: list[Any] = []
    places = []
    for leaf in leaves:
        # A variable that is returned stands for the value that it has after the call.
        value = leaf.value if isinstance(leaf, keras.Variable) else leaf
        value, counted = jaxprs.find_counts(value) if CHOSEN else (value, ())
        is_number = isinstance(value, (jax.Array, np.ndarray, np.generic, bool, int, float, complex))
        # Text that is returned was known while the function was traced.
        if is_number and not is_text(value):
            counts = tuple((axis, len(arrays) + number) for number, (axis, _) in enumerate(counted, 1))
            places.append(programs.Output(len(arrays), counts=counts))
            arrays += [value, *(count for _, count in counted)]
        else:
            places.append(
                programs.Output(None, as_result(value) if isinstance(value, str | bytes) else value)
            )
    return arrays, jax.tree.unflatten(treedef, places)


def _abstract(value: Any) -> Any:
    if jax.dtypes.issubdtype(value.dtype, jax.dtypes.extended):
        # A key of `jax.random`, which NumPy has no dtype for.
        return jax.ShapeDtypeStruct(value.shape, value.dtype)
    # NumPy's kinds of objects, bytes, text, dates and durations.
    if np.dtype(value.dtype).kind in "OSUMm":
        raise errors.BadTypeError(
            "An array that is passed to a compiled function must have a dtype that devices compute with: numbers or "
            f"booleans. Received: an array of dtype {value.dtype} and shape {value.shape}. Pass text as a str, and "
            "arrays of objects as a list."
        )
    # Described as it will arrive: devices have no 64 bits unless JAX is told so.
    dtype = jax.dtypes.canonicalize_dtype(value.dtype)
    return jax.ShapeDtypeStruct(value.shape, dtype, weak_type=getattr(value, "weak_type", False))


def _takes_positional_only_defaults(signature: inspect.Signature) -> int:
    """Return how many plain positional parameters there are, or -1 where a call has to be bound to be compared."""
    kinds = [parameter.kind for parameter in signature.parameters.values()]
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return len(kinds) if all(kind in plain for kind in kinds) else -1


def _bind_method(
    python_function: Callable[..., Any], instance: object, table: dict[int, Any]
) -> Callable[..., Any]:
    """Return a bound method that does not keep its instance alive; it leaves the table of methods together with it."""
    try:
        # A finalizer would run at the end of the program too, unless told not to.
        weakref.finalize(instance, table.pop, id(instance), None).atexit = False
        reference: Callable[[], Any] = weakref.ref(instance)
    except TypeError:  # An object that can't be referred to weakly (`__slots__`, a namedtuple) stays.
        reference = functools.partial(_itself, instance)

    @functools.wraps(python_function)
    def method(*args: object, **kwargs: object) -> Any:
        return python_function(reference(), *args, **kwargs)

    # Without `self`, which the bound method supplies.
    parameters = list(inspect.signature(python_function).parameters.values())[1:]
    method.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return method


def _itself(value: object) -> Any:
    return value


_Variants = list[tuple[programs.Program, list[Any]]]
