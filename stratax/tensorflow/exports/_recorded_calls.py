"""The calls that an export makes on the host: before its program, and behind it (export layer)."""

import dataclasses
import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import jax
import numpy as np

from stratax.errors import BadArgumentError
from stratax.export.parts import TensorInfo
from stratax.tensorflow.exports._host_plan import RANDOM, Call, CallPlan, RuntimeValue, refs_in
from stratax.tensorflow.exports._host_value import RecordedValue
from stratax.tensorflow.exports._program_arguments import argument_name
from stratax.tensorflow.exports._signature_inputs import UNFED, SignatureInputs


class RecordedCalls:
    """The calls, and the plans that they become.

    Args:
        inputs: Of the signature.
        prefix: What ids of values begin with.

    Attributes:
        before: Calls before the program.
        after: Calls behind it.
        results: What of the program's results those need, by id.
    """

    def __init__(self, inputs: SignatureInputs, prefix: str) -> None:
        self.before: list[Call] = []
        self.after: list[Call] = []
        self.results: dict[str, Any] = {}
        self._inputs = inputs
        self._prefix = prefix
        self._ids = itertools.count()
        self._infos: dict[str, TensorInfo] = {}

    def new_id(self) -> str:
        """Return an id that no value has."""
        return f"{self._prefix}{next(self._ids)}"

    def note(self, id: str, info: TensorInfo) -> None:
        """Take note of what a value is."""
        self._infos[id] = info

    def new_seed(self) -> str:
        """Add what gives other bits in each call; return its id."""
        id = self.new_id()
        bits = {"minval": 0, "maxval": 2**31 - 1, "dtype": np.dtype(np.int32)}
        self.before.append(Call(RANDOM, ([2],), bits, RuntimeValue(id)))
        self._infos[id] = TensorInfo("uint32", (2,))
        return id

    def result_id(self, value: object) -> str:
        """Return the id of an array of the program, which is one of its results then."""
        for id, each in self.results.items():
            if each is value:
                return id
        id = f"out/host_{len(self.results)}"
        self.results[id] = value
        return id

    def results_for(self, outputs: Iterable[RecordedValue]) -> dict[str, Any]:
        """Return what of the program's results the host needs, by id.

        Args:
            outputs: Values that are outputs.
        """
        behind = self._behind(outputs)
        return {id: array for id, array in self.results.items() if id in behind}

    def _behind(self, outputs: Iterable[RecordedValue]) -> set[str]:
        """Return the ids of what the host needs behind the program: not for what nobody is given."""
        gives = {each.id: each.id for each in outputs}
        calls = CallPlan(tuple(self.after), gives, {}).drop_unneeded().calls
        return {ref.id for call in calls for ref in call.refs()} | gives.keys()

    def plan_before(self, arguments: Iterable[str], outputs: Iterable[RecordedValue]) -> CallPlan | None:
        """Return what the host computes before the program.

        Args:
            arguments: The ids of the program's arguments.
            outputs: Values that are outputs.
        """
        of_program = [id for id in arguments if not id.startswith("in/") and id not in self._inputs.fed]
        known = {ref.id for call in self.before for ref in refs_in(call.gives)} - self._inputs.fed.keys()
        behind = self._behind(outputs)
        gives = {argument_name(id): id for id in of_program} | {
            f"kept/{id}": id for id in sorted(behind & known)
        }
        if not gives:
            return None
        infos = {
            name: self._device_info(id) if id in of_program else self._infos[id] for name, id in gives.items()
        }
        return self._inputs.rename(CallPlan(tuple(self.before), gives, infos)).drop_unneeded()

    def plan_after(self, outputs: Mapping[str, RecordedValue]) -> CallPlan | None:
        """Return what the host computes behind the program.

        Args:
            outputs: The values that are outputs, by name.
        """
        if not outputs:
            return None
        gives = {name: each.id for name, each in outputs.items()}
        infos = {name: each.info for name, each in outputs.items()}
        return self._inputs.rename(CallPlan(tuple(self.after), gives, infos)).drop_unneeded()

    def _device_info(self, id: str) -> TensorInfo:
        info = self._infos[id]
        return dataclasses.replace(info, dtype=jax.dtypes.canonicalize_dtype(info.numpy_dtype).name)

    def name_infos(self) -> dict[str, TensorInfo]:
        """Return what the signature's inputs are, by the names that it has for them."""
        return self._inputs.name_infos(
            {name: self._find_fed_info(id) for id, name in self._inputs.fed.items()}
        )

    def _find_fed_info(self, id: str) -> TensorInfo:
        return self._device_info(id) if self._inputs.is_argument(id) else self._infos[id]

    def find_unfed(self, arguments: Iterable[str]) -> set[str]:
        """Return which arguments of the program are made of what the signature is not fed, by their ids."""
        if not self._inputs.takes_fed_only:
            return set()
        return {id for id in arguments if self._needs_unfed([id], [self.plan_before([id], ())])}

    def _needs_unfed(self, arguments: Iterable[str], plans: Iterable[CallPlan | None]) -> bool:
        refs = (ref.id for plan in plans if plan is not None for ref in plan.refs())
        return any(map(self._inputs.is_unfed, arguments)) or any(id.startswith(UNFED) for id in refs)

    def check_fed(self, arguments: Iterable[str], plans: Iterable[CallPlan | None]) -> None:
        """Check that nothing is needed but what the signature is fed.

        Args:
            arguments: The ids of the program's arguments.
            plans: What the host computes.

        Raises:
            BadArgumentError: Something else is needed.
        """
        if self._needs_unfed(arguments, plans):
            raise BadArgumentError(
                "What is fed is not enough: the model reads what is made of another placeholder, too. Expected: inputs "
                f"of which all features are made. Received: {', '.join(sorted(self.name_infos()))}."
            )

    def input_name(self, id: str) -> str:
        """Return the name of an argument of the program, by its id."""
        return argument_name(self._inputs.rename_id(id))
