"""Which collections variables and results of `tf.contrib.layers` are added to, and what results are called there."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stratax.tensorflow import v1

Collections = str | Sequence[str] | Mapping[str, str | Sequence[str]] | None

_MODEL_VARIABLES = "model_variables"
# Pairs of a result and its name: arrays have no place for names.
_ALIASES = "_contrib_aliases"


def collections_of(collections: Collections, name: str) -> list[str]:
    """Return the collections of one kind of variables, such as ``"weights"``."""
    chosen = collections.get(name) if isinstance(collections, Mapping) else collections
    return [chosen] if isinstance(chosen, str) else list(chosen or ())


def collect_variables(variables: Mapping[str, Any], collections: Collections) -> None:
    """Add variables to the model's and to collections, each once.

    Args:
        variables: By kind.
        collections: Those of all, or of each kind.
    """
    scope = v1.current()
    for name, variable in variables.items():
        for key in (_MODEL_VARIABLES, *collections_of(collections, name)):
            if not any(each is variable for each in scope.collections.ref(key)):
                scope.collections.add(key, variable)


def collect_named_outputs(collections: str | Sequence[str] | None, alias: str, outputs: object) -> Any:
    """Add a result to collections under a name, and return it."""
    keys = collections_of(collections, "")
    if keys:
        append_tensor_alias(outputs, alias)
    for key in keys:
        v1.current().collections.add(key, outputs)
    return outputs


def append_tensor_alias(tensor: object, alias: str) -> Any:
    """Give a result one more name in collections, and return it."""
    v1.current().collections.add(_ALIASES, (tensor, alias.removesuffix("/")))
    return tensor


def get_tensor_aliases(tensor: object) -> list[str]:
    """Return the names of a result in collections; the tensor's own where it has none."""
    names = [alias for each, alias in v1.current().collections.ref(_ALIASES) if each is tensor]
    return names or [v1.current().names.of(tensor).removesuffix(":0")]


def gather_tensors_aliases(tensors: Iterable[Any]) -> list[str]:
    """Return the names of several results, one after another."""
    return [alias for tensor in tensors for alias in get_tensor_aliases(tensor)]


def convert_collection_to_dict(collection: str, clear_collection: bool = False) -> dict[str, Any]:
    """Return a collection's results by name, in order.

    Args:
        collection: The collection's name.
        clear_collection: Whether to empty it.
    """
    scope = v1.current()
    found = {
        alias: tensor for tensor in scope.collections.get(collection) for alias in get_tensor_aliases(tensor)
    }
    if clear_collection:
        scope.collections.ref(collection).clear()
    return found
