"""A plain-Python model of the operations: lists in, lists out."""

import numpy as np

from stratax.data.ops.shuffle._permutation import Permutation
from stratax.data.plan import mix_pass


def model(chain, n, iteration=0, passes=0):
    """What `range(n)` becomes under a chain of (operation, *arguments); batches are lists of elements.

    A shuffle is the permutation that its key names; everything else is what a list would do.
    """
    if not chain:
        return list(range(n))
    *before, (name, *args) = chain

    def items(number=0):
        return model(before, n, iteration, int(mix_pass(passes, number)) if name == "repeat" else passes)

    if name == "repeat":
        return [item for number in range(args[0]) for item in items(number)]
    found = items()
    if name == "take":
        return found[: args[0]]
    if name == "skip":
        return found[args[0] :]
    if name == "shard":
        return found[args[1] :: args[0]]
    if name == "map":
        return [_doubled(item) for item in found]
    if name == "batch":
        groups = [found[i : i + args[0]] for i in range(0, len(found), args[0])]
        return [group for group in groups if len(group) == args[0] or not args[1]]
    if name == "shuffle" and found:
        key = (len(found), args[0], iteration, passes)
        return [found[i] for i in Permutation(len(found), key)(np.arange(len(found)))]
    return found


def _doubled(item):
    return [_doubled(part) for part in item] if isinstance(item, list) else 2 * item + 1


def apply_chain(dataset, chain):
    """The same operations on a Dataset."""
    for name, *args in chain:
        if name == "map":
            dataset = dataset.map(lambda x: 2 * x + 1)
        elif name == "shuffle":
            dataset = dataset.shuffle(1000, seed=args[0])
        else:
            dataset = getattr(dataset, name)(*args)
    return dataset


def as_lists(dataset):
    """The elements as Python lists and numbers."""
    return [element.tolist() for element in dataset]
