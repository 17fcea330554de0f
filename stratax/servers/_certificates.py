"""Certificates that every task of a cluster makes for itself of the cluster's key, for TLS between them.

The key determines an authority. Each process issues itself a certificate of that authority, valid for as long as the
process lives, and accepts peers that have one, too. Who does not know the key gets no further than the TLS handshake,
whose messages are small, and what is recorded is of no use later.
"""

import dataclasses
import datetime
import hmac
from typing import Any

from stratax.errors import MissingPackageError

# What certificates are issued to. Names of hosts say nothing here: whoever has the key belongs to the cluster.
NAME = "stratax-cluster"

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
    """

    authority: bytes
    own: bytes
    private_key: bytes = dataclasses.field(repr=False)


def issue(key: bytes) -> Certificates:
    """Make a certificate for this process.

    Args:
        key: The cluster's key.

    Raises:
        MissingPackageError: If `cryptography` is not installed.
    """
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec
    except ImportError as error:
        raise MissingPackageError(
            "Parameter servers need `cryptography`, for the certificates of their connections. Do: pip install "
            "'stratax[servers]'"
        ) from error
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


def _certificate(name: str, key: Any, authority_key: Any, *, is_authority: bool) -> Any:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.x509.oid import NameOID

    def named(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    builder = (
        x509.CertificateBuilder()
        .subject_name(named(name))
        .issuer_name(named("stratax authority"))
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
    )
    return builder.sign(authority_key, hashes.SHA256())
