"""Makes `v1.npz`: what TensorFlow 1's functions give for `v1_cases.py`. `python make_v1.py`, with TensorFlow.

The file in the checkout is of TensorFlow 2.15.1, the last one that has Estimator, on a CPU.
"""

import json
import pathlib

import numpy as np
import tensorflow.compat.v1 as tf
import v1_cases


def main() -> None:
    """Writes the numbers as JSON."""
    found = {}
    for make in (decays, losses):
        with tf.Graph().as_default(), tf.Session() as session:
            found |= {f"{make.__name__}|{key}": value for key, value in make(session)}
    for kind, make, cases in (
        ("optimizers", optimizer, v1_cases.OPTIMIZERS),
        ("sparse", sparse, v1_cases.SPARSE),
        ("averages", averages, v1_cases.AVERAGES),
    ):
        for key, case in cases.items():
            with tf.Graph().as_default(), tf.Session() as session:
                found |= {f"{kind}|{key}|{name}": value for name, value in make(session, case)}
    with tf.Graph().as_default(), tf.Session() as session:
        found |= {f"metrics|{key}": value for key, value in metrics(session)}
    # One array for all: each entry of such a file has a header that is longer than most of these.
    shapes = {key: np.shape(value) for key, value in found.items()}
    values = np.concatenate([np.ravel(value) for value in found.values()]).astype(np.float32)
    index = np.frombuffer(json.dumps(shapes).encode(), np.uint8)
    np.savez_compressed(pathlib.Path(__file__).with_name("v1.npz"), index=index, values=values)


def decays(session):
    """The learning rate of each case."""
    made = {key: getattr(tf.train, name)(**arguments) for key, (name, arguments) in v1_cases.DECAYS.items()}
    yield from session.run(made).items()


def losses(session):
    """The loss of each case, and the gradient of its sum."""
    made = {}
    for key, (name, arguments, operand) in v1_cases.LOSSES.items():
        variable = tf.constant(arguments[operand])
        loss = getattr(tf.losses, name)(**{**arguments, operand: variable})
        made[key] = loss
        made[f"{key}|gradient"] = tf.gradients(loss, variable)[0]
    yield from session.run(made).items()


def optimizer(session, case):
    """The two variables behind each step, and all there are at the end, by name."""
    name, arguments = case
    step = tf.train.get_or_create_global_step()
    variables = {key: tf.get_variable(key, initializer=value) for key, value in v1_cases.FIRST_VALUES.items()}
    given = {key: tf.placeholder(tf.float32, variable.shape) for key, variable in variables.items()}
    more = {"global_step": step} if name == "AdagradDAOptimizer" else {}
    made = getattr(tf.train, name)(**arguments, **more)
    pairs = [(given[key], variable) for key, variable in variables.items()]
    train = made.apply_gradients(pairs, global_step=step)
    session.run(tf.global_variables_initializer())
    steps = []
    for gradients in v1_cases.GRADIENTS:
        session.run(train, {given[key]: value for key, value in gradients.items()})
        steps.append(session.run(variables))
    for key in variables:
        yield key, np.stack([values[key] for values in steps])
    for variable in tf.global_variables():
        yield f"last|{variable.op.name}", session.run(variable)
    for slot in made.get_slot_names():
        yield f"slot|{slot}", session.run(made.get_slot(variables["bias"], slot))


def sparse(session, case):
    """A matrix whose rows are looked up, behind each step, and its slots at the end."""
    (name, arguments), which, look_up, change = case
    step = tf.train.get_or_create_global_step()
    table = tf.get_variable("table", initializer=v1_cases.SPARSE_TABLE)
    ids, weights = tf.placeholder(tf.int32, (3,)), tf.placeholder(tf.float32, (3, 2))
    more = {"global_step": step} if name == "AdagradDAOptimizer" else {}
    made = getattr(tf.train, name)(**arguments, **more)
    loss = tf.reduce_sum(look_up(tf, table, ids) * weights)
    pairs = [(change(tf, gradient), variable) for gradient, variable in made.compute_gradients(loss)]
    train = made.apply_gradients(pairs, global_step=step)
    session.run(tf.global_variables_initializer())
    steps = []
    for batch in v1_cases.SPARSE_BATCHES:
        session.run(train, {ids: batch[which], weights: batch["weights"]})
        steps.append(session.run(table))
    yield "table", np.stack(steps)
    for slot in made.get_slot_names():
        yield f"slot|{slot}", session.run(made.get_slot(table, slot))


def averages(session, case):
    """All there are behind each step, by name: of a variable that changes, and of a tensor."""
    step = tf.train.get_or_create_global_step()
    variable = tf.get_variable("bias", initializer=v1_cases.FIRST_VALUES["bias"])
    given = tf.placeholder(tf.float32, variable.shape)
    tensor = tf.identity(given, name="given")
    moving = tf.train.ExponentialMovingAverage(
        **{**case, **({"num_updates": step} if "num_updates" in case else {})}
    )
    with tf.control_dependencies([variable.assign_sub(given)]):
        update = moving.apply([variable, tensor])
    with tf.control_dependencies([update]):
        update = step.assign_add(1)
    session.run(tf.global_variables_initializer())
    steps = []
    for gradients in v1_cases.GRADIENTS:
        session.run(update, {given: gradients["bias"]})
        steps.append(session.run({each.op.name: each for each in tf.global_variables()}))
    for key in steps[0]:
        yield key, np.stack([values[key] for values in steps])


def metrics(session):
    """The value before the first batch and behind each, and what the update gives for each."""
    made = {}
    for key, (name, static, batches) in v1_cases.METRICS.items():
        given = {
            argument: tf.placeholder(np.asarray(value).dtype, _shape([batch[argument] for batch in batches]))
            for argument, value in batches[0].items()
        }
        made[key] = batches, given, *getattr(tf.metrics, name)(**given, **static)
    session.run(tf.local_variables_initializer())
    # All metrics at once: what a session is asked for anew costs it a second.
    value_ops = {key: value for key, (_, _, value, _) in made.items()}
    values, updates = [session.run(value_ops)], []
    for number in range(3):
        feeds, update_ops = {}, {}
        for key, (batches, given, _, update) in made.items():
            batch = batches[number % len(batches)]
            feeds |= {given[argument]: batch[argument] for argument in given}
            update_ops[key] = update
        updates.append(session.run(update_ops, feeds))
        values.append(session.run(value_ops))
    for key in made:
        yield key, np.stack([each[key] for each in values])
        yield f"{key}|update", np.stack([each[key] for each in updates])


def _shape(arrays):
    shapes = [np.shape(array) for array in arrays]
    return [sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*shapes, strict=True)]


if __name__ == "__main__":
    main()
