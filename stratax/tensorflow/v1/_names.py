"""Names as TensorFlow's graphs give them: `a`, `a_1`, `a_2` (v1 layer)."""

import collections


class UniqueNames:
    """Names that were given, each once. Letters of either case count as the same, as in TensorFlow."""

    def __init__(self) -> None:
        self._counts: collections.Counter[str] = collections.Counter()

    def unique(self, name: str) -> str:
        """Return a name like this one that was not given before."""
        key = name.lower()
        self._counts[key] += 1
        if self._counts[key] == 1:
            return name
        made = f"{name}_{self._counts[key] - 1}"
        # The made name may itself have been asked for.
        return made if self.take(made) else self.unique(name)

    def copy(self) -> "UniqueNames":
        """Return names that go on from these."""
        made = UniqueNames()
        made._counts = self._counts.copy()
        return made

    def take(self, name: str) -> bool:
        """Have a name be given, if it was not; return whether that was so."""
        key = name.lower()
        if self._counts[key]:
            return False
        self._counts[key] = 1
        return True
