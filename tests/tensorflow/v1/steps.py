"""A step of a model, traced in a model scope as an Estimator does it."""

import numpy as np

import stratax as sx
from stratax.tensorflow import v1


class Step:
    """A step that is traced anew for each shape."""

    def __init__(self, body, mode="train", seed=1, state=None):
        self.state = v1.ModelState(seed) if state is None else state
        self.scopes = []

        def step(*args):
            scope = v1.ModelScope(self.state, mode)
            self.scopes.append(scope)
            with scope.entered(args):
                return body(scope, *args)

        self.function = sx.function(step, autograph=False)

    def __call__(self, *args):
        return self.function(*args)

    @property
    def names(self):
        """Of the model's variables."""
        return list(self.state.variables)

    def value(self, name):
        """Return the value of a variable."""
        return np.asarray(self.state.variables[name].value)
