"""What a model scope is for those who find the one that is entered (v1 layer)."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final, Protocol

import keras

from stratax.base.typing import TensorLike
from stratax.tensorflow.v1._trace import Trace

if TYPE_CHECKING:
    from stratax.tensorflow.v1._derivatives import Derivatives
    from stratax.tensorflow.v1._host_features import TraceFeatures
    from stratax.tensorflow.v1._model_state import ModelState
    from stratax.tensorflow.v1._operation import Operation
    from stratax.tensorflow.v1._tensor_names import TensorNames
    from stratax.tensorflow.v1._variable_defaults import VariableScope

# The mode of a scope that sessions compute.
GRAPH: Final = "graph"


class Scope(Trace, Protocol):
    """A model scope, as functions of TensorFlow 1 see it: :class:`stratax.tensorflow.v1.ModelScope` says what it does.

    It has the names of what these functions use, so that they need not know the class, which stands above them.
    """

    mode: str
    state: "ModelState"
    seed: int | None
    variable_scope: "VariableScope"
    scope_counts: Counter[str]
    slot_path: Callable[[str, str, str], str]
    names: "TensorNames"
    features: "TraceFeatures"
    derivatives: "Derivatives"
    graph: Any

    @property
    def is_running(self) -> bool:
        """Whether what is assigned takes effect at once."""

    def operation(
        self,
        update: Callable[[], object] | None,
        *,
        name: str | None = None,
        inputs: Iterable["Operation"] = (),
        value: Callable[[], Any] | None = None,
    ) -> "Operation":
        """Add an operation, which runs behind those of the control dependencies that are entered."""

    def initializer(self, variables: Sequence[keras.Variable], name: str) -> "Operation":
        """Return the operation that gives variables their first values."""

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return what a function of tensors gives."""

    def operations(self) -> list["Operation"]:
        """Return the operations of this trace."""

    def depending_on(self, operations: list["Operation"] | None) -> AbstractContextManager[None]:
        """Have the operations of a block run behind others, and its reads see what those assign."""

    def is_in_effect(self, operation: "Operation") -> bool:
        """Return whether variables have what an operation gives them."""

    def naming(self, full_name: str) -> AbstractContextManager[None]:
        """Give the variable that is created in a block a full name."""

    def reusing(self, is_reusing: bool = True) -> AbstractContextManager[None]:
        """Have a name that this trace has used already mean the same variable, in a block."""

    def is_used(self, name: str) -> bool:
        """Return whether `get_variable` has made a variable of a full name in this trace."""

    def variable(self, name: str) -> keras.Variable:
        """Return the variable that `get_variable` has made for a full name."""

    def sharing(self, name: str, *, is_local: bool = False) -> AbstractContextManager[None]:
        """Give the variable that is created in a block a full name by which `get_variable` finds it."""

    def make_variable(
        self,
        name: str,
        shape: Sequence[int],
        dtype: object = "float32",
        initializer: Callable[..., Any] | str = "zeros",
        *,
        trainable: bool = False,
        aggregation: str = "none",
        synchronization: str = "auto",
    ) -> keras.Variable:
        """Return a variable by its full name, made if the model has none of the name yet."""

    def global_step(self) -> keras.Variable:
        """Return the global step."""

    def global_variables(self) -> list[keras.Variable]:
        """Return the variables that this trace has asked for and that are no local ones."""

    def trainable_variables(self) -> list[keras.Variable]:
        """Return those that this trace has asked for and that are trained."""

    def longest_of(self, lengths: TensorLike) -> int | None:
        """Return how long the longest of sequences is whose lengths are computed in this trace."""
