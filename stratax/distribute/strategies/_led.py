"""What the chief alone does with variables of which every worker has parts: the others read and assign with it.

A callback saves a model in the chief, and a backup is read there (distribute layer). Which variables that concerns, and
in which order, is up to Keras and the file; so the chief tells the others of each as it comes to it.
"""

import dataclasses
import json
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
import keras
import numpy as np

from stratax import errors
from stratax.base.surroundings import Slot
from stratax.core import storage
from stratax.distribute.strategies._membership import InStep, StrategyMembership

Result = TypeVar("Result")
_PURPOSE = "led"


@dataclasses.dataclass(frozen=True, slots=True)
class Leader:
    """The chief, while the others do with it what it does.

    Attributes:
        members: The workers.
        variables: Variables of which each of them has parts.
    """

    members: InStep
    variables: Sequence[keras.Variable]

    def read(self, array: jax.Array) -> np.ndarray:
        """Return the value of one of the variables, which the others help to put together."""
        self._tell("read", self._find(lambda variable: storage.read(variable) is array, array))
        return self.members.gather_whole(array)

    def assign(self, variable: keras.Variable, value: np.ndarray) -> None:
        """Have the others assign a value to a variable, of which each keeps its parts."""
        self._tell("assign", self._find(lambda each: each is variable, variable))
        self.members.agree([value])

    def end(self) -> None:
        """Let the others go on."""
        self._tell("end", 0)

    def _tell(self, action: str, index: int) -> None:
        self.members.exchange(self.members.next_name(_PURPOSE), json.dumps([action, index]).encode())

    def _find(self, is_meant: Callable[[keras.Variable], bool], what: Any) -> int:
        for index, variable in enumerate(self.variables):
            if is_meant(variable):
                return index
        raise errors.StrategyError(
            "The chief reads or assigns alone what other workers have parts of. Expected: a variable of the model that "
            f"is saved or loaded, or the same call in every worker. Received: an array of shape {tuple(what.shape)}."
        )


_LEADER: Slot[Leader | None] = Slot("what the chief does for all workers", None)
# The leader, where this thread is the chief's and others wait for it.
find_leader = _LEADER.get


def run_in_chief(
    membership: StrategyMembership, variables: Sequence[keras.Variable], act: Callable[[], Result]
) -> Result | None:
    """Call a function in the chief alone, which may read and assign variables; all workers call this.

    Args:
        membership: Who takes part.
        variables: The variables, in the same order in all workers. Those that every worker has whole are assigned in
            the chief alone.
        act: The function.

    Returns:
        What it returns, in the chief; None in other workers.
    """
    lacking = [variable for variable in variables if _lacks(storage.find_divided(variable))]
    if not isinstance(membership, InStep) or not lacking:
        return act() if membership.is_chief else None
    if not membership.is_chief:
        _follow(membership, lacking)
        return None
    leader = Leader(membership, lacking)
    try:
        with _LEADER.holding(leader):
            return act()
    finally:
        leader.end()


def _lacks(array: jax.Array | None) -> bool:
    return array is not None and not array.is_fully_addressable


def _follow(membership: InStep, variables: Sequence[keras.Variable]) -> None:
    while True:
        # The chief's value comes first.
        action, index = json.loads(membership.exchange(membership.next_name(_PURPOSE), b"")[0])
        if action == "end":
            return
        value = storage.read(variables[index])
        if action == "read":
            membership.gather_whole(value)
        else:
            (sent,) = membership.agree([np.empty(value.shape, value.dtype)])
            storage.overwrite(variables[index], sent)
