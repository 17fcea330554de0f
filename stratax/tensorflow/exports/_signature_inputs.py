"""The inputs of an exported signature: placeholders, their names, and what is fed in place of them (export layer)."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from stratax.base.shown import shown
from stratax.errors import BadArgumentError
from stratax.export.parts import TensorInfo
from stratax.tensorflow.exports._blank_sizes import BATCH
from stratax.tensorflow.exports._host_plan import CallPlan, RuntimeValue, replace_leaves
from stratax.tensorflow.exports._host_value import RecordedValue
from stratax.tensorflow.exports._program_arguments import HostArguments

# What the id of an input begins with that a signature does not have.
UNFED = "unfed/"


class SignatureInputs:
    """What a signature takes.

    Args:
        arguments: Of the program.

    Attributes:
        infos: What the inputs are, by name.
        fed: The names of values that are inputs although the host could make them, by id.
        takes_fed_only: Whether the signature takes what it is fed, and no other input.
        shares_sizes: Whether sizes that are not known are one size in all inputs that have them in the same dimension.
        may_share_sizes: Whether some inputs have sizes that are not known in the same dimension.
    """

    def __init__(self, arguments: HostArguments) -> None:
        self.infos: dict[str, TensorInfo] = {}
        self.fed: dict[str, str] = {}
        self.takes_fed_only = False
        self.shares_sizes = False
        self.may_share_sizes = False
        self._arguments = arguments
        self._made: list[tuple[Any, str]] = []
        self._names: dict[str, str] = {}
        self._sizes: set[str] = set()

    def note_made(self, value: object, name: str) -> None:
        """Take note of what stands for an input."""
        self._made.append((value, name))

    def sizes_of(self, name: str, info: TensorInfo) -> list[int | str]:
        """Return the sizes of an input: numbers, and names of those that are not known."""
        self.infos[name] = info
        index = list(self.infos).index(name)
        sizes: list[int | str] = [
            size if size is not None else BATCH if axis == 0 else self._name_size(index, axis)
            for axis, size in enumerate(info.shape)
        ]
        self._sizes.update(size for size in sizes if isinstance(size, str) and size != BATCH)
        return sizes

    def _name_size(self, index: int, axis: int) -> str:
        self.may_share_sizes |= any(size.endswith(f"_{axis}") for size in self._sizes)
        return f"size_{axis}" if self.shares_sizes else f"size{index}_{axis}"

    def has_size(self, size: int | str) -> bool:
        """Return whether an input has a size that is not known, by its name."""
        return size in self._sizes

    def free_name(self, wanted: str) -> str:
        """Return a name like this one that no input has."""
        unique, count = wanted, 0
        while unique in self.infos:
            count += 1
            unique = f"{wanted}_{count}"
        return unique

    def give_names(self, inputs: Mapping[str, Any]) -> None:
        """Give inputs that placeholders have made the names that the signature has for them.

        Args:
            inputs: What stands for them, by name.

        Raises:
            BadArgumentError: Something is no input.
        """
        for name, value in inputs.items():
            own = next((own for made, own in self._made if made is value), None)
            if own is None:
                raise BadArgumentError(
                    "A receiver tensor is what is fed: a placeholder. Expected: tf.compat.v1.placeholder(...). "
                    f"Received: {shown(value)} as {shown(name)}."
                )
            self._names[own] = name

    def feed(self, inputs: Mapping[str, Any]) -> None:
        """Have the signature take values, by name, which would be made of other inputs; and nothing else.

        Args:
            inputs: Placeholders, and what the host makes of some.

        Raises:
            BadArgumentError: Something is neither, a SparseTensor for instance.
        """
        self.takes_fed_only = True
        for name, value in inputs.items():
            own = next((own for made, own in self._made if made is value), None)
            if own is not None:
                self._names[own] = name
            else:
                self.fed[self._find_fed_id(name, value)] = name

    def _find_fed_id(self, name: str, value: object) -> str:
        id = (
            value.id
            if isinstance(value, RecordedValue) and not value.is_late
            else self._arguments.id_of(value)
        )
        if id is None:
            raise BadArgumentError(
                "What an export is fed is a placeholder, or what the host makes of one, such as a feature of "
                f"parse_example. Received: {shown(value)} as {shown(name)}."
            )
        return id

    def name_infos(self, fed: Mapping[str, TensorInfo]) -> dict[str, TensorInfo]:
        """Return what the inputs are, by the names that the signature has for them.

        Args:
            fed: What is fed that the host could make, by name.
        """
        if not self.takes_fed_only:
            return {self._names.get(name, name): info for name, info in self.infos.items()}
        return {name: self.infos[own] for own, name in self._names.items()} | dict(fed)

    def rename(self, plan: CallPlan) -> CallPlan:
        """Return a plan with the names that the signature has for inputs."""

        def of_value(value: object) -> Any:
            return RuntimeValue(self.rename_id(value.id)) if isinstance(value, RuntimeValue) else value

        calls = tuple(
            dataclasses.replace(
                call,
                args=replace_leaves(call.args, of_value),
                kwargs=replace_leaves(dict(call.kwargs), of_value),
                body=None if call.body is None else self.rename(call.body),
            )
            for call in plan.calls
        )
        gives = {name: self.rename_id(id) for name, id in plan.gives.items()}
        return dataclasses.replace(plan, calls=calls, gives=gives)

    def rename_id(self, id: str) -> str:
        """Return an id with the name that the signature has for an input."""
        name = id.removeprefix("in/")
        if id in self.fed:
            return f"in/{self.fed[id]}"
        if not id.startswith("in/"):
            return id
        return (
            UNFED + name
            if self.takes_fed_only and name not in self._names
            else f"in/{self._names.get(name, name)}"
        )

    def is_argument(self, id: str) -> bool:
        """Return whether a value is an argument of the program."""
        return id in self._arguments.specs

    def is_unfed(self, id: str) -> bool:
        """Return whether an id is that of an input that the signature does not have."""
        return self.rename_id(id).startswith(UNFED)
