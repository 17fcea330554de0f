"""Compare the answers of SavedModels with TensorFlow's: `python -m tests.golden.saved_models_cases FOLDER [REGEX]`.

The folder is what `make_saved_models.py` has written.
"""

import pathlib
import re
import sys
import time

import numpy as np

import stratax.tf as tf

TOLERANCE = 1e-5


def answers_of(folder):
    """Return the answers of TensorFlow, by signature: inputs and outputs by name."""
    with np.load(folder / "answers.npz", allow_pickle=True) as found:
        made = {}
        for key in found:
            signature, kind, name = key.split("/", 2)
            made.setdefault(signature, {"in": {}, "out": {}})[kind][name] = found[key]
    return made


def differences(expected, received):
    """Return what differs between outputs, as text; nothing for equal ones."""
    found = []
    for name, want in expected.items():
        have = np.asarray(received[name])
        if want.shape != have.shape:
            found.append(f"{name}: shape {have.shape} instead of {want.shape}")
        elif want.dtype.kind in "OSU":
            if want.reshape(-1).tolist() != have.reshape(-1).tolist():
                found.append(f"{name}: {have} instead of {want}")
        else:
            wide = np.complex128 if want.dtype.kind == "c" else np.float64
            want, have = want.astype(wide), have.astype(wide)
            scale = max(1.0, np.max(np.abs(want[np.isfinite(want)]), initial=0.0))
            if not np.allclose(have, want, rtol=TOLERANCE, atol=TOLERANCE * scale, equal_nan=True):
                found.append(f"{name}: off by {np.nanmax(np.abs(have - want))}, of {scale}")
    return found


def compare(folder):
    """Return what differs, and how long loading, the first answers and the next ones took."""
    begin = time.perf_counter()
    loaded = tf.saved_model.load(str(folder / "model"))
    times = [time.perf_counter() - begin]
    cases = {name: each for name, each in answers_of(folder).items() if name != "keras"}
    for _ in range(2):
        begin = time.perf_counter()
        received = {name: loaded.signatures[name](**each["in"]) for name, each in cases.items()}
        times.append(time.perf_counter() - begin)
    return [line for name, each in cases.items() for line in differences(each["out"], received[name])], times


def main():
    root, pattern = pathlib.Path(sys.argv[1]), re.compile(sys.argv[2] if len(sys.argv) > 2 else "")
    counts = {"equal": 0, "different": 0, "refused": 0}
    for folder in sorted(root.iterdir()):
        if not (folder / "answers.npz").exists() or not pattern.search(folder.name):
            continue
        try:
            found, times = compare(folder)
            said = "; ".join(found) or "load {:.2f} s, first {:.2f} s, next {:.4f} s".format(*times)
            kind = "different" if found else "equal"
        except Exception as error:
            kind, said = "refused", f"{type(error).__name__}: {str(error)[:300]}"
        counts[kind] += 1
        print(kind, folder.name, said, flush=True)
    print(counts)


if __name__ == "__main__":
    main()
