"""Writes recurrent.npz: what TensorFlow 1.15 makes of `recurrent_cases`.

Run it with a Python that has TensorFlow 1.15 with contrib: python -m tests.golden.make_recurrent
"""

import pathlib

import numpy as np
import tensorflow as tf

from tests.golden import recurrent_cases


def main():
    """Write the numbers, the gradients and the variables' names."""
    found = {}
    for group, make in recurrent_cases.GROUPS.items():
        for case in make(tf):
            tf.reset_default_graph()
            with tf.Session() as session:
                x, lengths = tf.constant(recurrent_cases.X), tf.constant(recurrent_cases.LENGTHS)
                results, gradients = recurrent_cases.body(tf, case, x, lengths)
                session.run(tf.global_variables_initializer())
                session.run(tf.tables_initializer())
                gradients = [
                    tf.zeros([]) if each is None else tf.convert_to_tensor(each) for each in gradients
                ]
                numbers = session.run(results + gradients)
                names = recurrent_cases.names_of(tf.global_variables())
            place = f"{group}.{case.__name__}"
            found[f"{place}|names"] = np.array(names, "S")
            for kind, arrays in (("result", numbers[: len(results)]), ("gradient", numbers[len(results) :])):
                found.update({f"{place}|{kind}|{number}": array for number, array in enumerate(arrays)})
    np.savez_compressed(str(pathlib.Path(__file__).with_name("recurrent.npz")), **found)


if __name__ == "__main__":
    main()
