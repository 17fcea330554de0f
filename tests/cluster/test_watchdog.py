"""Who is at fault, judged by the heartbeats of all tasks."""

import pytest

from stratax.cluster._watchdog import Heartbeat, Limits, judge

LIMITS = Limits(silence=8, patient_silence=30, step=60, leaving=3)


def heartbeat(phase="step", step=8, last_step=8, age=0.1, silence=0.1, left=None, waits_for=None):
    return Heartbeat(
        phase=phase, step=step, last_step=last_step, age=age, silence=silence, left=left, waits_for=waits_for
    )


IDLE = {"phase": "idle", "step": None, "last_step": 7}


@pytest.mark.parametrize(
    "heartbeats",
    [
        [heartbeat(), heartbeat(step=9)],
        [heartbeat(age=59), heartbeat(age=59)],
        [heartbeat(age=1000), heartbeat("compiling", None, age=1000)],
        [heartbeat(age=1000), heartbeat("evaluating", None, age=1000)],
        [heartbeat(age=1000), heartbeat("saving", None, age=1000, silence=20)],
        [heartbeat(**IDLE, age=1000), heartbeat(**IDLE, age=1000)],
        [heartbeat(**IDLE, silence=20), heartbeat(**IDLE)],
        [heartbeat(age=1000), heartbeat(**IDLE, age=1)],
        [heartbeat(**IDLE, age=100), heartbeat(**IDLE, left=1000, silence=1000)],
        [heartbeat(age=2.9), heartbeat(**IDLE, left=2.9)],
    ],
)
def test_all_is_well(heartbeats):
    assert judge(heartbeats, LIMITS) is None


@pytest.mark.parametrize(
    ("heartbeats", "kind", "tasks", "reason"),
    [
        ([heartbeat(), heartbeat(silence=9)], "silent", (1,), "no heartbeat for 9 s.*last step 8"),
        ([heartbeat(), heartbeat(**IDLE, silence=9)], "silent", (1,), "last step 7"),
        ([heartbeat(**IDLE, silence=31), heartbeat(**IDLE)], "silent", (0,), "31 s"),
        ([heartbeat(), heartbeat("saving", silence=31)], "silent", (1,), "phase 'saving'"),
        (
            [heartbeat(age=61), heartbeat(**IDLE, age=61)],
            "stalled",
            (1,),
            "60 s that a step may take .last step 7, phase 'idle'",
        ),
        ([heartbeat(age=61), heartbeat("input", None, 7, age=70)], "stalled", (1,), "phase 'input'"),
        ([heartbeat(age=61), heartbeat(step=7, last_step=7, age=61)], "stalled", (1,), "last step 7"),
        ([heartbeat(age=61), heartbeat(age=61)], "stalled", (0, 1), "last step 8.*last step 8"),
        (
            [heartbeat(age=61, waits_for="'restore' of a checkpoint"), heartbeat(age=61)],
            "stalled",
            (0, 1),
            "last step 8, waiting for the others: 'restore' of a checkpoint, for 61 s",
        ),
        ([heartbeat(age=4), heartbeat(**IDLE, left=4)], "left", (1,), "left the program after step 7"),
        ([heartbeat(age=1000), heartbeat("idle", None, None, left=4)], "left", (1,), "before its first step"),
    ],
)
def test_who_is_at_fault(heartbeats, kind, tasks, reason):
    import re

    verdict = judge(heartbeats, LIMITS)
    assert verdict is not None
    assert (verdict.kind, verdict.tasks) == (kind, tasks)
    assert re.search(reason, verdict.reason), verdict.reason
