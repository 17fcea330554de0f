"""What happens once in a process: importing, and a program's first call. Each is measured in fresh processes."""

import json
import subprocess
import sys
import time
from typing import Any

from benchmarks import _measure

_IMPORT = """
import time, json, os
os.environ["KERAS_BACKEND"] = "jax"
started = time.perf_counter()
import jax, keras
before = time.perf_counter()
import stratax
print(json.dumps({"stratax": time.perf_counter() - before, "jax_and_keras": before - started}))
"""


def importing(plan: _measure.Plan) -> _measure.Figure:
    """The seconds that `import stratax` adds to importing JAX and Keras."""
    found = [_python("-c", _IMPORT) for _ in range(plan.processes)]
    base = _measure.spread([one["jax_and_keras"] for one in found]).value
    return _measure.spread([one["stratax"] for one in found], {"jax_and_keras_s": base})


def first_call(kind: str, steps: int, plan: _measure.Plan) -> _measure.Figure:
    """The first call of a training program, traced and compiled, against the same in JAX by hand."""
    sides: dict[str, list[float]] = {"stratax": [], "by_hand": []}
    for turn in range(plan.processes):
        for side in list(sides)[:: 1 if turn % 2 else -1]:
            sides[side].append(_python("-m", "benchmarks._once", side, kind, str(steps))["seconds"])
    return _measure.ratio(
        sides["stratax"], sides["by_hand"], unit="s", numerator="stratax", denominator="by_hand"
    )


def _python(*arguments: str) -> dict[str, float]:
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"A process that measures failed: {arguments}\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def _measure_first_call(side: str, kind: str, steps: int) -> float:
    import jax

    from benchmarks import _models
    from benchmarks._hand_written import HandWritten
    from benchmarks._with_stratax import CustomLoop

    data = _models.make_data(kind, steps)
    call: Any
    if side == "stratax":
        ours = CustomLoop(kind, steps, data)
        call = ours.dispatch_resident if steps == 1 else ours.dispatch
    else:
        theirs = HandWritten(kind, steps)
        batch = theirs.place(data.x, data.y)
        jax.block_until_ready(batch)
        call = lambda: theirs.dispatch(*batch)  # noqa: E731
    started = time.perf_counter()
    jax.block_until_ready(call())
    return time.perf_counter() - started


if __name__ == "__main__":
    print(json.dumps({"seconds": _measure_first_call(sys.argv[1], sys.argv[2], int(sys.argv[3]))}))
