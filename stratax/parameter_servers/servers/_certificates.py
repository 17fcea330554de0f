"""Certificates for TLS between the tasks of a cluster: made of the cluster's key, or the user's own.

The key determines an authority. Each process issues itself a certificate of that authority, valid for as long as the
process lives, and accepts peers that have one, too. Who does not know the key gets no further than the TLS handshake,
whose messages are small, and what is recorded is of no use later.

With certificates of the user's, others than this cluster's tasks may have one of the same authority: then both sides
prove besides, when a stream begins, that they know the key. A task asks for a start's challenge first, and its first
message has the proof, so that a server waits for nobody who has not proved it.
"""

import contextlib
import dataclasses
import datetime
import hmac
import os
import ssl
import stat
from collections.abc import Callable
from typing import Any

from stratax.base.shown import shown
from stratax.cluster.launching import SECRET_FILE_VARIABLE, SECRET_VARIABLE
from stratax.errors import ClusterError, MissingPackageError

# What certificates are issued to. Names of hosts say nothing here: whoever has the key belongs to the cluster.
NAME = "stratax-cluster"

# The environment variables with the paths of the user's certificate (with intermediate ones behind it), of its key, and
# of the authority's certificate, each as PEM.
CERTIFICATE_VARIABLE = "STRATAX_TLS_CERTIFICATE"
KEY_VARIABLE = "STRATAX_TLS_KEY"
AUTHORITY_VARIABLE = "STRATAX_TLS_AUTHORITY"
_VARIABLES = (CERTIFICATE_VARIABLE, KEY_VARIABLE, AUTHORITY_VARIABLE)
_MOST_BYTES = 1 << 20

# The order of the group of NIST's curve P-256, less one: private keys lie between 1 and that.
_MOST_KEY = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632550
# Tasks' clocks differ; the key, not the time, says who belongs to the job.
_VALID = (datetime.datetime(2020, 1, 1), datetime.datetime(2120, 1, 1))  # X.509 has UTC only.


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Certificates:
    """What a process shows its peers, and what it asks of them, each as PEM.

    Attributes:
        authority: The certificate of the authority that all of the cluster share.
        own: This process's certificate.
        private_key: The key of `own`.
        name: What peers' certificates are issued to; None: the hosts of their addresses.
        proof_key: What both sides prove that they know when a stream begins; None where the certificates prove it.
    """

    authority: bytes
    own: bytes
    private_key: bytes = dataclasses.field(repr=False)
    name: str | None = NAME
    proof_key: bytes | None = dataclasses.field(default=None, repr=False)

    def proof(self, who: str, challenge: str, nonce: str) -> str:
        """Return what only somebody who knows the key can say.

        Args:
            who: Which side says it.
            challenge: What the server has drawn at its start.
            nonce: What the task has drawn for this stream.
        """
        text = f"stratax: {who} of a stream\n{challenge}\n{nonce}".encode(errors="replace")
        return hmac.digest(self.proof_key or b"", text, "sha256").hex()


def issue(key: bytes) -> Certificates:
    """Make a certificate for this process, or read the user's, where the environment names one.

    Args:
        key: The cluster's key.

    Raises:
        ClusterError: If a file of the user's can't be read, is no certificate or key, has expired, or does not fit the
            others; if others can read the key; or if there is no secret besides.
        MissingPackageError: If `cryptography` is not installed.
    """
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec
    except ImportError as error:
        raise MissingPackageError(
            "Parameter servers need `cryptography`, for the certificates of their connections. Do: pip install "
            "'stratax-train[servers]'"
        ) from error
    if any(os.environ.get(name) for name in _VARIABLES):
        return _of_user(key)
    digest = hmac.digest(key, b"stratax: the authority of parameter servers", "sha512")
    authority_key = ec.derive_private_key(int.from_bytes(digest, "big") % _MOST_KEY + 1, ec.SECP256R1())
    own_key = ec.generate_private_key(ec.SECP256R1())
    authority = _certificate("stratax authority", authority_key, authority_key, is_authority=True)
    own = _certificate(NAME, own_key, authority_key, is_authority=False)
    return Certificates(
        authority=authority.public_bytes(serialization.Encoding.PEM),
        own=own.public_bytes(serialization.Encoding.PEM),
        private_key=own_key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ),
    )


def _of_user(key: bytes) -> Certificates:
    """Return the certificates that the environment names."""
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization

    missing = [name for name in _VARIABLES if not os.environ.get(name)]
    if missing:
        raise ClusterError(
            f"TLS with certificates of your own needs three files. Expected: {', '.join(_VARIABLES)}. Received: no "
            f"{' and no '.join(missing)}."
        )
    if not any(os.environ.get(name) for name in (SECRET_VARIABLE, SECRET_FILE_VARIABLE)):
        raise ClusterError(
            "Certificates do not take the place of the cluster's secret, and there is none. Expected: the same "
            f"{SECRET_VARIABLE}, or {SECRET_FILE_VARIABLE}, in all tasks. Received: {CERTIFICATE_VARIABLE} without it."
        )
    own, private_key, authority = (_content(name) for name in _VARIABLES)
    chain = _parse(CERTIFICATE_VARIABLE, own, x509.load_pem_x509_certificates)
    authorities = _parse(AUTHORITY_VARIABLE, authority, x509.load_pem_x509_certificates)
    loaded = _parse(KEY_VARIABLE, private_key, lambda pem: serialization.load_pem_private_key(pem, None))
    kind = serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    if loaded.public_key().public_bytes(*kind) != chain[0].public_key().public_bytes(*kind):
        raise ClusterError(
            f"The key in {KEY_VARIABLE} is another certificate's. Expected: that of {CERTIFICATE_VARIABLE}. Received: "
            f"{shown(os.environ[KEY_VARIABLE])} and {shown(os.environ[CERTIFICATE_VARIABLE])}."
        )
    now = datetime.datetime.now(datetime.UTC)
    for name, each in ((CERTIFICATE_VARIABLE, chain[0]), (AUTHORITY_VARIABLE, authorities[0])):
        if not each.not_valid_before_utc <= now <= each.not_valid_after_utc:
            raise ClusterError(
                f"The certificate in {name} is not valid now. Expected: a time from {each.not_valid_before_utc} to "
                f"{each.not_valid_after_utc}. Received: {now:%Y-%m-%d %H:%M}, {shown(os.environ[name])}."
            )
    if not any(_is_issued_by(chain[-1], each) for each in authorities):
        raise ClusterError(
            f"The certificate in {CERTIFICATE_VARIABLE} is of another authority. Expected: one that the authority in "
            f"{AUTHORITY_VARIABLE} has issued, with those between them behind it. Received: "
            f"{shown(os.environ[CERTIFICATE_VARIABLE])}."
        )
    _check_handshake()
    return Certificates(authority=authority, own=own, private_key=private_key, name=None, proof_key=key)


def _check_handshake() -> None:
    """Have TLS between this task and itself, so that what others would refuse is told here."""
    own, private_key, authority = (os.environ[name] for name in _VARIABLES)
    contexts = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # Whether it is for this host only those know who connect.
    contexts[0].check_hostname = False
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    try:
        for context in contexts:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_cert_chain(own, private_key)
            context.load_verify_locations(authority)
        sides = [
            contexts[0].wrap_bio(to_client, to_server),
            contexts[1].wrap_bio(to_server, to_client, server_side=True),
        ]
        # Each side says something twice at most.
        for side in sides * 3:
            with contextlib.suppress(ssl.SSLWantReadError):
                side.do_handshake()
    except ssl.SSLError as error:
        reason = error.verify_message if isinstance(error, ssl.SSLCertVerificationError) else error.reason
        raise ClusterError(
            f"Other tasks would refuse the certificate in {CERTIFICATE_VARIABLE} ({reason}). Expected: one for servers "
            f"and for clients, with all between it and the authority's behind it. Received: {shown(own)}."
        ) from error


def _content(name: str) -> bytes:
    path = os.environ[name]
    try:
        # Not blocking: a pipe that nobody writes to would be waited for.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if name == KEY_VARIABLE and mode & (stat.S_IRWXO | stat.S_IWGRP):
                raise ClusterError(
                    f"Others may read or change the key in {name}. Expected: a file of mode 0600; have a new "
                    f"certificate made if others could read it. Received: {shown(path)} of mode "
                    f"{stat.S_IMODE(mode):04o}."
                )
            return file.read(_MOST_BYTES) or b""
    except OSError as error:
        raise ClusterError(
            f"The file in {name} can't be read. Expected: a file with PEM. Received: {shown(path)} ({error.strerror})."
        ) from error


def _parse(name: str, content: bytes, parse: Callable[[bytes], Any]) -> Any:
    try:
        return parse(content)
    except (ValueError, TypeError) as error:
        raise ClusterError(
            f"The file in {name} can't be used. Expected: PEM, a key without a password. Received: "
            f"{shown(os.environ[name])} ({str(error).partition('.')[0]})."
        ) from error


def _is_issued_by(certificate: Any, authority: Any) -> bool:
    from cryptography.exceptions import InvalidSignature

    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        # A chain may end with the authority itself.
        return bool(certificate == authority)
    return True


def _certificate(name: str, key: Any, authority_key: Any, *, is_authority: bool) -> Any:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.x509.oid import NameOID

    def make_name(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    builder = (
        x509.CertificateBuilder()
        .subject_name(make_name(name))
        .issuer_name(make_name("stratax authority"))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_VALID[0])
        .not_valid_after(_VALID[1])
        .add_extension(
            x509.BasicConstraints(ca=is_authority, path_length=0 if is_authority else None), critical=True
        )
        .add_extension(
            x509.SubjectAlternativeName(
                [x509.DNSName(name)] if not is_authority else [x509.DNSName("authority")]
            ),
            critical=False,
        )
        # Python 3.13 verifies strictly, as RFC 5280 has it: certificates say whose key signs them, authorities
        # what their own may do.
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    if is_authority:
        builder = builder.add_extension(
            x509.KeyUsage(
                digital_signature=True,
                content_commitment=False,
                key_encipherment=False,
                data_encipherment=False,
                key_agreement=False,
                key_cert_sign=True,
                crl_sign=True,
                encipher_only=False,
                decipher_only=False,
            ),
            critical=True,
        )
    return builder.sign(authority_key, hashes.SHA256())
