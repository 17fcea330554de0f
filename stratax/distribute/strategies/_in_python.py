"""Replicas that run one after another in Python: `tf.config.run_functions_eagerly` (distribute layer)."""

import dataclasses
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import jax
import jax.numpy as jnp
import keras
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.core import Function, functions, regions, storage
from stratax.distribute import input as distributed
from stratax.distribute import replicas
from stratax.distribute.replicas import (
    PerReplica,
    ReplicaContext,
    ReplicaParts,
    enter_contexts,
    find_first_devices,
    from_components,
    is_per_replica,
    mesh_of,
)
from stratax.distribute.strategies._membership import InStep, StrategyMembership
from stratax.distribute.strategies._mesh_execution import MeshExecution, is_array, values_of_variables

if TYPE_CHECKING:
    from stratax.distribute.strategies._strategy import Strategy


class InPython:
    """Runs a function for each replica, uncompiled.

    Args:
        execution: How the strategy runs functions otherwise.
        strategy: The strategy.
        membership: Whose devices the replicas are.
    """

    def __init__(
        self, execution: MeshExecution, strategy: "Strategy", membership: StrategyMembership
    ) -> None:
        self._execution = execution
        self._strategy = strategy
        self._membership = membership
        # What collectives were compiled to.
        self._exchanges: dict[Any, Any] = {}
        # The code of functions that no program can be made of: a function of its own for each step has the same.
        self._python_only: set[Any] = set()

    def run_without_text(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a function that no program takes as it is called: without text that it leaves alone, if it can be.

        Args:
            fn: The function.
            args: Its arguments, of which some may be text.
            kwargs: Those with names.
        """
        leaves, treedef = jax.tree.flatten((args, kwargs), is_leaf=is_per_replica)
        texts = {_hide(index): leaf for index, leaf in enumerate(leaves) if distributed.is_text(leaf)}
        others = [_hide(index) if distributed.is_text(leaf) else leaf for index, leaf in enumerate(leaves)]
        # What else is per replica says whether the batch is divided.
        is_known = self._execution.num_replicas == 1 or any(map(is_per_replica, others))
        if texts and is_known and _code_of(fn) not in self._python_only:
            given = jax.tree.unflatten(treedef, others)
            try:
                # Traced alone: what fails while it runs is no matter of text, and is not to run again.
                self._execution.compiled_run.prepared(fn, *given)
            except Exception:  # Whatever it does with text: in Python it is done, or fails as it should.
                pass
            else:
                result = self._execution.compiled_run(fn, *given)
                return jax.tree.map(lambda leaf: texts[leaf] if type(leaf) is _HiddenText else leaf, result)
        functions.note_python_only(fn, self._python_only, _code_of(fn))
        return self.run(fn, args, kwargs)

    def run(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run replicas one after another, uncompiled: `tf.config.run_functions_eagerly`."""
        python_fn = fn.python_function if isinstance(fn, Function) else fn
        leaves, treedef = jax.tree.flatten((args, kwargs), is_leaf=is_per_replica)
        is_alone = self._execution.num_replicas == 1 or any(
            leaf.solo for leaf in leaves if isinstance(leaf, PerReplica)
        )
        if isinstance(self._membership, InStep):
            raise errors.StrategyError(
                "Replicas of several workers don't run in Python: a worker that stops at a breakpoint would let the "
                "others wait until they give up. Expected: one worker, or tf.config.run_functions_eagerly(False) and "
                "steps that use neither text nor datasets out of a dataset, which a `map` makes numbers of. "
                f"Received: {shown(fn)} of {shown(self._strategy)}."
            )
        num_replicas = 1 if is_alone else self._execution.num_replicas
        mesh = mesh_of(find_first_devices(self._execution.mesh)[:num_replicas])
        context = ReplicaContext(
            self._strategy, num_replicas, stands_for=self._execution.num_replicas if is_alone else 1
        )

        keeps_copies = self._strategy.extended.placement.keeps_copies

        def replica(index: int) -> _Ran:
            own = [leaf.values[index] if isinstance(leaf, PerReplica) else leaf for leaf in leaves]
            own_args, own_kwargs = jax.tree.unflatten(treedef, own)
            region = replicas.TurnRegion(mesh, index, keeps_copies=keeps_copies)
            with region, enter_contexts(self._strategy, context):
                result = python_fn(*own_args, **own_kwargs)
                outputs, structure = jax.tree.flatten(values_of_variables(result))
                written, merged = region.merged()
                self._execution.refuse_own(region)
            return _Ran(outputs, structure, written, merged, region.own_values())

        found = replicas.ReplicaTurns(mesh, self._exchanges).run(replica)
        outputs, structure = found[0].outputs, found[0].structure
        for variable, value in zip(found[0].written, found[0].merged, strict=True):
            storage.overwrite(variable, np.asarray(value))
        for own_values in zip(*(each.own_values for each in found), strict=True):
            kept = own_values[0][0]
            kept.give(from_components([value for _, value in own_values], mesh).array)
        if not is_alone:
            columns = zip(*(each.outputs for each in found), strict=True)
            outputs = [
                from_components(each, self._execution.mesh) if is_array(each[0]) else each[0]
                for each in columns
            ]
        elif self._execution.num_replicas > 1:
            outputs = [
                PerReplica(jnp.asarray(leaf), solo=True) if is_array(leaf) else leaf for leaf in outputs
            ]
        return jax.tree.unflatten(structure, outputs)


def _code_of(fn: Any) -> Any:
    """Return what a function is known by, without what it holds on to."""
    plain = getattr(fn, "python_function", getattr(fn, "func", fn))
    plain = getattr(plain, "__func__", plain)
    return getattr(plain, "__code__", type(plain))


class _HiddenText:
    """Stands for text among the arguments of a program, which may be handed on and not be used."""

    # What arguments of a function are called where it is traced anew.
    stratax_description = "text"

    def _refuse(self, *others: object) -> NoReturn:
        raise regions.PythonOnlyError("No program takes text.")

    __repr__ = __str__ = __format__ = __bool__ = __eq__ = __array__ = _refuse  # type: ignore[assignment]
    __hash__ = object.__hash__


@functools.cache
def _hide(index: int) -> _HiddenText:
    """Return what stands for the text in a place, each time the same: programs know it by that."""
    del index
    return _HiddenText()


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Ran:
    """What a replica that ran in Python left behind."""

    outputs: list[Any]
    structure: Any
    written: list[keras.Variable]
    merged: list[Any]
    own_values: list[tuple[ReplicaParts, Any]]
