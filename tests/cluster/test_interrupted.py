"""After Ctrl-C no task shows the traceback of that; all else that it writes is shown."""

import pytest

from stratax.cluster._interrupted import Interrupted

TRACE = [
    "Traceback (most recent call last):",
    '  File "train.py", line 6, in <module>',
    "    model.fit(x)",
    "    ^^^^",
]
BETWEEN = ["", "During handling of the above exception, another exception occurred:", ""]
LOST = "stratax.errors.PeerLostError: /job:worker/task:1 raised KeyboardInterrupt: (last step 151)"


def shown(lines):
    interrupted = Interrupted()
    return [each for line in lines for each in interrupted.pass_on(line)] + list(interrupted.rest())


@pytest.mark.parametrize(
    "lines",
    [
        [*TRACE, "KeyboardInterrupt"],
        [*TRACE, "KeyboardInterrupt: stop"],
        [*TRACE, "KeyboardInterrupt", *BETWEEN, *TRACE, LOST],
        ["Its traceback:", *TRACE, "KeyboardInterrupt"],
    ],
)
def test_tracebacks_of_an_interruption_are_withheld(lines):
    assert shown(["epoch 1", *lines, "leaves with exit code 130"]) == ["epoch 1", "leaves with exit code 130"]


@pytest.mark.parametrize(
    "lines",
    [
        ["  an indented line", "", "During handling of nothing"],
        [*TRACE, "ValueError: KeyboardInterrupt is no number"],
        [*TRACE, "ValueError: 3", *BETWEEN, *TRACE, "TypeError: 4", "saved"],
        [*TRACE, "stratax.errors.PeerLostError: /job:worker/task:1 raised ValueError: 3"],
        TRACE,
    ],
)
def test_everything_else_is_shown(lines):
    assert shown(lines) == lines
