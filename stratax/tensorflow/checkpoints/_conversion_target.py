"""What a checkpoint of TensorFlow is converted for: variables of a program, or of a checkpoint (checkpoint layer)."""

import os
from collections.abc import Iterator, Mapping
from typing import Any

import keras

from stratax import errors
from stratax.base.shown import shown
from stratax.checkpoint import saving
from stratax.checkpoint.saving import Checkpoint
from stratax.seams.keras import BaseOptimizer


def of_objects(made: object) -> saving.Contents:
    """Return the variables of objects, with their values.

    Args:
        made: A Keras model, which the checkpoint then calls `model`; a dict of what `Checkpoint` is given by name; a
            `Checkpoint`; or variables, as a list or a dict by name.

    Raises:
        BadTypeError: If it is something else.
        BadArgumentError: If there are no variables.
    """
    root = _root(made)
    _build_optimizers(root)
    graph = saving.find(root)
    if not graph.variables:
        raise without_variables(made)
    return saving.take(graph, saving.values(graph))


def without_variables(made: object) -> errors.BadArgumentError:
    """Return the error for a model that is not built."""
    return errors.BadArgumentError(
        "There is no variable for the checkpoint's values. A model has variables once it was built: give it an Input "
        f"layer, or call it on an example. Received: {shown(made)}."
    )


def of_checkpoint(path: str | os.PathLike[str]) -> saving.Contents:
    """Return the variables of a checkpoint, with their values.

    Args:
        path: A checkpoint of Stratax, or a folder whose latest is meant.

    Raises:
        FileMissingError: If there is none.
        DataLossError: If it is damaged.
    """
    place = saving.locate(path)
    if (error := saving.wait_for(place)) is not None:
        raise error
    found = [] if (place / saving.FILE).exists() else list(saving.complete_checkpoints(place))
    index = saving.read_index(found[-1] if found else place)
    arrays = saving.read_arrays(index, index.shapes)
    return saving.Contents(
        # In the order of the index, which is that of the objects.
        arrays={key: arrays[key] for key in index.shapes},
        names=index.names,
        aliases=index.aliases,
        inputs={},
        random=None,
    )


def _root(made: object) -> Any:
    if isinstance(made, saving.Trackable):
        return made
    if isinstance(made, keras.Layer):
        return Checkpoint(model=made)
    if isinstance(made, Mapping) and all(isinstance(each, keras.Variable) for each in made.values()):
        variables = dict(made)
        return Checkpoint(saving.NamedVariables(lambda: variables))
    if isinstance(made, Mapping) and all(isinstance(name, str) for name in made):
        return Checkpoint(**made)
    if isinstance(made, list | tuple) and all(isinstance(each, keras.Variable) for each in made):
        by_path = {each.path: each for each in made}
        return Checkpoint(saving.NamedVariables(lambda: by_path))
    raise errors.BadTypeError(
        "A checkpoint is converted for a Keras model, a Checkpoint, a dict such as {'model': model, 'optimizer': "
        f"optimizer}}, or variables. Received: {shown(made)}."
    )


def _build_optimizers(root: object) -> None:
    """Have optimizers make what they keep for variables, as their first step would."""
    parts = list(_parts(root))
    models = [part for part in parts if isinstance(part, keras.Model)]
    for model in models:
        if (own := getattr(model, "optimizer", None)) is not None and not own.built:
            own.build(model.trainable_variables)
    for part in parts:
        # Of which model it is shows only where there is but one.
        if isinstance(part, BaseOptimizer) and not part.built and len(models) == 1:
            part.build(models[0].trainable_variables)


def _parts(root: object) -> Iterator[Any]:
    yield root
    if isinstance(root, saving.Trackable):
        if (merged := root.merged()) is not None:
            yield from _parts(merged)
        for child in root.children().values():
            yield from _parts(child)
    elif isinstance(root, Mapping):
        for child in root.values():
            yield from _parts(child)
    elif isinstance(root, list | tuple):
        for child in root:
            yield from _parts(child)
