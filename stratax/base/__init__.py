"""What all of Stratax stands on: doors, messages, tracebacks, types."""
