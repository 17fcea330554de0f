"""TensorFlow 1's canned models: TensorFlow 2's, with defaults, names and an argument of their own (estimator layer)."""

import inspect
import re
from typing import Any

from stratax.tensorflow import v1
from stratax.tensorflow.estimator.canned import _baseline, _combined, _dnn, _linear
from stratax.tensorflow.ops.calls.described import bind, describe, docstring, parameter

# Where the argument that is ignored stands: so many places behind `config`.
_IGNORED = {"input_layer_partitioner": 0, "partitioner": 1}
_DESCRIPTIONS = {
    "head": "The head, of those that functions of `tf.contrib.estimator` give or of `tf.estimator`'s.",
    **dict.fromkeys(_IGNORED, "Ignored: a strategy places variables."),
}
_ENTRY = re.compile(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)


# The constructors of TensorFlow 2's classes call that of `Estimator` by its name, and so serve these classes as well.
def _make_first(second: type, ignored: str | None = None, **descriptions: str) -> Any:
    """Make the class of TensorFlow 1 that has the name of one of TensorFlow 2.

    Args:
        second: The class of TensorFlow 2, without a base that looks for it.
        ignored: An argument that TensorFlow 1 has besides.
        descriptions: Descriptions of arguments, where they are others.
    """
    own = list(inspect.signature(second.__init__).parameters.values())  # type: ignore[misc]
    arguments = [
        each.replace(default=v1.losses.Reduction.SUM) if each.name == "loss_reduction" else each
        for each in own
    ]
    if ignored is not None:
        config = [each.name for each in arguments].index("config")
        arguments.insert(config + _IGNORED[ignored], parameter(ignored, Any, None))
    signature = inspect.Signature(arguments)

    def __init__(*args: object, **kwargs: object) -> None:
        given = bind(signature, second.__name__, *args, **kwargs)
        given.pop(ignored or "", None)
        second.__init__(**given)  # type: ignore[misc]

    describe(__init__, "__init__", __name__, signature, "")
    doc = _describe(second, [each.name for each in arguments[1:]], descriptions)
    body = {"__init__": __init__, "__doc__": doc, "__module__": __name__, "_is_first": True}
    return type(second.__name__, second.__bases__, body)


def _describe(second: type, arguments: list[str], descriptions: dict[str, str]) -> str:
    what, *sections = inspect.cleandoc(second.__doc__ or "").split("\n\n")
    titles = {
        title: dict(_ENTRY.findall(text)) for title, _, text in (each.partition(":\n") for each in sections)
    }
    described = {**titles["Args"], **_DESCRIPTIONS, **descriptions}
    return docstring(
        what.replace("`tf.estimator.", "`tf.compat.v1.estimator."),
        {"Args": {name: described[name] for name in arguments}, "Raises": titles["Raises"]},
    )


BaselineClassifier = _make_first(_baseline.BaselineClassifier)
BaselineRegressor = _make_first(_baseline.BaselineRegressor)
BaselineEstimator = _make_first(_baseline.BaselineEstimator)
DNNClassifier = _make_first(
    _dnn.DNNClassifier,
    "input_layer_partitioner",
    optimizer='A name (`"Adagrad"`, `"Adam"`, `"Ftrl"`, `"RMSProp"`, `"SGD"`, with a learning rate of 0.05), an '
    "optimizer, or a function without arguments that makes one in each trace of the model.",
)
DNNRegressor = _make_first(_dnn.DNNRegressor, "input_layer_partitioner")
DNNEstimator = _make_first(_dnn.DNNEstimator, "input_layer_partitioner")
DNNLinearCombinedClassifier = _make_first(_combined.DNNLinearCombinedClassifier, "input_layer_partitioner")
DNNLinearCombinedRegressor = _make_first(_combined.DNNLinearCombinedRegressor, "input_layer_partitioner")
DNNLinearCombinedEstimator = _make_first(_combined.DNNLinearCombinedEstimator, "input_layer_partitioner")
LinearClassifier = _make_first(_linear.LinearClassifier, "partitioner")
LinearRegressor = _make_first(_linear.LinearRegressor, "partitioner")
LinearEstimator = _make_first(_linear.LinearEstimator, "partitioner")
