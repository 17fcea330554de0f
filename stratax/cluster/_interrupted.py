"""What tasks write after Ctrl-C: tracebacks that say no more than that they were interrupted (cluster layer)."""

import re
from collections.abc import Iterator

_BEGIN = re.compile(r"Traceback \(most recent call last\):|Its traceback:$")
# The end of a traceback of the interruption itself, and of one that it has caused in another task.
_INTERRUPTION = re.compile(r"KeyboardInterrupt\b|[\w.]*PeerLostError: .*\bKeyboardInterrupt\b")
# What Python writes between the tracebacks of a chain.
_BETWEEN = re.compile(r"$|During handling of the above exception|The above exception was the direct cause")


class Interrupted:
    """Withholds the tracebacks of an interruption, line by line, and lets everything else through."""

    def __init__(self) -> None:
        # The lines of a traceback whose end has not come.
        self._held: list[str] = []
        self._is_after = False

    def pass_on(self, line: str) -> Iterator[str]:
        """Take a line; yield what is to be shown by now.

        Args:
            line: The line, without its end.
        """
        if self._held and self._goes_on(line):
            self._held.append(line)
        elif self._held and _INTERRUPTION.match(line):
            self._held.clear()
            self._is_after = True
        elif self._held:
            yield from self.rest()
            yield line
        elif _BEGIN.match(line):
            self._held.append(line)
        elif not (self._is_after and _BETWEEN.match(line)):
            self._is_after = False
            yield line

    def rest(self) -> Iterator[str]:
        """Yield what is held still, at the end of the output."""
        held, self._held = self._held, []
        yield from held

    def _goes_on(self, line: str) -> bool:
        return line.startswith(" ") or _BEGIN.match(line) is not None
