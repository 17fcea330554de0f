"""What this process simulates, replaced for a test."""

from stratax.cluster._simulate import _state


def replace(monkeypatch, devices):
    """Have this process simulate some devices, or none, until the test ends."""
    monkeypatch.setattr(_state, "simulated", devices)
