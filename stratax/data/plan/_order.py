"""The random orders of a plan, however it is rewritten (data layer)."""

from stratax.data.elements import SeedToDraw
from stratax.data.plan._locks import OwnLock
from stratax.data.plan._run import PlanRun


class Order:
    """What identifies a source of randomness of a plan (a `shuffle`), however the plan is rewritten.

    Args:
        seed: The user's seed; a random one is drawn if it is None: from the element whose function makes the plan,
            or else from Python's `random`, so that `keras.utils.set_random_seed` and `random.seed` fix it.
        reshuffle: Whether each iteration and each pass of a `repeat` gets another order.
        lazy: Whether the seed is drawn only when it is needed, which for most functions is never.
    """

    def __init__(self, seed: int | None, *, reshuffle: bool, lazy: bool = False) -> None:
        self._lock = OwnLock()
        self._later = SeedToDraw()
        self._seed = self._later.draw() if seed is None and not lazy else seed
        self.given_seed = seed
        self.reshuffle = reshuffle

    @property
    def outer(self) -> int:
        """What tells apart the element whose function made the plan; 0 if none did."""
        return self._later.outer

    @property
    def seed(self) -> int:
        """The seed, drawn now if need be."""
        with self._lock:
            if self._seed is None:
                self._seed = self._later.draw()
            return self._seed

    def find_saved_seed(self, run: PlanRun, number: int = 0) -> int:
        """Return the seed in force, for a saved state; `number` tells the orders of a plan apart."""
        # A restored position brings the seed with which it was saved.
        if id(self) in run.seeds:
            return run.seeds[id(self)]
        with self._lock:
            if self._seed is None:
                self._seed = self._later.peek(number)
            return self._seed

    def key(self, run: PlanRun, number: int) -> tuple[int, ...]:
        """Return the key of the order in one pass."""
        # By identity: a rewritten plan shares the `Order` objects, so that rewriting never changes an order.
        seed = run.seeds.get(id(self))
        seed = self.seed if seed is None else seed
        # With `reshuffle` every iteration and every pass of a `repeat` has an order of its own.
        return (seed, run.iteration, number) if self.reshuffle else (seed,)
