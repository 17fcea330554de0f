"""Judging from the heartbeats of all tasks whether one of them is lost or stands still (cluster layer).

Pure functions: what to do about a verdict is decided elsewhere.
"""

import dataclasses

from stratax.cluster._phases import PATIENT

# A silence in seconds that messages mention.
_WORTH_SAYING = 0.05


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """How long what may take, in seconds.

    Attributes:
        silence: Without a heartbeat from a task that is in a step, or that others wait for.
        patient_silence: The same for a task in any other phase, where one call may keep Python busy for long.
        step: In one step while another task stands still.
        leaving: In one step after another task has left the program.
    """

    silence: float = 7.0
    patient_silence: float = 30.0
    step: float = 600.0
    leaving: float = 3.0


@dataclasses.dataclass(kw_only=True, slots=True)
class Heartbeat:
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
        """Return the heartbeat in words, for messages."""
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


def judge(heartbeats: list[Heartbeat], limits: Limits) -> Verdict | None:
    """Find what is wrong, if anything is.

    Args:
        heartbeats: The last heartbeat of every task, in order.
        limits: The deadlines.

    Returns:
        The verdict; None where all is well.
    """
    # In this order: the last that is known of a silent task is old, so the checks of progress would blame it, or
    # another, for the wrong thing.
    return _silent(heartbeats, limits) or _find_left(heartbeats, limits) or _find_stalled(heartbeats, limits)


def longest_silence(index: int, heartbeats: list[Heartbeat], limits: Limits) -> float:
    """Return how long a task may send no heartbeat, in seconds.

    Args:
        index: The task's number.
        heartbeats: The last heartbeat of every task, in order.
        limits: The deadlines.
    """
    # Python is kept busy by one call for seconds now and then (an import, a large file), which hurts nobody as long
    # as nobody waits.
    waited_for = any(heartbeat.phase == "step" and heartbeat.left is None for heartbeat in heartbeats)
    return limits.silence if waited_for and heartbeats[index].phase not in PATIENT else limits.patient_silence


def _silent(heartbeats: list[Heartbeat], limits: Limits) -> Verdict | None:
    for index, heartbeat in enumerate(heartbeats):
        if heartbeat.left is None and heartbeat.silence > longest_silence(index, heartbeats, limits):
            return Verdict(
                kind="silent",
                tasks=(index,),
                reason=f"sent no heartbeat for {heartbeat.silence:.0f} s: its process is stopped or its host can't be "
                f"reached ({heartbeat.describe()})",
            )
    return None


def _find_left(heartbeats: list[Heartbeat], limits: Limits) -> Verdict | None:
    # Leaving is no fault as such: tasks come to their ends at slightly different times.
    gone = tuple(
        i
        for i, heartbeat in enumerate(heartbeats)
        if heartbeat.left is not None and heartbeat.left > limits.leaving
    )
    waits = any(_waits(heartbeat, limits.leaving) for heartbeat in heartbeats)
    if not gone or not waits:
        return None
    return Verdict(kind="left", tasks=gone, reason=reason_of_leaving(heartbeats[gone[0]], "training"))


def reason_of_leaving(heartbeat: Heartbeat, meanwhile: str) -> str:
    """Return in words that a task left too early.

    Args:
        heartbeat: Its last.
        meanwhile: What the others were doing.
    """
    when = "before its first step" if heartbeat.last_step is None else f"after step {heartbeat.last_step}"
    return f"left the program {when} while others were {meanwhile}"


def _find_stalled(heartbeats: list[Heartbeat], limits: Limits) -> Verdict | None:
    here = list(enumerate(heartbeats))
    waiting = [heartbeat for heartbeat in heartbeats if _waits(heartbeat, limits.step)]
    # A task that compiles or saves may take its time, and those that wait for it look as if they stood still.
    if not waiting or any(
        heartbeat.phase in PATIENT or heartbeat.left is not None for heartbeat in heartbeats
    ):
        return None
    still = tuple(
        index
        for index, heartbeat in here
        # Outside of a step a task waits for nobody, so its long phase is its own.
        if heartbeat.phase != "step" and heartbeat.age + heartbeat.silence > limits.step
    )
    moving = [index for index, heartbeat in here if heartbeat.age + heartbeat.silence <= limits.step]
    # Some went on lately: whoever waits does so for them.
    if moving and not still:
        return None
    # All are inside a step: those in the earliest one hold up the others.
    tasks = still or _behind(here)
    described = "; ".join(heartbeats[index].describe() for index in tasks)
    return Verdict(
        kind="stalled",
        tasks=tasks,
        reason=f"made no progress for the {limits.step:g} s that a step may take ({described})",
    )


def _waits(heartbeat: Heartbeat, limit: float) -> bool:
    return heartbeat.left is None and heartbeat.phase == "step" and heartbeat.age + heartbeat.silence > limit


def _behind(here: list[tuple[int, Heartbeat]]) -> tuple[int, ...]:
    """Return the tasks in the earliest step: all of them, where all are in the same."""
    steps = {index: -1 if heartbeat.step is None else heartbeat.step for index, heartbeat in here}
    return tuple(index for index, step in steps.items() if step == min(steps.values()))
