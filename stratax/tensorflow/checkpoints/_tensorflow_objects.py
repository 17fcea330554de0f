"""The objects of a checkpoint that TensorFlow wrote, by the key paths that they have here (checkpoint layer).

TensorFlow describes what it saves as a graph of objects with named edges. Models of Keras 2 name their layers
`layer-0`; those of Keras 3 in TensorFlow keep them in a list `_operations`, with operations that are no layers
between. Optimizers of Keras 2 had slots of their own kind, later ones keep lists in the order of the variables.
"""

import functools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from stratax.checkpoint import saving
from stratax.tensorflow.checkpoints._bundles import BundleObject

_LAYER = re.compile(r"layer-(\d+)")
_VALUE = "VARIABLE_VALUE"
# What models and SavedModels have beside their parts.
_BOOKKEEPING = frozenset(
    [
        "_all_variables",
        "_compiled_trainable_state",
        "_functional",
        "_inbound_nodes",
        "_layers",
        "_losses",
        "_losses_override",
        "_misc_assets",
        "_operations",
        "_outbound_nodes",
        "_tracked",
        "_trainable_variables",
        "_trainable_variables_indices",
        "_variables",
        "keras_api",
        "non_trainable_variables",
        "regularization_losses",
        "signatures",
        "trainable_variables",
        "variables",
    ]
)
# What the slots of Keras 2's older optimizers, and of TensorFlow 1's, are called here.
SLOTS: Mapping[str, tuple[str, ...]] = {
    "accumulated_delta_vars": ("accum_var",),
    "accumulated_grads": ("accum_grad",),
    "accumulators": ("accumulator",),
    "average_gradients": ("mg",),
    "linears": ("linear",),
    "m": ("m",),
    "momentums": ("m", "momentum"),
    "u": ("v",),
    "velocities": ("v", "rms"),
    "velocity_hats": ("vhat",),
}

# Keras 2's names of variables that have others in Keras 3.
_RENAMED = {"depthwise_kernel": "kernel", "iter": "iterations"}


class Objects:
    """The graph of a checkpoint's objects.

    Args:
        nodes: The objects, the root first.
    """

    def __init__(self, nodes: Sequence[BundleObject]) -> None:
        self.nodes = nodes
        self._attributes: dict[int, dict[str, int]] = {}
        self._weighted: dict[int, list[int]] = {}

    def key(self, number: int) -> str | None:
        """Return the key of an object's value, if it is a variable."""
        return next((key for name, _, key in self.nodes[number].attributes if name == _VALUE), None)

    def name(self, number: int) -> str:
        """Return a variable's own name."""
        return next((name for attribute, name, _ in self.nodes[number].attributes if attribute == _VALUE), "")

    @functools.cached_property
    def by_key(self) -> dict[str, int]:
        """The variables' numbers by their keys."""
        return {key: number for number in range(len(self.nodes)) if (key := self.key(number)) is not None}

    def layers(self, number: int) -> list[int] | None:
        """Return a model's layers, as `model.layers` has them; None for an object that has none."""
        children = self.nodes[number].children
        numbered = {
            int(match[1]): child for name, child in children.items() if (match := _LAYER.fullmatch(name))
        }
        if numbered:
            return [numbered[index] for index in sorted(numbered)]
        if (inner := children.get("_functional")) is not None and (found := self.layers(inner)) is not None:
            # A Sequential model's first operation is its input, which is none of its layers.
            return found[1:]
        if (operations := children.get("_operations")) is not None:
            # Those that are no layers are left out of the list, and leave a gap in its numbers.
            items = self.nodes[operations].children
            return [items[index] for index in sorted(items, key=int)]
        return None

    def attributes(self, number: int) -> dict[str, int]:
        """Return an object's parts by name, other than a model's layers, as they are named here."""
        if number not in self._attributes:
            self._attributes[number] = self._find_attributes(number)
        return self._attributes[number]

    def _find_attributes(self, number: int) -> dict[str, int]:
        children = self.nodes[number].children
        plain = {name: child for name, child in children.items() if not name.startswith("_")}
        found = {}
        for name, child in children.items():
            if (
                name not in _BOOKKEEPING
                and not name.startswith("layer_with_weights-")
                and not _LAYER.fullmatch(name)
            ):
                # What is private in one version or class is not in another.
                short = name.lstrip("_")
                found[name if short in plain else short] = child
        return found

    def has_variables(self, number: int) -> bool:
        """Return whether there are variables below an object, other than the states of random generators."""
        seen, waiting = {number}, [number]
        while waiting:
            each = waiting.pop()
            if self.key(each) is not None and not is_seed(self.name(each)):
                return True
            fresh = {*(self.layers(each) or ()), *self.attributes(each).values()} - seen
            seen |= fresh
            waiting.extend(fresh)
        return False

    def find_weighted_layers(self, number: int) -> list[int]:
        """Return the layers of a model that have variables."""
        if number not in self._weighted:
            layers = self.layers(number) or ()
            self._weighted[number] = [layer for layer in layers if self.has_variables(layer)]
        return self._weighted[number]

    def is_optimizer(self, number: int) -> bool:
        """Return whether an object counts its steps as an optimizer does."""
        found = self.attributes(number)
        return bool(self.nodes[number].slots) or (
            ("iterations" in found or "iter" in found) and "learning_rate" in found
        )

    def part(self, number: int, name: str) -> int | None:
        """Return a part of an object by its name here."""
        found = self.attributes(number)
        names = (name, *(theirs for theirs, ours in _RENAMED.items() if ours == name))
        return next((found[each] for each in names if each in found), None)

    def is_of_kind(self, optimizer: int, slots: Collection[str]) -> bool:
        """Return whether an optimizer keeps the same as one that keeps these slots, or that keeps none."""
        if not slots:
            return True
        names = {name for _, name, _ in self.nodes[optimizer].slots}
        if names:
            known = {name for slot in slots for name in SLOTS.get(slot, (slot,))}
            return names <= known and all(names.intersection(SLOTS.get(slot, (slot,))) for slot in slots)
        parts = self.attributes(optimizer)
        return set(slots) == {name for name, part in parts.items() if self._list(part)}

    def find_trained(self, optimizer: int) -> list[int]:
        """Return the variables that an optimizer trains, in its order, if the checkpoint says so."""
        items = self.nodes[optimizer].children.get("_trainable_variables")
        return [] if items is None else self._list(items)

    def slot(self, optimizer: int, slot: str, variable: int, position: int | None) -> int | None:
        """Return what an optimizer keeps for a variable.

        Args:
            optimizer: The optimizer.
            slot: The slot's name here, such as `momentums`.
            variable: The variable.
            position: The variable's place among those that are trained, if it is known.
        """
        names = SLOTS.get(slot, (slot,))
        # The older RMSprop's momentum has the learning rate in it, and that of Keras 3 has not.
        is_rms = any(name == "rms" for _, name, _ in self.nodes[optimizer].slots)
        for original, name, number in self.nodes[optimizer].slots:
            if original == variable and name in names and not (is_rms and name == "momentum"):
                return number
        items = self.part(optimizer, slot)
        if items is None or self.key(items) is not None:
            return None
        slots, trained = self._list(items), self.find_trained(optimizer)
        if variable in trained and len(trained) == len(slots):
            return slots[trained.index(variable)]
        # Keras 2.15 says it in the slot's name: `Adam/m/dense/kernel`.
        own = self.name(variable)
        found = [number for number in slots if own and self.name(number).endswith(f"/{own}")]
        if len(found) == 1 and sum(self.name(each) == own for each in self.by_key.values()) == 1:
            return found[0]
        return None if position is None or position >= len(slots) else slots[position]

    def _list(self, number: int) -> list[int]:
        """Return the variables of a list."""
        items = self.nodes[number].children
        return [items[index] for index in sorted((each for each in items if each.isdigit()), key=int)]

    def key_paths(self) -> dict[int, str]:
        """Return a key path for each variable that is reached from the root, by its number, as they are named here."""
        found: dict[int, str] = {}
        seen: set[int] = set()
        optimizers: list[tuple[int, str]] = []

        def visit(number: int, key_path: str) -> None:
            if number in seen:
                return
            seen.add(number)
            if self.key(number) is not None:
                found[number] = key_path
                return
            if self.is_optimizer(number):
                optimizers.append((number, key_path))
                return
            for index, layer in enumerate(self.layers(number) or ()):
                visit(layer, _join(key_path, f"layers/{index}"))
            parts = self.attributes(number)
            for name, child in parts.items():
                # A separable layer has it under this name in both versions.
                is_other = name == "depthwise_kernel" and "pointwise_kernel" not in parts
                visit(child, _join(key_path, _RENAMED[name] if is_other else name))

        visit(0, "")
        # Behind everything else: a slot's key path has its variable's in it.
        for number, key_path in optimizers:
            for slot, part in self._parts_of_optimizer(number, dict(found)):
                found.setdefault(part, _join(key_path, slot))
        return found

    def _parts_of_optimizer(self, optimizer: int, key_paths: Mapping[int, str]) -> Iterator[tuple[str, int]]:
        own = self.attributes(optimizer)
        lists = [name for name, part in own.items() if self.key(part) is None]
        # Adamax' slots have the names that Adam's had: without a model they count as Adam's.
        kinds = [name for name in SLOTS if name not in ("m", "u")] if self.nodes[optimizer].slots else lists
        for slot in kinds:
            for variable, key_path in key_paths.items():
                if (number := self.slot(optimizer, slot, variable, None)) is not None:
                    yield f"{slot}{saving.SLOT}{key_path}", number
        for name, part in own.items():
            if self.key(part) is None:
                continue
            if name in ("iter", "iterations"):
                yield "iterations", part
            # The older optimizers saved their hyperparameters, which are no variables here.
            elif "iter" not in own or name == "learning_rate":
                yield name, part


def is_seed(name: str) -> bool:
    """Return whether a variable of this name is the state of a random generator of Keras."""
    return name.rpartition("/")[2].startswith("seed_generator_state")


def _join(key_path: str, name: str) -> str:
    return f"{key_path}/{name}" if key_path else name
