"""Models, whose folders are watched for new versions (serving layer).

The newest version that can be loaded answers. A new one is loaded and warmed up beside it, then answers every request
that comes from then on; the old one goes when its last request is answered. One that can't be loaded is logged and left
alone until its files change.
"""

import asyncio
import dataclasses
import gc
import logging
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from starlette.exceptions import HTTPException

from stratax.base.shown import shown
from stratax.command.serving._versions import Computing, Version
from stratax.errors import StrataxError

_logger = logging.getLogger("stratax")
_NUMBER = re.compile(r"[0-9]{1,18}")
# Of versions that are no more, the last ones of which it is told how they ended.
_MOST_ENDED = 16
# Of a version that is copied file by file: their names, sizes and times, or why they can't be looked at.
_Files: TypeAlias = tuple[tuple[str, int, int], ...]
# gRPC's names of the codes in `stratax.errors`.
_CODES = {
    3: "INVALID_ARGUMENT",
    5: "NOT_FOUND",
    7: "PERMISSION_DENIED",
    8: "RESOURCE_EXHAUSTED",
    15: "DATA_LOSS",
}


@dataclasses.dataclass(frozen=True, slots=True)
class Status:
    """Where a version is in its life.

    Attributes:
        state: One of ``"LOADING"``, ``"AVAILABLE"``, ``"UNLOADING"`` and ``"END"``.
        error_code: gRPC's name of what went wrong, or ``"OK"``.
        error_message: What went wrong.
    """

    state: str
    error_code: str = "OK"
    error_message: str = ""

    def as_json(self, number: int) -> dict[str, Any]:
        """Return the status of a version, as TensorFlow Serving tells it."""
        told = {"error_code": self.error_code, "error_message": self.error_message}
        return {"version": str(number), "state": self.state, "status": told}


class ServedModel:
    """A model, used on one event loop.

    Attributes:
        name: Its name.
        versions: What is loaded, by number.
        statuses: Where its versions are in their lives, by number.
        labels: Versions' numbers, by label.

    Args:
        name: Its name.
        base: The folder with its versions.
        labels: Versions' numbers, by label.
        computing: Where it is computed.
    """

    def __init__(self, name: str, base: str, labels: Mapping[str, int], computing: Computing) -> None:
        self.name = name
        self.versions: dict[int, Version] = {}
        self.statuses: dict[int, Status] = {}
        self.labels = dict(labels)
        self._base = base
        self._computing = computing
        self._failed: dict[int, _Files] = {}
        self._draining: set[asyncio.Task[None]] = set()

    def version(self, number: int | None, label: str | None) -> Version:
        """Return the version that answers: one by number or label, or the newest.

        Raises:
            HTTPException: It is not there.
        """
        if label is not None:
            if label not in self.labels:
                raise HTTPException(400, f"Unrecognized servable version label: {label[:100]}")
            number = self.labels[label]
        if number is None and self.versions:
            return self.versions[max(self.versions)]
        if number is None or number not in self.versions:
            which = f"Latest({self.name})" if number is None else f"Specific({self.name}, {number})"
            raise HTTPException(404, f"Servable not found for request: {which}")
        return self.versions[number]

    async def refresh(self) -> None:
        """Look for versions; load what is new, and change over to it."""
        found = await asyncio.to_thread(self._find_versions)
        wanted = {number for number in self.labels.values() if await self._have(number, found)}
        for number in sorted(found, reverse=True):
            if await self._have(number, found):
                wanted.add(number)
                break
        else:
            # Nothing else is there: what is loaded goes on.
            wanted |= self.versions.keys()
        for number in [number for number in self.versions if number not in wanted]:
            self._retire(number)

    async def wait_until_drained(self) -> None:
        """Wait until the versions that have been replaced are gone."""
        if self._draining:
            await asyncio.wait(self._draining)

    async def _have(self, number: int, found: Mapping[int, str]) -> bool:
        """Return whether a version is loaded, and load it where that may be."""
        if number in self.versions:
            return True
        if number not in found:
            return False
        files = await asyncio.to_thread(_files, found[number])
        if self._failed.get(number) == files:
            return False
        self.statuses[number] = Status("LOADING")
        try:
            version = await asyncio.to_thread(Version.load, self.name, number, found[number], self._computing)
        except (
            Exception
        ) as error:  # Whatever a file makes a library raise, the version that is there goes on.
            code = _CODES.get(error.error_code, "UNKNOWN") if isinstance(error, StrataxError) else "UNKNOWN"
            _logger.error("serving: %s version %d can't be served: %s", self.name, number, error)
            self._failed[number] = files
            self._note_end(number, Status("END", code, str(error)[:1000]))
            return False
        self._failed.pop(number, None)
        _tidy()
        self.versions = {**self.versions, number: version}
        self.statuses[number] = Status("AVAILABLE")
        _logger.info("serving: %s version %d is there", self.name, number)
        return True

    def _retire(self, number: int) -> None:
        version = self.versions[number]
        self.versions = {other: each for other, each in self.versions.items() if other != number}
        self.statuses[number] = Status("UNLOADING")
        task = asyncio.get_running_loop().create_task(self._drop(version))
        self._draining.add(task)
        task.add_done_callback(self._draining.discard)

    async def _drop(self, version: Version) -> None:
        await version.wait_until_drained()
        # Unless it is there once more: it came back while its last request was answered.
        if version.number not in self.versions:
            self._note_end(version.number, Status("END"))
        _logger.info("serving: %s version %d is gone", self.name, version.number)
        del version
        # Its arrays are part of cycles.
        gc.unfreeze()
        _tidy()

    def _note_end(self, number: int, status: Status) -> None:
        self.statuses[number] = status
        ended = [other for other, each in self.statuses.items() if each.state == "END" and other != number]
        for other in sorted(ended)[: max(0, len(ended) + 1 - _MOST_ENDED)]:
            del self.statuses[other]

    def _find_versions(self) -> dict[int, str]:
        with os.scandir(self._base) as entries:
            names = sorted(
                each.name for each in entries if _NUMBER.fullmatch(each.name) and _may_be_folder(each)
            )
        return {int(name): os.path.join(self._base, name) for name in names}


class Models:
    """The models of a server.

    Args:
        models: The models, by name.
        poll_seconds: How often their folders are looked at.
    """

    def __init__(self, models: Mapping[str, ServedModel], poll_seconds: float) -> None:
        self._models = dict(models)
        self._poll_seconds = poll_seconds
        # Of folders that can't be read, by model.
        self._troubles: dict[str, str] = {}

    def __iter__(self) -> Iterator[ServedModel]:
        return iter(self._models.values())

    def find(self, name: str) -> ServedModel:
        """Return a model.

        Raises:
            HTTPException: There is none of that name.
        """
        if name not in self._models:
            raise HTTPException(404, f"Servable not found for request: Latest({name[:128]})")
        return self._models[name]

    async def refresh(self) -> None:
        """Look for versions of all models."""
        for model in self:
            try:
                await model.refresh()
                self._troubles.pop(model.name, None)
            except OSError as error:
                # Said once, not at every look.
                if self._troubles.get(model.name) != str(error):
                    _logger.warning("serving: the folder of %s can't be read: %s", shown(model.name), error)
                self._troubles[model.name] = str(error)

    async def watch(self) -> None:
        """Look for versions of all models again and again."""
        while True:
            await asyncio.sleep(self._poll_seconds)
            await self.refresh()


def _tidy() -> None:
    """Have Python's garbage collector take no more notice of what is loaded.

    JSON's many lists make it look through all objects now and then, for 0.15 s where Keras is loaded: a request of ten
    times the others' duration in a hundred.
    """
    gc.collect()
    gc.freeze()


def _may_be_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return True  # A loop of links, say: a version that can't be served, as is told when it is loaded.


def _files(path: str) -> _Files:
    """Return what tells whether a version that can't be served has changed; whatever it is, it harms no other."""
    found: list[tuple[str, int, int]] = []

    def note(path: str) -> None:
        try:
            state = os.stat(path)
        except FileNotFoundError:
            return
        except OSError as error:
            found.append((path, -1, error.errno or 0))
            return
        # Not when it was written: who may read it can change, too.
        found.append((path, state.st_size, state.st_ctime_ns))

    note(path)
    # Folders that may not be read are passed over.
    for folder, folders, names in os.walk(path):
        for name in (*folders, *names):
            note(os.path.join(folder, name))
    return tuple(sorted(found))
