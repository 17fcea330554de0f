"""SavedModels of TensorFlow for tests: those of `tests/golden/saved_models`, and small ones that are written here."""

import pathlib
import zipfile

import numpy as np

from stratax.io import TYPES_BY_DTYPE
from stratax.tensorflow.checkpoints.writing import write_bundle
from stratax.tensorflow.saved_models.messages import MESSAGES

GOLDEN = pathlib.Path(__file__).parents[2] / "golden" / "saved_models"
NAMES = sorted(path.stem for path in GOLDEN.glob("*.zip"))


def unpack(name, folder):
    """Unpack a SavedModel with TensorFlow's answers; return its folder."""
    with zipfile.ZipFile(GOLDEN / f"{name}.zip") as archive:
        archive.extractall(folder / name)
    return folder / name


def dtype(value):
    return {"type": TYPES_BY_DTYPE[np.dtype(value)].number}


def tensor(value):
    array = np.asarray(value)
    made = {
        "dtype": TYPES_BY_DTYPE[array.dtype].number,
        "tensor_shape": {"dim": [{"size": n} for n in array.shape]},
    }
    if array.dtype == object:
        made["string_val"] = array.reshape(-1).tolist()
    else:
        made["tensor_content"] = array.tobytes()
    return {"tensor": made}


def node(name, op, *inputs, **attributes):
    attr = {key: MESSAGES["AttrValue"](**value) for key, value in attributes.items()}
    return MESSAGES["NodeDef"](name=name, op=op, input=inputs, attr=attr)


def constant(name, value):
    return node(name, "Const", value=tensor(value), dtype=dtype(np.asarray(value).dtype))


def function(name, parameters, results, nodes, effects=()):
    """Return a `FunctionDef`: the names of parameters, and results by the outputs that they are."""
    signature = {
        "name": name,
        "input_arg": [{"name": each} for each in parameters],
        "output_arg": [{"name": f"r{index}"} for index in range(len(results))],
    }
    ret = {f"r{index}": each for index, each in enumerate(results)}
    return MESSAGES["FunctionDef"](
        signature=signature, node_def=nodes, ret=ret, control_ret={each: each for each in effects}
    )


def write_graph(folder, nodes, inputs, outputs, *, functions=(), variables=None, specs=None, **meta):
    """Write a SavedModel as TensorFlow 1 does, with one signature: of float tensors, or of `specs` by their names."""

    def info(each):
        if specs is not None:
            kind, sizes = specs[each]
            shape = {"dim": [{"size": size} for size in sizes]}
            return {"name": each, "dtype": dtype(kind)["type"], "tensor_shape": shape}
        return {"name": each, "dtype": 1, "tensor_shape": {"unknown_rank": True}}

    graph = MESSAGES["MetaGraphDef"](
        meta_info_def={"tags": ["serve"]},
        graph_def={"node": nodes, "library": {"function": functions}},
        signature_def={
            "serving_default": {
                "inputs": {each: info(f"{each}:0") for each in inputs},
                "outputs": {each.partition(":")[0]: info(each) for each in outputs},
                "method_name": "tensorflow/serving/predict",
            }
        },
        **meta,
    )
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    model = MESSAGES["SavedModel"](saved_model_schema_version=1, meta_graphs=[graph])
    (folder / "saved_model.pb").write_bytes(model.SerializeToString())
    if variables is not None:
        write_bundle(folder / "variables" / "variables", variables)
    return str(folder)
