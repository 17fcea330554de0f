"""Stochastic dual coordinate ascent on a batch, in the step (estimator layer).

Each example has a dual variable. A pass takes the examples one by one: it maximizes the dual objective in one of the
variables and moves the weights with it, so that weights are at all times what the dual variables give. Sources:
Shalev-Shwartz and Zhang, "Stochastic Dual Coordinate Ascent Methods for Regularized Loss Minimization", 2013; for L1
"Accelerated Proximal Stochastic Dual Coordinate Ascent", 2013; for workers side by side Ma et al., "Adding vs.
Averaging in Distributed Primal-Dual Optimization", 2015. The losses' steps are those of TensorFlow's kernel.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

# The method of Newton converges quadratically: TensorFlow takes as many steps.
_NEWTON_STEPS = 10
# Of the table: where no example is. No fingerprint has it in its first word.
_EMPTY = 0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A loss, and its dual.

    Attributes:
        label: Of the labels that users have, those that it computes with.
        updated: Gives an example's dual variable that is best, of its label, the one before, its prediction and by how
            much that changes with the variable.
        primal: Gives the loss of a prediction and a label.
        dual: Gives the dual loss of a dual variable and a label.
        derivative: Gives the loss' derivative, of a prediction and a label.
        smoothness: One divided by the largest second derivative.
    """

    label: Callable[[Any], Any]
    updated: Callable[[Any, Any, Any, Any], Any]
    primal: Callable[[Any, Any], Any]
    dual: Callable[[Any, Any], Any]
    derivative: Callable[[Any, Any], Any]
    smoothness: float


def _logistic_updated(label: Any, dual: Any, prediction: Any, slope: Any) -> Any:
    # The dual variable is (1 + tanh(x)) / (2 * label), which keeps it in its bounds, and x is the root of this.
    def step(_: Any, x: Any) -> Any:
        tanh = jnp.tanh(x)
        value = -2 * label * x - prediction - slope * (0.5 * (1 + tanh) / label - dual)
        derivative = -2 * label - slope * (1 - tanh * tanh) * 0.5 / label
        return x - value / derivative

    return 0.5 * (1 + jnp.tanh(jax.lax.fori_loop(0, _NEWTON_STEPS, step, jnp.zeros_like(dual)))) / label


def _logistic_dual(dual: Any, label: Any) -> Any:
    share = dual * label
    return jax.scipy.special.xlogy(share, share) + jax.scipy.special.xlogy(1 - share, 1 - share)


LOGISTIC = Loss(
    label=lambda label: jnp.where(label == 0, -1.0, label),
    updated=_logistic_updated,
    primal=lambda prediction, label: jax.nn.softplus(-label * prediction),
    dual=_logistic_dual,
    derivative=lambda prediction, label: -label * jax.nn.sigmoid(-label * prediction),
    smoothness=4.0,
)
SQUARED = Loss(
    label=lambda label: label,
    updated=lambda label, dual, prediction, slope: dual + (label - dual - prediction) / (1 + slope),
    primal=lambda prediction, label: 0.5 * jnp.square(prediction - label),
    dual=lambda dual, label: dual * (0.5 * dual - label),
    derivative=lambda prediction, label: prediction - label,
    smoothness=1.0,
)


@dataclasses.dataclass(frozen=True, slots=True)
class FeatureGroup:
    """The features of a batch that share one variable of weights.

    Attributes:
        values: float32, of shape `(batch, size)`.
        ids: The rows of the variable that they belong to, of the same shape; None if these are 0, 1, 2 and so on.
    """

    values: Any
    ids: Any = None

    def of(self, example: object) -> "FeatureGroup":
        """Return the features of one example."""
        return FeatureGroup(self.values[example], None if self.ids is None else self.ids[example])

    def weights(self, weights: Any) -> Any:
        """Return the weights that belong to the values."""
        return weights if self.ids is None else weights[self.ids]

    def move(self, weights: Any, by: object) -> Any:
        """Return weights after an example's features were added to them, so many times."""
        added = self.values * by
        return weights + added if self.ids is None else weights.at[self.ids].add(added)

    def squares(self) -> Any:
        """Return the sum of squares of each example; values of one row of the variable count as their sum."""
        if self.ids is None:
            return jnp.sum(jnp.square(self.values), -1)
        is_same = self.ids[:, :, None] == self.ids[:, None, :]
        return jnp.einsum("bi,bj,bij->b", self.values, self.values, is_same.astype(self.values.dtype))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Ascent:
    """How a batch is learned.

    Attributes:
        loss: The loss.
        l1: The L1 regularization of the sum of losses.
        l2: The L2 regularization.
        partitions: How many workers learn at once, each of its part of the examples.
        is_adaptive: Whether examples come in an order by how much is to be learned of them.
    """

    loss: Loss
    l1: float
    l2: float
    partitions: int
    is_adaptive: bool

    def shrink(self, weights: Any) -> Any:
        """Return the model's weights: those of the sum, shrunk by the L1 regularization."""
        if not self.l1:
            return weights
        return jnp.sign(weights) * jnp.maximum(jnp.abs(weights) - self.l1 / self.l2, 0.0)

    def predictions(self, groups: Sequence[FeatureGroup], weights: Sequence[Any]) -> Any:
        """Return the predictions of examples, or of one."""
        sums = [
            jnp.sum(group.values * group.weights(self.shrink(of_group)), -1)
            for group, of_group in zip(groups, weights, strict=True)
        ]
        return sum(sums[1:], sums[0])

    def pass_over(
        self,
        groups: Sequence[FeatureGroup],
        weights: Sequence[Any],
        labels: Any,
        importance: Any,
        duals: Any,
        drawn: object,
    ) -> tuple[list[Any], Any]:
        """Take each example of a batch once.

        Args:
            groups: Their features.
            weights: The variables of the groups, before they are shrunk; of one dimension each.
            labels: The labels, as the loss computes with them.
            importance: The examples' weights.
            duals: Their dual variables.
            drawn: Numbers from 0 to 1 that were drawn, one for each example.

        Returns:
            The variables and the dual variables.
        """
        squares = [group.squares() for group in groups]
        norms = sum(squares[1:], squares[0]) / self.l2
        order = self._order(groups, weights, labels, importance, duals, norms, drawn)

        def take(number: object, state: tuple[list[Any], Any]) -> tuple[list[Any], Any]:
            moved, duals = state
            example = order[number]
            features = [group.of(example) for group in groups]
            dual, weight = duals[example], importance[example]
            new = self.loss.updated(
                labels[example],
                dual,
                self.predictions(features, moved),
                self.partitions * norms[example] * weight,
            )
            # The other workers are taken to move weights as this one does.
            by = self.partitions * (new - dual) * weight / self.l2
            return (
                [group.move(of_group, by) for group, of_group in zip(features, moved, strict=True)],
                duals.at[example].set(new),
            )

        moved, duals = jax.lax.fori_loop(0, len(labels), take, (list(weights), duals))
        if self.partitions > 1:
            pairs = zip(weights, moved, strict=True)
            moved = [before + (after - before) / self.partitions for before, after in pairs]
        return moved, duals

    def _order(
        self,
        groups: Sequence[FeatureGroup],
        weights: Sequence[Any],
        labels: Any,
        importance: Any,
        duals: Any,
        norms: Any,
        drawn: Any,
    ) -> Any:
        """Return in which order examples are taken: drawn, those first of which more is to be learned if adaptive."""
        if not self.is_adaptive:
            return jnp.argsort(drawn)
        # Csiba et al., "Stochastic Dual Coordinate Ascent with Adaptive Probabilities", 2015.
        residue = duals + self.loss.derivative(self.predictions(groups, weights), labels)
        chance = importance * jnp.sqrt(self.l2 * (norms + self.loss.smoothness)) * jnp.abs(residue)
        # By adding Gumbel's noise to the logarithms of their chances.
        return jnp.argsort(jnp.log(-jnp.log(drawn)) - jnp.log(chance))


def find(table: Any, words: Any) -> tuple[Any, Any, Any]:
    """Return the table with examples in it, the row of each, and which are new.

    The row is one too many where there is no room for an example.

    Args:
        table: int32, of shape `(rows, 2)`: the fingerprints of examples, by open addressing.
        words: int32, of shape `(batch, 2)`: those of a batch.
    """
    size, count = len(table), len(words)

    def there(row: Any, taken: Any) -> Any:
        # The table itself is written to once, at the end: a loop that does would copy it for each example.
        is_taken = taken == row
        return jnp.where(jnp.any(is_taken), words[jnp.argmax(is_taken)], table[row])

    def place(taken: Any, number: Any) -> tuple[Any, tuple[Any, Any]]:
        def is_other(state: tuple[Any, Any]) -> Any:
            row, tries = state
            found = there(row, taken)
            return (found[0] != _EMPTY) & jnp.any(found != words[number]) & (tries < size)

        def next_one(state: tuple[Any, Any]) -> tuple[Any, Any]:
            row, tries = state
            return (row + 1) % size, tries + 1

        first = jnp.mod(words[number, 1], size)
        row, tries = jax.lax.while_loop(is_other, next_one, (first, jnp.int32(0)))
        is_new = (tries < size) & (there(row, taken)[0] == _EMPTY)
        row = jnp.where(tries < size, row, size)
        return taken.at[number].set(row), (row, is_new)

    _, (rows, are_new) = jax.lax.scan(place, jnp.full(count, -1, jnp.int32), jnp.arange(count))
    return table.at[rows].set(words, mode="drop"), rows, are_new
