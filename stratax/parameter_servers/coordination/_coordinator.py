"""`ClusterCoordinator`: schedules functions on workers that come and go (distribute layer)."""

import itertools
import logging
import pickle
import threading
from collections.abc import Callable
from typing import Any

import cloudpickle
import jax

from stratax.base.shown import shown
from stratax.cluster import credentials
from stratax.core import Function
from stratax.distribute.strategies import ParameterServerStrategy
from stratax.errors import BadArgumentError, BadTypeError, ClusterError
from stratax.parameter_servers.coordination._programs import ScheduledPrograms
from stratax.parameter_servers.coordination._queue import Closure, ClosureQueue, Look
from stratax.parameter_servers.coordination._values import (
    PerWorkerDataset,
    PerWorkerIterator,
    PerWorkerValues,
    RemoteValue,
)
from stratax.parameter_servers.coordination._worker_link import WorkerLink
from stratax.parameter_servers.servers import issue

# How often a wait for workers says what it waits for, in seconds.
_TELL_SECONDS = 30.0

_making = threading.Lock()
_logger = logging.getLogger("stratax")


class ClusterCoordinator:
    """Has workers run functions, and runs those of a worker that dies on another one.

    Follows `tf.distribute.coordinator.ClusterCoordinator`. A function is traced here, once, and travels as a compiled
    program; a worker pulls the variables that it reads from the parameter servers and pushes what changes them. Each
    function that is scheduled changes variables exactly once, also if two workers have run it, because one of them was
    thought to be lost.

    There is one coordinator of a strategy; making another one gives the same.

    Args:
        strategy: A `ParameterServerStrategy`.

    Raises:
        BadArgumentError: If it is another strategy.
        ClusterError: If its cluster has no workers.
    """

    def __new__(cls, strategy: ParameterServerStrategy) -> "ClusterCoordinator":
        with _making:
            found = strategy.coordinator if isinstance(strategy, ParameterServerStrategy) else None
            return found if found is not None else super().__new__(cls)

    def __init__(self, strategy: ParameterServerStrategy) -> None:
        if getattr(self, "_strategy", None) is strategy:
            return
        if not isinstance(strategy, ParameterServerStrategy):
            raise BadArgumentError(
                "A ClusterCoordinator works with a ParameterServerStrategy. Received: "
                f"strategy={shown(strategy)}."
            )
        cluster = strategy.cluster_resolver.cluster_spec()
        if "worker" not in cluster.jobs:
            raise ClusterError(
                "A ClusterCoordinator needs workers. Expected: a cluster with tasks of the job 'worker'. Received: "
                f"{shown(cluster.as_dict())}."
            )
        self._strategy = strategy
        self._numbers = itertools.count()
        self._queue = ClosureQueue()
        programs = ScheduledPrograms(strategy)
        certificates = issue(credentials(cluster).key)
        self._links = [
            WorkerLink(
                f"/job:worker/task:{index}",
                index,
                cluster.task_address("worker", index),
                certificates,
                self._queue,
                programs,
            )
            for index in cluster.task_indices("worker")
        ]
        strategy.coordinator = self

    @property
    def strategy(self) -> ParameterServerStrategy:
        """The strategy."""
        return self._strategy

    def schedule(
        self, fn: Callable[..., Any], args: Any = None, kwargs: dict[str, Any] | None = None
    ) -> RemoteValue:
        """Have a worker call a function, and return at once.

        Args:
            fn: The function, compiled or not. It may read and assign variables, take elements of an iterator that each
                worker has, and call `strategy.run`. It may be called more than once for this one, if a worker dies.
            args: Its positional arguments, a tuple or list; each `PerWorkerValues` is replaced by the worker's, each
                `RemoteValue` by its result.
            kwargs: Its keyword arguments, likewise.

        Returns:
            The result, which may not be there yet.

        Raises:
            BadTypeError: If `fn` is not callable.
            StrataxError: If a function that was scheduled before has failed; it is raised once.
        """
        if not callable(fn):
            raise BadTypeError(f"schedule expects a function. Received: fn={shown(fn)}.")
        closure = Closure(next(self._numbers), fn, tuple(args or ()), dict(kwargs or {}))
        self._queue.put(closure)
        return closure.value

    def join(self) -> None:
        """Wait until everything that was scheduled has been run.

        Raises:
            StrataxError: If a function has failed; it is raised once, and those that were waiting are cancelled.
        """
        while not self._queue.wait(_TELL_SECONDS):
            missing = [link.name for link in self._links if not link.is_here]
            if len(missing) == len(self._links):
                _logger.warning("join waits for a worker: none of %s can be reached.", ", ".join(missing))

    def done(self) -> bool:
        """Return whether everything that was scheduled has been run.

        Raises:
            StrataxError: If a function has failed; it is raised once.
        """
        return self._queue.is_done()

    def create_per_worker_dataset(self, dataset_fn: object) -> PerWorkerDataset:
        """Have each worker make a dataset, when it first needs it.

        Args:
            dataset_fn: A function without arguments that returns a dataset, which may be what
                `strategy.distribute_datasets_from_function` gives; or a dataset. It is pickled by cloudpickle.

        Returns:
            The dataset of each worker; `iter` of it gives an iterator of each, an argument for :meth:`schedule`.

        Raises:
            BadTypeError: If it is neither, or can't be pickled.
        """
        make = dataset_fn.python_function if isinstance(dataset_fn, Function) else dataset_fn
        if not callable(make):
            dataset = make
            if not hasattr(dataset, "element_spec"):
                raise BadTypeError(
                    "create_per_worker_dataset expects a dataset, or a function that returns one. Received: "
                    f"dataset_fn={shown(dataset_fn)}."
                )

            def make() -> Any:
                return dataset

        try:
            payload = cloudpickle.dumps(make)
        except (pickle.PicklingError, TypeError, AttributeError, ValueError) as error:
            raise BadTypeError(
                "A function that makes a dataset is sent to the workers, and this one can't be pickled "
                f"({type(error).__name__}: {error}). Make what it needs inside of it."
            ) from error
        return PerWorkerDataset(payload)

    def element_of(self, iterator: PerWorkerIterator) -> RemoteValue:
        """Return what the next element of a worker's iterator is like: its structure, with shapes and dtypes.

        Args:
            iterator: An iterator of each worker.

        Raises:
            StrataxError: If a function that was scheduled before has failed; it is raised once.
        """
        closure = Look(next(self._numbers), iterator)
        self._queue.put(closure)
        return closure.value

    def fetch(self, val: object) -> Any:
        """Return a structure with results in the places of `RemoteValue`s, waited for.

        Args:
            val: The structure.
        """
        return jax.tree.map(
            lambda leaf: leaf.fetch() if isinstance(leaf, RemoteValue) else leaf,
            val,
            is_leaf=lambda leaf: isinstance(leaf, RemoteValue | PerWorkerValues),
        )

    def cancel(self) -> None:
        """Cancel what has been scheduled and is not running yet, and wait for what runs."""
        self._queue.cancel()
        while not self._queue.wait(_TELL_SECONDS):
            _logger.warning("Steps that were begun before are waited for.")

    @property
    def num_workers(self) -> int:
        """How many workers the cluster has."""
        return len(self._links)

    @property
    def unseen(self) -> list[str]:
        """The names of workers that have not taken part yet."""
        return [link.name for link in self._links if not link.was_here]

    def close(self) -> None:
        """Run nothing any more, and end the connections to workers."""
        self._queue.close()
        for link in self._links:
            link.close()
