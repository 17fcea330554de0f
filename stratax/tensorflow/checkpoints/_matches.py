"""Which value of a checkpoint of TensorFlow is which variable's (checkpoint layer)."""

import collections
import functools
from collections.abc import Mapping, Sequence

from stratax.checkpoint import saving
from stratax.tensorflow.checkpoints import _tensorflow
from stratax.tensorflow.checkpoints._tensorflow_objects import Objects, is_seed

# How a value was found that the user has named.
AS_ASKED = "as asked"
# How optimizers name what they keep for a variable, behind its name, by what it is called here: those of TensorFlow 1,
# and Keras 2's in an Estimator. TensorFlow 1's momentum is not here: it has no learning rate in it, and Keras' has;
# that of Keras 2's RMSprop has one, and Keras 3's has not.
_FAMILIES: Sequence[Mapping[str, str]] = (
    {"momentums": "Adam", "velocities": "Adam_1"},
    {"velocities": "RMSProp"},
    {"accumulators": "Adagrad"},
    {"accumulated_grads": "Adadelta", "accumulated_delta_vars": "Adadelta_1"},
    {"accumulators": "Ftrl", "linears": "Ftrl_1"},
    {"momentums": "m", "velocities": "v"},
    {"momentums": "m", "velocities": "v", "velocity_hats": "vhat"},
    {"m": "m", "u": "v"},
    {"momentums": "momentum"},
    {"velocities": "rms"},
    {"velocities": "rms", "average_gradients": "mg"},
    {"accumulators": "accumulator"},
    {"accumulated_grads": "accum_grad", "accumulated_delta_vars": "accum_var"},
    {"accumulators": "accumulator", "linears": "linear"},
)


class Matches:
    """Which value is which variable's: as the user says, by its place among the objects, or by its name, in this order.

    Args:
        source: TensorFlow's checkpoint.
        objects: Its objects; None if it was saved by name.
        by_name: Its keys by the names of variables, and by themselves.
        renamed: New names by key.
        target: The variables.

    Attributes:
        found: The key of the value, and how it was found, by the variable's key.
        other_optimizers: The optimizers of the target that are of another kind than the checkpoint's.
    """

    def __init__(
        self,
        source: _tensorflow.Bundle,
        objects: Objects | None,
        by_name: Mapping[str, str],
        renamed: Mapping[str, str],
        target: saving.Contents,
    ) -> None:
        self._source = source
        self._objects = objects
        self._by_name = by_name
        self._renamed = renamed
        self._target = target
        self._others = saving.by_first(target.aliases)
        self._names = unique({key: target.names.get(key, key) for key in target.arrays})
        self._layers_here: dict[str, list[int]] = {}
        self.found: dict[str, tuple[str, str]] = {}
        self.other_optimizers: set[str] = set()
        self._used: set[str] = set()
        self._add_renamed()
        if objects is not None:
            self._add_by_structure(objects)
        self._add_by_name()
        self._add_optimizers_by_name()

    def _add(self, here: str, key: str, why: str) -> None:
        if here not in self.found and key not in self._used:
            self.found[here] = (key, why)
            self._used.add(key)

    def _add_renamed(self) -> None:
        for key, new in self._renamed.items():
            if (here := new if new in self._target.arrays else self._names.get(new)) is not None:
                self._add(here, key, AS_ASKED)

    def _add_by_name(self) -> None:
        for name, here in [*self._names.items(), *((key, key) for key in self._target.arrays)]:
            key = self._by_name.get(name)
            # What was renamed has its old name no more.
            if key is not None and key not in self._renamed and not self._is_of_other_optimizer(here):
                self._add(here, key, "by name")

    def _is_of_other_optimizer(self, here: str) -> bool:
        return any(here.startswith(f"{optimizer}/") for optimizer in self.other_optimizers)

    def _add_by_structure(self, objects: Objects) -> None:
        owners = {
            each: owner for each in self._optimizers if (owner := self._optimizer(objects, each)) is not None
        }
        places = {}
        for here in self._target.arrays:
            owner = owners.get(here.rpartition("/")[0])
            number = (
                self._place(objects, here) if owner is None else objects.part(owner, here.rpartition("/")[2])
            )
            if number is not None and saving.SLOT not in here:
                places[here] = number
        for optimizer, owner in owners.items():
            places |= self._places_of_trained(objects, owner, self._find_trained(optimizer), places)
            if not objects.is_of_kind(owner, self._optimizers[optimizer].keys()):
                self.other_optimizers.add(optimizer)
        for here, number in places.items():
            if not self._is_of_other_optimizer(here):
                self._add_number(objects, here, number)
        for optimizer, owner in owners.items():
            if optimizer not in self.other_optimizers:
                self._add_slots(objects, optimizer, owner, places)

    def _optimizer(self, objects: Objects, key_path: str) -> int | None:
        found = self._place(objects, key_path, is_variable=False)
        if found is None and len(self._optimizers) == 1:
            # That of a compiled model, which TensorFlow's program had beside the model.
            beside = [each for each in set(objects.attributes(0).values()) if objects.is_optimizer(each)]
            return beside[0] if len(beside) == 1 else None
        return found

    def _add_slots(self, objects: Objects, optimizer: str, owner: int, places: Mapping[str, int]) -> None:
        positions = {variable: position for position, variable in enumerate(self._find_trained(optimizer))}
        for slot, variables in self._optimizers[optimizer].items():
            for variable in variables:
                if variable in places:
                    number = objects.slot(owner, slot, places[variable], positions[variable])
                    if number is not None:
                        self._add_number(objects, f"{optimizer}/{slot}{saving.SLOT}{variable}", number)

    def _add_number(self, objects: Objects, here: str, number: int) -> None:
        key = objects.key(number)
        if key is not None and key in self._source.shapes:
            self._add(here, key, "by structure")

    @functools.cached_property
    def _optimizers(self) -> dict[str, dict[str, list[str]]]:
        """The variables that each optimizer keeps something for, by what it is, in its order."""
        counting = (here.removesuffix("/iterations") for here in self._target.arrays)
        found: dict[str, dict[str, list[str]]] = {
            each: {} for each in counting if f"{each}/learning_rate" in self._target.arrays
        }
        for here in self._target.arrays:
            before, slot, variable = here.partition(saving.SLOT)
            if slot:
                optimizer, _, name = before.rpartition("/")
                found.setdefault(optimizer, {}).setdefault(name, []).append(variable)
        return found

    def _find_trained(self, optimizer: str) -> list[str]:
        return list(
            dict.fromkeys(each for variables in self._optimizers[optimizer].values() for each in variables)
        )

    def _places_of_trained(
        self, objects: Objects, owner: int, trained: Sequence[str], places: Mapping[str, int]
    ) -> dict[str, int]:
        """Return the variables that TensorFlow's checkpoint reaches by the list of an optimizer alone."""
        numbers = objects.find_trained(owner)
        # Both lists have to be of the same variables, as far as these are known otherwise.
        pairs = dict(zip(trained, numbers, strict=False))
        if len(numbers) != len(trained) or any(
            places.get(here, each) != each for here, each in pairs.items()
        ):
            return {}
        return pairs

    def _place(self, objects: Objects, key_path: str, *, is_variable: bool = True) -> int | None:
        for candidate in saving.candidates(key_path, self._others):
            parts = candidate.split("/")
            starts = [(0, parts)]
            # Where TensorFlow's root is the model itself, or calls it otherwise.
            if parts[0] in self._starts:
                starts.append((self._starts[parts[0]], parts[1:]))
            for start, rest in starts:
                number = self._walk(objects, start, rest, candidate)
                if number is not None and (objects.key(number) is not None) == is_variable:
                    return number
        return None

    @functools.cached_property
    def _starts(self) -> dict[str, int]:
        """Where what is not a part of TensorFlow's root begins, by its name here."""
        objects = self._objects
        if objects is None:
            return {}
        found = {}
        for first in dict.fromkeys(here.split("/")[0] for here in self._target.arrays):
            if first in objects.attributes(0):
                continue
            keys = [
                here
                for here in self._target.arrays
                if here.startswith(f"{first}/") and saving.SLOT not in here
            ]
            counts = {
                start: sum(self._fits(objects, start, here) for here in keys)
                for start in dict.fromkeys([0, *objects.attributes(0).values()])
            }
            best = max(counts.values(), default=0)
            # Two that fit as well are not told apart.
            if best and list(counts.values()).count(best) == 1:
                found[first] = next(start for start, count in counts.items() if count == best)
        return found

    def _fits(self, objects: Objects, start: int, here: str) -> bool:
        number = self._walk(objects, start, here.split("/")[1:], here)
        key = None if number is None else objects.key(number)
        return key is not None and self._source.shapes.get(key) == self._target.arrays[here].shape

    def _walk(self, objects: Objects, start: int, parts: Sequence[str], key_path: str) -> int | None:
        number: int | None = start
        index = 0
        before = key_path.split("/")[: -len(parts)] if parts else []
        while number is not None and index < len(parts):
            part = parts[index]
            following = parts[index + 1] if index + 1 < len(parts) else ""
            if part == "layers" and following.isdigit() and objects.layers(number) is not None:
                number = self._layer(
                    objects, number, "/".join([*before, *parts[: index + 1]]), int(following)
                )
                index += 2
            else:
                number = objects.part(number, _unescape(part))
                index += 1
        return number

    def _layer(self, objects: Objects, model: int, prefix: str, index: int) -> int | None:
        here, there = self._find_weighted(prefix), objects.find_weighted_layers(model)
        # As Keras 2 did: layers without variables may be others, such as those that were made of operations.
        if len(here) == len(there):
            return there[here.index(index)] if index in here else None
        layers = objects.layers(model) or []
        return layers[index] if index < len(layers) else None

    def _find_weighted(self, prefix: str) -> list[int]:
        if prefix not in self._layers_here:
            parts = (
                here[len(prefix) + 1 :].partition("/")[0]
                for here in self._target.arrays
                if here.startswith(f"{prefix}/") and not is_seed(self._target.names.get(here, here))
            )
            self._layers_here[prefix] = sorted(set(map(int, parts)))
        return self._layers_here[prefix]

    def _add_optimizers_by_name(self) -> None:
        for optimizer, slots in self._optimizers.items():
            if optimizer in self.other_optimizers or f"{optimizer}/iterations" in self.found:
                continue
            if not slots and self._objects is None:
                # One that keeps nothing counts its steps all the same.
                self._add_steps(optimizer)
            for family in _FAMILIES:
                found = self._slots_by_name(slots, family) if family.keys() == slots.keys() else {}
                for (slot, variable), key in found.items():
                    self._add(f"{optimizer}/{slot}{saving.SLOT}{variable}", key, "by name")
                if found:
                    self._add_steps(optimizer)
                    break

    def _slots_by_name(
        self, slots: Mapping[str, Sequence[str]], family: Mapping[str, str]
    ) -> dict[tuple[str, str], str]:
        """Return the keys of all slots, by slot and variable, if they have the names of a family."""
        own = {key: name for name, key in self._by_name.items() if name != key}
        found = {}
        for slot, variables in slots.items():
            for variable in variables:
                if variable not in self.found:
                    continue
                key = self.found[variable][0]
                slot_key = self._ending_in(f"{own.get(key, key)}/{family[slot]}")
                if slot_key is None:
                    return {}
                found[slot, variable] = slot_key
        return found

    def _ending_in(self, name: str) -> str | None:
        if name in self._by_name:
            return self._by_name[name]
        # Keras 2 in an Estimator puts the optimizer's name in front.
        found = [each for each in self._by_name if each.endswith(f"/{name}")]
        return self._by_name[found[0]] if len(found) == 1 else None

    def _add_steps(self, optimizer: str) -> None:
        steps = [key for name, key in self._by_name.items() if name.endswith("/iter")]
        for key in (*steps[:1], self._by_name.get("global_step")):
            if key is not None:
                self._add(f"{optimizer}/iterations", key, "by name")


def unique(names: Mapping[str, str]) -> dict[str, str]:
    """Return what has a name of its own, by that name."""
    counts = collections.Counter(names.values())
    return {name: key for key, name in names.items() if counts[name] == 1}


def _unescape(name: str) -> str:
    return name.replace("%40", "@").replace("%2F", "/").replace("%25", "%")
