"""A version of a model that is loaded, and who uses it (serving layer)."""

import asyncio
import concurrent.futures
import contextlib
import dataclasses
import logging
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from stratax.base.shown import shown
from stratax.command.serving._batches import Batcher, is_row_by_row, takes_text
from stratax.command.serving._options import ServingOptions
from stratax.export import Export, load

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
        self._executor = computing.executor
        self._batchers = {}
        for name, signature in export.signatures.items():
            batcher = Batcher(
                signature.program,
                is_joined=options.max_batch > 1 and self._is_row_by_row(name),
                max_batch=options.max_batch,
                wait_seconds=options.batch_milliseconds / 1000,
                executor=computing.executor,
                computed=lambda rows: computing.computed(model, rows),
            )
            self._batchers[name] = batcher
            try:
                batcher.warm_up()
            except Exception as error:  # A trial with random numbers may fail where a request would not.
                # A text may have to be a photograph, or a serialized example.
                level = logging.INFO if takes_text(signature.program) else logging.WARNING
                _logger.log(
                    level,
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

    async def answer(self, name: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return what a signature gives.

        What the host does for a request, it does for that alone; what the device does may be done for several together.

        Args:
            name: The signature's name.
            arrays: What it takes, by name, of the right dtypes and numbers of dimensions.
        """
        signature, batcher = self.export.signatures[name], self._batchers[name]
        if not signature.has_host_part:
            return await batcher.answer(arrays)
        loop = asyncio.get_running_loop()
        prepared = await loop.run_in_executor(self._executor, signature.prepare, arrays)
        results = await batcher.answer(prepared.arguments)
        return await loop.run_in_executor(self._executor, signature.finish, prepared, results)

    @contextlib.contextmanager
    def keep(self) -> Iterator[None]:
        """Keep the version until the block ends."""
        self._users += 1
        self._is_unused.clear()
        try:
            yield
        finally:
            self._users -= 1
            if not self._users:
                self._is_unused.set()

    async def wait_until_drained(self) -> None:
        """Wait until nobody uses it."""
        await self._is_unused.wait()

    def _is_row_by_row(self, name: str) -> bool:
        try:
            found = is_row_by_row(self.export.signatures[name].program)
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
