"""A step with features on the host, driven as an Estimator drives it."""

import jax
import numpy as np

import stratax as sx
from stratax.tensorflow import v1


class HostStep:
    """A step that is traced once in advance, and anew for each shape.

    `body` gets the scope and the features: those that are numbers as traced arrays, the others as host tensors.
    """

    def __init__(self, body, mode="train", seed=1):
        self.inputs = v1.HostInputs()
        self.state = v1.ModelState(seed)
        self._is_built = False

        def step(numbers, given, example):
            scope = v1.ModelScope(self.state, mode)
            scope.features.trace = v1.HostTrace(self.inputs, numbers, given, example.batch)
            features = dict(numbers)
            for name, shape in example.shapes:
                features[name] = v1.HostTensor(name, shape)
            with scope.entered(numbers):
                return body(scope, features)

        self._function = sx.function(step, autograph=False)
        self._step = step

    def __call__(self, batch):
        numbers = {
            name: value
            for name, value in batch.items()
            if isinstance(value, np.ndarray) and value.dtype != object
        }
        example = Example(batch, [name for name in batch if name not in numbers])
        if not self._is_built:
            sx.function(lambda numbers: self._step(numbers, None, example), autograph=False)(numbers)
            self._is_built = True
        return self._function(numbers, self.inputs.apply(batch), Example({}, [], example.shapes))


class Example:
    """Features on the host and their shapes; for a compiled function it is a constant, by its shapes."""

    def __init__(self, batch, names, shapes=None):
        self.batch = batch
        self.shapes = shapes or tuple((name, getattr(batch[name], "shape", None)) for name in names)

    def __hash__(self):
        return hash(self.shapes)

    def __eq__(self, other):
        return self.shapes == other.shapes


jax.tree_util.register_static(Example)
