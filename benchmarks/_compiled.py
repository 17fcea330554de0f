"""What is compiled for TPUs that aren't there, against the same by hand: operations, bytes and memory."""

import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import jax

import stratax as sx
import stratax.tf as tf
from benchmarks import _estimator_programs, _measure, _models, _peer
from benchmarks._hand_written import HandWritten
from benchmarks._with_stratax import CustomLoop, compiled_model
from stratax.command.rehearsal import (
    Catcher,
    ProgramReport,
    Topology,
    check_installed,
    compile_for,
    parse_topology,
)
from stratax.core.regions import MadeProgram
from stratax.errors import MissingPackageError

_METHODS = {"fit": "train", "loop": "train", "estimator": "train"}
# What some scalars take that do not grow with the model: a program of Stratax counts on from what its metrics hold, one
# by hand from zero. Each of their operations reads and writes a tile of 512 or 1,024 bytes.
_BYTES_OF_SCALARS = 32 << 10
_COMBINED_SCALARS = 16
# On each device. Of 25 or 100 examples a batch's layout differs with a dimension of one device beside it.
_EXAMPLES = 128


def against_hand_written(
    method: str, kind: str, steps: int, topology: str, plan: _measure.Plan
) -> _measure.Figure:
    """The largest of the ratios of what a dispatch takes on each device; no time is measured.

    Raises:
        NotInstalledError: If the compiler for TPUs is not installed.
    """
    del plan
    try:
        check_installed()
    except MissingPackageError as error:
        raise _peer.NotInstalledError(
            "not installed: libtpu (pip install 'stratax-train[tpu-compile]')"
        ) from error
    ours, theirs = both(method, kind, steps, parse_topology(topology))
    found = ratios(ours, theirs)
    details = {f"{name.replace(' ', '_')}_ratio": value for name, value in found.items()}
    details |= {"stratax_bytes": ours.bytes_accessed, "by_hand_bytes": theirs.bytes_accessed}
    value = max(found.values())
    return _measure.Figure(value=value, low=value, high=value, details=details)


def both(method: str, kind: str, steps: int, topology: Topology) -> tuple[ProgramReport, ProgramReport]:
    """The programs of Stratax and by hand, compiled with as many examples on each device as fill a TPU's tiles."""
    made, batch = caught(method, kind, steps), _EXAMPLES * topology.num_devices
    # One that takes batches by itself can't be traced for others.
    ours = compile_for(made, topology, batch if made.traced_for else 0)
    return ours, compile_for(by_hand(method, kind, steps), topology)


def ratios(ours: ProgramReport, theirs: ProgramReport) -> dict[str, float]:
    """What a program takes on each device, as a part of what another does.

    Temporaries count with what is in memory beside them: 4 KiB, where the other has none, are no more than 4 KiB. Of
    what is read and written, and of what travels, a few scalars are left out.

    Raises:
        RuntimeError: If one of them does not compile.
    """
    for report in (ours, theirs):
        if report.memory is None:
            raise RuntimeError(f"{report.name} does not compile: {report.failure}")
    return {
        "flops": _ratio(ours.flops, theirs.flops),
        "bytes": _ratio(ours.bytes_accessed - _BYTES_OF_SCALARS, theirs.bytes_accessed),
        "memory": _ratio(_in_memory(ours), _in_memory(theirs)),
        "combined": _ratio(_combined(ours) - _COMBINED_SCALARS, _combined(theirs)),
    }


def caught(method: str, kind: str, steps: int) -> MadeProgram:
    """The program that Stratax dispatches for a method.

    Args:
        method: `"fit"`, `"loop"`, `"estimator"`, `"evaluate"` or `"predict"`.
        kind: Which model.
        steps: How many steps a dispatch makes.
    """
    catcher = Catcher()
    with catcher.catching():
        _PROGRAMS[method](kind, steps)
    # Those of a step, or of several, are the last; what makes initial values comes before.
    return next(made for made in reversed(catcher.caught) if _has_batches(made))


def by_hand(method: str, kind: str, steps: int) -> MadeProgram:
    """The same program by hand."""
    name, donated = f"{method} by hand", () if method == "predict" else (0,)

    def traced_for(devices: Sequence[jax.Device], _: int | None) -> MadeProgram:
        program = HandWritten(kind, steps, counts=method != "estimator", devices=devices)
        compiled, arguments = program.compiled(_METHODS.get(method, method), _EXAMPLES)
        return MadeProgram(name=name, compiled=compiled, donated=donated, arguments=arguments)

    return MadeProgram(name=name, compiled=None, donated=donated, traced_for=traced_for)


def _fit(kind: str, steps: int) -> None:
    data = _models.make_data(kind, steps)
    _model(kind, steps).fit(data.x, data.y, batch_size=_models.BATCH, verbose=0)


def _evaluate(kind: str, steps: int) -> None:
    data = _models.make_data(kind, steps)
    _model(kind, steps).evaluate(data.x, data.y, batch_size=_models.BATCH, verbose=0)


def _predict(kind: str, steps: int) -> None:
    _model(kind, steps).predict(_models.make_data(kind, steps).x, batch_size=_models.BATCH, verbose=0)


def _model(kind: str, steps: int) -> Any:
    with sx.distribute.MirroredStrategy().scope():
        return compiled_model(kind, steps)


def _loop(kind: str, steps: int) -> None:
    batch = _EXAMPLES * jax.device_count()
    loop = CustomLoop(kind, steps, _models.make_data(kind, steps * batch // _models.BATCH + 1), batch=batch)
    if steps == 1:
        loop.dispatch_resident()
    else:
        loop.dispatch()


def _estimator(kind: str, steps: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        strategy = tf.distribute.MirroredStrategy()
        program = _estimator_programs.Program(
            tf, kind, folder, steps=steps, strategy=strategy, use_tpu=True, wait=jax.block_until_ready
        )
        program.begin()
        program.hook.make(1)
        program.hook.stop()


_PROGRAMS: dict[str, Callable[[str, int], None]] = {
    "fit": _fit,
    "loop": _loop,
    "estimator": _estimator,
    "evaluate": _evaluate,
    "predict": _predict,
}


def _has_batches(made: MadeProgram) -> bool:
    return any(
        leaf.sharding is not None and not leaf.sharding.is_fully_replicated
        for leaf in jax.tree.leaves(made.arguments)
    )


def _in_memory(report: ProgramReport) -> int:
    memory = report.memory
    return 0 if memory is None else memory.total - memory.code


def _combined(report: ProgramReport) -> int:
    return sum(each.bytes for each in report.collectives)


def _ratio(ours: float, theirs: float) -> float:
    if not theirs and ours <= 0:
        return 1.0
    # Beside nothing, as many times as it has bytes: JSON has no infinity.
    return ours / (theirs or 1)
