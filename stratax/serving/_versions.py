"""A version of a model that is loaded, and who uses it (serving layer)."""

import asyncio
import concurrent.futures
import contextlib
import dataclasses
import logging
from collections.abc import Callable, Iterator

from stratax._shown import shown
from stratax.export import Export, load
from stratax.serving._batches import Batcher, is_row_by_row
from stratax.serving._options import ServingOptions

_logger = logging.getLogger("stratax")


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Computing:
    """Where and how signatures are computed.

    Attributes:
        options: The limits of batches.
        executor: Where signatures are computed.
        computed: Called with a model's name and the number of rows of each call.
    """

    options: ServingOptions
    executor: concurrent.futures.Executor
    computed: Callable[[str, int], None]


class Version:
    """A version that is loaded and warm.

    Attributes:
        model: The model's name.
        number: The version's number.
        export: What was loaded.
        batchers: What computes the signatures, by their names.

    Args:
        model: The model's name.
        number: The version's number.
        export: What was loaded.
        computing: Where it is computed.
    """

    def __init__(self, model: str, number: int, export: Export, computing: Computing) -> None:
        self.model = model
        self.number = number
        self.export = export
        self._users = 0
        self._is_unused = asyncio.Event()
        self._is_unused.set()
        options = computing.options
        self.batchers = {}
        for name, signature in export.signatures.items():
            batcher = Batcher(
                signature,
                is_joined=options.max_batch > 1 and self._is_row_by_row(name),
                max_batch=options.max_batch,
                wait_seconds=options.batch_milliseconds / 1000,
                executor=computing.executor,
                computed=lambda rows: computing.computed(model, rows),
            )
            self.batchers[name] = batcher
            try:
                if any(info.dtype == "string" for info in signature.inputs.values()):
                    # Blank text is no image, and no Example.
                    signature.compile()
                    continue
                batcher.warm_up()
            except Exception as error:  # A trial with random numbers may fail where a request would not.
                _logger.warning(
                    "serving: signature %s of %s version %d could not be tried beforehand, its first request compiles "
                    "it (%s: %s)",
                    shown(name),
                    model,
                    number,
                    type(error).__name__,
                    str(error)[:200],
                )

    @classmethod
    def load(cls, model: str, number: int, path: str, computing: Computing) -> "Version":
        """Load a version and compile what it will compute; blocks for as long.

        Raises:
            StrataxError: It is damaged, or not for this machine.
        """
        return cls(model, number, load(path), computing)

    @contextlib.contextmanager
    def used(self) -> Iterator[None]:
        """Keep the version until the block ends."""
        self._users += 1
        self._is_unused.clear()
        try:
            yield
        finally:
            self._users -= 1
            if not self._users:
                self._is_unused.set()

    async def drained(self) -> None:
        """Wait until nobody uses it."""
        await self._is_unused.wait()

    def _is_row_by_row(self, name: str) -> bool:
        try:
            found = is_row_by_row(self.export.signatures[name])
        except Exception as error:  # Of whatever computes it: random numbers may be what it can't take.
            _logger.debug("serving: a trial of signature %s failed: %s", shown(name), error)
            found = False
        if not found:
            _logger.info(
                "serving: requests of signature %s of %s version %d are computed one by one",
                shown(name),
                self.model,
                self.number,
            )
        return found
