"""The short form of the stress test: one process, killed in the write of a backup; `killed_fits` does twenty."""

import numpy as np
import pytest

from tests.stress import killed_fits

pytestmark = [pytest.mark.stress, pytest.mark.processes]


def test_a_fit_that_is_killed_in_the_write_of_a_backup_ends_as_the_undisturbed_one(tmp_path):
    killed_fits.undisturbed(tmp_path / "standard", 1)
    assert killed_fits.killed_in_save(tmp_path / "killed", 1, 6) == ""
    assert killed_fits.differences(tmp_path / "killed", tmp_path / "standard", 1) == []
    weights = dict(np.load(tmp_path / "killed" / "worker0.npz"))
    np.savez(tmp_path / "killed" / "worker0.npz", **{**weights, "arr_1": weights["arr_1"] + 1})
    assert killed_fits.differences(tmp_path / "killed", tmp_path / "standard", 1) == [
        "worker 0: arr_1 differs"
    ]


def test_workers_with_parts_of_a_model_go_on_after_a_kill_as_if_nothing_had_happened(tmp_path):
    killed_fits.undisturbed(tmp_path / "standard", 2, "--in-parts")
    for name, end in (
        ("in_save", killed_fits.killed_in_save(tmp_path / "in_save", 2, 6, "--in-parts")),
        ("at_step", killed_fits.killed_at_step(tmp_path / "at_step", 2, 1, 20, "--in-parts")),
    ):
        assert end == ""
        assert killed_fits.differences(tmp_path / name, tmp_path / "standard", 2) == []
