"""Giving variables the values that a checkpoint has under their names (checkpoint layer)."""

import os
from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import keras
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.checkpoint.saving import CheckpointReader, keys_by_name
from stratax.core import regions, storage

# How many variables a message names.
_NAMED = 3
_GO_ON = "Use another model_dir, or give the model the variables that it had."


class NamedValues:
    """The values of a checkpoint by name: the key, or the name that the variable had in its program.

    Args:
        reader: The checkpoint.
        path: Its path, for messages.
        fix: What a message about another model advises.
    """

    def __init__(self, reader: CheckpointReader, path: str | os.PathLike[str], fix: str = _GO_ON) -> None:
        self.path = os.fspath(path)
        self._fix = fix
        self._reader = reader
        self._shapes = {key: tuple(shape) for key, shape in reader.get_variable_to_shape_map().items()}
        self._keys = {**keys_by_name(reader), **{key: key for key in self._shapes}}

    def __contains__(self, name: str) -> bool:
        return name in self._keys

    @property
    def names(self) -> list[str]:
        """The names of the values, sorted."""
        return sorted(self._keys)

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a value that is there."""
        return self._shapes[self._keys[name]]

    def value(self, name: str) -> np.ndarray:
        """Return a value that is there."""
        return self._reader.get_tensor(self._keys[name])

    def check(self, variables: Mapping[str, keras.Variable], *, reshape: bool = False) -> None:
        """Check that there is a value of the right shape for each of a model's variables.

        Args:
            variables: The variables, by the names that their values have in the checkpoint.
            reshape: Whether a value of another shape with as many elements is right, too.

        Raises:
            RestoreError: If not; names the first three that differ.
        """
        differing = []
        for name, variable in variables.items():
            wanted = tuple(variable.shape)
            own = "" if variable.path == name else f", which is for {variable.path},"
            if name not in self:
                differing.append(f"{name}{own} is not in the checkpoint")
            elif self.shape(name) != wanted and not (
                reshape and np.prod(self.shape(name)) == np.prod(wanted)
            ):
                differing.append(
                    f"{name}{own} has the shape {wanted} in the model and {self.shape(name)} in the checkpoint"
                )
        if differing:
            more = f" and {len(differing) - _NAMED} more" if len(differing) > _NAMED else ""
            raise errors.RestoreError(
                f"The checkpoint {shown(self.path)} is of another model: {'; '.join(differing[:_NAMED])}{more}. "
                f"Expected: the variables of this model_fn. {self._fix}"
            )

    def assign(self, variables: Mapping[str, keras.Variable], *, reshape: bool = False) -> None:
        """Give variables their values, all or none.

        Args:
            variables: The variables, by the names that their values have in the checkpoint.
            reshape: Whether a value of another shape with as many elements is right, too.

        Raises:
            RestoreError: If one has no value of its shape and kind; names the first three.
        """
        self.check(variables, reshape=reshape)
        values = {name: self.convert(name, self.value(name), each) for name, each in variables.items()}
        for name, variable in variables.items():
            give(variable, values[name])

    def convert(self, name: str, value: np.ndarray, variable: keras.Variable) -> np.ndarray:
        """Return a value with the shape and dtype of a variable.

        Raises:
            RestoreError: If it is of another kind, or a whole number that the dtype does not have.
        """
        # TensorFlow's global step is an int64, which JAX has only if it is asked to.
        made: np.ndarray = np.reshape(value, tuple(variable.shape)).astype(_dtype(variable))
        is_whole = made.dtype.kind in "iub"
        if value.dtype.kind in "OSU" or (
            is_whole
            and not (value.dtype.kind in "iub" and np.array_equal(made, np.reshape(value, made.shape)))
        ):
            raise errors.RestoreError(
                f"The checkpoint {shown(self.path)} has a value of another dtype for {variable.path}. Expected: one "
                f"that {variable.dtype} can hold. Received: {name} of dtype {value.dtype}."
            )
        return made


def give(variable: keras.Variable, value: Any) -> None:
    """Give a variable a value, also while a function is traced, which sees it from then on.

    Args:
        variable: The variable.
        value: An array of its shape and dtype.
    """
    with regions.outside_scopes():
        # One that was made in this trace has no value yet, and no place.
        regions.concrete_values([variable])
        storage.overwrite(variable, value)


def _dtype(variable: keras.Variable) -> np.dtype:
    return np.dtype(jnp.dtype(variable._dtype))
