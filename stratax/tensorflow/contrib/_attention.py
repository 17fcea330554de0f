"""`tf.contrib.seq2seq`'s attention: mechanisms, and a cell that attends to what they remember."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from stratax import errors
from stratax.base.shown import shown
from stratax.tensorflow import v1
from stratax.tensorflow.ops.calls.creation import on_device
from stratax.tensorflow.ops.nn import nn
from stratax.tensorflow.v1.rnn_cell import RNNCell


class AttentionMechanism:
    """Says to which parts of a memory a query attends, as `tf.contrib.seq2seq.AttentionMechanism`: base class.

    Args:
        memory: Shape `(batch, time, depth)`.
        memory_sequence_length: How many parts each example has; None for all.
        memory_layer: Makes keys of what is remembered.
        probability_fn: Makes chances of scores; by default a softmax.
        score_mask_value: The score of parts that an example does not have; by default minus infinity.
        custom_key_value_fn: Makes other keys and values of these.
    """

    def __init__(
        self,
        memory: Any,
        memory_sequence_length: Any,
        memory_layer: Any,
        probability_fn: Callable[[Any], Any] | None,
        score_mask_value: float | None,
        custom_key_value_fn: Callable[..., Any] | None,
    ) -> None:
        values = on_device(memory)
        self._mask = None
        if memory_sequence_length is not None:
            lengths = on_device(memory_sequence_length)
            self._mask = jnp.arange(values.shape[1]) < lengths[:, None]
            values = values * self._mask.astype(values.dtype).reshape(
                *self._mask.shape, *[1] * (values.ndim - 2)
            )
        self._memory_layer = memory_layer
        self.dtype = values.dtype
        self._keys, self._values = on_device(memory_layer(values)), values
        if custom_key_value_fn is not None:
            self._keys, self._values = custom_key_value_fn(self._keys, self._values)
        self._probability_fn = probability_fn or nn.softmax
        self._masked = -math.inf if score_mask_value is None else score_mask_value

    @property
    def memory_layer(self) -> Any:
        """The layer that makes keys."""
        return self._memory_layer

    @property
    def keys(self) -> Any:
        """What queries are compared with."""
        return self._keys

    @property
    def values(self) -> Any:
        """What is remembered."""
        return self._values

    @property
    def batch_size(self) -> Any:
        """How many examples there are."""
        return self._keys.shape[0]

    @property
    def alignments_size(self) -> Any:
        """How many parts there are."""
        return self._keys.shape[1]

    @property
    def state_size(self) -> Any:
        """The size of its state: that of alignments."""
        return self.alignments_size

    def initial_alignments(self, batch_size: Any, dtype: Any) -> Any:
        """Return the alignments before the first step: zeros.

        Args:
            batch_size: How many examples there are.
            dtype: The dtype.
        """
        return jnp.zeros((batch_size, self.alignments_size), dtype)

    def initial_state(self, batch_size: object, dtype: object) -> Any:
        """Return the first state, zeros.

        Args:
            batch_size: How many examples there are.
            dtype: The dtype.
        """
        return self.initial_alignments(batch_size, dtype)

    def _align(self, score: Any) -> Any:
        masked = score if self._mask is None else jnp.where(self._mask, score, self._masked)
        return on_device(self._probability_fn(masked))


class LuongAttention(AttentionMechanism):
    """Compares by products (Luong et al., 2015), as `tf.contrib.seq2seq.LuongAttention`.

    Args:
        num_units: The size of queries and keys.
        memory: Shape `(batch, time, depth)`.
        memory_sequence_length: How many parts each example has; None for all.
        scale: Whether scores have a factor that is trained.
        probability_fn: Makes chances of scores; by default a softmax.
        score_mask_value: The score of parts that an example does not have; by default minus infinity.
        dtype: The dtype of the layer that makes keys.
        custom_key_value_fn: Makes other keys and values of these.
        name: Ignored.
    """

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        scale: bool = False,
        probability_fn: Callable[[Any], Any] | None = None,
        score_mask_value: float | None = None,
        dtype: Any = None,
        custom_key_value_fn: Callable[..., Any] | None = None,
        name: str = "LuongAttention",
    ) -> None:
        layer = v1.layers.Dense(num_units, name="memory_layer", use_bias=False, dtype=dtype or "float32")
        super().__init__(
            memory, memory_sequence_length, layer, probability_fn, score_mask_value, custom_key_value_fn
        )
        self._scale = scale

    def __call__(self, query: Any, state: Any) -> tuple[Any, Any]:
        """Return alignments, and the next state, which they are.

        Args:
            query: Shape `(batch, num_units)`.
            state: Not looked at.

        Raises:
            BadArgumentError: If queries and keys differ in size.
        """
        query = on_device(query)
        if query.shape[-1] != self._keys.shape[-1]:
            raise errors.BadArgumentError(
                "Incompatible or unknown inner dimensions between query and keys. Query has units: "
                f"{query.shape[-1]}. Keys have units: {self._keys.shape[-1]}. Perhaps you need to set num_units to the "
                "query's."
            )
        with v1.variable_scope(None, "luong_attention"):
            score = jnp.einsum("bd,btd->bt", query, self._keys)
            if self._scale:
                score *= on_device(
                    v1.get_variable("attention_g", (), query.dtype, initializer=v1.ones_initializer())
                )
        alignments = self._align(score)
        return alignments, alignments


class BahdanauAttention(AttentionMechanism):
    """Compares by sums (Bahdanau et al., 2014), as `tf.contrib.seq2seq.BahdanauAttention`.

    Args:
        num_units: The size of queries and keys, which layers make.
        memory: Shape `(batch, time, depth)`.
        memory_sequence_length: How many parts each example has; None for all.
        normalize: Whether the weights of the sum are normalized (Salimans & Kingma, 2016).
        probability_fn: Makes chances of scores; by default a softmax.
        score_mask_value: The score of parts that an example does not have; by default minus infinity.
        dtype: The dtype of the layers.
        custom_key_value_fn: Makes other keys and values of these.
        name: Ignored.
    """

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        normalize: bool = False,
        probability_fn: Callable[[Any], Any] | None = None,
        score_mask_value: float | None = None,
        dtype: Any = None,
        custom_key_value_fn: Callable[..., Any] | None = None,
        name: str = "BahdanauAttention",
    ) -> None:
        made = {"use_bias": False, "dtype": dtype or "float32"}
        self._query_layer = v1.layers.Dense(num_units, name="query_layer", **made)
        layer = v1.layers.Dense(num_units, name="memory_layer", **made)
        super().__init__(
            memory, memory_sequence_length, layer, probability_fn, score_mask_value, custom_key_value_fn
        )
        self._num_units = num_units
        self._normalize = normalize

    @property
    def query_layer(self) -> Any:
        """The layer that queries go through."""
        return self._query_layer

    def __call__(self, query: Any, state: Any) -> tuple[Any, Any]:
        """Return alignments, and the next state, which they are.

        Args:
            query: Shape `(batch, depth)`.
            state: Not looked at.
        """
        query = on_device(query)
        with v1.variable_scope(None, "bahdanau_attention"):
            added = self._keys + on_device(self._query_layer(query))[:, None]
            weights = on_device(v1.get_variable("attention_v", (self._num_units,), query.dtype))
            if self._normalize:
                first = v1.constant_initializer(math.sqrt(1 / self._num_units))
                g = on_device(v1.get_variable("attention_g", (), query.dtype, initializer=first))
                zeros = v1.zeros_initializer()
                added += on_device(
                    v1.get_variable("attention_b", (self._num_units,), query.dtype, initializer=zeros)
                )
                weights = g * weights * jax.lax.rsqrt(jnp.sum(jnp.square(weights)))
            score = jnp.sum(weights * jnp.tanh(added), 2)
        alignments = self._align(score)
        return alignments, alignments


def hardmax(logits: Any, name: str | None = None) -> Any:
    """Return 1 where the largest number is, and 0 elsewhere, as `tf.contrib.seq2seq.hardmax`.

    Args:
        logits: Shape `(..., classes)`.
        name: Ignored.
    """
    logits = on_device(logits)
    return jax.nn.one_hot(jnp.argmax(logits, -1), logits.shape[-1], dtype=logits.dtype)


class _AttentionWrapperState(NamedTuple):
    cell_state: Any
    attention: Any
    time: Any
    alignments: Any
    alignment_history: Any
    attention_state: Any


class AttentionWrapperState(_AttentionWrapperState):
    """The state of an `AttentionWrapper`: the cell's, the attention, the time, alignments and the mechanisms'."""

    __slots__ = ()

    def clone(self, **kwargs: object) -> "AttentionWrapperState":
        """Return a state with other parts, such as another `cell_state`.

        Args:
            **kwargs: The parts.

        Raises:
            BadArgumentError: If one has another shape.
        """
        for name, new in kwargs.items():
            before = [each.shape for each in map(on_device, jax.tree.leaves(getattr(self, name)))]
            shapes = [each.shape for each in map(on_device, jax.tree.leaves(new))]
            if before != shapes:
                raise errors.BadArgumentError(
                    f"The shape of the AttentionWrapperState is expected to be same as the one to clone. {name}: "
                    f"{shown(before)}, input: {shown(shapes)}."
                )
        return self._replace(**kwargs)


class AttentionWrapper(RNNCell):
    """A cell that attends, as `tf.contrib.seq2seq.AttentionWrapper`.

    Args:
        cell: The cell, which gets its inputs beside the last attention.
        attention_mechanism: A mechanism, or a list of them.
        attention_layer_size: The size of the layer that makes attention of the cell's output and the context, or one
            for each mechanism; None for none: attention is the context.
        alignment_history: Must be False: a compiled loop has no arrays that grow.
        cell_input_fn: Makes the cell's inputs of inputs and attention; by default side by side.
        output_attention: Whether the attention is the output, and not the cell's.
        initial_cell_state: The cell's first state.
        name: Its name.
        attention_layer: A layer, or a list of them, in the place of `attention_layer_size`.
        attention_fn: Must be None.
        dtype: Its variables' dtype.

    Raises:
        BadArgumentError: If an argument is not supported, or there are more or fewer layers than mechanisms.
        BadTypeError: If a mechanism is none.
    """

    def __init__(
        self,
        cell: Any,
        attention_mechanism: AttentionMechanism | Sequence[AttentionMechanism],
        attention_layer_size: int | Sequence[int] | None = None,
        alignment_history: bool = False,
        cell_input_fn: Callable[[Any, Any], Any] | None = None,
        output_attention: bool = True,
        initial_cell_state: Any = None,
        name: str | None = None,
        attention_layer: Any = None,
        attention_fn: None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        if alignment_history or attention_fn is not None:
            raise errors.BadArgumentError(
                "AttentionWrapper does not support alignment_history and attention_fn. Expected: False and None. "
                f"Received: {shown(alignment_history)} and {shown(attention_fn)}. Return alignments among a step's "
                "outputs instead."
            )
        self._is_multi = isinstance(attention_mechanism, list | tuple)
        mechanisms: Any = attention_mechanism if self._is_multi else (attention_mechanism,)
        for each in mechanisms:
            if not isinstance(each, AttentionMechanism):
                raise errors.BadTypeError(
                    f"attention_mechanism must be an AttentionMechanism or list of them. Saw: {shown(type(each))}."
                )
        self._cell = cell
        self._mechanisms = tuple(mechanisms)
        self._layers_of_attention = _layers(attention_layer_size, attention_layer, len(self._mechanisms))
        self._cell_input_fn = cell_input_fn or (
            lambda inputs, attention: jnp.concatenate([inputs, attention], -1)
        )
        self._output_attention = output_attention
        self._initial_cell_state = initial_cell_state
        self._sizes = [
            mechanism.values.shape[-1] if layer is None else layer.units
            for mechanism, layer in zip(self._mechanisms, self._layers_of_attention, strict=True)
        ]

    def _parts(self) -> list[Any]:
        return [self._cell]

    @property
    def output_size(self) -> Any:
        """The size of the attention, or of the cell's output."""
        return sum(self._sizes) if self._output_attention else self._cell.output_size

    @property
    def state_size(self) -> Any:
        """The sizes of an :class:`AttentionWrapperState`."""
        sizes = self._as_given([each.alignments_size for each in self._mechanisms])
        return AttentionWrapperState(
            cell_state=self._cell.state_size,
            attention=sum(self._sizes),
            time=(),
            alignments=sizes,
            alignment_history=self._as_given([()] * len(self._mechanisms)),
            attention_state=sizes,
        )

    def _as_given(self, parts: Sequence[Any]) -> Any:
        return tuple(parts) if self._is_multi else parts[0]

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Return the first state, with `initial_cell_state` where that was given.

        Args:
            batch_size: How many examples the memory has.
            dtype: The dtype.
        """
        first = self._initial_cell_state
        if first is None:
            first = self._cell.zero_state(batch_size, dtype)
        alignments = [each.initial_alignments(batch_size, dtype) for each in self._mechanisms]
        states = [each.initial_state(batch_size, dtype) for each in self._mechanisms]
        return AttentionWrapperState(
            cell_state=jax.tree.map(on_device, first),
            attention=jnp.zeros((batch_size, sum(self._sizes)), dtype),
            time=jnp.int32(0),
            alignments=self._as_given(alignments),
            alignment_history=self._as_given([()] * len(self._mechanisms)),
            attention_state=self._as_given(states),
        )

    def call(self, inputs: Any, state: Any) -> Any:
        """Run one step of the cell, and attend.

        Raises:
            BadTypeError: If `state` is none of this cell's.
        """
        if not isinstance(state, AttentionWrapperState):
            raise errors.BadTypeError(
                f"Expected state to be instance of AttentionWrapperState. Received type {shown(type(state))} instead."
            )
        output, cell_state = self._cell(self._cell_input_fn(inputs, state.attention), state.cell_state)
        before = state.attention_state if self._is_multi else (state.attention_state,)
        attentions, alignments, states = [], [], []
        for mechanism, layer, own in zip(self._mechanisms, self._layers_of_attention, before, strict=True):
            aligned, following = mechanism(output, state=own)
            context = jnp.einsum("bt,btd->bd", aligned, mechanism.values)
            attention = context if layer is None else layer(jnp.concatenate([output, context], 1))
            attentions.append(on_device(attention))
            alignments.append(aligned)
            states.append(following)
        attention = jnp.concatenate(attentions, 1)
        new = AttentionWrapperState(
            cell_state=cell_state,
            attention=attention,
            time=state.time + 1,
            alignments=self._as_given(alignments),
            alignment_history=state.alignment_history,
            attention_state=self._as_given(states),
        )
        return (attention if self._output_attention else output), new


def _layers(sizes: object, layers: object, count: int) -> tuple[Any, ...]:
    if sizes is not None and layers is not None:
        raise errors.BadArgumentError("Only one of attention_layer_size and attention_layer should be set")
    if sizes is None and layers is None:
        return (None,) * count
    given = sizes if layers is None else layers
    parts = tuple(given) if isinstance(given, list | tuple) else (given,)
    if len(parts) != count:
        raise errors.BadArgumentError(
            "If provided, attention_layer_size must contain exactly one integer per attention_mechanism, saw: "
            f"{len(parts)} vs {count}"
        )
    if layers is not None:
        return parts
    return tuple(v1.layers.Dense(each, name="attention_layer", use_bias=False) for each in parts)
