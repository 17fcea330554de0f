"""Several devices without having them: this host's CPU presented as CPUs, GPUs or TPU cores (cluster layer).

Nothing here starts JAX: simulation is a handful of settings that XLA's CPU client reads when it starts.
"""

import dataclasses
import os
import re

import jax

from stratax.base.shown import shown
from stratax.errors import BadTypeError, SimulationError

# The environment variable with a specification such as ``tpu:8``, read when Stratax is imported.
ENVIRONMENT_VARIABLE = "STRATAX_SIMULATE"

# The kinds of device that can be simulated, as TensorFlow spells them.
KINDS = ("CPU", "GPU", "TPU")

# How many threads XLA's CPU client starts; see `reserve_threads`.
_THREADS_VARIABLE = "PJRT_NPROC"
_THREADS_PER_DEVICE = 3
_MAX_DEVICES = 1024
_SPECIFICATION = re.compile(r"\s*(?P<kind>[A-Za-z]+)\s*:\s*(?P<count>[0-9]+)\s*")


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class SimulatedDevices:
    """What is simulated in this process.

    Attributes:
        kind: ``"CPU"``, ``"GPU"`` or ``"TPU"``.
        count: How many devices of that kind.
    """

    kind: str
    count: int

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise SimulationError(
                f"Only these kinds of device can be simulated: {', '.join(KINDS)}. Received: kind={shown(self.kind)}."
            )
        if not 1 <= self.count <= _MAX_DEVICES:
            raise SimulationError(
                f"The number of simulated devices must be between 1 and {_MAX_DEVICES}. "
                f"Received: count={shown(self.count)}."
            )


@dataclasses.dataclass(slots=True)
class _State:
    simulated: SimulatedDevices | None = None


_state = _State()


def simulate_devices(count: int, kind: str = "CPU") -> None:
    """Turn this host's CPU into `count` devices, before JAX starts.

    Use it to write, test and debug a program for several GPUs or a TPU on any machine: the programs that run are
    the real ones, with real collectives between the simulated devices; only the speed is that of the CPU. JAX
    must not have started (nothing computed, no devices listed): call it first, or set the environment variable
    ``STRATAX_SIMULATE`` (``STRATAX_SIMULATE=tpu:8``), which is applied when Stratax is imported. While devices
    are simulated, JAX uses the CPU only. Asking again for what is simulated already does nothing.

    Args:
        count: How many devices, at least 1.
        kind: What they are presented as: ``"CPU"``, ``"GPU"`` or ``"TPU"``, in upper or lower case. It decides
            their names and which resolvers and strategies find them.

    Raises:
        BadTypeError: If `count` is not an integer or `kind` not a string.
        SimulationError: If `count` or `kind` can't be simulated, or JAX has started with other devices.

    Example:
        >>> import stratax as sx
        >>> sx.simulate_devices(8, kind="TPU")  # doctest: +SKIP
        >>> len(sx.cluster.list_logical_devices("TPU"))  # doctest: +SKIP
        8
    """
    if isinstance(count, bool) or not isinstance(count, int):
        raise BadTypeError(f"The number of simulated devices must be an int. Received: count={shown(count)}.")
    if not isinstance(kind, str):
        raise BadTypeError(f"The kind of simulated device must be a string. Received: kind={shown(kind)}.")
    _apply(SimulatedDevices(kind=kind.upper(), count=count))


def simulate_from_environment() -> None:
    """Apply ``STRATAX_SIMULATE`` if it is set and not empty; called once, when Stratax is imported.

    Raises:
        SimulationError: If the variable's value is not of the form ``kind:count`` or JAX has started.
    """
    specification = os.environ.get(ENVIRONMENT_VARIABLE, "")
    if specification.strip():
        simulated = parse_specification(specification)
        simulate_devices(simulated.count, simulated.kind)


def parse_specification(specification: str) -> SimulatedDevices:
    """Read a specification such as ``tpu:8``.

    Args:
        specification: ``kind:count``, the kind in upper or lower case.

    Returns:
        What it asks for.

    Raises:
        SimulationError: If it is not of that form, or asks for what can't be simulated.

    Example:
        >>> parse_specification("tpu:8")
        SimulatedDevices(kind='TPU', count=8)
    """
    match = _SPECIFICATION.fullmatch(specification)
    if match is None:
        raise SimulationError(
            "Simulated devices are given as kind:count, for example tpu:8, gpu:2 or cpu:4 "
            f"(environment variable {ENVIRONMENT_VARIABLE} or option --simulate). "
            f"Received: specification={shown(specification)}."
        )
    return SimulatedDevices(kind=match["kind"].upper(), count=int(match["count"]))


def find_simulated() -> SimulatedDevices | None:
    """Return what is simulated in this process; None if nothing is."""
    return _state.simulated


def is_simulated() -> bool:
    """Return whether this process simulates its devices."""
    return _state.simulated is not None


def simulated_kind() -> str | None:
    """Return the kind of the simulated devices (``"CPU"``, ``"GPU"``, ``"TPU"``); None where nothing is simulated."""
    return None if _state.simulated is None else _state.simulated.kind


def _apply(simulated: SimulatedDevices) -> None:
    if simulated == _state.simulated:
        return
    try:
        # JAX refuses this one setting once a backend runs: the public way to ask without starting one.
        jax.config.update("jax_num_cpu_devices", simulated.count)
    except RuntimeError as error:
        raise SimulationError(
            f"{simulated.count} {simulated.kind} devices can't be simulated because JAX has started already "
            "(something computed or asked for devices). Call stratax.simulate_devices(...) before anything that "
            f"uses JAX, or start the program with {ENVIRONMENT_VARIABLE}={simulated.kind.lower()}:{simulated.count}. "
            f"Received: count={shown(simulated.count)}, kind={shown(simulated.kind)}; simulated now: "
            f"{shown(_state.simulated)}."
        ) from error
    # A real accelerator beside the simulated ones would be JAX's default device.
    jax.config.update("jax_platforms", "cpu")
    reserve_threads(simulated.count)
    _state.simulated = simulated


def reserve_threads(num_devices: int) -> None:
    """Give XLA's CPU client enough threads that its collectives can't deadlock.

    Every device waits in a collective with threads of a pool that by default has one for each device or core, and
    XLA queues up to 32 programs for a device. With 8 devices on 2 cores, runs that dispatched 100 steps ahead hung
    with 8 to 14 threads (25 of 26 runs, 4 of them with `jax_cpu_enable_async_dispatch` off, which does not help),
    and never with 16 or more: two for each device. A third leaves room for copies and other work, and costs no
    speed. XLA reads the variable when it starts; a larger value that the user chose stays.
    """
    needed = _THREADS_PER_DEVICE * num_devices + 2
    value = os.environ.get(_THREADS_VARIABLE, "")
    if not value.isdecimal() or int(value) < needed:
        os.environ[_THREADS_VARIABLE] = str(needed)
