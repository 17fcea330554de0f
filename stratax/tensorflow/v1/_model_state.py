"""What all traces of a `model_fn` share: the model's variables (v1 layer)."""

from collections.abc import Collection
from typing import Any

import keras
import numpy as np


class ModelState:
    """The variables of a model, by name, which every trace of its `model_fn` shares.

    Args:
        seed: What the first values of variables follow from, where no other seed is given.
        restored: The names of variables that get their values from a checkpoint before anybody reads them: their
            initializers are not called, as in TensorFlow.

    Attributes:
        variables: The variables.
        seed: The seed.
        derivatives: Of which order derivatives are that a trace follows; it grows with what is asked for.
        begins: Whether the model is being built and no checkpoint is read into it afterwards: values that the
            `model_fn` takes from another model's checkpoint count then.
        begun: What it has taken: the checkpoint, the name there and the variable's.
        skipped: The initializers that were not called, by name of the variable.
        given: What variables begin with instead of what their initializers give, by name: once the model is built, and
            the chief's in all workers.
        local: The names of variables that no checkpoint has: those of the collection of local variables.
    """

    def __init__(self, seed: int | None = None, restored: Collection[str] = ()) -> None:
        self.variables: dict[str, keras.Variable] = {}
        self.seed = seed
        self.derivatives = 1
        self.restored = frozenset(restored)
        self.begins = False
        self.begun: set[tuple[str, str, str]] = set()
        self.skipped: dict[str, Any] = {}
        self.given: dict[str, np.ndarray] = {}
        self.local: set[str] = set()

    def saved(self) -> dict[str, keras.Variable]:
        """Return the variables that a checkpoint holds, by name: neither local ones nor the sums that metrics keep."""
        return {name: variable for name, variable in self.variables.items() if name not in self.local}
