"""`tf.Tensor`, the class that programs ask for: what has a tensor's methods, wherever its values are (ops layer)."""

import sys
from typing import Any

from stratax.base.recording import RECORDER
from stratax.data.elements import Composite, TensorMethods


class TensorSymbol:
    """What stands for a tensor that a graph computes later."""

    __slots__ = ()


class _TensorClass(type):
    """Has as instances what is a tensor in a program of TensorFlow's."""

    def __instancecheck__(cls, instance: object) -> bool:
        if cls is not Tensor:
            return type.__instancecheck__(cls, instance)
        if cls.__subclasscheck__(type(instance)) or isinstance(instance, _jax_arrays()):
            return True
        # In an input_fn, and while an export is traced.
        recorder = RECORDER.get()
        return recorder is not None and recorder.is_value(instance) and not isinstance(instance, Composite)

    def __subclasscheck__(cls, subclass: type) -> bool:
        if cls is not Tensor or type.__subclasscheck__(cls, subclass):
            return type.__subclasscheck__(cls, subclass)
        return issubclass(subclass, (TensorMethods, TensorSymbol, *_jax_arrays()))

    def __getattr__(cls, name: str) -> Any:
        # What programs call by the class, such as `tf.Tensor.__add__`, JAX' arrays have.
        import jax

        return getattr(jax.Array, name)


def _jax_arrays() -> tuple[type, ...]:
    """Return JAX' class of arrays; without JAX, which pipelines do not import, there are none."""
    if "jax" not in sys.modules:
        return ()
    import jax

    return (jax.Array,)


class Tensor(metaclass=_TensorClass):
    """The class of `jax.Array`s, of a Dataset's elements and of what `tf` computes on the host, as `tf.Tensor`.

    What graphs and `input_fn`s compute later is one, too.
    It is for `isinstance`, `issubclass` and annotations; `tf.constant` makes tensors. Variables, NumPy's own arrays and
    the symbolic tensors of Keras are none.
    """

    def __new__(cls, *args: object, **kwargs: object) -> Any:
        """Raise, as TensorFlow and JAX do.

        Raises:
            TypeError: Always.
        """
        raise TypeError("A tensor is made by functions, and not by its class. Use tf.constant(value).")
