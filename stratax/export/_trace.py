"""A function of Python as a program that runs without it: `jax.export` of what was traced (export layer)."""

import contextlib
import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import keras
import numpy as np
from jax import export

from stratax.base.recording import RECORDER, recording_with
from stratax.base.shown import shown
from stratax.base.tracing import as_numbers
from stratax.core import jaxprs, programs, regions
from stratax.errors import BadArgumentError, TracingError
from stratax.export._host import host_part
from stratax.export._leaves import leaves_in
from stratax.export._manifest import METHODS, STRING, HostPlan, TensorInfo
from stratax.seams.jax import partial_eval, without_source_files

PLATFORMS = ("cpu", "cuda", "tpu")
_UNKNOWN_SIZE = (jax.errors.ConcretizationTypeError, jax.errors.InconclusiveDimensionOperation)
# The class of JAX' symbols for sizes, as Python's own TypeErrors quote it.
_SYMBOL = "'_DimExpr'"
# What Keras writes behind a layer's error, on terminals.
_PLAIN = "\x1b[0m"
# The line that says what is not known; more of JAX' and Keras' own advice stands around it.
_REASON = re.compile(
    r"^(?:\x1b\[\d*m)?(.*(?:Symbolic dimension|Cannot divide|Abstract tracer|_DimExpr).*)$", re.MULTILINE
)


@dataclasses.dataclass(frozen=True, slots=True)
class ExportedFunction:
    """A function to be exported.

    Attributes:
        function: Takes a dict of arrays, by the names of `inputs`; returns one, or a structure of arrays.
        inputs: What it takes, by name. All first dimensions that are None are one size, the number of examples; the
            others are sizes of their own.
        method: What it is for: ``"predict"``, ``"classify"``, ``"regress"``, ``"eval"`` or ``"train"``.
        has_placeholders: Whether it makes further inputs of its own with `tf.placeholder`.
        is_optional: Whether it is left out, with a message, if it can't be exported.
    """

    function: Callable[[dict[str, Any]], Any]
    inputs: Mapping[str, TensorInfo]
    method: str = "predict"
    has_placeholders: bool = False
    is_optional: bool = False

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise BadArgumentError(
                f"A signature's method is one of {METHODS}. Received: {shown(self.method)}."
            )


@dataclasses.dataclass(frozen=True, slots=True)
class TracedFunction:
    """A function that was traced and compiled for all platforms.

    Attributes:
        payloads: The program, serialized, for each platform: one for all would choose among its parts at run time.
        variables: The variables that come before its arguments, in order.
        arguments: The names of its arguments.
        results: The names of its results.
        inputs: What the function takes, by name.
        outputs: What it gives, by name.
        before: What the host computes before; None for nothing.
        after: What the host computes behind it; None for nothing.
    """

    payloads: dict[str, bytes]
    variables: list[keras.Variable]
    arguments: tuple[str, ...]
    results: tuple[str, ...]
    inputs: dict[str, TensorInfo]
    outputs: dict[str, TensorInfo]
    before: HostPlan | None
    after: HostPlan | None


def trace_function(name: str, signature: ExportedFunction, platforms: Sequence[str]) -> TracedFunction:
    """Trace and compile a function.

    Args:
        name: The signature's name, for errors.
        signature: The function.
        platforms: What it is compiled for.

    Raises:
        BadArgumentError: It changes variables, or gives nothing.
        TracingError: It does something that no compiled program does, or needs sizes that are not known.
    """
    scope = export.SymbolicScope()
    specs = _specs(name, signature, scope)
    trace = _Trace(name, signature, scope)
    closed, shapes = trace.of(specs)
    region = trace.region
    _check_region(name, region)
    if programs.calls_back(closed.jaxpr):
        raise TracingError(
            f"Signature {shown(name)} calls Python while it runs (tf.py_function, tf.print or an assertion), which an "
            "export has not. Expected: a function of arrays alone. Leave that out of the exported function."
        )
    # What the function read of variables comes first among the arguments of `flat`.
    flat = jaxprs.lift_inputs(closed, len(region.inputs))

    # What is drawn differs in each call: the host gives the states of generators. Layers of Keras draw what only
    # training needs, too.
    is_used = find_used_arguments(flat, [*map(spec_of, region.inputs), *specs.values()])
    seeds = [each for each, used in zip(region.inputs, is_used, strict=False) if is_seed(each) and used]
    drawn_ids = set(map(id, seeds))
    variables = [each for each in region.inputs if not is_seed(each)]
    own_ids = list(specs)
    unused = {id for id, used in zip(own_ids, is_used[len(region.inputs) :], strict=True) if not used}
    # An input on which nothing depends is no argument, unless a size that others need is known by it alone.
    left_out = _find_left_out(specs, unused & trace.recorder.calls.find_unfed(specs))
    blanks = {id: specs.pop(id) for id in left_out}
    # Behind the other arguments, in the order in which `run` takes them.
    for seed in seeds:
        specs[trace.recorder.calls.new_seed()] = spec_of(seed)

    def run(weights: list[Any], arguments: list[Any]) -> list[Any]:
        given, kept = iter(arguments), iter(weights)
        own = [
            # Any values do: nothing that is wanted depends on them.
            jax.numpy.zeros(blanks[id].shape, blanks[id].dtype) if id in blanks else next(given)
            for id in own_ids
        ]
        # `own` has taken the arguments: what is left of `given` are the seeds behind them.
        drawn = given
        inputs = [
            next(kept)
            if not is_seed(each)
            else next(drawn)
            if id(each) in drawn_ids
            else jax.numpy.zeros(each.shape, each.dtype)
            for each in region.inputs
        ]
        return list(flat(*inputs, *own))

    before = trace.recorder.calls.plan_before(specs, trace.host_outputs.values())
    after = trace.recorder.calls.plan_after(trace.host_outputs)
    trace.recorder.calls.check_fed(specs, (before, after))
    # What profilers and XLA's dumps show.
    run.__name__ = name if name.isidentifier() else "signature"
    weights = list(map(spec_of, variables))
    payloads = {}
    for platform in platforms:
        with naming_sizes(f"Signature {shown(name)}"), without_source_files():
            exported = export.export(jax.jit(run), platforms=[platform])(weights, list(specs.values()))
        payloads[platform] = bytes(exported.serialize())
    infos = {
        # A size that is JAX' symbol becomes None.
        each: TensorInfo(np.dtype(spec.dtype).name, tuple(_find_known_size(size) for size in spec.shape))
        for each, spec in zip(trace.results, shapes, strict=True)
    }
    return TracedFunction(
        payloads,
        variables,
        tuple(trace.recorder.calls.input_name(id) for id in specs),
        tuple(trace.results),
        trace.recorder.calls.name_infos(),
        {
            each: trace.host_outputs[each].info if each in trace.host_outputs else infos[each]
            for each in trace.outputs
        },
        before,
        after,
    )


def _find_left_out(specs: Mapping[str, jax.ShapeDtypeStruct], unwanted: set[str]) -> list[str]:
    """Return which arguments a program can do without: those whose sizes others have, too."""
    # JAX finds what a symbol for a size stands for in the shapes of the arguments that have it.
    kept = {str(size) for id, spec in specs.items() if id not in unwanted for size in spec.shape}
    return [
        id
        for id in specs
        if id in unwanted and all(isinstance(size, int) or str(size) in kept for size in specs[id].shape)
    ]


class _Trace:
    """One trace of a function that is exported, or several, of which the last counts.

    Attributes:
        region: What it took besides its arguments.
        recorder: What the host does.
        outputs: The names of what the function gives.
        host_outputs: Those of them that the host knows, by name.
        results: The names of what the program gives.

    Args:
        name: The signature's name.
        signature: The function.
        scope: Of symbols for sizes.
    """

    def __init__(self, name: str, signature: ExportedFunction, scope: export.SymbolicScope) -> None:
        self._name = name
        self._signature = signature
        self._scope = scope
        self.region = regions.ProgramRegion()
        self._host = host_part()
        self.recorder = self._host.HostRecorder(self._host.HostArguments(None, None, scope))
        self.outputs: list[str] = []
        self.host_outputs: dict[str, Any] = {}
        self.results: list[str] = []

    def of(self, specs: Mapping[str, jax.ShapeDtypeStruct] | None) -> tuple[Any, Any]:
        """Trace the function; return what JAX calls its closed jaxpr, and the shapes of its results.

        Args:
            specs: The program's arguments, by the ids of values; None to find out which there are.
        """
        # Each trace finds anew what the function reads; the last one counts.
        self.region = regions.ProgramRegion()
        ids = None if specs is None else list(specs)

        def body(arrays: list[Any]) -> list[Any]:
            given = None if ids is None else dict(zip(ids, arrays, strict=True))
            self.arguments = self._host.HostArguments(given, arrays[0] if ids is None else None, self._scope)
            self.recorder = self._host.HostRecorder(self.arguments)
            with self.region, recording_with(self.recorder):
                inputs = {
                    name: self.recorder.input(name, info) for name, info in self._signature.inputs.items()
                }
                return self._divide_results(_name_results(self._name, self._signature.function(inputs)))

        # In the first trace nobody knows what the program takes: one traced number stands in for all of it.
        given = [jax.ShapeDtypeStruct((), np.int32)] if specs is None else list(specs.values())
        with naming_sizes(f"Signature {shown(self._name)}"):
            made: tuple[Any, Any] = jax.make_jaxpr(body, return_shape=True)(given)
        return made

    def _divide_results(self, found: dict[str, Any]) -> list[Any]:
        """Return what the program gives: the outputs that the host does not know, and what the host needs."""
        self.outputs = list(found)
        self.host_outputs = {
            name: each for name, each in found.items() if isinstance(each, self._host.RecordedValue)
        }
        own = {name: each for name, each in found.items() if name not in self.host_outputs}
        wanted = self.recorder.calls.results_for(self.host_outputs.values())
        self.results = [*own, *(id.removeprefix("out/") for id in wanted)]
        return [*own.values(), *wanted.values()]


def _specs(
    name: str, signature: ExportedFunction, scope: export.SymbolicScope
) -> dict[str, jax.ShapeDtypeStruct]:
    """Return the arguments of a function's program, by the ids of values."""
    trace = _Trace(name, signature, scope)
    if signature.has_placeholders or any(info.dtype == STRING for info in signature.inputs.values()):
        # What the host makes is known when it has been traced.
        trace.of(None)
        return trace.arguments.specs
    arguments = trace.recorder.arguments
    for each, info in signature.inputs.items():
        arguments.note(f"in/{each}", trace.recorder.inputs.sizes_of(each, info), info.numpy_dtype)
    return arguments.specs


def _name_results(name: str, result: object) -> dict[str, Any]:
    """Return results by name, as TensorFlow names those of a signature."""
    if isinstance(result, Mapping):
        found = {str(key): value for key, value in result.items()}
        # TensorFlow's signatures give flat dicts alone; what is nested gets its path as its name.
        if any(isinstance(value, Mapping | list | tuple) for value in found.values()):
            found = _flatten(found)
    else:
        leaves = list(leaves_in(result))
        found = {f"output_{index}": leaf for index, leaf in enumerate(leaves)}
    if not found:
        raise BadArgumentError(f"Signature {shown(name)} gives nothing. Expected: arrays, by name.")
    return {key: _output(value) for key, value in found.items()}


def _output(value: object) -> Any:
    """Return an output as an array of the program, or as a value of the host: text is one."""
    host = host_part()
    if isinstance(value, host.RecordedValue):
        return value
    value = as_numbers(value)
    recorder = RECORDER.get()
    if isinstance(recorder, host.HostRecorder) and _is_text(value):
        return recorder.constant(value)
    return jax.numpy.asarray(value)


def _is_text(value: object) -> bool:
    leaves = list(leaves_in(value))
    return any(
        isinstance(each, str | bytes) or getattr(each, "dtype", None) is np.dtype(object) for each in leaves
    )


def _flatten(tree: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "_".join(str(getattr(part, "key", getattr(part, "idx", part))) for part in path): leaf
        for path, leaf in jax.tree_util.tree_flatten_with_path(dict(tree))[0]
    }


def _check_region(name: str, region: regions.ProgramRegion) -> None:
    changed = [variable.path for variable in region.writes.values() if not is_seed(variable)]
    if changed or region.created:
        what = f"assigns {shown(changed[0])}" if changed else f"creates {shown(region.created[0].path)}"
        raise BadArgumentError(
            f"Signature {shown(name)} changes variables, which an export keeps as they are: it {what}. Expected: a "
            "function that reads them only. Build the model before, and call it with training=False."
        )
    others = [each for each in region.inputs if not isinstance(each, keras.Variable)]
    if others or region.loops or region.passes or region.feeds:
        raise TracingError(
            f"Signature {shown(name)} draws random numbers of the program's state, or takes elements of a dataset, "
            "which an export has not. Expected: a function of its inputs and of variables."
        )


def is_seed(variable: Any) -> bool:
    """Return whether a variable is the state of one of Keras' generators of random numbers."""
    # Keras makes a plain variable for it, which can be told by its path and form only.
    is_state = getattr(variable, "path", "").endswith("seed_generator_state")
    return is_state and tuple(variable.shape) == (2,) and np.dtype(variable.dtype) == np.uint32


def spec_of(variable: keras.Variable) -> jax.ShapeDtypeStruct:
    """Return what a program takes for a variable."""
    return jax.ShapeDtypeStruct(variable.shape, variable.dtype)


def find_used_arguments(
    function: Callable[..., Any], specs: Sequence[jax.ShapeDtypeStruct], wanted: Sequence[bool] | None = None
) -> list[bool]:
    """Return for each argument of a function whether its results depend on it.

    Args:
        function: Takes arrays and gives a list of arrays.
        specs: What it takes.
        wanted: Which of the results count; None for all.
    """
    jaxpr = jax.make_jaxpr(function)(*specs).jaxpr
    counted = [True] * len(jaxpr.outvars) if wanted is None else list(wanted)
    used: list[bool] = partial_eval.dce_jaxpr(jaxpr, counted)[1]
    return used


@contextlib.contextmanager
def naming_sizes(what: str) -> Iterator[None]:
    """Have errors of sizes that are not known say in a block what needs them.

    Args:
        what: What is compiled in it.

    Raises:
        TracingError: In place of what JAX raises, perhaps within what Keras says of a layer.
    """
    try:
        yield
    except TypeError as error:
        # JAX' symbol for a size where Python or NumPy wants a number has no error of its own.
        if not isinstance(error, _UNKNOWN_SIZE) and _SYMBOL not in str(error):
            raise
        raise _needs_sizes(what, error) from error
    except _UNKNOWN_SIZE as error:
        raise _needs_sizes(what, error) from error


def _needs_sizes(what: str, error: Exception) -> TracingError:
    found = _REASON.search(str(error))
    reason = found[1].removesuffix(_PLAIN).removesuffix(".") if found else str(error)[:300]
    return TracingError(
        f"{what} can't be compiled for any number of examples: {reason}. Give sizes where the shape has None, such as "
        "a length or a fixed batch size: in the model's inputs, or in the `input_signature` of a function that calls "
        "it (`signatures=` of `save`)."
    )


def _find_known_size(size: object) -> int | None:
    return int(size) if isinstance(size, int | np.integer) else None
