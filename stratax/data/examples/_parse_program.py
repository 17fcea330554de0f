"""Functions given to `map` that do nothing but parse a batch of Examples, found out by calling them once (data layer).

What parsing costs is mostly a number of operations for each batch, however small it is. Where a function hands its
batch to `parse_example` and gives back nothing but parts of the result, the records of several batches are parsed as
one, and the values cut into those of each batch.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from stratax.data.elements._sparse import SparseTensor
from stratax.data.elements._structure import Row, Structure, flatten
from stratax.data.examples._features import ParsedFeature, VarLenFeature
from stratax.data.examples._parse import Parsed, RecordsToCome, check_features, parse_batches
from stratax.data.vectorise._batched_element import CannotVectorise

_Features = Mapping[str, ParsedFeature]


def _refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
    raise CannotVectorise


class _Part:
    """Stands for an array of the result: which one it is.

    Args:
        call: The number of the call of `parse_example`.
        key: The feature.
        component: Which part of a SparseTensor; None for an array.
    """

    def __init__(self, call: int, key: str, component: int | None = None) -> None:
        self.call = call
        self.key = key
        self.component = component

    # Whoever looks at a value has to be given one.
    __bool__ = __int__ = __float__ = __index__ = __iter__ = __array__ = __len__ = __contains__ = _refuse
    __getitem__ = __eq__ = __ne__ = __getattr__ = _refuse
    __hash__ = None  # type: ignore[assignment]

    def of(self, results: Sequence[Parsed]) -> Any:
        """The array, of what the calls gave."""
        found = results[self.call][self.key]
        return found if self.component is None else found[self.component]


class _Tracer(RecordsToCome):
    """Notes the calls of `parse_example`.

    Attributes:
        calls: What each asked for.
    """

    def __init__(self) -> None:
        self.calls: list[_Features] = []

    def parse(self, features: _Features, example_names: Any) -> Parsed:
        """Stand-ins for what is parsed."""
        check_features(features)
        if example_names is not None:
            raise CannotVectorise
        number = len(self.calls)
        self.calls.append(dict(features))
        return {
            key: SparseTensor(*(_Part(number, key, i) for i in range(3)))  # type: ignore[arg-type]
            if isinstance(feature, VarLenFeature)
            else _Part(number, key)
            for key, feature in features.items()
        }


class ParseProgram:
    """What such a function does.

    Args:
        calls: The features of each call of `parse_example`.
        parts: What the function gives back, as leaves.
        structure: The structure of it.
    """

    def __init__(self, calls: Sequence[_Features], parts: Sequence[_Part], structure: Structure) -> None:
        self._calls = calls
        self._parts = parts
        self.structure = structure

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Self | None:
        """What a pure function of one argument does, if it is nothing else."""
        tracer = _Tracer()
        try:
            parts, structure = flatten(function(tracer))
        except Exception:
            return None
        if not parts or not all(type(part) is _Part for part in parts):
            return None
        return cls(tracer.calls, parts, structure)

    def __call__(self, batches: Sequence[Any]) -> list[Row]:
        """The function's results for several batches; raises if it fails on one of them."""
        by_call = [parse_batches(batches, features) for features in self._calls]
        return [[part.of(results) for part in self._parts] for results in zip(*by_call, strict=True)]
