"""A loop that calls hooks as an Estimator does, without a model: what is fetched are names of scalars of a step."""

import jax
import numpy as np

from stratax.tensorflow.estimator.hooks import SessionRunContext, SessionRunValues


class Session:
    """What hooks know of the loop."""

    def __init__(self, start=0, is_chief=True, model_dir="", on_save=None):
        self.global_step = start
        self.steps = 0
        self.is_chief = is_chief
        self.model_dir = model_dir
        self.saver = None
        self.saved = []
        self.variables = {}
        self._on_save = on_save

    def save(self, prefix=None):
        path = f"{prefix}-{self.global_step}"
        self.saved.append(path)
        return path

    def run(self, fetches, feed_dict=None):
        return jax.tree.map(self.variables.__getitem__, fetches)


def run(hooks, dispatches, steps=1, session=None, tensors=None, on_dispatch=lambda session: None):
    """Calls hooks around so many dispatches; returns the session.

    Args:
        hooks: The hooks.
        dispatches: How many dispatches, unless a hook stops it.
        steps: How many steps each has.
        session: The session to begin with.
        tensors: By name, a function from a step's number (from 1) to its value.
        on_dispatch: Called behind each dispatch, before the hooks.
    """
    session = session or Session()
    tensors = tensors or {}
    for hook in hooks:
        hook.begin()
    for hook in hooks:
        hook.after_create_session(session, None)
    for _ in range(dispatches):
        context = SessionRunContext(None, session)
        session.steps = steps
        asked = [hook.before_run(context) for hook in hooks]
        numbers = range(session.global_step + 1, session.global_step + steps + 1)
        session.global_step, session.steps = session.global_step + steps, steps
        on_dispatch(session)
        for hook, arguments in zip(hooks, asked, strict=True):
            each = None if arguments is None else stacked(arguments.fetches, tensors, numbers)
            last = jax.tree.map(lambda values: values[-1], each)
            hook.after_run(context, SessionRunValues(last, None, None, each))
        if context.stop_requested:
            break
    for hook in hooks:
        hook.end(session)
    return session


def stacked(fetches, tensors, numbers):
    """The values of the steps with these numbers, in the structure of what is fetched."""
    return jax.tree.map(lambda name: np.stack([np.asarray(tensors[name](k)) for k in numbers]), fetches)
