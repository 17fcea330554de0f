"""`tf.contrib.seq2seq`'s helpers: what a decoder gets as input in each step, and when it ends."""

import abc
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from stratax import errors
from stratax.tensorflow import v1
from stratax.tensorflow.ops.calls.creation import on_device
from stratax.tensorflow.ops.random.random import uniform

Embedding = Any


class Helper(abc.ABC):
    """Gives a decoder its inputs, as `tf.contrib.seq2seq.Helper`: base class of helpers.

    Attributes:
        most_steps: How many steps there are at most; None if nothing says so.
    """

    most_steps: int | None = None

    @property
    @abc.abstractmethod
    def batch_size(self) -> Any:
        """How many examples there are."""

    @abc.abstractmethod
    def initialize(self, name: str | None = None) -> Any:
        """Return which examples are finished at once, and the first inputs.

        Args:
            name: Ignored.
        """

    @abc.abstractmethod
    def sample(self, time: object, outputs: object, state: object, name: str | None = None) -> Any:
        """Return the ids that a step has chosen.

        Args:
            time: The step's number.
            outputs: The cell's outputs.
            state: The cell's state.
            name: Ignored.
        """

    @abc.abstractmethod
    def next_inputs(
        self, time: object, outputs: object, state: object, sample_ids: object, name: str | None = None
    ) -> Any:
        """Return which examples are finished, the next inputs, and the state.

        Args:
            time: The step's number.
            outputs: The cell's outputs.
            state: The cell's state.
            sample_ids: What `sample` has returned.
            name: Ignored.
        """


def embedding_function(embedding: Embedding) -> Callable[[Any], Any]:
    """Return a function of ids, of one or of a table."""
    if callable(embedding):
        return embedding
    return lambda ids: v1.nn.embedding_lookup(embedding, ids)


def draw_ids(logits: object, seed: int | None) -> Any:
    """Return ids that are drawn with the chances that logits say."""
    return v1.multinomial(logits, 1, seed)[:, 0].astype(jnp.int32)


class TrainingHelper(Helper):
    """Reads the inputs from the data, as `tf.contrib.seq2seq.TrainingHelper`.

    Args:
        inputs: Shape `(batch, time, ...)`, or a structure of such tensors.
        sequence_length: How many steps each example has.
        time_major: Whether inputs are of shape `(time, batch, ...)`.
        name: Ignored.

    Raises:
        BadArgumentError: If `sequence_length` is no vector.
    """

    def __init__(
        self, inputs: object, sequence_length: object, time_major: bool = False, name: str | None = None
    ) -> None:
        self._inputs = inputs
        self._rows = jax.tree.map(on_device if time_major else v1.nn.transpose_batch_time, inputs)
        self._sequence_length = on_device(sequence_length)
        if self._sequence_length.ndim != 1:
            raise errors.BadArgumentError(
                "Expected sequence_length to be a vector, but received shape: "
                f"{tuple(self._sequence_length.shape)}"
            )
        self.most_steps = int(jax.tree.leaves(self._rows)[0].shape[0])

    @property
    def inputs(self) -> Any:
        """The inputs of all steps, as they were given."""
        return self._inputs

    @property
    def sequence_length(self) -> Any:
        """How many steps each example has."""
        return self._sequence_length

    @property
    def batch_size(self) -> Any:
        """How many examples there are."""
        return self._sequence_length.shape[0]

    def initialize(self, name: str | None = None) -> Any:
        """Return that empty examples are finished, and the first inputs."""
        return self._sequence_length == 0, self._row(0)

    def sample(self, time: Any, outputs: Any, state: Any = None, name: str | None = None) -> Any:
        """Return the ids of the largest outputs."""
        return jnp.argmax(outputs, -1).astype(jnp.int32)

    def next_inputs(
        self, time: Any, outputs: object, state: Any, sample_ids: object = None, name: str | None = None
    ) -> Any:
        """Return which examples end here, and the inputs of the next step."""
        return time + 1 >= self._sequence_length, self._row(time + 1), state

    def _row(self, time: object) -> Any:
        return self._at(self._rows, time)

    def _at(self, rows: Any, time: Any) -> Any:
        """Return the rows of a step; behind the last one nothing looks at them."""
        return jax.tree.map(lambda each: each[jnp.minimum(time, each.shape[0] - 1)], rows)


class ScheduledEmbeddingTrainingHelper(TrainingHelper):
    """Reads inputs from the data, or by chance takes what was chosen: `ScheduledEmbeddingTrainingHelper`.

    Args:
        inputs: As for :class:`TrainingHelper`.
        sequence_length: Likewise.
        embedding: A table, or a function of ids.
        sampling_probability: The chance that an id is drawn from the outputs: a number, or one for each example.
        time_major: As for :class:`TrainingHelper`.
        seed: For the ids.
        scheduling_seed: For the chances.
        name: Ignored.
    """

    def __init__(
        self,
        inputs: object,
        sequence_length: object,
        embedding: Embedding,
        sampling_probability: object,
        time_major: bool = False,
        seed: int | None = None,
        scheduling_seed: int | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(inputs, sequence_length, time_major)
        self._embed = embedding_function(embedding)
        self._probability = on_device(sampling_probability)
        self._seed, self._scheduling_seed = seed, scheduling_seed

    def sample(self, time: object, outputs: object, state: object = None, name: str | None = None) -> Any:
        """Return ids that are drawn; -1 where the data is read."""
        is_drawn = uniform((self.batch_size,), seed=self._scheduling_seed) < self._probability
        return jnp.where(is_drawn, draw_ids(outputs, self._seed), -1)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any = None, name: str | None = None
    ) -> Any:
        """Return which examples end here, and the inputs of the next step."""
        finished, read, state = super().next_inputs(time, outputs, state)
        embedded = on_device(self._embed(jnp.maximum(sample_ids, 0)))
        is_drawn = (sample_ids > -1).reshape(-1, *[1] * (embedded.ndim - 1))
        return finished, jnp.where(is_drawn, embedded, read), state


class GreedyEmbeddingHelper(Helper):
    """Takes what was chosen as the next input, as `tf.contrib.seq2seq.GreedyEmbeddingHelper`.

    Args:
        embedding: A table, or a function of ids.
        start_tokens: The first id of each example.
        end_token: The id that ends an example.

    Raises:
        BadArgumentError: If `start_tokens` is no vector, or `end_token` no scalar.
    """

    def __init__(self, embedding: Embedding, start_tokens: object, end_token: object) -> None:
        self._embed = embedding_function(embedding)
        self._start_tokens = on_device(start_tokens).astype(jnp.int32)
        self._end_token = on_device(end_token).astype(jnp.int32)
        if self._start_tokens.ndim != 1:
            raise errors.BadArgumentError("start_tokens must be a vector")
        if self._end_token.ndim != 0:
            raise errors.BadArgumentError("end_token must be a scalar")

    @property
    def batch_size(self) -> Any:
        """How many examples there are."""
        return self._start_tokens.shape[0]

    def initialize(self, name: str | None = None) -> Any:
        """Return that no example is finished, and the first inputs."""
        return jnp.zeros(self._start_tokens.shape, bool), on_device(self._embed(self._start_tokens))

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Return the ids of the largest outputs."""
        return jnp.argmax(outputs, -1).astype(jnp.int32)

    def next_inputs(
        self, time: object, outputs: object, state: object, sample_ids: object, name: str | None = None
    ) -> Any:
        """Return which examples have chosen the end, and what was chosen as inputs."""
        return sample_ids == self._end_token, on_device(self._embed(sample_ids)), state


class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """Takes what was drawn as the next input, as `tf.contrib.seq2seq.SampleEmbeddingHelper`.

    Args:
        embedding: A table, or a function of ids.
        start_tokens: The first id of each example.
        end_token: The id that ends an example.
        softmax_temperature: What outputs are divided by; None for 1.
        seed: For the ids.
    """

    def __init__(
        self,
        embedding: Embedding,
        start_tokens: object,
        end_token: object,
        softmax_temperature: object = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(embedding, start_tokens, end_token)
        self._temperature = 1.0 if softmax_temperature is None else softmax_temperature
        self._seed = seed

    def sample(self, time: object, outputs: Any, state: object, name: str | None = None) -> Any:
        """Return ids that are drawn."""
        return draw_ids(outputs / self._temperature, self._seed)


class CustomHelper(Helper):
    """Calls functions, as `tf.contrib.seq2seq.CustomHelper`.

    Args:
        initialize_fn: Returns which examples are finished at once, and the first inputs.
        sample_fn: A function of `time`, `outputs` and `state`: returns ids.
        next_inputs_fn: One of `time`, `outputs`, `state` and `sample_ids`: returns which examples are finished, the
            next inputs, and the state.
        sample_ids_shape: Ignored.
        sample_ids_dtype: Ignored.
    """

    def __init__(
        self,
        initialize_fn: Callable[..., Any],
        sample_fn: Callable[..., Any],
        next_inputs_fn: Callable[..., Any],
        sample_ids_shape: object = None,
        sample_ids_dtype: object = None,
    ) -> None:
        self._initialize_fn, self._sample_fn, self._next_inputs_fn = initialize_fn, sample_fn, next_inputs_fn
        self._batch_size: int | None = None

    @property
    def batch_size(self) -> Any:
        """How many examples there are.

        Raises:
            BadArgumentError: Before `initialize`.
        """
        if self._batch_size is None:
            raise errors.BadArgumentError("batch_size accessed before initialize was called")
        return self._batch_size

    def initialize(self, name: str | None = None) -> Any:
        """Call the function of that name."""
        finished, inputs = self._initialize_fn()
        self._batch_size = on_device(finished).size
        return finished, inputs

    def sample(self, time: object, outputs: object, state: object, name: str | None = None) -> Any:
        """Call the function of that name."""
        return self._sample_fn(time=time, outputs=outputs, state=state)

    def next_inputs(
        self, time: object, outputs: object, state: object, sample_ids: object, name: str | None = None
    ) -> Any:
        """Call the function of that name."""
        return self._next_inputs_fn(time=time, outputs=outputs, state=state, sample_ids=sample_ids)


class InferenceHelper(Helper):
    """Takes what a function draws as the next input, as `tf.contrib.seq2seq.InferenceHelper`.

    Args:
        sample_fn: A function of outputs: returns ids, or values.
        sample_shape: Ignored.
        sample_dtype: Ignored.
        start_inputs: The first inputs.
        end_fn: A function of what was drawn: returns which examples are finished.
        next_inputs_fn: One of what was drawn: returns the next inputs; by default they are that.
    """

    def __init__(
        self,
        sample_fn: Callable[[Any], Any],
        sample_shape: object,
        sample_dtype: object,
        start_inputs: object,
        end_fn: Callable[[Any], Any],
        next_inputs_fn: Callable[[Any], Any] | None = None,
    ) -> None:
        self._sample_fn, self._end_fn = sample_fn, end_fn
        self._next_inputs_fn = next_inputs_fn
        self._start_inputs = on_device(start_inputs)

    @property
    def batch_size(self) -> Any:
        """How many examples there are."""
        return self._start_inputs.shape[0]

    def initialize(self, name: str | None = None) -> Any:
        """Return that no example is finished, and the first inputs."""
        return jnp.zeros(self._start_inputs.shape[:1], bool), self._start_inputs

    def sample(self, time: object, outputs: object, state: object, name: str | None = None) -> Any:
        """Return what the function draws."""
        return self._sample_fn(outputs)

    def next_inputs(
        self, time: object, outputs: object, state: object, sample_ids: object, name: str | None = None
    ) -> Any:
        """Return which examples are finished, and what was drawn as inputs."""
        inputs = sample_ids if self._next_inputs_fn is None else self._next_inputs_fn(sample_ids)
        return self._end_fn(sample_ids), inputs, state
