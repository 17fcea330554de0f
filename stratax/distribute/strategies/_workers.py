"""Strategies whose replicas are the devices of one or several processes (distribute layer)."""

import contextlib
import hashlib
import itertools
import json
import random
import threading
from collections.abc import Callable, Sequence
from typing import Any

import jax
import keras
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import NamedSharding, PartitionSpec

from stratax import errors
from stratax.base.shown import shown
from stratax.base.threads import Threads
from stratax.cluster import Cluster, ClusterResolver, TFConfigClusterResolver, device_name, phase, phases
from stratax.core import storage
from stratax.data import Dataset
from stratax.data.dataset import auto_shard, is_read_whole, shuffle_seeds, steps_of, with_seeds
from stratax.data.position import State
from stratax.distribute import _loop, _progress
from stratax.distribute.collectives import CrossDeviceOps
from stratax.distribute.input import (
    OnMeshOfWorkers,
    Placing,
    SharedGlobalBatches,
    Source,
    StepCursor,
    own_global_batches,
    own_replica_batches,
)
from stratax.distribute.replicas import Share, mesh_of
from stratax.distribute.strategies._extended import on_devices
from stratax.distribute.strategies._led import find_leader
from stratax.distribute.strategies._membership import InStep
from stratax.distribute.strategies._mirrored import MirroredStrategy
from stratax.distribute.strategies._placement import Placement
from stratax.distribute.strategies._strategy import Strategy
from stratax.distribute.strategies._strategy_input import InputOfReplicas

# The jobs of a cluster that strategies of workers in step have a use for.
JOBS = ("chief", "worker", "evaluator")
# What is sent is in memory twice while it travels.
_BYTES_AT_ONCE = 64 << 20
_PURPOSES = {
    "gathered": "every worker's part of what is saved",
    "devices": "the number of devices of each worker",
    "input": "the next steps of the input",
    "random": "the state of the random generators",
    "shapes": "the shapes of components to combine",
    "seeds": "the seeds of a dataset's shuffles",
    "led": "what the chief saves or restores",
    "variables": "the shapes of new variables",
    "whole": "a value of which every worker has parts, to be read by all (`numpy()`, `get_weights`, `save`)",
}


class WorkersStrategy(Strategy):
    """A strategy that has to do with other workers; with one worker it is as any strategy.

    Args:
        cluster: The workers, connected.
        devices: The devices of all of them, those of one process beside one another.
        cross_device_ops: How replicas' values are combined; None for XLA's own all-reduce.
        placement: Where variables live; None: a copy on every device.
        groups: Into how many groups the replicas are divided that have parts of variables; None: each is one.
        model: How many devices share a replica.

    Raises:
        ClusterError: If the workers do not have as many devices each, or name different ones.
    """

    def __init__(
        self,
        cluster: Cluster,
        devices: Sequence[jax.Device],
        cross_device_ops: CrossDeviceOps | None = None,
        *,
        placement: Placement | None = None,
        groups: int | None = None,
        model: int = 1,
    ) -> None:
        ordered = order_by_worker(devices)
        workers = feeding = None
        if has_peers(cluster):
            workers = Workers(cluster, ordered)
            mesh = mesh_of(ordered, groups=groups, model=model)
            feeding = InputOfWorkers(self, OnMeshOfWorkers(mesh, workers.share), workers)
        super().__init__(
            on_devices(
                self,
                ordered,
                cross_device_ops,
                placement=placement,
                membership=workers,
                input=feeding,
                groups=groups,
                model=model,
            )
        )

    def of_this_process(self) -> Strategy:
        return self if self.num_workers == 1 else MirroredStrategy()

    @property
    def num_workers(self) -> int:
        """How many workers train together."""
        return self.extended.membership.share.processes


def find_resolver(resolver: object, hint: str = "") -> ClusterResolver:
    """Return what says which workers there are: a strategy's argument, or what reads TF_CONFIG.

    Args:
        resolver: The argument, or None.
        hint: What else a message says of it.

    Raises:
        BadTypeError: If it is no resolver.
    """
    if resolver is None:
        return TFConfigClusterResolver()
    if not isinstance(resolver, ClusterResolver):
        raise errors.BadTypeError(
            f"cluster_resolver must be a stratax.cluster.ClusterResolver or None.{hint} Received: "
            f"cluster_resolver={shown(resolver)}."
        )
    return resolver


def order_by_worker(devices: Sequence[jax.Device]) -> list[jax.Device]:
    """Return devices of several workers, so that the replicas of a worker are one slice of all (`Share.of`)."""
    return sorted(devices, key=lambda device: device.process_index)


def has_peers(cluster: Cluster) -> bool:
    """Return whether other processes take part; once a strategy is made, its membership knows."""
    return cluster.num_processes > 1


def devices_of(cluster: Cluster, local: Sequence[jax.Device] | None = None) -> list[jax.Device]:
    """Return the devices of one kind of all processes of a cluster.

    Args:
        cluster: The cluster, connected.
        local: This process' devices of that kind; None for those of JAX's default kind.
    """
    own = jax.local_devices() if local is None else list(local)
    return list(jax.devices(own[0].platform)) if has_peers(cluster) else own


class Workers(InStep):
    """The workers of a cluster, which take every step together.

    Args:
        cluster: The workers, connected: two at least.
        devices: The devices of all of them.

    Raises:
        ClusterError: If the workers do not have as many devices each.
    """

    def __init__(self, cluster: Cluster, devices: Sequence[jax.Device]) -> None:
        self._cluster = cluster
        self._agreements = itertools.count()
        self._num_reads = 0
        # From now on the other tasks see each step that this one dispatches.
        self._observer = _progress.StepsForOthers(self.read_together)
        storage.observe(self._observer)
        # Before anything is computed: collectives of workers with different shares would hang.
        self._check_devices(devices)
        self.agree_on_randomness()

    @property
    def is_chief(self) -> bool:
        return self._cluster.process_index == 0

    @property
    def share(self) -> Share:
        return Share(processes=self._cluster.num_processes, index=self._cluster.process_index)

    def next_name(self, purpose: str) -> str:
        # Counted alike by all workers, as all of them come here in the same order.
        return f"{purpose}/{next(self._agreements)}"

    def agree(self, values: list[Any]) -> list[Any]:
        return _from_chief(values) if values else values

    def check_alike(self, values: list[Any]) -> bool:
        if not values:
            return True
        listed = [f"{np.dtype(value.dtype).name}{list(np.shape(value))}" for value in values]
        own = {
            "all": hashlib.sha256(json.dumps(listed).encode()).hexdigest(),
            "shown": shown(listed),
            "values": _digest(values),
        }
        texts = self.exchange(self.next_name("variables"), json.dumps(own).encode())
        found = [json.loads(text) for text in texts]
        if len({each["all"] for each in found}) > 1:
            other = next(index for index, each in enumerate(found) if each["all"] != found[0]["all"])
            said = ", ".join(
                f"{self._cluster.task_name(index)}: {found[index]['shown']}" for index in (0, other)
            )
            raise errors.StructureError(
                "The workers create different variables. Expected: the same program, with the same model, in every "
                f"worker. Received: {said}."
            )
        return all(each["values"] == found[0]["values"] for each in found)

    def read_together(self, array: jax.Array) -> np.ndarray:
        """Return the value of an array of which other workers have parts, when all have come to read it.

        Raises:
            StructureError: If the workers read different arrays.
            StrategyError: If the others do not read it.
        """
        leader = find_leader()
        if leader is not None:
            return leader.read(array)
        spec: Any = array.sharding.spec  # type: ignore[attr-defined]
        own = f"{array.dtype.name}{list(array.shape)} {spec} after step {self._observer.num_steps}"
        name = f"strategy/whole/{self._num_reads}"
        try:
            texts = _progress.gather_at_once(self._cluster, name, _PURPOSES["whole"], own.encode())
        except errors.ClusterTimeoutError as error:
            raise errors.StrategyError(
                "A value of which every worker has parts was to be read by this worker, and others went on without "
                "reading it. Expected: the same call (numpy(), get_weights, save) in every worker, not under `if "
                f"is_chief`. Received: {own} here; {', '.join(error.tasks)} did not come. With "
                f"replicas={self.share.processes} each worker has all parts, and reads alone."
            ) from error
        # Counted when all have come: who has read alone may go on.
        self._num_reads += 1
        found = [text.decode() for text in texts]
        if any(each != found[0] for each in found):
            raise errors.StructureError(
                "The workers read different values of which they have parts. Expected: the same one in every worker, "
                f"because all of them read it together. Received: {shown(found)}."
            )
        return self.gather_whole(array)

    def gather_whole(self, array: jax.Array) -> np.ndarray:
        with phases.waiting(_PURPOSES["whole"]):
            value: np.ndarray = _without_trace(lambda: _gather_whole(array))
            return value

    def gather(self, value: bytes) -> list[bytes]:
        return self.exchange(self.next_name("gathered"), value)

    def phase(self, name: str) -> contextlib.AbstractContextManager[Any]:
        # The others wait longer for an evaluation than for a step.
        return phase(name)

    def waiting(self, for_others: bool) -> contextlib.AbstractContextManager[Any]:
        return phases.waiting(_PURPOSES["input"]) if for_others else phase("input")

    def loop(self) -> _loop.LoopAlone:
        return _loop.SharedLoop(self._cluster, f"loop/{next(self._agreements)}")

    def exchange(self, name: str, value: bytes, stop: threading.Event | None = None) -> list[bytes]:
        # A name begins with its purpose, which a message about a worker that does not come tells.
        what = _PURPOSES[name.partition("/")[0]]
        return _progress.gather(self._cluster, f"strategy/{name}", what, value, stop)

    def specs_of_all(self, specs: list[Any]) -> list[Any]:
        texts = self.exchange(self.next_name("shapes"), json.dumps(specs).encode())
        # Shapes and dtypes as JSON: nothing of another process is unpickled.
        found = [json.loads(text) for text in texts]
        if len({len(each) for each in found}) > 1 or any(
            len({part is None for part in column}) > 1 for column in zip(*found, strict=False)
        ):
            raise errors.StructureError(
                "The workers combine different structures. Expected: the same one in every worker. "
                f"Received: {shown(specs)} here."
            )
        return [
            None if column[0] is None else list(itertools.chain(*column))
            for column in zip(*found, strict=True)
        ]

    def _check_devices(self, devices: Sequence[jax.Device]) -> None:
        # Of the strategy's devices, which may be fewer than the process has.
        own = sum(device.process_index == jax.process_index() for device in devices)
        texts = self.exchange("devices", json.dumps([own, [each.id for each in devices]]).encode())
        counts, found = zip(*map(json.loads, texts), strict=True)
        if len(set(counts)) > 1:
            listing = ", ".join(
                f"{self._cluster.task_name(index)}: {count}" for index, count in enumerate(counts)
            )
            raise errors.ClusterError(
                "Every worker needs the same number of devices, because replicas are divided evenly. "
                f"Received: {listing}. Give each worker as many, for instance through CUDA_VISIBLE_DEVICES."
            )
        if any(each != found[0] for each in found):
            raise errors.ClusterError(
                "The workers name different devices. Expected: the same names in every worker, each of which means its "
                f"own devices by them. Received: {shown([device_name(each) for each in devices])} here."
            )

    def agree_on_randomness(self) -> None:
        """Give every worker the same random state, drawn by the chief, unless all have the same already."""
        name = self.next_name("random")
        digests = self.exchange(name, _random_digest())
        if len(set(digests)) == 1:
            return
        # Every worker draws one, and the chief's is taken: the exchange has one form.
        seeds = self.exchange(f"{name}/seed", str(random.SystemRandom().getrandbits(31)).encode())
        keras.utils.set_random_seed(int(seeds[0]))


class InputOfWorkers(InputOfReplicas):
    """Input of workers that take every step together.

    Args:
        strategy: The strategy.
        placing: Puts steps on the devices of all workers.
        workers: The workers.
    """

    def __init__(self, strategy: Strategy, placing: Placing, workers: Workers) -> None:
        super().__init__(strategy, placing)
        self._workers = workers

    def source_of_batches(self, dataset: object) -> Source:
        # A dataset is divided between the workers as its options say.
        if not isinstance(dataset, Dataset):
            return _SharedBatches(dataset, self.num_replicas, self._workers)
        is_whole = is_read_whole(dataset, self._workers.share.processes)
        part = self._agree_part(dataset, is_whole=is_whole)
        if is_whole:
            return SharedGlobalBatches(part, self.num_replicas, self._workers.share)
        return own_global_batches(part, self.num_replicas, self._workers.share, self._workers.exchange)

    def source_of_replica_batches(self, dataset: object) -> Source:
        return own_replica_batches(dataset, self.num_replicas, self._workers.share, self._workers.exchange)

    def _agree_part(self, dataset: Dataset, *, is_whole: bool) -> Dataset:
        """Return what this worker reads of a dataset; its shuffles have the chief's seeds: all read parts of one order.

        How a dataset is divided, and whether it can be, depends on the files that a worker sees. The workers tell one
        another before anybody reads.
        """
        # Kept until all have exchanged what they found: who raised before would leave the others waiting.
        failure: errors.DataError | None = None
        part = dataset
        try:
            # What is read whole is the same in every worker, and each takes its rows of every batch.
            share = Share() if is_whole else self._workers.share
            part = auto_shard(dataset, share.processes, share.index)
        except errors.DataError as error:
            failure = error
        steps = "" if failure else "the whole" if is_whole else steps_of(part)
        own = [shuffle_seeds(dataset), steps]
        name = self._workers.next_name("seeds")
        found = [json.loads(text) for text in self._workers.exchange(name, json.dumps(own).encode())]
        # All have been told by now, and raise as well, because the plans differ.
        if failure is not None:
            raise failure
        # Seeds themselves may differ, as each worker drew its own; the chief's are taken.
        if len({(len(seeds), plan) for seeds, plan in found}) > 1:
            raise errors.DataError(
                "The workers distribute different datasets, or divide them differently because they see different "
                "files. Expected: the same pipeline and the same files in every worker, or "
                f"distribute_datasets_from_function. Received: {shown(dataset)} here, of which this worker reads "
                f"{shown(steps)}."
            )
        return with_seeds(part, dataset, found[0][0])


class _SharedBatches(SharedGlobalBatches):
    """Global batches that every worker makes for itself, of arrays or an iterable of the user's.

    Args:
        dataset: The same in all workers.
        num_replicas: How many replicas all workers have.
        workers: The workers.
    """

    def __init__(self, dataset: object, num_replicas: int, workers: Workers) -> None:
        super().__init__(dataset, num_replicas, workers.share)
        self._workers = workers

    def open(self, position: State | None = None) -> StepCursor:
        """Begin a pass; what is shuffled by the global random state comes in one order in all workers.

        A pass that goes on from a position has begun already, so nobody is waited for.
        """
        if position is None:
            # A shuffle by the global state draws its seed when the pass begins.
            self._workers.agree_on_randomness()
        return super().open(position)


def _random_digest() -> bytes:
    """Digest the states of Python's and NumPy's global generators, from which Keras' seeds come too."""
    python = repr(random.getstate()).encode()
    name, keys, *rest = np.random.get_state(legacy=True)
    return hashlib.sha256(
        python + str(name).encode() + np.asarray(keys).tobytes() + repr(rest).encode()
    ).digest()


def _digest(values: list[Any]) -> str:
    digest = hashlib.sha256()
    for value in values:
        digest.update(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _without_trace(function: Callable[[], Any]) -> Any:
    """Return what a function returns in a thread of its own: JAX runs programs there, whatever is traced here."""
    with Threads(1, "stratax-workers") as thread:
        return thread.submit(function).result()


def _gather_whole(array: jax.Array) -> np.ndarray:
    # On every device: there is no other way from device to device that all platforms have.
    whole = NamedSharding(array.sharding.mesh, PartitionSpec())  # type: ignore[attr-defined]
    gathered = jax.jit(_same, out_shardings=whole)(array)
    return np.asarray(gathered.addressable_data(0))


def _same(array: jax.Array) -> jax.Array:
    return array


def _send_bytes(packed: np.ndarray) -> np.ndarray:
    """Send the chief's bytes to every worker; as long as they come, each transfer may take as long as a step."""
    with phases.waiting("the chief's values"):
        return np.asarray(_without_trace(lambda: multihost_utils.broadcast_one_to_all(packed)))


def _from_chief(values: list[Any]) -> list[Any]:
    """Return the values that the chief has, in as few transfers as take little memory beside the values."""
    arrays = [np.ascontiguousarray(value) for value in values]
    # As bytes: the transfer is a sum, which does not keep every bit of every dtype.
    # One buffer: a transfer has a fixed cost, whatever it holds.
    packed = np.concatenate([array.reshape(-1).view(np.uint8) for array in arrays])
    sent = [
        _send_bytes(packed[start : start + _BYTES_AT_ONCE]) for start in range(0, packed.size, _BYTES_AT_ONCE)
    ]
    parts = np.split(np.concatenate([packed[:0], *sent]), np.cumsum([array.nbytes for array in arrays])[:-1])
    return [
        # A copy begins where values of the dtype may begin.
        part.copy().view(array.dtype).reshape(np.shape(value))
        for part, array, value in zip(parts, arrays, values, strict=True)
    ]
