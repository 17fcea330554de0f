"""Recurrent nets, beside what TensorFlow 1.15 makes of them."""

import pathlib

import numpy as np

import stratax.tf as tf
from tests.golden import recurrent_cases
from tests.tensorflow.v1.steps import Step

GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "recurrent.npz"


def names_of_cases(group):
    """Return the names of a group's cases."""
    return [case.__name__ for case in recurrent_cases.GROUPS[group](_Names())]


def check(group, name, tolerance=1e-5):
    """Compare a case's numbers, gradients and names of variables with TensorFlow's."""
    golden = np.load(GOLDEN)
    case = {each.__name__: each for each in recurrent_cases.GROUPS[group](_Names())}[name]
    place = f"{group}.{name}"
    names = []

    def body(scope, x, lengths):
        results, gradients = recurrent_cases.body(_Names(), case, x, lengths)
        names[:] = recurrent_cases.names_of(scope.global_variables())
        return results, gradients

    results, gradients = Step(body)(recurrent_cases.X, recurrent_cases.LENGTHS)
    assert names == [each.decode() for each in golden[f"{place}|names"]]
    for kind, found in (("result", results), ("gradient", gradients)):
        wanted = [key for key in golden if key.startswith(f"{place}|{kind}|")]
        assert len(found) == len(wanted)
        for number, array in enumerate(found):
            want = golden[f"{place}|{kind}|{number}"]
            given = np.zeros(()) if array is None else np.asarray(array)
            assert given.shape == want.shape, (kind, number)
            np.testing.assert_allclose(
                given, want, atol=tolerance, rtol=tolerance, err_msg=f"{kind} {number}"
            )


class _Names:
    """`tf` as TensorFlow 1's: with `contrib`."""

    def __getattr__(self, name):
        return tf.contrib if name == "contrib" else getattr(tf.compat.v1, name)
