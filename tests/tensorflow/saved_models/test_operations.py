"""The table has the operations of public models, each as a function of its operands."""

import numpy as np
import pytest

from stratax.tensorflow.saved_models.operations import as_number, as_numbers, first_output, table
from tests.tensorflow.saved_models.files import node
from tests.tensorflow.saved_models.test_graph import graph


def test_the_table_has_what_public_models_use():
    assert len(table()) > 400
    assert {
        "Conv2D",
        "FusedBatchNormV3",
        "ParseExampleV2",
        "StatelessWhile",
        "TensorListStack",
    } <= table().keys()
    assert table()["StringLower"].is_host
    assert table()["MatMul"].is_heavy


def test_outputs_are_numbered_by_name_also_behind_lists():
    parse = graph(
        node("p", "ParseExampleV2", num_sparse={"i": 2}, sparse_types={"list": {"type": [7, 9]}})
    ).nodes["p"]
    assert first_output(parse, "sparse_values") == 2
    assert first_output(parse, "dense_values") == 6
    assert first_output(graph(node("n", "Neg")).nodes["n"], "y") == 0


@pytest.mark.parametrize("value", [3, np.int64(3), np.array(3), np.array([3])])
def test_a_number_is_taken_from_any_operand(value):
    assert as_number(value) == 3
    assert as_numbers(value) == [3]
