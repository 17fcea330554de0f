"""The options of `Variable` that are enumerations in TensorFlow (core layer)."""

import enum


class _Word(enum.StrEnum):
    """An option that is Keras' word for it, too, with TensorFlow's number as its value."""

    def __new__(cls, number: int, word: str) -> "_Word":
        member = str.__new__(cls, word)
        member._value_ = number  # type: ignore[assignment]
        return member

    def __eq__(self, other: object) -> bool:
        return self is other if isinstance(other, enum.Enum) else str.__eq__(self, other)  # type: ignore[arg-type]

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def __repr__(self) -> str:
        return f"<{type(self).__name__}.{self.name}: {self.value}>"

    __str__ = enum.Enum.__str__

    @classmethod
    def _missing_(cls, value: object) -> "_Word | None":
        return next((member for member in cls if str.__eq__(member, value)), None)  # type: ignore[arg-type]


class VariableAggregation(_Word):
    """How replicas' different values of a variable become one, as `tf.VariableAggregation`."""

    NONE = 0, "none"
    SUM = 1, "sum"
    MEAN = 2, "mean"
    ONLY_FIRST_REPLICA = 3, "only_first_replica"


class VariableSynchronization(_Word):
    """When replicas' values of a variable become one, as `tf.VariableSynchronization`."""

    AUTO = 0, "auto"
    NONE = 1, "none"
    ON_WRITE = 2, "on_write"
    ON_READ = 3, "on_read"
