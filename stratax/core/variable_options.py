"""The options of `Variable` that are enumerations in TensorFlow (core layer)."""

import enum


class _Word(enum.Enum):
    """An option that is equal to Keras' word for it, which variables have as their attribute."""

    def __eq__(self, other: object) -> bool:
        return other == self.name.lower() if isinstance(other, str) else self is other

    def __hash__(self) -> int:
        return hash(self.name.lower())


class VariableAggregation(_Word):
    """How replicas' different values of a variable become one, as `tf.VariableAggregation`."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3


class VariableSynchronization(_Word):
    """When replicas' values of a variable become one, as `tf.VariableSynchronization`."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3
