"""A step as it travels to a worker, and how a worker runs it (distribute layer).

A step is a program, exported as StableHLO, with a description of what it takes and gives: variables by their places on
servers, elements of the worker's iterators, arguments. Nothing of it is Python, other than what the program prints and
asserts while it runs (`_host_calls`).
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from stratax.parameter_servers.remote._bound import run_bounded
from stratax.parameter_servers.remote._layout import ServerShard
from stratax.parameter_servers.remote._pull import Puller
from stratax.parameter_servers.remote._push import requests_of
from stratax.parameter_servers.remote._row_spaces import Lookups, RowSpace, RowTable, pull_inputs
from stratax.parameter_servers.remote._servers import Servers
from stratax.parameter_servers.remote._updates import Sent


@dataclasses.dataclass(frozen=True, slots=True)
class InputSource:
    """Where an input of a step comes from: a variable on servers or elsewhere, or an element.

    Attributes:
        shards: The shards of a variable on servers.
        table: A variable of which rows are pulled.
        own: The name of a random state, which each worker has for itself.
        given: Which of the values it is that the coordinator sends behind the arguments, of variables that are there.
        feed: Which feed of the step it is a leaf of.
        leaf: Which leaf.
    """

    shards: tuple[ServerShard, ...] = ()
    table: RowTable | None = None
    own: str | None = None
    given: int | None = None
    feed: int | None = None
    leaf: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class WorkerElement:
    """An element that a step takes from one of the worker's iterators.

    Attributes:
        iterator: Which of the iterators that the step is called with.
        leaves: The shapes and dtypes of the element's leaves.
        is_optional: Whether there may be none; then the first leaf says whether there is one.
    """

    iterator: int
    leaves: tuple[tuple[tuple[int, ...], str], ...]
    is_optional: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Assignment:
    """Where a step's new value of a variable goes: to all shards of it, or to the worker's own."""

    shards: tuple[ServerShard, ...] = ()
    own: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Push:
    """What a step has one server do.

    Attributes:
        server: The server's number.
        update: The name of the update there.
        sent: What it is sent.
    """

    server: int
    update: str
    sent: tuple[Sent, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class RemoteStep:
    """What a step takes and gives.

    Attributes:
        inputs: Where its inputs come from, in order; its arguments come behind.
        feeds: The elements that it takes.
        assignments: What its first results are assigned to.
        pushes: What servers do with the results behind.
        lookups: What it looks up by rows. Where these are comes behind its inputs.
        max_staleness: How many others may change variables between its pull and its push; None for any number.
    """

    inputs: tuple[InputSource, ...]
    feeds: tuple[WorkerElement, ...]
    assignments: tuple[Assignment, ...]
    pushes: tuple[Push, ...]
    lookups: Lookups
    max_staleness: int | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the description as values of JSON."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "RemoteStep":
        """Return the description that :meth:`as_json` has given."""
        return cls(
            inputs=tuple(
                InputSource(**{**each, "shards": _shards(each["shards"]), "table": _table(each["table"])})
                for each in values["inputs"]
            ),
            feeds=tuple(
                WorkerElement(
                    each["iterator"],
                    tuple((tuple(shape), dtype) for shape, dtype in each["leaves"]),
                    each["is_optional"],
                )
                for each in values["feeds"]
            ),
            assignments=tuple(
                Assignment(_shards(each["shards"]), each["own"]) for each in values["assignments"]
            ),
            pushes=tuple(
                Push(each["server"], each["update"], tuple(Sent(**sent) for sent in each["sent"]))
                for each in values["pushes"]
            ),
            lookups=Lookups(
                tuple(
                    RowSpace(tuple(each["ids"]), each["size"], each["num_rows"])
                    for each in values["lookups"]["spaces"]
                ),
                tuple(values["lookups"]["needed"]),
            ),
            max_staleness=values["max_staleness"],
        )


class UnfitError(Exception):
    """The next elements of the worker's iterators are not those that the step was traced for."""


class StepRunner:
    """Runs steps: pulls, takes elements, computes, pushes.

    Args:
        servers: The parameter servers.
    """

    def __init__(self, servers: Servers) -> None:
        self._servers = servers
        self._puller = Puller(servers)
        self._own: dict[str, Any] = {}

    def set_own(self, name: str, value: np.ndarray) -> None:
        """Give a variable of this worker's own its first value, unless it has one."""
        self._own.setdefault(name, value)

    def run(
        self,
        step: RemoteStep,
        programs: Sequence[Callable[..., Any]],
        iterators: Sequence[Any],
        arguments: Sequence[np.ndarray],
        once: str,
    ) -> list[np.ndarray]:
        """Run a step once.

        Args:
            step: What it takes and gives.
            programs: Its program, and behind it the one that finds the rows that it looks up, if it does.
            iterators: The iterators that it is called with.
            arguments: Its other arguments, and the values of the coordinator's variables.
            once: What tells this step from all others: servers make its updates once, whoever asks for them.

        Returns:
            Its results.

        Raises:
            UnfitError: The elements are not those that the step was traced for. None is lost.
            OutOfRangeError: An iterator has no more elements.
        """
        _check_fits(step, iterators)
        elements: list[list[Any]] = []
        compute = functools.partial(self._compute, step, programs, iterators, arguments, elements)
        bound = step.max_staleness if step.pushes else None
        results = run_bounded(self._servers, bound, compute, functools.partial(self._push, step, once))
        return [np.asarray(array) for array in results]

    def _compute(
        self,
        step: RemoteStep,
        programs: Sequence[Callable[..., Any]],
        iterators: Sequence[Any],
        arguments: Sequence[np.ndarray],
        elements: list[list[Any]],
    ) -> tuple[list[np.ndarray], list[Any], list[np.ndarray]]:
        """Pull and compute; return what the step changes, its results, and the rows that it has looked up."""
        inputs: list[Any] = [None if each.own is None else self._own[each.own] for each in step.inputs]
        places = [index for index, each in enumerate(step.inputs) if each.given is not None]
        num_arguments = len(arguments) - len(places)
        for place, value in zip(places, arguments[num_arguments:], strict=True):
            inputs[place] = value
        arguments = arguments[:num_arguments]
        variables = {index: each.shards for index, each in enumerate(step.inputs) if each.shards}
        tables = {index: each.table for index, each in enumerate(step.inputs) if each.table is not None}
        find = programs[1] if len(programs) > 1 else None
        rows = (
            []
            if find
            else pull_inputs(self._puller, inputs, arguments, variables, tables, step.lookups, None)
        )
        if not elements:
            # Once, and behind the pull if it can be: an element that was taken, and not used, would be lost if a server
            # is.
            elements += [_take(feed, iterators[feed.iterator]) for feed in step.feeds]
        for index, each in enumerate(step.inputs):
            if each.feed is not None:
                inputs[index] = elements[each.feed][each.leaf]
        if find:
            rows = pull_inputs(self._puller, inputs, arguments, variables, tables, step.lookups, find)
        changed, results = programs[0](inputs, list(arguments))
        return [np.asarray(array) for array in changed], results, rows

    def _push(
        self, step: RemoteStep, once: str, computed: tuple[list[np.ndarray], list[Any], list[np.ndarray]]
    ) -> list[Any]:
        """Have servers make what a step changes, and return its results."""
        given, results, rows = computed
        pushed = [*given[len(step.assignments) :], *rows]
        updates = {
            push.server: (push.update, [sent.of(pushed) for sent in push.sent]) for push in step.pushes
        }
        assigned = [
            (shard, shard.of(value))
            for assignment, value in zip(step.assignments, given, strict=False)
            for shard in assignment.shards
        ]
        if updates or assigned:
            # Waited for: a step whose gradients are lost has to be run again.
            self._servers.ask(requests_of(once, updates, assigned, once=True))
        for assignment, value in zip(step.assignments, given, strict=False):
            if assignment.own is not None:
                self._own[assignment.own] = value
        return results


def _shards(values: Sequence[dict[str, Any]]) -> tuple[ServerShard, ...]:
    return tuple(ServerShard(**each) for each in values)


def _table(values: dict[str, Any] | None) -> RowTable | None:
    if values is None:
        return None
    return RowTable(_shards(values["shards"]), values["space"], tuple(values["row"]), values["dtype"])


def _check_fits(step: RemoteStep, iterators: Sequence[Any]) -> None:
    """Look at the elements that a step will take."""
    taken: dict[int, int] = {}
    for feed in step.feeds:
        skip = taken.get(feed.iterator, 0)
        iterator = iterators[feed.iterator]
        found = iterator.peek_up_to(skip, 1) if feed.is_optional else iterator.peek_runs(skip, 1)
        taken[feed.iterator] = skip + 1
        expected = feed.leaves[1:] if feed.is_optional else feed.leaves
        if found and describe_leaves(found[0][0]) != expected:
            raise UnfitError


def describe_leaves(structure: object) -> tuple[tuple[tuple[int, ...], str], ...]:
    """Return the shapes and dtypes of a structure's leaves."""
    return tuple(
        (tuple(leaf.shape), np.dtype(jax.dtypes.canonicalize_dtype(leaf.dtype)).name)
        for leaf in jax.tree.leaves(structure)
    )


def _take(feed: WorkerElement, iterator: Any) -> list[Any]:
    if not feed.is_optional:
        return list(jax.tree.leaves(iterator.take()))
    if iterator.peek_up_to(0, 1):
        return [np.bool_(True), *jax.tree.leaves(iterator.take())]
    return [np.bool_(False), *(np.zeros(shape, dtype) for shape, dtype in feed.leaves[1:])]
