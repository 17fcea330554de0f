"""The names of a `model_fn`'s tensors and operations, below the name scopes that are entered (v1 layer)."""

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from stratax.base.typing import TensorLike
from stratax.seams import keras as seam
from stratax.tensorflow.v1 import _names


class TensorNames:
    """The names of one trace.

    Attributes:
        prefix: The name scopes that are entered, with a slash behind each.
        input_shapes: The shapes of features and labels.
    """

    def __init__(self) -> None:
        self.prefix = ""
        self._names = _names.UniqueNames()
        self.input_shapes: list[tuple[int, ...]] = []
        self._tensors: dict[str, Any] = {}
        # By id, with the tensor itself.
        self._tensor_names: dict[int, tuple[Any, str]] = {}
        # Those that nobody gave.
        self._own_names: set[str] = set()

    def copy(self) -> "TensorNames":
        """Return names that go on from these, of which no tensor has one yet."""
        made = TensorNames()
        made.prefix, made._names = self.prefix, self._names.copy()
        return made

    def count_like(self, names: "TensorNames") -> None:
        """Count as given what others have given that went on from these."""
        self._names = names._names.copy()

    def take(self, name: str) -> None:
        """Have a full name be given."""
        self._names.take(name)

    @property
    def path(self) -> str:
        """The name scopes that are entered, with slashes between them."""
        return self.prefix.rstrip("/")

    def unique(self, name: str) -> str:
        """Return the full name of an operation, below the name scopes, that no other of this trace has: `a`, `a_1`."""
        return self._names.unique(f"{self.prefix}{name}")

    @contextlib.contextmanager
    def scope(self, name: str) -> Iterator[str]:
        """Have the names of operations in a block begin with a name of its own; yields it with a slash behind it."""
        before = self.prefix
        # A name with a slash at its end is a whole one, which is entered again.
        if name.endswith("/"):
            self.prefix = name
        else:
            # Without a name it leads out of all scopes.
            self.prefix = f"{self.unique(name)}/" if name else ""
        try:
            yield self.prefix
        finally:
            self.prefix = before

    @contextlib.contextmanager
    def below(self, path: str) -> Iterator[None]:
        """Have what Keras creates in a block, and operations, be named below a variable scope."""
        with contextlib.ExitStack() as stack:
            stack.enter_context(seam.at_path(path.split("/")))
            stack.enter_context(self.scope(f"{path}/"))
            yield

    def give(self, name: str, tensor: TensorLike) -> str:
        """Give a tensor a name by which hooks fetch it; return the name, made unique."""
        name = self.unique(name)
        self._note_name(name, tensor)
        return name

    def _note_name(self, name: str, tensor: TensorLike) -> None:
        self._tensors[name] = tensor
        # The first one stays.
        self._tensor_names.setdefault(id(tensor), (tensor, name))

    def give_inputs(self, tensors: Iterable[Any]) -> None:
        """Give features and labels, in the order of their structure, the names that TensorFlow's have."""
        tensors = list(tensors)
        self.input_shapes = [tuple(getattr(tensor, "shape", None) or ()) for tensor in tensors]
        # TensorFlow's operation that takes an element of a dataset; all but the first are its further outputs.
        operation = self.unique("IteratorGetNext")
        for index, tensor in enumerate(tensors):
            self._note_name(f"{operation}:{index}" if index else operation, tensor)

    def of(self, tensor: TensorLike) -> str:
        """Return the name of a tensor, without the number of a first output; it gets one if it has none."""
        found = self._tensor_names.get(id(tensor))
        # Ids come again: the object says whether it is the one that was noted.
        if found is None or found[0] is not tensor:
            name = self.unique("Tensor")
            self._tensor_names[id(tensor)] = found = tensor, name
            self._tensors[name] = tensor
            self._own_names.add(name)
        return found[1]

    def is_given(self, name: str) -> bool:
        """Return whether the `model_fn` gave a tensor this name, which is in every trace of it then."""
        return name in self._tensors and name not in self._own_names

    def has(self, tensor: TensorLike) -> bool:
        """Return whether a tensor has a name."""
        return id(tensor) in self._tensor_names

    def tensors(self) -> dict[str, Any]:
        """Return the tensors that have names."""
        return dict(self._tensors)
