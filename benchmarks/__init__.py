"""The figures of Stratax: `python -m benchmarks` measures them, prints a table and writes JSON.

Each case runs in a process of its own, because the number of devices is settled when JAX starts. A ratio comes from one
process, in which both sides take turns, so that what else the machine does meets both.
"""
