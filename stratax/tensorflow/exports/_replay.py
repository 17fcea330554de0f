"""The host's part of an export as operations of TensorFlow (export layer)."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from stratax.data import FixedLenFeature, FixedLenSequenceFeature, SparseTensor, VarLenFeature
from stratax.export.parts import TensorInfo, leaves_in
from stratax.tensorflow.exports._host_functions import TEXT_IDS
from stratax.tensorflow.exports._host_plan import (
    GET_ITEM,
    MAP,
    Call,
    CallPlan,
    CallTable,
    RuntimeValue,
    refs_in,
    replace_leaves,
)

# As Keras has it, by what TensorFlow finds it.
PUNCTUATION = r"[!\"#$%&()\*\+,-\./:;<=>?@\[\\\]^_`{|}~']"
_COLUMN = 2


class Replay:
    """Calls functions of TensorFlow by the names that plans have for them.

    Attributes:
        tables: The tables that it has made, for who keeps them.

    Args:
        tf: TensorFlow.
    """

    def __init__(self, tf: Any) -> None:
        self.tables: list[Any] = []
        self._tf = tf
        self._made: dict[int, Any] = {}

    def prepare(self, plan: CallPlan | None) -> None:
        """Make the tables of a plan, outside of a graph."""
        for call in () if plan is None else plan.calls:
            self.prepare(call.body)
            for each in leaves_in((call.args, dict(call.kwargs))):
                if isinstance(each, CallTable):
                    self._made[id(each)] = self._table(each)
                    self.tables.append(self._made[id(each)])

    def run(self, plan: CallPlan, values: dict[str, Any]) -> dict[str, Any]:
        """Return tensors that compute a plan; see `_run_plan.run`."""
        for call in plan.calls:
            result = self._result(call, values)
            made = result if call.function == MAP else list(self._leaves(call.gives, result))
            values.update((ref.id, each) for ref, each in zip(refs_in(call.gives), made, strict=True))
        return {name: self._check(values[id], plan.infos[name]) for name, id in plan.gives.items()}

    def _result(self, call: Call, values: Mapping[str, Any]) -> Any:
        if call.function == MAP and call.body is not None:
            return self._map_rows(call.body, call, values)
        args, kwargs = self._arguments((call.args, dict(call.kwargs)), values)
        if call.function == GET_ITEM:
            return args[0][args[1]]
        if call.function.endswith(".lookup"):
            table, keys = args
            return table.lookup(
                keys if keys.dtype == table.key_dtype else self._tf.cast(keys, table.key_dtype)
            )
        if call.function == TEXT_IDS:
            return self._text_ids(*args, **kwargs)
        function = self._tf
        for part in call.function.split("."):
            function = getattr(function, part)
        return function(*args, **kwargs)

    def _text_ids(
        self,
        texts: Any,
        table: Any,
        standardize: str | None = None,
        split: str | None = None,
        ngrams: Any = None,
        length: int | None = None,
        counts: str | None = None,
    ) -> Any:
        """Return what `ops.text.vectorized.text_ids` does, of TensorFlow's functions."""
        tf = self._tf
        texts = texts[..., 0] if texts.shape.rank == _COLUMN else texts
        if standardize in ("lower", "lower_and_strip_punctuation"):
            texts = tf.strings.lower(texts)
        if standardize in ("strip_punctuation", "lower_and_strip_punctuation"):
            texts = tf.strings.regex_replace(texts, PUNCTUATION, "")
        if split is None:
            rows = tf.RaggedTensor.from_tensor(texts[:, None])
        else:
            rows = (
                tf.strings.split(texts) if split == "whitespace" else tf.strings.unicode_split(texts, "UTF-8")
            )
        if ngrams is not None:
            rows = tf.strings.ngrams(rows, tuple(ngrams), separator=" ")
        ids = tf.ragged.map_flat_values(table.lookup, rows)
        if counts is None:
            return ids.to_tensor(0, shape=[None, length])
        # Ids below 0 have no place.
        found = tf.ragged.map_flat_values(lambda each: tf.one_hot(each, length, dtype=tf.int64), ids)
        made = tf.reduce_sum(found, axis=1)
        return tf.minimum(made, 1) if counts in ("multi_hot", "one_hot") else made

    def _map_rows(self, body: CallPlan, call: Call, values: Mapping[str, Any]) -> Any:
        names = list(body.gives)
        ids = list(call.kwargs["rows"])
        columns = [values[ref.id] for ref in refs_in(call.args)]
        specs = [self._tf.TensorSpec(body.infos[name].shape, body.infos[name].dtype) for name in names]

        def of_row(row: Any) -> list[Any]:
            made = self.run(body, {**values, **dict(zip(ids, row, strict=True))})
            return [made[name] for name in names]

        return self._tf.map_fn(of_row, columns, fn_output_signature=specs)

    def _arguments(self, value: Any, values: Mapping[str, Any]) -> Any:
        """Return arguments as TensorFlow has them."""
        tf = self._tf

        def of_leaf(each: Any) -> Any:
            if isinstance(each, RuntimeValue):
                return values[each.id]
            if isinstance(each, CallTable):
                return self._made[id(each)]
            if isinstance(each, np.dtype):
                return tf.string if each.hasobject else tf.dtypes.as_dtype(each)
            if isinstance(each, np.ndarray):
                return (
                    tf.constant(each.tolist(), tf.string, each.shape)
                    if each.dtype.hasobject
                    else tf.constant(each)
                )
            for kind in (FixedLenFeature, FixedLenSequenceFeature, VarLenFeature):
                if isinstance(each, kind):
                    return self._feature(each)
            return each

        return self._sparse(replace_leaves(value, of_leaf))

    def _sparse(self, value: Any) -> Any:
        if isinstance(value, SparseTensor):
            return self._tf.sparse.SparseTensor(*value.parts)
        if isinstance(value, dict):
            return {key: self._sparse(each) for key, each in value.items()}
        return type(value)(map(self._sparse, value)) if type(value) in (list, tuple) else value

    def _feature(self, feature: Any) -> Any:
        io = self._tf.io
        dtype = self._tf.string if feature.dtype.hasobject else self._tf.dtypes.as_dtype(feature.dtype)
        if isinstance(feature, VarLenFeature):
            return io.VarLenFeature(dtype)
        if isinstance(feature, FixedLenFeature):
            return io.FixedLenFeature(feature.shape, dtype, feature.default_value)
        return io.FixedLenSequenceFeature(feature.shape, dtype, feature.allow_missing, feature.default_value)

    def _leaves(self, gives: Any, made: Any) -> Any:
        """Give the tensors of a result in the order in which a plan has them."""
        if isinstance(gives, SparseTensor):
            yield from (made.indices, made.values, made.dense_shape)
        elif isinstance(gives, Mapping):
            for key, each in gives.items():
                yield from self._leaves(each, made[key])
        elif isinstance(gives, list | tuple):
            for each, part in zip(gives, made, strict=True):
                yield from self._leaves(each, part)
        else:
            yield made

    def _check(self, value: Any, info: TensorInfo) -> Any:
        tf = self._tf
        value = tf.convert_to_tensor(value)
        if value.dtype != tf.dtypes.as_dtype(info.dtype):
            value = tf.cast(value, info.dtype)
        return tf.ensure_shape(value, info.shape)

    def _table(self, table: CallTable) -> Any:
        lookup, tf = self._tf.lookup, self._tf
        keys = self._arguments(table.constants["keys"], {})
        if "num_oov_buckets" in table.constants:
            ids = tf.range(len(table.constants["keys"]), dtype=tf.int64)
            given = lookup.KeyValueTensorInitializer(keys, ids) if len(table.constants["keys"]) else None
            return lookup.StaticVocabularyTable(given, table.constants["num_oov_buckets"])
        values = self._arguments(table.constants["values"], {})
        return lookup.StaticHashTable(
            lookup.KeyValueTensorInitializer(keys, values), table.constants["default_value"]
        )
