"""The options of `Variable` that are enumerations in TensorFlow (core layer)."""

import enum


class VariableAggregation(enum.Enum):
    """How replicas' different values of a variable become one, as `tf.VariableAggregation`."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3


class VariableSynchronization(enum.Enum):
    """When replicas' values of a variable become one, as `tf.VariableSynchronization`."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3
