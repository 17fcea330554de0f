"""`Scaffold`: how the variables of a `model_fn` begin and how they are saved (estimator layer)."""

from collections.abc import Callable
from typing import Any

from stratax import errors
from stratax.base.shown import shown
from stratax.tensorflow.graph import find_default
from stratax.tensorflow.v1 import (
    Operation,
    get_collection,
    global_variables_initializer,
    group,
    local_variables_initializer,
    tables_initializer,
)
from stratax.tensorflow.v1.summary import merge_all
from stratax.tensorflow.v1.train import Saver


class Scaffold:
    """Says how variables begin and how they are saved, as `tf.compat.v1.train.Scaffold`.

    Args:
        init_op: Must do nothing: variables have their first values once they are there.
        init_feed_dict: Must be None or empty.
        init_fn: Called as `init_fn(scaffold, session)` where no checkpoint is read, before the first step, with the
            variables' first values in place. It may give them others, with `Saver.restore`, `variable.load` or
            `variable.assign`; all workers call it, and have to give the same.
        ready_op: Ignored: variables are always ready.
        ready_for_local_init_op: Ignored.
        local_init_op: Must do nothing, as `init_op`.
        summary_op: What the Estimator writes every `save_summary_steps`, instead of all summaries of the model.
        saver: A `Saver`, which says which variables checkpoints hold, under which names, and how many are kept.
        copy_from_scaffold: A Scaffold whose parts are taken where others are not given.
        local_init_feed_dict: Must be None or empty.

    Attributes:
        init_op: See there, as the others.

    Raises:
        BadArgumentError: If an operation would do something, or values are fed.
        BadTypeError: If `saver` or `copy_from_scaffold` is none, or `init_fn` no function.
    """

    def __init__(
        self,
        init_op: object = None,
        init_feed_dict: object = None,
        init_fn: Callable[["Scaffold", Any], Any] | None = None,
        ready_op: object = None,
        ready_for_local_init_op: object = None,
        local_init_op: object = None,
        summary_op: object = None,
        saver: object = None,
        copy_from_scaffold: "Scaffold | None" = None,
        local_init_feed_dict: object = None,
    ) -> None:
        given: dict[str, Any] = {
            "init_op": init_op,
            "init_feed_dict": init_feed_dict,
            "user_init_fn": init_fn,
            "ready_op": ready_op,
            "ready_for_local_init_op": ready_for_local_init_op,
            "local_init_op": local_init_op,
            "local_init_feed_dict": local_init_feed_dict,
            "summary_op": summary_op,
            "saver": saver,
        }
        if copy_from_scaffold is not None:
            if not isinstance(copy_from_scaffold, Scaffold):
                raise errors.BadTypeError(
                    "copy_from_scaffold is not a Scaffold instance. Received: "
                    f"copy_from_scaffold={shown(copy_from_scaffold)}."
                )
            others = vars(copy_from_scaffold)
            given = {name: others[name] if value is None else value for name, value in given.items()}
        _check(given)
        self.init_op = given["init_op"]
        self.init_feed_dict = given["init_feed_dict"]
        self.ready_op = given["ready_op"]
        self.ready_for_local_init_op = given["ready_for_local_init_op"]
        self.local_init_op = given["local_init_op"]
        self.local_init_feed_dict = given["local_init_feed_dict"]
        self.summary_op = given["summary_op"]
        self.saver: Saver | None = given["saver"]
        # The function that was given; a copy calls it with itself.
        self.user_init_fn: Callable[[Scaffold, Any], Any] | None = given["user_init_fn"]

    @property
    def init_fn(self) -> Callable[[Any], Any] | None:
        """The function of a session that gives variables their first values; None for none."""
        function = self.user_init_fn
        return None if function is None else lambda session: function(self, session)

    def finalize(self) -> "Scaffold":
        """Return this Scaffold; where a graph is built, with the operations of it that were not given."""
        if find_default() is not None:
            if self.init_op is None:
                self.init_op = global_variables_initializer()
            if self.local_init_op is None:
                self.local_init_op = group(local_variables_initializer(), tables_initializer())
            if self.summary_op is None:
                self.summary_op = merge_all()
            if self.saver is None and get_collection("variables"):
                self.saver = Saver()
        return self


def _check(given: dict[str, Any]) -> None:
    if given["saver"] is not None and not isinstance(given["saver"], Saver):
        raise errors.BadTypeError(
            f"A Scaffold's saver must be a tf.compat.v1.train.Saver. Received: saver={shown(given['saver'])}."
        )
    if given["user_init_fn"] is not None and not callable(given["user_init_fn"]):
        raise errors.BadTypeError(
            f"init_fn must be a function of a Scaffold and a session. Received: init_fn={shown(given['user_init_fn'])}."
        )
    for name in ("init_feed_dict", "local_init_feed_dict"):
        if given[name]:
            raise errors.BadArgumentError(
                f"Nothing is fed here, as there are no placeholders. Expected: {name}=None. Received: "
                f"{name}={shown(given[name])}. Give variables their values in init_fn."
            )
    for name in ("init_op", "local_init_op"):
        operation = given[name]
        if operation is not None and not (isinstance(operation, Operation) and operation.does_nothing):
            raise errors.BadArgumentError(
                f"{name} would do something, and no operation is run before the first step. Expected: None, or "
                "initializers of variables and tables, which have nothing to do. Received: "
                f"{name}={shown(operation)}. Give variables their values in init_fn, or with their initializers."
            )
