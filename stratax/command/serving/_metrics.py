"""What a server tells Prometheus (serving layer)."""

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_LATEST

CONTENT_TYPE = CONTENT_TYPE_LATEST
_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)
_ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


class Metrics:
    """Numbers of one server, in a registry of its own.

    Attributes:
        pending: Requests that are being worked on.
    """

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "stratax_serving_requests", "Answers, by status code.", ["model", "code"], registry=self._registry
        )
        self._seconds = Histogram(
            "stratax_serving_request_seconds",
            "From a request's head to the end of its answer.",
            ["model"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._rows = Histogram(
            "stratax_serving_batch_rows",
            "Rows that were computed together.",
            ["model"],
            buckets=_ROWS,
            registry=self._registry,
        )
        self._version = Gauge(
            "stratax_serving_newest_version", "The version that answers.", ["model"], registry=self._registry
        )
        self.pending = Gauge(
            "stratax_serving_pending_requests", "Requests that are being worked on.", registry=self._registry
        )

    def count_answer(self, model: str, code: int, seconds: float) -> None:
        """Count an answer.

        Args:
            model: The model's name; empty for what is no model's.
            code: The status code.
            seconds: How long it took.
        """
        self._requests.labels(model, str(code)).inc()
        self._seconds.labels(model).observe(seconds)

    def count_rows(self, model: str, rows: int) -> None:
        """Count rows that were computed together."""
        self._rows.labels(model).observe(rows)

    def note_version(self, model: str, number: int) -> None:
        """Note which version of a model answers."""
        self._version.labels(model).set(number)

    def text(self) -> bytes:
        """Return the numbers as Prometheus reads them."""
        return prometheus_client.generate_latest(self._registry)
