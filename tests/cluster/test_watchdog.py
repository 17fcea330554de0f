"""Who is at fault, judged by the signs of all tasks."""

import pytest

from stratax.cluster._watchdog import Limits, Sign, judge

LIMITS = Limits(silence=8, patient_silence=30, step=60, leaving=3)


def sign(phase="step", step=8, last_step=8, age=0.1, silence=0.1, left=None, waits_for=None):
    return Sign(
        phase=phase, step=step, last_step=last_step, age=age, silence=silence, left=left, waits_for=waits_for
    )


IDLE = {"phase": "idle", "step": None, "last_step": 7}


@pytest.mark.parametrize(
    "signs",
    [
        [sign(), sign(step=9)],
        [sign(age=59), sign(age=59)],
        [sign(age=1000), sign("compiling", None, age=1000)],
        [sign(age=1000), sign("evaluating", None, age=1000)],
        [sign(age=1000), sign("saving", None, age=1000, silence=20)],
        [sign(**IDLE, age=1000), sign(**IDLE, age=1000)],
        [sign(**IDLE, silence=20), sign(**IDLE)],
        [sign(age=1000), sign(**IDLE, age=1)],
        [sign(**IDLE, age=100), sign(**IDLE, left=1000, silence=1000)],
        [sign(age=2.9), sign(**IDLE, left=2.9)],
    ],
)
def test_all_is_well(signs):
    assert judge(signs, LIMITS) is None


@pytest.mark.parametrize(
    ("signs", "kind", "tasks", "reason"),
    [
        ([sign(), sign(silence=9)], "silent", (1,), "no sign of life for 9 s.*last step 8"),
        ([sign(), sign(**IDLE, silence=9)], "silent", (1,), "last step 7"),
        ([sign(**IDLE, silence=31), sign(**IDLE)], "silent", (0,), "31 s"),
        ([sign(), sign("saving", silence=31)], "silent", (1,), "phase 'saving'"),
        (
            [sign(age=61), sign(**IDLE, age=61)],
            "stalled",
            (1,),
            "60 s that a step may take .last step 7, phase 'idle'",
        ),
        ([sign(age=61), sign("input", None, 7, age=70)], "stalled", (1,), "phase 'input'"),
        ([sign(age=61), sign(step=7, last_step=7, age=61)], "stalled", (1,), "last step 7"),
        ([sign(age=61), sign(age=61)], "stalled", (0, 1), "last step 8.*last step 8"),
        (
            [sign(age=61, waits_for="'restore' of a checkpoint"), sign(age=61)],
            "stalled",
            (0, 1),
            "last step 8, waiting for the others: 'restore' of a checkpoint, for 61 s",
        ),
        ([sign(age=4), sign(**IDLE, left=4)], "left", (1,), "left the program after step 7"),
        ([sign(age=1000), sign("idle", None, None, left=4)], "left", (1,), "before its first step"),
    ],
)
def test_who_is_at_fault(signs, kind, tasks, reason):
    import re

    verdict = judge(signs, LIMITS)
    assert verdict is not None
    assert (verdict.kind, verdict.tasks) == (kind, tasks)
    assert re.search(reason, verdict.reason), verdict.reason
