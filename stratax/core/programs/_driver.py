"""Runs programs with loops that the host drives, window by window, and what lies between them compiled (core layer).

The next window is taken while the devices work on the one before; at most a few are on their way, so that memory is
bounded and Ctrl-C takes effect soon. What the host decides depends on the streams' elements and on values that are
equal on all workers, never on a clock.
"""

import collections
import sys
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np
from jax.extend import core as jax_core

from stratax import errors
from stratax.base.shown import shown
from stratax.core import control, host, regions, state
from stratax.core import storage as core_storage
from stratax.core.known import Watch, watches_of_rows
from stratax.core.programs import _cuts, _stages
from stratax.core.storage import (
    REFERENCES_OF_ITS_OWN,
    InterruptDeferred,
    check_fits,
    is_held_by,
    place,
    write,
    write_all,
)

# How many windows are dispatched before the host waits for the first of them.
_IN_FLIGHT = 2
# How long a wait sleeps between two looks: little beside a window, and long beside the look.
_POLL_SECONDS = 0.0005


class ProgramRun:
    """One call of a program.

    Args:
        cuts: The program's parts.
        resolve: Gives the stream of this call for what stands for it in the program.
        take: Takes what the program needs behind as many driven equations: `take(number, values)`.
        extend: Traces a loop for elements of another structure: `extend(path, structures) -> step`, given the parts and
            values around the loop.
        placement: Where the devices compute, or None.
        storage: Where variables are kept.
        can_fail: Whether what is dispatched can raise.
        sites: Where the program asserts something; those of iterations that are traced meanwhile are added.
        spans_processes: Whether the devices are those of several processes.
    """

    def __init__(
        self,
        cuts: _cuts.Cuts,
        *,
        resolve: Callable[[Any], Any],
        take: Callable[[int, dict[Any, Any]], None],
        extend: Callable[..., control.DrivenStep],
        placement: Any,
        storage: Any,
        can_fail: bool,
        sites: list[host.Site],
        spans_processes: bool,
    ) -> None:
        self._cuts = cuts
        self._resolve = resolve
        self._take = take
        self._extend = extend
        self._placement = placement
        self._storage = storage
        self._moves = placement is not None and storage is not None and storage != placement
        self._can_fail = can_fail
        self._sites = sites
        self._observer = core_storage.observer() if spans_processes else None
        self._spans_processes = spans_processes
        # Values that variables get at the end of the program, or when it is interrupted: they are kept
        # elsewhere or spread over replicas.
        self._held: dict[int, tuple[Any, Any]] = {}

    def top(self, jaxpr: Any, values: dict[Any, Any]) -> None:
        """Run the whole program: add to `values` those of its results."""
        # Feeds and parts alternate: the number of driven parts that have run says which feeds are due.
        number = 0
        self._take(number, values)
        for part in self._cuts.segments(jaxpr).parts:
            self._part(part, jaxpr, values)
            if isinstance(part, _cuts.Driven):
                number += 1
                self._take(number, values)

    def run_nested(self, closed: Any, arguments: list[Any]) -> list[Any]:
        """Run a jaxpr inside a loop or condition; let go of its arguments as soon as it can."""
        jaxpr = closed.jaxpr
        values = dict(zip(jaxpr.invars, arguments, strict=True))
        values.update(zip(jaxpr.constvars, closed.consts, strict=True))
        # The caller's list would be one more holder of the arrays, which `_initial` then could not overwrite.
        arguments.clear()
        for part in self._cuts.segments(jaxpr).parts:
            self._part(part, jaxpr, values)
        return [value_of(atom, values) for atom in jaxpr.outvars]

    def commit_held(self) -> None:
        """Give variables the values that an interrupted loop has left them with."""
        for variable, value in list(self._held.values()):
            if isinstance(variable, state.Parts):
                write_all([variable, variable.variable], [value, self._store(variable.merge(value))])
                variable.settle()
            elif isinstance(variable, regions.Spread):
                if not self._spans_processes:  # It would take all processes to merge the replicas' values.
                    write(variable.variable, self._store(variable.merge(value)))
            else:
                write(variable, self._store(value))
        self._held.clear()

    def forget_held(self) -> None:
        """Forget held values once all variables have been given theirs."""
        self._held.clear()

    def _store(self, value: object) -> Any:
        # A copy, as the loop goes on and overwrites what it carries.
        return jax.device_put(value, self._storage, may_alias=False) if self._moves else value

    def _part(self, part: Any, jaxpr: Any, values: dict[Any, Any]) -> None:
        if isinstance(part, _stages.Stage):
            results = self._dispatch(id(part), part, values)
            values.update(results)
        elif part.equation.primitive is control.branch_p:
            self._branch(part.equation, values)
        else:
            _LoopRun(self, part, jaxpr, values).run()

    def _dispatch(self, key: object, compiled: object, *arguments: object) -> Any:
        try:
            results = self._run(key, compiled, arguments)
            # A callback's error has to come out before the values are committed.
            if self._can_fail:
                jax.block_until_ready(_list_results(results))
        except jax.errors.JaxRuntimeError as error:
            host.raise_own(error)
            raise
        if self._can_fail:
            host.raise_failures(self._sites, self._placement)
        return results

    def _run(self, key: Any, compiled: Any, arguments: tuple[Any, ...]) -> Any:
        observer = self._observer
        if observer is None:
            results = compiled(*arguments)
        else:
            # JAX compiles in the first call.
            # One key for all shapes of a part: only the phase that is shown depends on it.
            known = key in self._cuts.compiled
            with observer.dispatching() if known else observer.compiling():
                results = compiled(*arguments)
            self._cuts.compiled.add(key)
            observer.note_dispatched(next(iter(jax.tree.leaves(_list_results(results))), None))
        return results

    def _branch(self, equation: Any, values: dict[Any, Any]) -> None:
        branches = equation.params["branches"]
        operands = [value_of(atom, values) for atom in equation.invars]
        # The predicate is equal on all processes, so all go into the same branch.
        side = 0 if bool(on_host(operands[0])) else 1
        results = self.run_nested(branches.jaxprs[side], [operands[i] for i in branches.constants[side]])
        values.update(zip(equation.outvars, results, strict=True))

    def commit(self, variable: object, value: object) -> None:
        """Give a variable its value; one that is kept elsewhere, or spread over replicas, gets it later."""
        if isinstance(variable, regions.Spread) or self._moves:
            self._held[id(variable)] = variable, value
            return
        # The one value is newer than what the replicas held.
        self._held = {k: v for k, v in self._held.items() if not _is_spread_of(v[0], variable)}
        write(variable, value)

    def is_owned_by(self, variable: object, value: object) -> bool:
        """Return whether a value that is about to go is the variable's own."""
        held = self._held.get(id(variable))
        return (held is not None and held[1] is value) or (
            isinstance(variable, keras.Variable) and is_held_by(variable, value)
        )


def _is_spread_of(spread: object, variable: object) -> bool:
    return isinstance(spread, regions.Spread) and spread.variable is variable


class _LoopRun:
    """Drives one loop through one call of the program, window by window."""

    def __init__(self, run: ProgramRun, part: _cuts.Driven, jaxpr: Any, values: dict[Any, Any]) -> None:
        self._run = run
        self._part = part
        self._jaxpr = jaxpr
        self._values = values
        self._loop: control.DrivenLoop = part.equation.params["loop"]
        self._streams: list[Any] = []
        self._passes: list[Any] = []
        self._step = self._loop.steps[0]
        self._done = 0
        self._last_rows: dict[int, Any] = {}

    def run(self) -> None:
        """Run the loop, and give its results to the values around it."""
        loop, equation = self._loop, self._part.equation
        # Without what is carried: `_initial` has to be its only holder to overwrite it.
        self._operands: list[Any] = [
            None if i < len(loop.results) else value_of(atom, self._values)
            for i, atom in enumerate(equation.invars)
        ]
        # Committed before the loop, so that an interrupt in it does not undo what came before.
        for variable, position in loop.before:
            self._run.commit(variable, self._operands[position])
        carried = self._initial()
        go_on = True if loop.test is None else bool(on_host(self._operands[loop.test]))
        given = loop.length
        length = int(on_host(self._operands[loop.length_at or 0])) if isinstance(given, str) else given
        try:
            self._open()
            carried = self._iterate(carried, go_on, length)
        finally:
            for stream in self._passes:
                stream.close()
        self._values.update(zip(equation.outvars, carried, strict=True))

    def _initial(self) -> list[Any]:
        """Return what the loop carries at first: arrays of its own, which may be overwritten."""
        loop, placement = self._loop, self._run._placement
        carried: list[Any] = []
        seen: set[int] = set()
        for position in range(len(loop.results)):
            atom = self._part.equation.invars[position]
            free = self._part.last_uses[position]
            value = self._values.pop(atom) if free else value_of(atom, self._values)
            owned = self._run.is_owned_by(loop.variables.get(position), value)
            free = free and isinstance(value, jax.Array) and id(value) not in seen
            # Two carried values may begin as one array, and XLA refuses to be given one buffer twice: the second
            # gets a copy. So does what somebody else holds: beside its holders here, `getrefcount` counts the local
            # name.
            if not free or sys.getrefcount(value) > REFERENCES_OF_ITS_OWN - (not owned):
                value = (
                    jnp.array(value, dtype=loop.results[position].dtype, copy=True)
                    if not _is_key(value)
                    else value.copy()
                )
            if placement is not None and value.sharding.device_set != placement.device_set:
                value = place(value, placement)
            seen.add(id(value))
            carried.append(value)
        return carried

    def _open(self) -> None:
        for take in self._loop.takes:
            # A `CallPass` belongs to the call, which has begun it; any other pass to this run of the loop.
            if isinstance(take.stream, regions.Pass) and not isinstance(take.stream, regions.CallPass):
                stream = take.stream.begin(self._run._resolve(take.stream.source))
                self._passes.append(stream)
            else:
                stream = self._run._resolve(take.stream)
            self._streams.append(stream)

    def _iterate(self, carried: list[Any], go_on: bool, length: int | None) -> list[Any]:
        loop = self._loop
        pending: collections.deque[Any] = collections.deque()
        shardings: Any = None
        if self._run._placement is not None:
            # Else a window's results could be placed otherwise than its inputs, and the next would be compiled again.
            shardings = tuple(value.sharding for value in carried), self._run._placement
        # A loop that may end early begins with one iteration: the elements of a whole window would be read, perhaps
        # waited for, in vain. Windows double as it goes on.
        size = 1 if loop.test is not None else control.WINDOW_STEPS
        while go_on and (length is None or self._done < length):
            left = size if length is None else min(size, length - self._done)
            found = self._next_window(left)
            if found is None:
                break
            count, available = found
            ran, carried, flag = self._window(carried, count, available, shardings)
            if loop.test is not None:
                wait(ran)
                # The host waits for the window, as only its run tells how many elements were used.
                count, go_on = int(on_host(ran)), bool(on_host(flag))
                size = min(2 * size, control.WATCHED_STEPS)
                # The elements were only looked at so far: the loop may have ended before it used them all.
                self._pass_over(count, available)
            elif not self._step.is_driven:
                # The host is ahead of the devices by a bounded number of windows, whose input is all that is kept.
                pending.append(ran)
                if len(pending) >= _IN_FLIGHT:
                    wait(pending.popleft())
            self._done += count
        return carried

    def _next_window(self, left: int) -> tuple[int, list[int]] | None:
        """Return how many iterations come next, and how many elements each stream has for them; None at the end."""
        while True:
            step = self._step
            # A driven body goes iteration by iteration; its own loops have the windows.
            want = 1 if step.is_driven else min(left, step.window)
            counts: list[int] = []
            structures: list[Any] = []
            for position, take in enumerate(self._loop.takes):
                per_iteration = step.counts[position]
                # Equal on all workers (`Stream.peek_up_to`), so that all dispatch the same windows with the same
                # collectives.
                runs = self._streams[position].peek_up_to(0, want * per_iteration)
                if not runs and not take.is_optional:
                    if take.is_own:
                        return None
                    raise self._ran_out(take, 0)
                structures.append(runs[0][0] if runs else step.structures[position])
                counts.append(runs[0][1] if runs else 0)
            # Counted anew for the other body: it may take more elements, or fit fewer in a window.
            if not control.same_structures(structures, step.structures):
                self._step = self._step_for(structures)
                continue
            for position, take in enumerate(self._loop.takes):
                per_iteration = step.counts[position]
                if not take.is_optional:
                    if counts[position] < per_iteration:
                        if take.is_own:
                            return None  # As with `zip(iterator, iterator)` of an odd number of elements.
                        raise self._ran_out(take, counts[position])
                    want = min(want, counts[position] // per_iteration)
                elif counts[position] > 0:
                    want = min(want, counts[position])
            return want, counts

    def _step_for(self, structures: list[Any]) -> control.DrivenStep:
        for step in self._loop.steps:
            if control.same_structures(structures, step.structures):
                return step
        step = self._run._extend(self._loop, structures, self._jaxpr, self._values)
        # Kept for the program's next calls, too.
        self._loop.steps.append(step)
        return step

    def _ran_out(self, take: control.LoopTake, left: int) -> Exception:
        per_iteration = self._step.counts[self._loop.takes.index(take)]
        if left:
            return errors.OutOfRangeError(
                f"The input ran out in a loop after {self._done} iterations: the next one takes {per_iteration} "
                f"elements of one shape, and {left} are left before the end or before elements of another shape. "
                "Variables have the values of the last whole iteration."
            )
        return errors.OutOfRangeError(
            f"The input ran out in a loop after {self._done} iterations. Variables have the values of the last one. "
            "Add `.repeat()` to the dataset, or take fewer steps."
        )

    def _window(
        self, carried: list[Any], count: int, available: list[int], shardings: object
    ) -> tuple[Any, list[Any], Any]:
        """Dispatch some iterations: how many ran, what they leave, and whether to go on."""
        loop, step, run = self._loop, self._step, self._run
        most = step.window if loop.test is None else min(step.window, control.WATCHED_STEPS)
        capacity = 1 if step.is_driven else _capacity(loop, step, count, most)
        blocks = self._blocks(count, capacity, available)
        for watch in self._watches(step):
            # A loop that may end early may not come to the others.
            watch.check(blocks[watch.source], count if loop.test is None else 1)
        if loop.test is None:
            self._pass_over(count, available)
        constants = [self._constant(source) for source in step.constants]
        start = np.int32(self._done)
        if step.is_driven:
            rows = [block[0] for block in blocks]
            # `carried` is emptied so that the lists don't hold the arrays that the inner loop is to overwrite.
            arguments = [*carried, start, *rows, *constants]
            carried.clear()
            results = run.run_nested(step.jaxpr, arguments)
            flag = results.pop() if loop.test is not None else True
            self._commit(results)
            return np.int32(1), results, flag
        compiled = run._cuts.window(step, loop, shardings, donate=not run._can_fail)
        # The window's buffers are donated: variables have no values until `_commit`.
        with InterruptDeferred():
            new, flag, ran = run._dispatch(
                (id(compiled), capacity),
                compiled,
                carried,
                constants,
                np.bool_(True),
                start,
                np.int32(count),
                blocks,
            )
            self._commit(new)
        return ran, list(new), flag

    def _watches(self, step: control.DrivenStep) -> list[Watch]:
        if step.watches is None:
            # In front of the rows stand what is carried, and the iteration's number.
            first = len(self._loop.results) + 1
            step.watches = watches_of_rows(step.jaxpr, first, len(step.rows), self._run._placement)
        return step.watches

    def _commit(self, carried: list[Any]) -> None:
        for position, variable in self._loop.variables.items():
            self._run.commit(variable, carried[position])

    def _constant(self, source: object) -> Any:
        if isinstance(source, int):
            return self._operands[source]
        return value_of(source, self._values)

    def _blocks(self, count: int, capacity: int, available: list[int]) -> list[Any]:
        leaves: dict[int, list[Any]] = {}
        for position, take in enumerate(self._loop.takes):
            per_iteration = self._step.counts[position]
            taken = min(available[position], count) if take.is_optional else count * per_iteration
            if taken:
                block = self._streams[position].peek_block(0, taken, capacity * per_iteration)
                # Kept for a window without elements, which needs arrays of these shapes.
                self._last_rows[position] = jax.tree.leaves(block)
                check_fits(self._last_rows[position])
                leaves[position] = self._last_rows[position]
            else:
                leaves[position] = self._rows_without_meaning(position, capacity)
        arrays = []
        for row in self._step.rows:
            if row.leaf < 0:
                arrays.append(np.arange(capacity) < available[row.take])
            else:
                arrays.append(self._rows(leaves[row.take][row.leaf], row, capacity))
        return arrays

    def _rows(self, leaf: Any, row: control.TakenArray, capacity: int) -> Any:
        per_iteration = self._step.counts[row.take]
        if per_iteration == 1 and not row.is_block:
            return leaf
        # `[iterations * elements, ...]` to `[iterations, elements, ...]`, of which the row takes its part.
        leaf = leaf.reshape(capacity, per_iteration, *leaf.shape[1:])[:, row.start : row.start + row.count]
        return leaf if row.is_block else leaf[:, 0]

    def _rows_without_meaning(self, position: int, capacity: int) -> list[Any]:
        """Return rows for elements that are not there: the last ones, which are where the devices expect them."""
        described = jax.tree.leaves(self._step.structures[position])
        last = self._last_rows.get(position, [])
        shapes = [(capacity * self._step.counts[position], *leaf.shape) for leaf in described]
        if len(last) == len(shapes) and all(a.shape == s for a, s in zip(last, shapes, strict=True)):
            return last
        return [np.zeros(shape, leaf.dtype) for shape, leaf in zip(shapes, described, strict=True)]

    def _pass_over(self, count: int, available: list[int]) -> None:
        for position, take in enumerate(self._loop.takes):
            wanted = count * self._step.counts[position]
            taken = min(wanted, available[position]) if take.is_optional else wanted
            if taken:
                self._streams[position].pass_over(taken)


def _capacity(loop: control.DrivenLoop, step: control.DrivenStep, count: int, most: int) -> int:
    """Return how many rows a window's blocks have: as few different numbers as may be, since each is compiled."""
    if loop.test is not None:
        return most
    # A number that is compiled already is used even where many rows are padding: compiling costs far more.
    fitting = [capacity for capacity in step.capacities if capacity >= count]
    if fitting:
        return min(fitting)
    # The next power of two.
    capacity = min(most, 1 << (count - 1).bit_length())
    step.capacities.append(capacity)
    return capacity


def _is_key(value: object) -> bool:
    return isinstance(value, jax.Array) and bool(jnp.issubdtype(value.dtype, jax.dtypes.extended))


def value_of(atom: Any, values: dict[Any, Any]) -> Any:
    """Return the value of a jaxpr's variable or literal.

    Raises:
        TracingError: It is not at hand.
    """
    if isinstance(atom, jax_core.Literal):
        # With exactly the literal's dtype: a Python number would be weakly typed, and compiled once more.
        return jnp.asarray(atom.val, atom.aval.dtype)  # type: ignore[attr-defined]
    if atom not in values:
        raise errors.TracingError(
            "A loop over elements of several shapes needs a value for some of them that was not kept for it. "
            f"Received: a value of type {shown(str(atom.aval))}. Make the elements' shapes equal "
            "(`batch(..., drop_remainder=True)`, padding)."
        )
    return values[atom]


def on_host(value: object) -> np.ndarray:
    """Return a scalar that all processes have, on the host; wait for it in a way that Ctrl-C ends."""
    if not isinstance(value, jax.Array):
        return np.asarray(value)
    wait(value)
    # Any shard of a replicated array has its value.
    return np.asarray(value if value.is_fully_addressable else value.addressable_data(0))


def wait(value: object) -> None:
    """Wait until an array has been computed, in a way that Ctrl-C ends."""
    if isinstance(value, jax.Array):
        # `block_until_ready` waits in C++; Python's handler of Ctrl-C would run when it is over.
        while not value.is_ready():  # type: ignore[attr-defined]
            time.sleep(_POLL_SECONDS)


def _list_results(results: object) -> Any:
    """Return a part's results without its variables, which can't be put in the order that leaves of a dict have."""
    return list(results.values()) if isinstance(results, dict) else results
