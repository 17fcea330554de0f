"""Where a cluster's secret is read from, and what is no secret."""

import os

import pytest

from stratax.cluster import ClusterSpec
from stratax.cluster._secret import read_credentials
from stratax.cluster.launching import new_secret
from stratax.errors import ClusterError

CLUSTER = ClusterSpec({"worker": ["a:1", "b:1"]})


@pytest.fixture(autouse=True)
def unset(monkeypatch):
    """No secret is set."""
    monkeypatch.delenv("STRATAX_CLUSTER_SECRET", raising=False)
    monkeypatch.delenv("STRATAX_CLUSTER_SECRET_FILE", raising=False)


def test_variable_and_file_give_the_same_key_and_messages_do_not_show_it(monkeypatch, tmp_path):
    secret = new_secret()
    assert secret != new_secret()
    path = tmp_path / "secret"
    path.write_text(f"{secret}\n")
    path.chmod(0o640)
    monkeypatch.setenv("STRATAX_CLUSTER_SECRET", secret)
    by_variable = read_credentials(CLUSTER, "")
    monkeypatch.delenv("STRATAX_CLUSTER_SECRET")
    monkeypatch.setenv("STRATAX_CLUSTER_SECRET_FILE", str(path))
    by_file = read_credentials(ClusterSpec({"worker": ["c:1", "d:1"]}), "another job")
    assert by_variable.key == by_file.key
    assert (by_variable.source, by_file.source) == (
        "STRATAX_CLUSTER_SECRET",
        f"STRATAX_CLUSTER_SECRET_FILE={path}",
    )
    for each in (by_variable, by_file):
        assert secret not in repr(each)
        assert repr(each.key) not in repr(each)


def test_without_a_secret_the_key_is_that_of_the_cluster_and_the_job():
    one = read_credentials(CLUSTER, "job")
    assert one.source == ""
    assert one == read_credentials(ClusterSpec({"worker": {1: "b:1", 0: "a:1"}}), "job")
    assert one.key != read_credentials(CLUSTER, "").key
    assert one.key != read_credentials(ClusterSpec({"worker": ["a:1", "b:2"]}), "job").key


@pytest.mark.parametrize("mode", [0o604, 0o602, 0o620, 0o644])
def test_a_file_that_others_can_read_or_change_is_refused(monkeypatch, tmp_path, mode):
    path = tmp_path / "secret"
    path.write_text("x" * 32)
    path.chmod(mode)
    monkeypatch.setenv("STRATAX_CLUSTER_SECRET_FILE", str(path))
    with pytest.raises(
        ClusterError, match=f"Other users may read or change.*chmod 600.*mode {mode:04o}"
    ) as error:
        read_credentials(CLUSTER, "")
    assert "xxxx" not in str(error.value)


@pytest.mark.parametrize("secret", ["short", " " * 40, "x" * 5000])
def test_a_secret_that_is_too_short_or_too_long_is_refused(monkeypatch, secret):
    monkeypatch.setenv("STRATAX_CLUSTER_SECRET", secret)
    with pytest.raises(
        ClusterError, match="STRATAX_CLUSTER_SECRET must have 16 to 4096 characters.*openssl"
    ) as error:
        read_credentials(CLUSTER, "")
    assert secret not in str(error.value)


def test_what_is_no_file_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("STRATAX_CLUSTER_SECRET_FILE", str(tmp_path / "missing"))
    with pytest.raises(ClusterError, match="can't be read .No such file.*missing"):
        read_credentials(CLUSTER, "")
    os.mkfifo(tmp_path / "pipe", 0o600)
    monkeypatch.setenv("STRATAX_CLUSTER_SECRET_FILE", str(tmp_path / "pipe"))
    with pytest.raises(ClusterError, match="must be in a file.*pipe"):
        read_credentials(CLUSTER, "")


def test_two_secrets_are_refused(monkeypatch):
    monkeypatch.setenv("STRATAX_CLUSTER_SECRET", "x" * 32)
    monkeypatch.setenv("STRATAX_CLUSTER_SECRET_FILE", "/a/file")
    with pytest.raises(
        ClusterError, match="STRATAX_CLUSTER_SECRET and STRATAX_CLUSTER_SECRET_FILE are both set"
    ):
        read_credentials(CLUSTER, "")
