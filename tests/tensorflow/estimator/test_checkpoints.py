"""The global step of a folder."""

import pytest

import stratax as sx
from tests.tensorflow.estimator.test_warm_start import data, estimator


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    made = estimator(tmp_path_factory.mktemp("trained"))
    made.train(data, steps=2)
    return made


def test_the_global_step_of_a_folder(tmp_path, trained):
    assert sx.estimator.load_global_step_from_checkpoint_dir(trained.model_dir) == 2
    assert sx.estimator.load_global_step_from_checkpoint_dir(tmp_path) == 0
