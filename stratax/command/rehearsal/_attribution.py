"""Which variable a collective is for (rehearsal layer)."""

import dataclasses
import math
import re
from collections.abc import Sequence

import keras

from stratax.command.rehearsal._hlo import Collective
from stratax.core.regions import MadeProgram, arguments_of
from stratax.distribute.replicas import MODEL_AXIS

_TRANSFORMATION = re.compile(r"\w+\(")


def name_variables(collectives: Sequence[Collective], made: MadeProgram) -> list[Collective]:
    """Say of each collective which variable it gathers, or whose gradient it sums.

    The compiler keeps neither. What it does keep are the scopes of an operation, in which layers have their names, and
    sizes.

    Args:
        collectives: The collectives of a compiled program.
        made: The program, with the types of its arguments on the devices that it was compiled for.
    """
    by_size: dict[int, list[str]] = {}
    for _, spec, variable in arguments_of(made):
        # A slot has its variable's size, and never travels.
        if isinstance(variable, keras.Variable) and variable.trainable:
            by_size.setdefault(math.prod(spec.shape) // _count_neighbours(spec), []).append(variable.path)
    return [
        dataclasses.replace(each, variable=_choose(each.operation, by_size.get(each.elements, [])))
        for each in collectives
    ]


def _count_neighbours(spec: object) -> int:
    """Return among how many devices a variable is divided that share a replica: they have parts all the time."""
    sharding = getattr(spec, "sharding", None)
    axes = getattr(sharding, "spec", ())
    return sharding.mesh.shape[MODEL_AXIS] if sharding is not None and MODEL_AXIS in axes else 1


def _choose(operation: str, paths: Sequence[str]) -> str:
    """Return the path whose scopes an operation stands in; the only one there is without asking."""
    # A transformation's name stands around the first scope: jvp(model)/layer.
    scopes = f"/{_TRANSFORMATION.sub('', operation).replace(')', '')}/"
    inside = [path for path in paths if f"/{path}/" in scopes] or [
        path for path in paths if f"/{path.rpartition('/')[0]}/" in scopes
    ]
    found = inside or paths
    return found[0] if len(found) == 1 else ""
