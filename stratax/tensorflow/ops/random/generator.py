"""`tf.random.Generator`: random numbers with a state that a program holds (ops layer)."""

import enum
import random
from typing import Any

import jax
import keras
import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import DTypeLike, TensorLike
from stratax.core.state import generator_of, replace
from stratax.errors import BadArgumentError, BadTypeError
from stratax.tensorflow.ops.calls.creation import lengths_of
from stratax.tensorflow.ops.calls.dtypes import as_dtype
from stratax.tensorflow.ops.random import stateless

_WORD = 2**32 - 1


class Algorithm(enum.Enum):
    """What random numbers are computed by, as `tf.random.Algorithm`. Here it is always Threefry."""

    PHILOX = 1
    THREEFRY = 2
    AUTO_SELECT = 3


def create_rng_state(seed: TensorLike | None, alg: object) -> np.ndarray:
    """Return the state of a generator that begins with `seed`, two words, as `tf.random.create_rng_state`.

    Args:
        seed: A whole number, or several.
        alg: Ignored.

    Raises:
        BadTypeError: If it is something else.
    """
    parts = np.atleast_1d(np.asarray(seed))
    if parts.ndim != 1 or parts.dtype.kind not in "iuO" or not parts.size:
        raise BadTypeError(f"A seed is a whole number, or several. Received: seed={shown(seed)}.")
    word = 0
    for part in parts.tolist():
        # Every bit counts, and numbers of 32 bits stay what they are.
        rest = abs(int(part)) if part < 0 else int(part)
        # Knuth's multiplier, 2**32 divided by the golden ratio: it spreads bits over the word.
        word = word * 0x9E3779B1 & _WORD
        while rest:
            word, rest = word ^ (rest & _WORD), rest >> 32
        word ^= _WORD if part < 0 else 0
    # The state of Keras' SeedGenerator: a seed, and how many draws lie behind.
    return np.array([word, 0], np.uint32)


class Generator(keras.random.SeedGenerator):
    """Draws random numbers and keeps where it is in their sequence, as `tf.random.Generator`.

    The numbers are other ones than TensorFlow's; generators of one seed draw the same. In `strategy.run` every replica
    draws its own. A generator is a `keras.random.SeedGenerator`: layers and modules that hold one save it, and
    functions of `keras.random` take it as their seed.

    Args:
        copy_from: A generator that it begins as.
        state: A state to begin with: two words, or an array of which the first two count.
        alg: Ignored, see :class:`Algorithm`.

    Raises:
        BadArgumentError: If neither is given.

    Example:
        >>> import stratax.tf as tf
        >>> first, second = tf.random.Generator.from_seed(7), tf.random.Generator.from_seed(7)
        >>> bool(tf.reduce_all(first.normal([3]) == second.normal([3])))
        True
    """

    def __init__(
        self, copy_from: "Generator | None" = None, state: object = None, alg: object = None
    ) -> None:
        if copy_from is None and state is None:
            raise BadArgumentError(
                "A generator begins with a state. Received: neither copy_from nor state. Use "
                "tf.random.Generator.from_seed(seed) or from_non_deterministic_state()."
            )
        given = copy_from.state.value if copy_from is not None else state
        words = _words(given)
        super().__init__(int(words[0]))
        # Keras' generator begins at 0, a state may be further on.
        if int(words[1]):
            self.state.assign(words)

    @classmethod
    def from_seed(cls, seed: TensorLike | None, alg: object = None) -> "Generator":
        """Return a generator that begins with a whole number, or several."""
        return cls(state=create_rng_state(seed, alg))

    @classmethod
    def from_state(cls, state: TensorLike, alg: object) -> "Generator":
        """Return a generator that begins with a state, such as another one's."""
        return cls(state=state)

    @classmethod
    def from_key_counter(cls, key: TensorLike, counter: TensorLike, alg: object) -> "Generator":
        """Return a generator that begins at a place of a key's sequence: the first of `counter`."""
        return cls(state=_key_counter(key, counter))

    @classmethod
    def from_non_deterministic_state(cls, alg: object = None) -> "Generator":
        """Return a generator that begins with a seed of the operating system."""
        return cls(state=[random.SystemRandom().getrandbits(32), 0])

    @property
    def algorithm(self) -> int:
        """The number of the algorithm."""
        return Algorithm.THREEFRY.value

    @property
    def key(self) -> Any:
        """The word that names its sequence."""
        return self.state.value[0]

    def get_config(self) -> dict[str, Any]:
        """Return what :meth:`from_config` makes the generator of."""
        return {"state": np.asarray(self.state).tolist()}

    def reset(self, state: TensorLike) -> None:
        """Go to a state."""
        self.state.assign(_words(state) if not isinstance(state, jax.core.Tracer) else state[:2])

    def reset_from_seed(self, seed: TensorLike | None) -> None:
        """Go to where :meth:`from_seed` begins."""
        self.reset(create_rng_state(seed, None))

    def reset_from_key_counter(self, key: TensorLike, counter: TensorLike) -> None:
        """Go to where :meth:`from_key_counter` begins."""
        self.reset(_key_counter(key, counter))

    def skip(self, delta: int) -> Any:
        """Leave out `delta` draws (TensorFlow: numbers), and return the state before."""
        before = self.state.value
        self.state.assign(before + np.array([0, int(delta) & _WORD], np.uint32))
        return before

    def make_seeds(self, count: int = 1) -> Any:
        """Return seeds for stateless functions, whole numbers of shape `(2, count)`."""
        return stateless.split(self._seed(), count).T

    def split(self, count: int = 1) -> list["Generator"]:
        """Return new generators that draw other numbers than this one and than each other.

        Raises:
            BadTypeError: In a compiled function, where a new state can't depend on what is drawn.
        """
        seeds = self.make_seeds(count)
        if isinstance(seeds, jax.core.Tracer):
            raise BadTypeError(
                "Generators can't be made in a compiled function of what it draws. Received: split() while a function "
                "is traced. Split the generator outside, or use make_seeds and stateless functions."
            )
        # Seeds are int32 and may be negative: the state has the same bits.
        return [type(self)(state=[int(seed[0]) & _WORD, 0]) for seed in np.asarray(seeds).T]

    def normal(
        self,
        shape: TensorLike,
        mean: TensorLike = 0.0,
        stddev: TensorLike = 1.0,
        dtype: DTypeLike = "float32",
        name: str | None = None,
    ) -> Any:
        """Draw normally distributed numbers, as `tf.random.normal`."""
        return stateless.stateless_normal(shape, self._seed(), mean, stddev, dtype, name)

    def truncated_normal(
        self,
        shape: TensorLike,
        mean: TensorLike = 0.0,
        stddev: TensorLike = 1.0,
        dtype: DTypeLike = "float32",
        name: str | None = None,
    ) -> Any:
        """Draw normally distributed numbers at most two deviations away, as `tf.random.truncated_normal`."""
        return stateless.stateless_truncated_normal(shape, self._seed(), mean, stddev, dtype, name)

    def uniform(
        self,
        shape: TensorLike,
        minval: TensorLike = 0,
        maxval: TensorLike | None = None,
        dtype: DTypeLike = "float32",
        name: str | None = None,
    ) -> Any:
        """Draw evenly distributed numbers, as `tf.random.uniform`."""
        return stateless.stateless_uniform(shape, self._seed(), minval, maxval, dtype, name)

    def uniform_full_int(
        self, shape: TensorLike, dtype: DTypeLike = "uint64", name: str | None = None
    ) -> Any:
        """Draw whole numbers of all that the dtype has; of those of 64 bits a device has 32."""
        if as_dtype(dtype).kind not in "iu":
            raise BadTypeError(f"Expected: a dtype of whole numbers. Received: dtype={shown(dtype)}.")
        return stateless.stateless_uniform(shape, self._seed(), None, None, dtype, name)

    def binomial(
        self,
        shape: TensorLike,
        counts: TensorLike,
        probs: TensorLike,
        dtype: DTypeLike = "int32",
        name: str | None = None,
    ) -> Any:
        """Draw how many of `counts` trials succeed with probabilities `probs`."""
        return stateless.stateless_binomial(
            lengths_of("shape", shape), self._seed(), counts, probs, dtype, name=name
        )

    def _seed(self) -> Any:
        return stateless.as_seed(self.next())


def _words(state: TensorLike) -> np.ndarray:
    words = np.asarray(state)
    if words.ndim != 1 or words.size < 2 or words.dtype.kind not in "iu":
        raise BadArgumentError(
            f"A generator's state is two words. Received: state={shown(state)}. Use tf.random.create_rng_state."
        )
    return (words[:2].astype(np.int64) & _WORD).astype(np.uint32)


def _key_counter(key: TensorLike, counter: TensorLike) -> list[int]:
    return [int(np.asarray(key)) & _WORD, int(np.atleast_1d(np.asarray(counter))[0]) & _WORD]


def get_global_generator() -> Any:
    """Return the generator that functions of `tf.random` without a seed draw from, as `tf.random.get_global_generator`.

    TensorFlow's functions don't draw from its global generator. `tf.random.set_seed` sets it back.
    """
    current = generator_of(None)
    if not isinstance(current, Generator):
        # In place of Keras' own one, from the place where that is.
        current = Generator(state=np.asarray(current.state))  # type: ignore[union-attr]
        replace(current)
    return current


def set_global_generator(generator: Generator) -> None:
    """Have functions of `tf.random` without a seed draw from a generator, as `tf.random.set_global_generator`.

    Functions that are compiled already go on with the one they know.

    Raises:
        BadTypeError: If it is none.
    """
    if not isinstance(generator, Generator):
        raise BadTypeError(f"Expected: a tf.random.Generator. Received: generator={shown(generator)}.")
    replace(generator)
