"""What a training run is going to do, told before it starts (cli layer)."""

import dataclasses
import math

from stratax.base.shown import shown
from stratax.errors import BadArgumentError


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class TrainingPlan:
    """The numbers of a training run. Every batch size is global unless it says per replica.

    Attributes:
        strategy: The strategy's class name.
        devices: TensorFlow's name of each device that computes.
        num_replicas: How many replicas train in step.
        num_examples: Examples in an epoch.
        batch_size: Examples in a global batch.
        steps_per_execution: Steps that run as one dispatch.
        epochs: How often every example is seen.
    """

    strategy: str
    devices: tuple[str, ...]
    num_replicas: int
    num_examples: int
    batch_size: int
    steps_per_execution: int
    epochs: int

    def __post_init__(self) -> None:
        for name in ("num_replicas", "num_examples", "batch_size", "steps_per_execution", "epochs"):
            value = getattr(self, name)
            if value < 1:
                option = name.replace("_", "-")
                raise BadArgumentError(f"{option} must be at least 1. Received: {name}={shown(value)}.")

    @property
    def steps_per_epoch(self) -> int:
        """Updates of the weights in an epoch, that of the remainder included."""
        return math.ceil(self.num_examples / self.batch_size)

    @property
    def remainder(self) -> int:
        """Examples in an epoch's last batch if it is a short one, else 0."""
        return self.num_examples % self.batch_size

    def lines(self) -> list[tuple[str, str]]:
        """Return the plan as labelled lines."""
        return [
            ("strategy", f"{self.strategy}, {_say_count(self.num_replicas, 'replica')}"),
            ("devices", _shorten(self.devices)),
            ("batch", f"{self.batch_size} global, {self._share()}"),
            ("epoch", f"{self.num_examples} examples, {self._steps()}"),
            ("dispatch", f"{_say_count(self.steps_per_execution, 'step')} at a time"),
            ("run", f"{_say_count(self.epochs, 'epoch')}, {self.epochs * self.steps_per_epoch} updates"),
        ]

    def _share(self) -> str:
        if self.batch_size % self.num_replicas:
            return f"whole on every replica, as it does not divide by {self.num_replicas}"
        return f"{self.batch_size // self.num_replicas} per replica"

    def _steps(self) -> str:
        steps = _say_count(self.steps_per_epoch, "step")
        return f"{steps}, the last with {self.remainder}" if self.remainder else steps


def _say_count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _shorten(names: tuple[str, ...]) -> str:
    return ", ".join(names) if len(names) <= 2 else f"{names[0]} ... {names[-1].rpartition('device:')[2]}"
