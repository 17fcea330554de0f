"""Make arrays, index and rearrange them; sparse, ragged and growing ones."""
