"""XLA's compiler for TPUs, which comes with libtpu and needs no TPU (rehearsal layer).

What was found of it, with jax 0.10.2 and libtpu 0.0.42:

- libtpu asks the cloud's metadata server where it is, and waits, unless `TPU_SKIP_MDS_QUERY` is set.
- It takes a lock, `/tmp/libtpu_lockfile`, so a second process that loads it fails with "Internal error when accessing
  libtpu multi-process lockfile", unless `ALLOW_MULTIPLE_LIBTPU_LOAD` is set. Compilations don't disturb one another.
- v4 and v5p have one device for each chip as JAX uses them (`chip_config_name="megacore"`); else v4 has two.
- A slice of one chip needs `chips_per_host_bounds=(1, 1, 1)`.
- The compiler counts what a loop does once, however often it runs, and says nowhere how often that is.
- It counts as accessed also what never leaves the chip: `_traffic`.
"""

import contextlib
import dataclasses
import importlib.metadata
import os
import re
import time
import traceback
from collections.abc import Iterator
from typing import Any

import jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from stratax import errors
from stratax.base.callers import is_library, is_python
from stratax.base.shown import shown
from stratax.command.rehearsal import _report
from stratax.command.rehearsal._attribution import name_variables
from stratax.command.rehearsal._estimate import estimate
from stratax.command.rehearsal._hlo import collectives_of
from stratax.command.rehearsal._topologies import Topology
from stratax.command.rehearsal._traffic import count_repeated, traffic_of
from stratax.core import jaxprs
from stratax.core.regions import MadeProgram, arguments_of
from stratax.core.storage import describe_held
from stratax.distribute.replicas import MODEL_AXIS, mesh_of
from stratax.distribute.strategies import ARRANGEMENT, Arrangement
from stratax.seams import jax as seam

_SETTINGS = {
    "TPU_SKIP_MDS_QUERY": "1",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    # Otherwise it complains of a host whose TPU it can't tell.
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_WORKER_ID": "0",
    "TPU_ACCELERATOR_TYPE": "v5litepod-4",
}
_INSTALL = "Run: pip install 'stratax-train[tpu-compile]'"
# Two of the compiler's messages: what was planned, and what is known before that.
_USED = re.compile(
    r"(?:Used |required for [\w ]+\()(?P<used>[0-9.]+)(?P<unit>[KMGT]?)\)? "
    r"(?:of [0-9.]+[KMGT]? hbm|exceeds available HBM)"
)
# What the compiler adds to some messages: the functions of its own that were being called.
_STACK = re.compile(r"\s*:?\s+@ +0x[0-9a-f]+ ")
_LONGEST_MESSAGE = 1000
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
# What the compiler's messages say of what it can't do, and what is to be done.
_REMEDIES = (
    (
        r"callback|host_callback|HostCallback",
        "It calls Python while it runs. Leave out stratax.print, py_function and assertions, or make them outside of "
        "the step.",
    ),
    (
        r"[Dd]ynamic (shape|dimension)|is_bounded_dynamic|unbounded",
        "An array's size depends on values. Give it a fixed size (`size=` of jax.numpy.nonzero, padding, masks).",
    ),
    (
        r"\b[fFs]64\b|float64|int64|X64|complex128",
        "It computes with 64 bits. Leave jax_enable_x64 off, or cast to float32 and int32.",
    ),
    (r"string|object dtype", "Text does not go to a TPU. Look it up on the host, in the input pipeline."),
)


def check_installed() -> None:
    """Check that libtpu is installed, in the version that JAX expects.

    Raises:
        MissingPackageError: If it is not.
    """
    expected = _find_expected_version()
    try:
        found = importlib.metadata.version("libtpu")
    except importlib.metadata.PackageNotFoundError as error:
        raise errors.MissingPackageError(
            f"Compiling for TPUs needs the package libtpu, which is not installed. {_INSTALL} (libtpu "
            f"{expected or 'of any version'} goes with jax {jax.__version__}; it exists for Linux only)."
        ) from error
    if expected and not _fits(found, expected):
        raise errors.MissingPackageError(
            f"jax {jax.__version__} compiles for TPUs with libtpu {expected}. Received: libtpu {found}. "
            f"Run: pip install 'libtpu=={expected}'"
        )


def _find_expected_version() -> str:
    """Return the version of libtpu that the installed JAX asks for, such as ``0.0.42.*``; empty if it asks for none."""
    for line in importlib.metadata.requires("jax") or ():
        match = re.match(r"libtpu\s*==\s*(?P<version>[0-9.*]+)", line)
        if match:
            return match["version"]
    return ""


def _fits(found: str, expected: str) -> bool:
    prefix = expected.removesuffix("*")
    return found == expected or (prefix != expected and f"{found}.".startswith(prefix))


def compile_for(
    made: MadeProgram, topology: Topology, batch: int = 0, arrangement: Arrangement | None = None
) -> "_report.ProgramReport":
    """Compile a program for a slice of a TPU pod.

    Args:
        made: The program, as it was caught.
        topology: The slice.
        batch: How many examples a step takes, on all devices together; 0 for as many on each device as in the run.
        arrangement: What its `ShardedStrategy` is on the slice; None for what it is in the run.

    Returns:
        The report; if the program does not compile, it says why.
    """
    check_installed()
    # Devices that share a replica share its part of the batch.
    sharing = _count_sharing(made) if arrangement is None else arrangement.model
    count = topology.num_devices // sharing if _num_devices(made.arguments) > 1 else 1
    if batch % count:
        return _report.ProgramReport(
            name=made.name,
            topology=topology,
            compile_seconds=0.0,
            failure=_describe_undivided(topology, batch, count),
            batch=batch,
        )
    started = time.perf_counter()
    moved = made
    try:
        with ARRANGEMENT.holding(arrangement):
            moved, arguments = _for_topology(made, topology, batch, count)
        lowered = moved.compiled.lower(*arguments)
        started = time.perf_counter()
        compiled = lowered.compile()
        _check_is_of_tpu(compiled, made.name)
    except Exception as error:
        return _report.ProgramReport(
            name=made.name,
            topology=topology,
            compile_seconds=time.perf_counter() - started,
            failure=_failure(error, moved),
            batch=batch,
            mesh=_report.mesh_of(moved),
            held=_report.list_held(moved),
        )
    seconds = time.perf_counter() - started
    costs = compiled.cost_analysis() or {}
    text = compiled.as_text()
    collectives = name_variables(collectives_of(text), moved)
    steps, examples = _report.steps_and_examples(moved)
    flops = float(costs.get("flops", 0)) * count_repeated(text, steps)
    accessed = traffic_of(text, steps)
    return _report.ProgramReport(
        name=made.name,
        topology=topology,
        compile_seconds=seconds,
        memory=_report.memory_of(moved, compiled.memory_analysis()),
        flops=flops,
        bytes_accessed=accessed,
        collectives=collectives,
        steps=steps,
        examples=examples,
        num_devices=max(_num_devices(moved.arguments), _num_devices(compiled.output_shardings)),
        estimate=estimate(topology, flops, accessed, collectives, steps),
        batch=batch,
        mesh=_report.mesh_of(moved),
        held=_report.list_held(moved),
    )


def _describe_undivided(topology: Topology, batch: int, count: int) -> "_report.Failure":
    below = batch // count * count
    remedy = (
        f"Use a multiple of {count}, such as {below} or {below + count}."
        if below
        else f"Use a multiple of {count}."
    )
    return _report.Failure(
        kind="batch",
        message=f"A batch of {batch} does not divide among the {count} devices of {topology.name}.",
        remedy=remedy,
    )


@contextlib.contextmanager
def _without_tpu() -> Iterator[None]:
    """Have libtpu be loaded in a block as on a host without a TPU; a program that looks for one later finds it."""
    added = {name: value for name, value in _SETTINGS.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


def _for_topology(
    made: MadeProgram, topology: Topology, batch: int, num_dividing: int
) -> tuple[MadeProgram, tuple[Any, ...]]:
    """Return a program for a slice's devices, with the types of its arguments there.

    Args:
        made: The program.
        topology: The slice.
        batch: The global batch; 0 for as many examples on each device as in the run.
        num_dividing: How many devices divide the batch.
    """
    with _without_tpu():
        devices = topology.devices()
    if made.traced_for is not None:
        moved = made.traced_for(devices, batch // num_dividing or None)
        return moved, moved.arguments
    if batch:
        raise errors.UnimplementedError(
            f"The program {shown(made.name)} can't be traced for another batch: it takes elements of a dataset by "
            "itself, or belongs to no strategy. Expected: a program that is given its batches by a strategy. Received: "
            f"batch={batch}. Leave the batch as it is in the run, or hand the function its batches."
        )
    count = _num_devices(made.arguments)
    if count not in (1, len(devices)):
        raise errors.UnimplementedError(
            f"The program {shown(made.name)} was made for {count} devices and can't be traced for others: it goes "
            "through a dataset, keeps its variables on another device than the replicas, or belongs to no strategy. "
            "Expected: as many devices as the topology has. Simulate them "
            f"(--simulate tpu:{len(devices)}), or hand the function its batches."
        )
    mesh = mesh_of(devices[:count] if count == 1 else devices)
    arguments = jax.tree.map(lambda spec: _on(mesh, spec), made.arguments)
    exported = jax.export.export(made.compiled, platforms=["tpu"])(*made.arguments)
    # An exported program does not say which buffers it may reuse.
    call = jax.jit(exported.call, donate_argnums=made.donated)
    return dataclasses.replace(made, compiled=call), arguments


def _count_sharing(made: MadeProgram) -> int:
    """Return how many devices share a replica, and so its part of the batch."""
    shardings = (leaf.sharding for leaf in jax.tree.leaves(made.arguments))
    meshes = (each.mesh for each in shardings if isinstance(each, NamedSharding))
    return max((mesh.shape.get(MODEL_AXIS, 1) for mesh in meshes), default=1)


def _check_is_of_tpu(compiled: Any, name: str) -> None:
    """Refuse what JAX compiled for the host, as nothing in the program says where it runs."""
    shardings = [*jax.tree.leaves(compiled.input_shardings), *jax.tree.leaves(compiled.output_shardings)]
    if any(device.platform != "tpu" for each in shardings for device in each.device_set):
        raise errors.UnimplementedError(
            f"The program {shown(name)} takes nothing and has no variables, so nothing says that it runs on a TPU. "
            "Expected: a program with an argument. Hand it one."
        )


def _num_devices(values: object) -> int:
    """Return over how many devices a program's arguments or results are spread, as their types or shardings tell."""
    shardings = (getattr(leaf, "sharding", leaf) for leaf in jax.tree.leaves(values))
    return max((len(each.device_set) for each in shardings if each is not None), default=1)


def _on(mesh: Mesh, spec: jax.ShapeDtypeStruct) -> jax.ShapeDtypeStruct:
    parts = spec.sharding.spec if isinstance(spec.sharding, NamedSharding) else PartitionSpec()
    return jax.ShapeDtypeStruct(spec.shape, spec.dtype, sharding=NamedSharding(mesh, parts))


def _failure(error: Exception, made: MadeProgram | None = None) -> "_report.Failure":
    message = str(error)
    used = _USED.search(message)
    if used is not None or "RESOURCE_EXHAUSTED" in message:
        needed = int(float(used["used"]) * _UNITS[used["unit"]]) if used else 0
        arguments = () if made is None else arguments_of(made)
        held = [(variable, spec.sharding) for _, spec, variable in arguments if variable is not None]
        return _report.Failure(
            kind="memory",
            message=message.strip().splitlines()[0],
            needed_bytes=needed,
            remedy=describe_held(held),
        )
    # Our own messages say what to do.
    own = isinstance(error, errors.StrataxError)
    remedy = next((text for pattern, text in _REMEDIES if not own and re.search(pattern, message)), "")
    return _report.Failure(
        kind="compiler",
        message=_STACK.split(message)[0].strip()[:_LONGEST_MESSAGE],
        place=_place(error) or _place_of_operation(message, made),
        remedy=remedy,
    )


def _place(error: BaseException) -> str:
    """Return the line of the user's program that raised an error; empty if it was none of these."""
    cause: BaseException | None = error
    found = ""
    while cause is not None:
        for frame in traceback.extract_tb(cause.__traceback__):
            # A rehearsal that is called directly is the outermost line, and what failed is further inside.
            if not is_library(frame.filename) and not is_python(frame.filename):
                found = f"{frame.filename}:{frame.lineno}"
        cause = cause.__cause__
    return found


def _place_of_operation(message: str, made: MadeProgram | None) -> str:
    """Return the line that made the operation which a message of the compiler names."""
    named = re.search(r'source_file="(?P<file>[^"]+)" source_line=(?P<line>[0-9]+)', message)
    if named:
        return f"{named['file']}:{named['line']}"
    names = _primitives_in(message)
    if not names or made is None or not hasattr(made.compiled, "trace"):
        return ""
    jaxpr = made.compiled.trace(*made.arguments).jaxpr
    # What JAX' own functions do was traced apart: its line is that of the call around it.
    for chain in jaxprs.chains(jaxpr):
        if chain[-1].primitive.name in names:
            lines = (line for equation in reversed(chain) for line in seam.lines_of(equation))
            return next((f"{file}:{number}" for file, number in lines if not is_library(file)), "")
    return ""


def _primitives_in(message: str) -> set[str]:
    """Return the names that JAX may have for the operation of which a message tells."""
    named = re.search(r"primitive '(?P<name>[^']+)'", message)
    if named:
        return {named["name"]}
    # The compiler writes LuDecomposition and TriangularSolve for JAX's lu and triangular_solve.
    words = [re.findall(r"[A-Z][a-z]+", name) for name in re.findall(r"\b(?:[A-Z][a-z]+){2,}\b", message)]
    return {each for parts in words for each in (parts[0].lower(), "_".join(parts).lower())}
