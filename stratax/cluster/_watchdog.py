"""Judging from the signs of all tasks whether one of them is lost or stands still (cluster layer).

Pure functions: what to do about a verdict is decided elsewhere.
"""

import dataclasses

from stratax.cluster._phases import PATIENT

_WORTH_SAYING = 0.05
"""A silence in seconds that messages mention."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """How long what may take, in seconds.

    Attributes:
        silence: Without a sign of life from a task that is in a step, or that others wait for.
        patient_silence: The same for a task in any other phase, where one call may keep Python busy for long.
        step: In one step while another task stands still.
        leaving: In one step after another task has left the program.
    """

    silence: float = 7.0
    patient_silence: float = 30.0
    step: float = 600.0
    leaving: float = 3.0


@dataclasses.dataclass(kw_only=True, slots=True)
class Sign:
    """The last that is known of a task.

    Attributes:
        phase: What it was doing.
        step: The step that it was in, or None.
        last_step: The last step that it began, or None.
        age: How long it had been doing that, in seconds.
        silence: How long ago that was, in seconds.
        left: How long ago it left the program, in seconds; None where it has not.
        waits_for: Where it was waiting for the other tasks, in words; None where it was not.
    """

    phase: str = "idle"
    step: int | None = None
    last_step: int | None = None
    age: float = 0.0
    silence: float = 0.0
    left: float | None = None
    waits_for: str | None = None

    def describe(self) -> str:
        """Return the sign in words, for messages."""
        begun = "before its first step" if self.last_step is None else f"last step {self.last_step}"
        heard = f", heard of {self.silence:.1f} s before" if self.silence >= _WORTH_SAYING else ""
        doing = (
            f"phase '{self.phase}'"
            if self.waits_for is None
            else f"waiting for the others: {self.waits_for},"
        )
        return f"{begun}, {doing} for {self.age + self.silence:.0f} s{heard}"


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What is wrong with the cluster.

    Attributes:
        kind: ``"silent"``, ``"stalled"`` or ``"left"``.
        tasks: The numbers of the tasks at fault.
        reason: What they did, in words.
    """

    kind: str
    tasks: tuple[int, ...]
    reason: str


def judge(signs: list[Sign], limits: Limits) -> Verdict | None:
    """Find what is wrong, if anything is.

    Args:
        signs: The last sign of every task, in order.
        limits: The deadlines.

    Returns:
        The verdict; None where all is well.
    """
    # In this order: the last that is known of a silent task is old, so the checks of progress would blame it, or
    # another, for the wrong thing.
    return _silent(signs, limits) or _left(signs, limits) or _stalled(signs, limits)


def longest_silence(index: int, signs: list[Sign], limits: Limits) -> float:
    """Return how long a task may give no sign of life, in seconds.

    Args:
        index: The task's number.
        signs: The last sign of every task, in order.
        limits: The deadlines.
    """
    # Python is kept busy by one call for seconds now and then (an import, a large file), which hurts nobody as long
    # as nobody waits.
    waited_for = any(sign.phase == "step" and sign.left is None for sign in signs)
    return limits.silence if waited_for and signs[index].phase not in PATIENT else limits.patient_silence


def _silent(signs: list[Sign], limits: Limits) -> Verdict | None:
    for index, sign in enumerate(signs):
        if sign.left is None and sign.silence > longest_silence(index, signs, limits):
            return Verdict(
                kind="silent",
                tasks=(index,),
                reason=f"gave no sign of life for {sign.silence:.0f} s: its process is stopped or its host can't be "
                f"reached ({sign.describe()})",
            )
    return None


def _left(signs: list[Sign], limits: Limits) -> Verdict | None:
    gone = tuple(i for i, sign in enumerate(signs) if sign.left is not None and sign.left > limits.leaving)
    waits = any(_waits(sign, limits.leaving) for sign in signs)
    if not gone or not waits:
        return None
    return Verdict(kind="left", tasks=gone, reason=reason_of_leaving(signs[gone[0]], "training"))


def reason_of_leaving(sign: Sign, meanwhile: str) -> str:
    """Return in words that a task left too early.

    Args:
        sign: Its last.
        meanwhile: What the others were doing.
    """
    when = "before its first step" if sign.last_step is None else f"after step {sign.last_step}"
    return f"left the program {when} while others were {meanwhile}"


def _stalled(signs: list[Sign], limits: Limits) -> Verdict | None:
    here = list(enumerate(signs))
    waiting = [sign for sign in signs if _waits(sign, limits.step)]
    # A task that compiles or saves may take its time, and those that wait for it look as if they stood still.
    if not waiting or any(sign.phase in PATIENT or sign.left is not None for sign in signs):
        return None
    still = tuple(
        index for index, sign in here if sign.phase != "step" and sign.age + sign.silence > limits.step
    )
    moving = [index for index, sign in here if sign.age + sign.silence <= limits.step]
    # Some went on lately: whoever waits does so for them.
    if moving and not still:
        return None
    tasks = still or _behind(here)
    described = "; ".join(signs[index].describe() for index in tasks)
    return Verdict(
        kind="stalled",
        tasks=tasks,
        reason=f"made no progress for the {limits.step:g} s that a step may take ({described})",
    )


def _waits(sign: Sign, limit: float) -> bool:
    return sign.left is None and sign.phase == "step" and sign.age + sign.silence > limit


def _behind(here: list[tuple[int, Sign]]) -> tuple[int, ...]:
    """Return the tasks in the earliest step: all of them, where all are in the same."""
    steps = {index: -1 if sign.step is None else sign.step for index, sign in here}
    return tuple(index for index, step in steps.items() if step == min(steps.values()))
