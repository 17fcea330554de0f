"""What belongs to the `stratax` command: rehearsal, manifests, conversion, serving."""
