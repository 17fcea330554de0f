"""What an export takes: tensors that are fed, and the features that are made of them (estimator layer)."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from stratax import errors
from stratax.base.shown import shown
from stratax.data import parse_example
from stratax.data.elements import TensorShape
from stratax.tensorflow.v1 import placeholder

# What TensorFlow calls one that has no name.
_FEATURE, _RECEIVER, _EXAMPLES = "feature", "input", "examples"
_NO_TENSORS = (bool, int, float, complex, str, bytes, list)


class _Received(NamedTuple):
    features: Any
    receiver_tensors: Any
    receiver_tensors_alternatives: Any


class ServingInputReceiver(_Received):
    """What a `serving_input_receiver_fn` returns, as `tf.estimator.export.ServingInputReceiver`.

    Attributes:
        features: A tensor, or tensors by name, which the `model_fn` gets.
        receiver_tensors: A tensor that is fed, or such by name: placeholders.
        receiver_tensors_alternatives: By name, others that can be fed instead; each a dict.

    Raises:
        BadArgumentError: Something is missing, or has no name.
        BadTypeError: The alternatives are no dict.
    """

    __slots__ = ()

    def __new__(
        cls, features: object, receiver_tensors: object, receiver_tensors_alternatives: object = None
    ) -> "ServingInputReceiver":
        """Check the fields, and give tensors that stand by themselves their names."""
        return super().__new__(
            cls,
            _name_tensors(features, "features", _FEATURE, numbers=True),
            _name_tensors(receiver_tensors, "receiver_tensors", _RECEIVER),
            _alternatives(receiver_tensors_alternatives),
        )


class TensorServingInputReceiver(_Received):
    """As :class:`ServingInputReceiver`, for a `model_fn` that takes one tensor and no dict of features."""

    __slots__ = ()

    def __new__(
        cls, features: object, receiver_tensors: object, receiver_tensors_alternatives: object = None
    ) -> "TensorServingInputReceiver":
        """Check the fields."""
        if features is None:
            raise errors.BadArgumentError("features must be defined.")
        if isinstance(features, Mapping):
            raise errors.BadTypeError(
                f"features must be one tensor. Received: {shown(features)}. Use ServingInputReceiver for a dict."
            )
        return super().__new__(
            cls,
            features,
            _name_tensors(receiver_tensors, "receiver_tensors", _RECEIVER),
            _alternatives(receiver_tensors_alternatives),
        )


class _Supervised(NamedTuple):
    features: Any
    labels: Any
    receiver_tensors: Any


class SupervisedInputReceiver(_Supervised):
    """What a function returns that exports for evaluation or training are fed by.

    Attributes:
        features: A tensor, or tensors by name, which the `model_fn` gets.
        labels: Likewise.
        receiver_tensors: A tensor that is fed, or such by name: placeholders.

    Raises:
        BadArgumentError: Something is missing, or has no name.
    """

    __slots__ = ()

    def __new__(cls, features: object, labels: object, receiver_tensors: object) -> "SupervisedInputReceiver":
        """Check the fields."""
        for name, given in (("features", features), ("labels", labels)):
            if given is None:
                raise errors.BadArgumentError(f"{name} must be defined.")
        return super().__new__(
            cls, features, labels, _name_tensors(receiver_tensors, "receiver_tensors", _RECEIVER)
        )


def _name_tensors(tensors: object, field: str, name: str, *, numbers: bool = False) -> dict[Any, Any]:
    if tensors is None:
        raise errors.BadArgumentError(f"{field} must be defined.")
    found = dict(tensors) if isinstance(tensors, Mapping) else {name: tensors}
    for key, each in found.items():
        if not isinstance(key, str) and not (numbers and isinstance(key, int)):
            raise errors.BadArgumentError(
                f"Keys of {field} must be strings. Received: {shown(key)} of {shown(list(found))}."
            )
        if each is None or isinstance(each, _NO_TENSORS):
            raise errors.BadArgumentError(
                f"{field} has no tensor under {shown(key)}. Expected: a placeholder, or what is computed of some. "
                f"Received: {shown(each)}."
            )
    return found


def _alternatives(given: object) -> dict[str, dict[Any, Any]] | None:
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise errors.BadTypeError(
            f"receiver_tensors_alternatives must be a dict of dicts. Received: {shown(given)}."
        )
    return {
        str(name): _name_tensors(each, f"receiver_tensors_alternatives[{name}]", _RECEIVER)
        for name, each in given.items()
    }


def build_parsing_serving_input_receiver_fn(
    feature_spec: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], ServingInputReceiver]:
    """Return a function for exports that are fed serialized Examples.

    As `tf.estimator.export.build_parsing_serving_input_receiver_fn`.

    Args:
        feature_spec: How they are parsed, as for `tf.io.parse_example`.
        default_batch_size: How many there are; None for any number.

    Example:
        >>> import stratax.tf as tf
        >>> spec = {"x": tf.io.FixedLenFeature([2], tf.float32)}
        >>> receiver_fn = tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)
    """

    def serving_input_receiver_fn() -> ServingInputReceiver:
        serialized = placeholder(object, [default_batch_size], name="input_example_tensor")
        return ServingInputReceiver(parse_example(serialized, feature_spec), {_EXAMPLES: serialized})

    return serving_input_receiver_fn


def build_raw_serving_input_receiver_fn(
    features: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], ServingInputReceiver]:
    """Return a function for exports that are fed the features themselves.

    As `tf.estimator.export.build_raw_serving_input_receiver_fn`.

    Args:
        features: Tensors like them, by name: their dtypes and shapes count, but for the first size.
        default_batch_size: How many examples there are; None for any number.
    """

    def serving_input_receiver_fn() -> ServingInputReceiver:
        fed = {name: _placeholder_like(each, default_batch_size, name) for name, each in features.items()}
        return ServingInputReceiver(fed, fed)

    return serving_input_receiver_fn


def _placeholder_like(tensor: Any, batch_size: int | None, name: str) -> Any:
    """Return a placeholder of a tensor's dtype, and of its shape where that is known, but for the first size."""
    shape = TensorShape(tensor.shape)
    return placeholder(
        tensor.dtype, None if shape.rank is None else [batch_size, *tuple(shape)[1:]], name=name
    )


def build_raw_supervised_input_receiver_fn(
    features: object, labels: object, default_batch_size: int | None = None
) -> Callable[[], SupervisedInputReceiver]:
    """Return a function for exports, for evaluation or training, that are fed features and labels.

    As `tf.estimator.experimental.build_raw_supervised_input_receiver_fn`.

    Args:
        features: A tensor, or tensors by name, like them: their dtypes and shapes count, but for the first size.
        labels: Likewise, under other names.
        default_batch_size: How many examples there are; None for any number.

    Raises:
        BadArgumentError: Features and labels have a name in common.
    """
    own = dict(features) if isinstance(features, Mapping) else {"input": features}
    others = dict(labels) if isinstance(labels, Mapping) else {"label": labels}
    if common := sorted(own.keys() & others.keys()):
        raise errors.BadArgumentError(
            "Features and labels must have distinct keys, as both are fed by name. "
            f"Received: {shown(common[0])} in both."
        )

    def feed(tensors: Mapping[str, Any]) -> dict[str, Any]:
        return {name: _placeholder_like(each, default_batch_size, name) for name, each in tensors.items()}

    def supervised_input_receiver_fn() -> SupervisedInputReceiver:
        features_fed, labels_fed = feed(own), feed(others)
        return SupervisedInputReceiver(
            features_fed if isinstance(features, Mapping) else features_fed["input"],
            labels_fed if isinstance(labels, Mapping) else labels_fed["label"],
            {**features_fed, **labels_fed},
        )

    return supervised_input_receiver_fn
