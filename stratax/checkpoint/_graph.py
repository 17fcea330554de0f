"""What a checkpoint holds: the variables and inputs below an object, by key path (checkpoint layer).

A key path is made of attributes' names and of positions: ``"model/layers/0/kernel"``. Names that Keras makes up
(``"dense_3"``) are not in it, so a model that was built a second time, or in another process, has the same ones. What
an optimizer keeps for a variable is found by that variable: ``"optimizer/momentums/@model/layers/0/kernel"``.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import keras

from stratax.base.shown import shown
from stratax.core.storage import HostConstant, HostState
from stratax.errors import BadArgumentError, BadTypeError
from stratax.seams.keras import BaseOptimizer, Functional, states_of

# Stands between an optimizer's slot and the variable that it is for.
SLOT = "/@"


@runtime_checkable
class Positioned(Protocol):
    """Input whose position can be saved."""

    def get_state(self) -> dict[str, Any]:
        """Return the position, as a dict that JSON can hold."""

    def set_state(self, state: dict[str, Any]) -> None:
        """Go to a position that `get_state` returned."""


class Trackable:
    """An object whose attributes are saved: the base class of `Checkpoint`."""

    def merged(self) -> Any:
        """Return an object whose parts are saved as if they were this one's; None if there is none."""
        raise NotImplementedError

    def children(self) -> Mapping[str, Any]:
        """Return what is saved below this object, by name."""
        raise NotImplementedError


class NamedVariables(Trackable):
    """Variables that are saved under their own names, slashes and all, as TensorFlow 1 saves them.

    Args:
        variables: The variables by name. Asked for at every save and restore.
    """

    def __init__(self, variables: Callable[[], Mapping[str, keras.Variable]]) -> None:
        self._variables = variables

    def merged(self) -> Any:
        return None

    def children(self) -> Mapping[str, Any]:
        """Return the variables by name."""
        return self._variables()


@dataclasses.dataclass(slots=True)
class ObjectGraph:
    """What was found below an object.

    Attributes:
        variables: The variables, each by the first key path that leads to it.
        inputs: The iterators, likewise.
        aliases: Further key paths of something, and the first one of the same.
        owners: The key paths of everything else than variables and iterators: of what has them.
        complete: Those to layers and optimizers that are built: they will not get more variables.
    """

    variables: dict[str, keras.Variable] = dataclasses.field(default_factory=dict)
    inputs: dict[str, Positioned] = dataclasses.field(default_factory=dict)
    aliases: dict[str, str] = dataclasses.field(default_factory=dict)
    owners: set[str] = dataclasses.field(default_factory=set)
    complete: set[str] = dataclasses.field(default_factory=set)


def is_saved(value: object) -> bool:
    """Return whether something is saved that may stand in a list or dict, by what it is itself."""
    kinds = (
        *(
            keras.Variable,
            BaseOptimizer,
            keras.layers.Layer,
            keras.metrics.Metric,
            keras.random.SeedGenerator,
        ),
        *(Trackable, HostConstant, Positioned),
    )
    return isinstance(value, kinds)


def find(root: object) -> ObjectGraph:
    """Find what is saved below an object.

    Args:
        root: A `Checkpoint`, a Keras object, a variable, an iterator, or a list, tuple or dict of such.

    Raises:
        BadTypeError: If something is found that can't be saved; it is named.
        BadArgumentError: If two things have the same key path.
    """
    walk = _Walk()
    walk.visit("", root)
    # Behind everything else: a slot's key path has its variable's in it.
    walk.visit_optimizers()
    return walk.graph


class _Walk:
    def __init__(self) -> None:
        self.graph = ObjectGraph()
        self._key_paths: dict[int, str] = {}
        self._optimizers: list[tuple[str, BaseOptimizer]] = []
        # Temporary objects (a property that returns a new list) would free their ids for others.
        self._held: list[Any] = []

    def visit(self, key_path: str, value: object) -> None:
        if value is None:
            return
        # An object that is reached twice is saved once; its other paths are noted, for programs that lost the
        # first.
        if id(value) in self._key_paths:
            self.graph.aliases[key_path] = self._key_paths[id(value)]
            return
        self._key_paths[id(value)] = key_path
        self._held.append(value)  # Ids are those of live objects only.
        if not isinstance(value, keras.Variable | Positioned):
            # Before its parts: whether a value can still come is decided by what exists above it.
            self.graph.owners.add(key_path)
        self._kind_of(key_path, value)(key_path, value)

    def _kind_of(self, key_path: str, value: object) -> Callable[[str, Any], None]:
        for kind, visitor in self._visitors():
            if isinstance(value, kind):
                return visitor
        raise BadTypeError(
            "A checkpoint holds Keras models, layers, metrics, optimizers and seed generators, variables, Dataset "
            "iterators, tables, Checkpoints, and lists and dicts of them. "
            f"Received: {key_path or 'root'}={shown(value)}. Hold a number or an array in a `stratax.Variable`, or "
            "arrays of JAX in a tree that has nothing else; for a Dataset, pass the iterator that is used."
        )

    def _visitors(self) -> Iterator[tuple[Any, Callable[[str, Any], None]]]:
        # The first that fits: anything with `get_state` and `set_state` counts as input, so that comes last.
        yield keras.Variable, self._variable
        yield BaseOptimizer, self._postpone_optimizer
        yield keras.layers.Layer, self._layer
        yield keras.metrics.Metric, self._metric
        yield keras.random.SeedGenerator, self._seed_generator
        yield NamedVariables, self._visit_children
        yield Trackable, self._trackable
        yield Mapping, self._mapping
        yield (list, tuple), self._sequence
        yield HostConstant, self._constant
        yield Positioned, self._input

    def _variable(self, key_path: str, variable: keras.Variable) -> None:
        self._claim(key_path)
        self.graph.variables[key_path] = variable

    def _input(self, key_path: str, iterator: Positioned) -> None:
        self._claim(key_path)
        self.graph.inputs[key_path] = iterator

    def _constant(self, key_path: str, value: HostConstant) -> None:
        """Save nothing of a constant: the program makes it with all that is in it."""

    def _claim(self, key_path: str) -> None:
        if key_path in self.graph.variables or key_path in self.graph.inputs:
            raise BadArgumentError(
                "Two things below a checkpoint have the same name, so one of them would not be saved. Expected: keys "
                "of a dict that differ as text, and other names beside a root than its own attributes. "
                f"Received: {shown(key_path)} twice."
            )

    def _seed_generator(self, key_path: str, generator: Any) -> None:
        self.visit(_join(key_path, "state"), generator.state)

    def _trackable(self, key_path: str, value: Trackable) -> None:
        # Under the checkpoint's own path, so that `Checkpoint(model)` and `Checkpoint(root=model)` match.
        if (merged := value.merged()) is not None:
            self._kind_of(key_path, merged)(key_path, merged)
        for name, child in value.children().items():
            self.visit(_join(key_path, _escape(name)), child)

    def _visit_children(self, key_path: str, value: NamedVariables) -> None:
        for name, variable in value.children().items():
            # A tree that is an array has no name below itself.
            self.visit(_join(key_path, name) if name else key_path, variable)

    def _mapping(self, key_path: str, mapping: Mapping[Any, Any]) -> None:
        for name, child in mapping.items():
            self.visit(_join(key_path, _escape(str(name))), child)

    def _sequence(self, key_path: str, values: Sequence[Any]) -> None:
        for index, child in enumerate(values):
            self.visit(_join(key_path, str(index)), child)

    def _layer(self, key_path: str, layer: Any) -> None:
        if layer.built:
            self.graph.complete.add(key_path)
        # By number: the attribute names of such a model's layers are made up by Keras and count up in each process.
        if isinstance(layer, Functional | keras.Sequential):
            for index, child in enumerate(layer.layers):
                self.visit(_join(key_path, f"layers/{index}"), child)
        # Behind the numbered layers, which it then leaves out.
        self._visit_owned(key_path, layer, _stores_of_layer(layer))
        if isinstance(layer, keras.Model):
            self.visit(_join(key_path, "optimizer"), getattr(layer, "optimizer", None))

    def _metric(self, key_path: str, metric: Any) -> None:
        self._visit_owned(key_path, metric, {"variables": metric._variables, "metrics": metric._metrics})

    def _visit_owned(self, key_path: str, owner: object, stores: Mapping[str, Sequence[Any]]) -> None:
        """Visit what Keras says belongs to an object: by attribute, or by position if it is no attribute's value."""
        theirs = {id(child) for store in stores.values() for child in store}
        named = set()
        for name, child in _attributes(owner):
            if id(child) in theirs or isinstance(child, HostState):
                named.add(id(child))
                self.visit(_join(key_path, name), child)
        for store, children in stores.items():
            for index, child in enumerate(children):
                # Parts without an attribute of their own, such as those that a layer made in a loop.
                if id(child) not in named and id(child) not in self._key_paths:
                    self.visit(_join(key_path, f"{store}/{index}"), child)

    def _postpone_optimizer(self, key_path: str, optimizer: BaseOptimizer) -> None:
        self._optimizers.append((key_path, optimizer))

    def visit_optimizers(self) -> None:
        """Visit the optimizers, last: what they keep for variables has those variables' key paths in it."""
        while self._optimizers:
            self._optimizer(*self._optimizers.pop(0))

    def _optimizer(self, key_path: str, optimizer: keras.optimizers.Optimizer) -> None:
        if optimizer.built:
            self.graph.complete.add(key_path)
        self.visit(_join(key_path, "inner_optimizer"), getattr(optimizer, "inner_optimizer", None))
        theirs = {id(variable) for variable in optimizer._variables}
        # Before it is built an optimizer knows neither slots nor variables.
        targets = list(optimizer._trainable_variables) if optimizer.built else []
        # Keras 3.15 keeps a slot in a list with one variable for each that is trained, in their order.
        for name, slots in vars(optimizer).items():
            # Lists of another length are no slots, and are visited below by position.
            if isinstance(slots, list | tuple) and targets and len(slots) == len(targets):
                self._slots(_join(key_path, name.lstrip("_")), slots, targets, theirs)
        self._visit_owned(key_path, optimizer, {"variables": optimizer._variables})

    def _slots(self, key_path: str, slots: Sequence[Any], targets: Sequence[Any], theirs: set[int]) -> None:
        for index, (slot, target) in enumerate(zip(slots, targets, strict=True)):
            if slot is not None and id(slot) in theirs:
                # A variable outside of the checkpoint has no key path; its slot is then found by position.
                found = self._key_paths.get(id(target))
                self.visit(_join(key_path, str(index)) if found is None else f"{key_path}{SLOT}{found}", slot)


def _stores_of_layer(layer: Any) -> dict[str, Sequence[Any]]:
    return {
        "sublayers": layer._layers,
        "trainable_variables": layer._trainable_variables,
        "non_trainable_variables": layer._non_trainable_variables,
        "seed_generators": layer._seed_generators,
        "metrics": layer._metrics,
        "states": states_of(layer),
    }


# Where Keras 3.15 keeps track of the parts that an object has in other attributes.
_OF_KERAS = frozenset(
    [
        "_functional",
        "_inbound_nodes",
        "_layers",
        "_metrics",
        "_nodes",
        "_nodes_by_depth",
        "_non_trainable_variables",
        "_operations",
        "_operations_by_depth",
        "_outbound_nodes",
        "_parent_path",
        "_seed_generators",
        "_tracker",
        "_trainable_variables",
        "_trainable_variables_indices",
        "_variables",
        "optimizer",
    ]
)


def _attributes(owner: object) -> list[tuple[str, Any]]:
    """Return the values of an object's attributes, also those in lists and dicts there."""
    found: list[tuple[str, Any]] = []
    # A copy: visiting a property may set attributes.
    own = dict(vars(owner))
    for name, value in own.items():
        if name not in _OF_KERAS:
            # SGD has `momentums`, Adam `_momentums`: what is private in one version or class is not in another.
            plain = name.lstrip("_")
            _add_leaves(found, name if plain in own else plain, value)
    return found


def _add_leaves(found: list[tuple[str, Any]], key_path: str, value: object) -> None:
    pairs: Iterable[tuple[Any, Any]]
    if isinstance(value, Mapping):
        pairs = value.items()
    elif isinstance(value, list | tuple):
        pairs = enumerate(value)
    else:
        found.append((key_path, value))
        return
    for name, child in pairs:
        _add_leaves(found, f"{key_path}/{_escape(str(name))}", child)


def _join(key_path: str, name: str) -> str:
    return f"{key_path}/{name}" if key_path else name


def _escape(name: str) -> str:
    """Return a name as one part of a key path."""
    # The percent sign first, or the others' escapes would be escaped.
    return name.replace("%", "%25").replace("/", "%2F").replace("@", "%40")
