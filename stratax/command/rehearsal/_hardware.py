"""What each generation of TPUs has, with where the figures come from (rehearsal layer)."""

import dataclasses

_GB, _GIB = 10**9, 2**30


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Generation:
    """One kind of TPU. All figures are of a chip; peaks are the maker's, which no program reaches.

    Attributes:
        name: As in the names of topologies.
        devices_per_chip: How many devices JAX sees in a chip. In v4 and v5p the two cores are one device (megacore).
        cores_per_chip: How many cores are counted in names such as v3-8; 0 where these count chips.
        flops: Operations per second with bfloat16 factors, which is what float32 is multiplied with by default.
        memory: Bytes of high-bandwidth memory.
        memory_bandwidth: Bytes per second.
        link_bandwidth: Bytes per second over one link, in one direction.
        full_dim: From which size on a dimension is closed to a ring: exactly this size where `rings_by_cubes` is False.
        rings_by_cubes: Whether all dimensions are rings when each is a multiple of `full_dim`.
        shapes: The shapes of slices that can be rented.
        chip_config: What libtpu calls the way in which devices are made of cores.
        source: Where the figures come from.
    """

    name: str
    devices_per_chip: int
    cores_per_chip: int
    flops: float
    memory: int
    memory_bandwidth: float
    link_bandwidth: float
    full_dim: int
    rings_by_cubes: bool
    shapes: tuple[str, ...]
    chip_config: str
    source: str


_SQUARES = ("2x2", "4x4", "8x8", "8x16", "16x16")
_FLAT = ("1x1", "2x2", "2x4", "4x4", "4x8", "8x8", "8x16", "16x16")
_CUBES = (
    *("2x2x1", "2x2x2", "2x2x4", "2x4x4", "4x4x4", "4x4x8", "4x8x8"),
    *("8x8x8", "8x8x16", "8x16x16", "16x16x16"),
)
_DOCS = "cloud.google.com/tpu/docs"

GENERATIONS = {
    each.name: each
    for each in (
        Generation(
            name="v2",
            devices_per_chip=2,
            cores_per_chip=2,
            flops=46e12,
            memory=16 * _GIB,
            memory_bandwidth=700 * _GB,
            link_bandwidth=62 * _GB,
            full_dim=16,
            rings_by_cubes=False,
            shapes=_SQUARES,
            chip_config="default",
            source="Jouppi et al., A Domain-Specific Supercomputer for Training Deep Neural Networks, CACM 2020: "
            "46 TFLOPS, 16 GiB, 700 GB/s, 4 links of 496 Gbit/s",
        ),
        Generation(
            name="v3",
            devices_per_chip=2,
            cores_per_chip=2,
            flops=123e12,
            memory=32 * _GIB,
            memory_bandwidth=900 * _GB,
            link_bandwidth=82 * _GB,
            full_dim=32,
            rings_by_cubes=False,
            shapes=(*_SQUARES, "16x32", "32x32"),
            chip_config="default",
            source="Jouppi et al., CACM 2020: 123 TFLOPS, 32 GiB, 900 GB/s, 4 links of 656 Gbit/s",
        ),
        Generation(
            name="v4",
            devices_per_chip=1,
            cores_per_chip=2,
            flops=275e12,
            memory=32 * _GIB,
            memory_bandwidth=1200 * _GB,
            link_bandwidth=45 * _GB,
            full_dim=4,
            rings_by_cubes=True,
            shapes=(*_CUBES, "12x16x16"),
            chip_config="megacore",
            source=f"{_DOCS}/v4: 275 teraflops, 32 GiB, 1200 GBps; all-reduce of 4,096 chips, 6 links each: 1.1 PB/s",
        ),
        Generation(
            name="v5e",
            devices_per_chip=1,
            cores_per_chip=0,
            flops=197e12,
            memory=16 * _GIB,
            memory_bandwidth=819 * _GB,
            link_bandwidth=50 * _GB,
            full_dim=16,
            rings_by_cubes=False,
            shapes=_FLAT,
            chip_config="default",
            source=f"{_DOCS}/v5e: 197 TFLOPs, 16 GB, 819 GBps, 400 GBps in both directions over 4 ports",
        ),
        Generation(
            name="v5p",
            devices_per_chip=1,
            cores_per_chip=2,
            flops=459e12,
            memory=95 * _GIB,
            memory_bandwidth=2765 * _GB,
            link_bandwidth=100 * _GB,
            full_dim=4,
            rings_by_cubes=True,
            shapes=(*_CUBES, "16x16x24"),
            chip_config="megacore",
            source=f"{_DOCS}/v5p: 459 TFLOPs, 95 GB, 2765 GBps, 1200 GBps in both directions over 6 links",
        ),
        Generation(
            name="v6e",
            devices_per_chip=1,
            cores_per_chip=0,
            flops=918e12,
            memory=32 * _GIB,
            memory_bandwidth=1638 * _GB,
            link_bandwidth=100 * _GB,
            full_dim=16,
            rings_by_cubes=False,
            shapes=_FLAT,
            chip_config="default",
            source=f"{_DOCS}/v6e: 918 TFLOPs, 32 GB, 1638 GBps, 800 GBps in both directions over 4 ports",
        ),
    )
}
