"""Certificates of the user's: read, checked, and no substitute for the cluster's secret."""

import contextlib
import datetime
import ipaddress
import json
import os

import numpy as np
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from pyarrow import flight

from stratax.errors import ClusterError, PeerLostError, UnauthenticatedError
from stratax.parameter_servers.servers import Connection, Deadlines, ShardServer, issue

KEY = b"the key of this cluster, 32 bytes"
NOW = datetime.datetime.now(datetime.UTC)
PEM = serialization.Encoding.PEM


def certificate(name, key, issuer=None, issuer_key=None, days=1, host="127.0.0.1", purpose=None):
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW - datetime.timedelta(days=10))
        .not_valid_after(NOW + datetime.timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(host))]), critical=False
        )
    )
    if purpose is not None:
        builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
    return builder.sign(issuer_key or key, hashes.SHA256())


@pytest.fixture
def use(tmp_path, monkeypatch):
    """Write the files of a certificate, and name them in the environment."""
    authority_key = ec.generate_private_key(ec.SECP256R1())
    authority = certificate("an authority", authority_key)

    monkeypatch.setenv("STRATAX_CLUSTER_SECRET", "a secret of the tests' cluster")
    monkeypatch.delenv("STRATAX_CLUSTER_SECRET_FILE", raising=False)

    def write(**changes):
        key = ec.generate_private_key(ec.SECP256R1())
        made = {
            "CERTIFICATE": certificate("a task", key, authority, authority_key, **changes).public_bytes(PEM),
            "KEY": key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
            "AUTHORITY": authority.public_bytes(PEM),
        }
        for name, content in made.items():
            (tmp_path / name).write_bytes(content)
            (tmp_path / name).chmod(0o600)
            monkeypatch.setenv(f"STRATAX_TLS_{name}", str(tmp_path / name))
        return tmp_path

    return write


def asked(port, certificates, **kwargs):
    deadlines = Deadlines()
    connection = Connection(
        "/job:ps/task:0", f"127.0.0.1:{port}", certificates, deadlines, task="a", patience=0.5, **kwargs
    )
    try:
        connection.ask({"op": "create", "names": ["w"]}, [np.ones(2)])
        return connection.ask({"op": "pull", "names": ["w"], "known": {}}).arrays[0].tolist()
    finally:
        connection.close()
        deadlines.close()


def test_tasks_with_certificates_of_one_authority_and_the_secret_know_one_another(use):
    use()
    server = ShardServer("127.0.0.1", 0, issue(KEY))
    # Another certificate of the authority.
    use()
    assert asked(server.port, issue(KEY)) == [1.0, 1.0]
    server.close()


def test_a_certificate_without_the_secret_is_not_enough(use):
    use()
    server = ShardServer("127.0.0.1", 0, issue(KEY))
    with pytest.raises(UnauthenticatedError, match="does not know the cluster's secret"):
        asked(server.port, issue(b"a key of another cluster, 32 byte"))
    assert server.shards.names == []
    assert not server._senders
    server.close()


def test_a_server_without_the_secret_is_told_nothing(use, monkeypatch):
    use()
    server = ShardServer("127.0.0.1", 0, issue(b"a key of another cluster, 32 byte"))
    # It lets everybody in, but can't prove that it knows the key.
    monkeypatch.setattr(
        "stratax.parameter_servers.servers._server.hmac.compare_digest", lambda left, right: True
    )
    monkeypatch.setattr(
        "stratax.parameter_servers.servers._connection.hmac",
        type("", (), {"compare_digest": staticmethod(bytes.__eq__)}),
    )
    with pytest.raises(UnauthenticatedError, match="at 127.0.0.1:.* does not know the cluster's secret"):
        asked(server.port, issue(KEY))
    server.close()


def test_a_certificate_for_another_host_is_refused(use):
    use(host="127.0.0.2")
    server = ShardServer("127.0.0.1", 0, issue(KEY))
    with pytest.raises(PeerLostError):
        asked(server.port, issue(KEY))
    server.close()


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (
            lambda folder, env: env.delenv("STRATAX_TLS_KEY"),
            "needs three files.*Received: no STRATAX_TLS_KEY",
        ),
        (lambda folder, env: (folder / "KEY").unlink(), "STRATAX_TLS_KEY can't be read.*No such file"),
        (lambda folder, env: (folder / "KEY").write_bytes(b"x"), "STRATAX_TLS_KEY can't be used"),
        (lambda folder, env: (folder / "KEY").chmod(0o644), "Others may read or change the key.*mode 0644"),
        (
            lambda folder, env: ((folder / "AUTHORITY").unlink(), os.mkfifo(folder / "AUTHORITY")),
            "STRATAX_TLS_AUTHORITY can't be used",
        ),
        (
            lambda folder, env: env.delenv("STRATAX_CLUSTER_SECRET"),
            "do not take the place of the cluster's secret",
        ),
        (
            lambda folder, env: (folder / "CERTIFICATE").write_bytes(b"x"),
            "STRATAX_TLS_CERTIFICATE can't be used",
        ),
    ],
)
def test_files_that_can_not_be_used_are_named(use, monkeypatch, change, match):
    change(use(), monkeypatch)
    with pytest.raises(ClusterError, match=match):
        issue(KEY)


def test_files_that_do_not_fit_one_another_are_named(use):
    folder = use()
    key = (folder / "KEY").read_bytes()
    use()
    (folder / "KEY").write_bytes(key)
    with pytest.raises(ClusterError, match="is another certificate's"):
        issue(KEY)
    use(days=-1)
    with pytest.raises(ClusterError, match="STRATAX_TLS_CERTIFICATE is not valid now"):
        issue(KEY)
    use()
    other = ec.generate_private_key(ec.SECP256R1())
    (folder / "AUTHORITY").write_bytes(certificate("another", other).public_bytes(PEM))
    with pytest.raises(ClusterError, match="is of another authority"):
        issue(KEY)


@pytest.mark.parametrize("purpose", [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
def test_a_certificate_for_one_purpose_only_is_told_at_the_start(use, purpose):
    use(purpose=purpose)
    with pytest.raises(ClusterError, match=r"Other tasks would refuse the certificate.*(?i:purpose)"):
        issue(KEY)


def test_no_stream_stays_open_without_a_proof_and_a_proof_is_taken_once(use):
    use()
    certificates = issue(KEY)
    server = ShardServer("127.0.0.1", 0, certificates)
    client = flight.FlightClient(
        f"grpc+tls://127.0.0.1:{server.port}",
        tls_root_certs=certificates.authority,
        cert_chain=certificates.own,
        private_key=certificates.private_key,
    )
    (result,) = client.do_action(flight.Action("stratax.challenge", b""))
    challenge = result.body.to_pybytes().decode()

    def answered(**given):
        greeting = {"protocol": 1, "task": "a", "stream": 0, **given}
        command = flight.FlightDescriptor.for_command(json.dumps(greeting).encode())
        writer, reader = client.do_exchange(command, flight.FlightCallOptions(timeout=10))
        try:
            return reader.read_chunk().app_metadata.to_pybytes().decode()
        finally:
            with contextlib.suppress(flight.FlightError):
                writer.close()

    proved = {"challenge": challenge, "nonce": "n", "proof": certificates.proof("the task", challenge, "n")}
    for wrong in ({}, {"challenge": "of another start", **{n: proved[n] for n in ("nonce", "proof")}}):
        with pytest.raises(flight.FlightUnavailableError, match="without this start's challenge"):
            answered(**wrong)
    for wrong in ({"nonce": "m"}, {"proof": "\ud800"}, {"proof": None}):
        assert "does not know the cluster's secret" in answered(**{**proved, **wrong})
    assert not server._senders
    assert "incarnation" in answered(**proved)
    assert "does not know the cluster's secret" in answered(**proved)
    client.close()
    server.close()
