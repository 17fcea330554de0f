"""Which pass over a Dataset comes next, for who numbers passes himself (data layer)."""

from typing import Any

from stratax.data.dataset._dataset import Dataset
from stratax.data.iteration import fingerprint, orders_of
from stratax.data.plan import PlanRun


class Passes:
    """Numbers the passes over a Dataset. The order of a pass is a function of its seeds and its number.

    Args:
        dataset: The Dataset that is iterated.
        upcoming: The number of the next pass; None for the one that its own count comes to.
    """

    def __init__(self, dataset: Dataset, upcoming: int | None = None) -> None:
        self._dataset = dataset
        self._seeds = dataset._epochs.seeds
        self.upcoming = count_of_passes(dataset) if upcoming is None else upcoming

    def begin(self) -> None:
        """Have the iterator that is made next read the next pass, however often others have iterated meanwhile."""
        # Set before each pass: other iterations over the same Dataset may have counted meanwhile.
        self._dataset._epochs.continue_after(self.upcoming - 1, self._seeds)
        self.upcoming += 1

    def get_state(self) -> dict[str, Any]:
        """Return the next pass and the seeds of its orders, as JSON can hold it."""
        run = PlanRun(self.upcoming, self._seeds)
        seeds = [order.find_saved_seed(run, i) for i, order in enumerate(orders_of(self._dataset._node))]
        return {"upcoming": self.upcoming, "plan": fingerprint(self._dataset._node), "seeds": seeds}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on with the pass of a saved state; in another pipeline with its number only, in orders of its own.

        Args:
            state: What :meth:`get_state` returned.
        """
        self.upcoming = state["upcoming"]
        orders = orders_of(self._dataset._node)
        # Seeds of another plan would belong to other steps; the number of the pass is right in any case.
        if state["plan"] == fingerprint(self._dataset._node) and len(state["seeds"]) == len(orders):
            self._seeds = {id(order): seed for order, seed in zip(orders, state["seeds"], strict=True)}


def count_of_passes(dataset: Dataset) -> int:
    """Return how many times a Dataset was iterated, which is its next iteration's number."""
    return dataset._epochs.upcoming


def count_as(dataset: Dataset, passes: int) -> None:
    """Have a Dataset count as iterated so many times at least: another one was, in its place."""
    epochs = dataset._epochs
    # Never backwards: no pass is repeated.
    if epochs.upcoming < passes:
        epochs.continue_after(passes - 1, epochs.seeds)


def count_epochs_trained(dataset: Dataset) -> int:
    """Return for how many epochs, counted from the first one, this Dataset has been trained on in this process."""
    return dataset._epochs.trained


def note_epochs_trained(dataset: Dataset, epochs: int) -> None:
    """Note for how many epochs it has been."""
    dataset._epochs.trained = max(dataset._epochs.trained, epochs)
