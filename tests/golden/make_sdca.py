"""Writes sdca.npz: what TensorFlow 2.15's LinearSDCA makes of `sdca_cases`.

Run it with a Python that has TensorFlow 2.15: python -m tests.golden.make_sdca
"""

import pathlib
import tempfile

import numpy as np
import tensorflow as tf

from tests.golden import sdca_cases


def main():
    """Write the numbers; the table of examples is laid out otherwise here."""
    found = {}
    for name in sdca_cases.CASES:
        with tempfile.TemporaryDirectory() as folder:
            for key, value in sdca_cases.answers(tf, name, folder).items():
                if "HashTable" not in key:
                    found[f"{name}|{key}"] = np.asarray(value)
    np.savez_compressed(pathlib.Path(__file__).with_name("sdca.npz"), **found)


if __name__ == "__main__":
    main()
