"""Offer the operations as `Dataset`, with options and automatic sharding."""
