"""Text: its parts, patterns, codes and fingerprints."""
