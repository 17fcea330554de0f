"""`python -m stratax.tensorflow.exports._write_saved_model EXPORT FOLDER`: TensorFlow's part of a conversion."""

import pathlib
import sys
from typing import Any, cast

from stratax.export.parts import Folder, SignatureInfo
from stratax.tensorflow.exports._host_plan import CallPlan
from stratax.tensorflow.exports._replay import Replay

# Exit codes.
NO_TENSORFLOW, TOO_OLD = 3, 4
_METHODS = {
    **{name: f"tensorflow/serving/{name}" for name in ("predict", "classify", "regress")},
    "eval": "tensorflow/supervised/eval",
    "train": "tensorflow/supervised/training",
}
_FILE = "saved_model.pb"


def main() -> None:
    """Write a SavedModel into a folder that is there."""
    export, target = sys.argv[1:]
    try:
        import tensorflow as tf
    except ImportError as error:
        sys.stderr.write(f"{error}\n")
        raise SystemExit(NO_TENSORFLOW) from None
    folder = Folder(export)
    module = tf.Module()
    variables = {
        name: tf.Variable(value, trainable=False, name=name) for name, value in folder.weights().items()
    }
    # In a list: an attribute's name may not have a slash.
    module.weights = list(variables.values())
    signatures = folder.manifest.signatures
    replay = Replay(tf)
    functions = {name: _function(tf, folder, info, variables, replay) for name, info in signatures.items()}
    module.tables = replay.tables
    tf.saved_model.save(module, target, signatures=functions)
    _set_methods(pathlib.Path(target), {name: each.method for name, each in signatures.items()})


def _function(tf: Any, folder: Folder, info: SignatureInfo, variables: dict[str, Any], replay: Replay) -> Any:
    """Return a function of TensorFlow that calls a signature's program."""
    import jax
    from jax import export
    from tensorflow.compiler.tf2xla.python import xla

    program = export.deserialize(bytearray(folder.program(info.program.files["cpu"])))
    newest = xla.call_module_maximum_supported_version()
    if program.calling_convention_version > newest:
        sys.stderr.write(
            f"TensorFlow {tf.__version__} is older than the JAX of this export. Expected: programs of version "
            f"{newest} at most. Received: {program.calling_convention_version}. Install a newer TensorFlow.\n"
        )
        raise SystemExit(TOO_OLD)
    weights = [variables[name] for name in info.program.weights]
    kept = set(program.module_kept_var_idx)
    specs = {
        name: tf.TensorSpec(each.shape, _dtype(tf, each.dtype), name=name)
        for name, each in info.inputs.items()
    }

    before, after = cast(CallPlan | None, info.before), cast(CallPlan | None, info.after)
    replay.prepare(before)
    replay.prepare(after)
    # What the program gives, as it says itself: the host may make outputs of it.
    results_of_program = [(str(aval.dtype), _sizes(aval.shape)) for aval in program.out_avals]

    def call(**inputs: object) -> dict[str, Any]:
        values = {f"in/{name}": tensor for name, tensor in inputs.items()}
        made = dict(inputs) if before is None else {**inputs, **replay.run(before, values)}
        given = [
            *(weight.read_value() for weight in weights),
            *(made[name] for name in info.program.arguments),
        ]
        results = xla.call_module(
            # Those that no result depends on are not there.
            [array for index, array in enumerate(given) if index in kept],
            version=program.calling_convention_version,
            module=program.mlir_module_serialized,
            platforms=[platform.upper() for platform in program.platforms],
            Tout=[_dtype(tf, dtype) for dtype, _ in results_of_program],
            Sout=[shape for _, shape in results_of_program],
            use_shardy_partitioner=getattr(jax.config, "jax_use_shardy_partitioner"),  # noqa: B009
        )
        found = dict(zip(info.program.results, results, strict=True))
        if after is not None:
            values.update((f"out/{name}", tensor) for name, tensor in found.items())
            found.update(replay.run(after, values))
        return {name: found[name] for name in info.outputs}

    return tf.function(call).get_concrete_function(**specs)


def _sizes(shape: Any) -> list[int | None]:
    return [size if isinstance(size, int) else None for size in shape]


def _dtype(tf: Any, name: str) -> Any:
    return tf.dtypes.as_dtype(name)


def _set_methods(target: pathlib.Path, methods: dict[str, str]) -> None:
    """Write what signatures are for: TensorFlow 2 says of all that they predict."""
    from tensorflow.core.protobuf import saved_model_pb2

    proto = saved_model_pb2.SavedModel()
    proto.ParseFromString((target / _FILE).read_bytes())
    signatures = proto.meta_graphs[0].signature_def
    for name, method in methods.items():
        signatures[name].method_name = _METHODS[method]
    (target / _FILE).write_bytes(proto.SerializeToString())


if __name__ == "__main__":
    main()
