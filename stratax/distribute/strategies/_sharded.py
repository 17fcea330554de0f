"""`ShardedStrategy`: models that do not fit one device (distribute layer)."""

import contextlib
import functools
import math
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import keras
from jax.sharding import NamedSharding, PartitionSpec

from stratax import errors
from stratax.base.shown import shown
from stratax.base.surroundings import Slot
from stratax.base.typing import PyTree
from stratax.cluster import (
    Cluster,
    ClusterResolver,
    ClusterSpec,
    SimpleClusterResolver,
    check_jobs,
    connect,
    current,
)
from stratax.core import regions
from stratax.core.state import Parts
from stratax.core.storage import has_value, place, sharding_in, store_of, write_all
from stratax.distribute.replicas import MODEL_AXIS, SHARD_AXIS, in_replica, is_on_read, mesh_of
from stratax.distribute.strategies import _ownership
from stratax.distribute.strategies._arrays import (
    ArrayPlaces,
    NamedArray,
    agree_on,
    find_place,
    find_places,
    leaves_of,
    shard_result,
    shard_tree,
)
from stratax.distribute.strategies._layout import Layout, Place, format_table
from stratax.distribute.strategies._mirrored import resolve_devices
from stratax.distribute.strategies._placement import OnDevices, UpdatesOnce
from stratax.distribute.strategies._strategy import Strategy
from stratax.distribute.strategies._workers import (
    JOBS,
    WorkersStrategy,
    devices_of,
    find_resolver,
    has_peers,
    order_by_worker,
)


class ShardedStrategy(WorkersStrategy):
    """Synchronous training on several devices, each of which keeps a part of every large variable.

    Weights, gradients and optimizer slots are divided among the devices (ZeRO, Rajbhandari et al. 2020; also called
    fully sharded data parallel). A step gathers a weight where a layer reads it, and each device updates its part. The
    mathematics are those of one device, as with `MirroredStrategy`.

    With `model` that many neighbours share one part of the batch, and the compiler divides among them the work of what
    rules divide by ``"model"`` (tensor parallelism, Shoeybi et al. 2019): such weights are never gathered.

    Where ``TF_CONFIG`` names several workers, or this process is connected to others already (the hosts of a TPU), the
    strategy has the devices of all of them; what is said of workers at `MultiWorkerMirroredStrategy` holds. Devices
    side by side are those of one worker, groups of devices if they fit into one. A variable in parts of several workers
    is read (``numpy()``, `get_weights`, `save`) by all of them together.

    Args:
        devices: Names (`"/gpu:0"`), `LogicalDevice`s or `jax.Device`s; None for all accelerators of this process, or,
            where there are none, its CPU devices. Of several workers each names its own, the same ones.
        replicas: How many groups of devices there are, each of which has the whole in parts.
        model: How many devices share a part of the batch. A batch is divided among ``len(devices) // model``.
        layout: A mapping, or pairs, of a regular expression and a tuple with ``"shard"``, ``"model"`` or None for each
            dimension: how variables are divided whose path the expression is found in, the first one decides; None for
            a copy on each device. Others are divided along their largest dimension that divides, by ``"shard"``; those
            with fewer than 8,192 elements stay whole.
        remat: ``"layer"`` has each layer that is made in the scope compute anew, on the way back, what its gradient
            needs (`stratax.remat`): of layers in one another the outermost that is no model. A function says of a layer
            or model whether it does. None: what was computed is kept.
        cluster_resolver: Says which workers there are, and with ``SimpleClusterResolver(ClusterSpec({}))`` that this
            process is alone; None: the cluster that it is connected to, else that of ``TF_CONFIG``.

    Raises:
        BadArgumentError: If devices are named twice, `replicas` and `model` do not divide them, `model` not those of a
            worker, a rule is none, or `remat` another text.
        BadTypeError: If `replicas` or `model` is no whole number, `layout` neither a mapping nor pairs, `remat`
            neither a text nor a function, or `cluster_resolver` no resolver.
        ClusterError: If ``TF_CONFIG`` is wrong, or the workers do not name as many devices each.
        ClusterTimeoutError: If not all tasks come within the resolver's time limit; names those that are missing.
        DeviceError: If a device does not exist after `tf.config.set_soft_device_placement(False)`.

    Example:
        >>> import stratax as sx
        >>> strategy = sx.distribute.ShardedStrategy(["/cpu:0"])
        >>> strategy.num_replicas_in_sync
        1
    """

    def __init__(
        self,
        devices: Sequence[Any] | None = None,
        *,
        replicas: int = 1,
        model: int = 1,
        layout: object = None,
        remat: str | Callable[[keras.layers.Layer], bool] | None = None,
        cluster_resolver: ClusterResolver | None = None,
    ) -> None:
        # Before JAX is asked for devices: the processes have to be joined when it starts.
        cluster = _find_cluster(cluster_resolver)
        resolved = order_by_worker(_find_devices(devices, cluster))
        _check_divides("replicas", replicas, "groups of one size", len(resolved))
        _check_divides("model", model, "neighbours that share a part of the batch", len(resolved) // replicas)
        _check_of_one_worker(model, resolved, cluster.num_processes)
        _check_remat(remat)
        self.remat = remat
        self._layout = Layout(mesh_of(resolved, groups=replicas, model=model), layout)
        placement = DividedAmongDevices(self._layout)
        super().__init__(cluster, resolved, placement=placement, groups=replicas, model=model)

    def scope(self) -> contextlib.AbstractContextManager[Strategy]:
        return super().scope() if self.remat is None else self._scope_of_remat()

    @contextlib.contextmanager
    def _scope_of_remat(self) -> Iterator[Strategy]:
        with super().scope(), keras.RematScope(mode="full"):
            yield self

    def of_this_process(self) -> Strategy:
        if self.num_workers == 1:
            return self
        own = [device for device in self.devices if device.process_index == jax.process_index()]
        model = self.mesh.shape[MODEL_AXIS]
        # What the workers' devices divide, these do too.
        shard = math.gcd(len(own) // model, self.mesh.shape[SHARD_AXIS])
        return ShardedStrategy(
            own,
            replicas=len(own) // model // shard,
            model=model,
            layout=self._layout.given,
            remat=self.remat,
            cluster_resolver=SimpleClusterResolver(ClusterSpec({})),
        )

    def recomputes(self, layer: object) -> bool:
        """Return whether a layer computes anew what its gradient needs."""
        if not isinstance(layer, keras.layers.Layer):
            return False
        return bool(self.remat(layer)) if callable(self.remat) else not isinstance(layer, keras.Model)

    def shard(self, tree: PyTree, *args: object) -> PyTree:
        """Return a tree of arrays with each of them divided among the devices, as variables of the scope are.

        For parameters of JAX, Flax NNX, Equinox and Optax, which are no variables. The rules of the layout are searched
        in their key paths: ``layers/0/weight``, ``hidden/kernel``. Given a function, calls it such that no device has
        the whole of an array that is divided; arrays that belong to one of its arguments, such as Optax' slots, lie as
        that does. In a compiled function, says where values lie.

        Such arrays are arguments of `run` by themselves: each replica sees the whole value, gathered where it is read.
        Of several workers all call it, and the chief's arrays count, as of variables.

        Args:
            tree: Arrays of JAX or NumPy in containers or modules; other leaves, such as functions, stay as they are. Or
                a function that returns such a tree, which is compiled.
            *args: What the function is called with.

        Returns:
            The tree, with arrays on the devices of `mesh`. The one that was given stays as it is.

        Raises:
            BadArgumentError: If a rule divides a dimension that does not divide.
            BadTypeError: If there is no array in it, or variables or values of replicas are.
            StrategyError: If it is called in a replica.

        Example:
            >>> import jax, stratax as sx
            >>> strategy = sx.distribute.ShardedStrategy(["/cpu:0", "/cpu:1"])
            >>> parameters = strategy.shard(lambda key: {"w": jax.random.normal(key, (128, 64))}, jax.random.key(0))
            >>> parameters["w"].sharding.shard_shape((128, 64))
            (64, 64)
        """
        if in_replica():
            raise errors.StrategyError(
                "strategy.shard was called in a replica, which sees values whole. Expected: outside of the function "
                "that strategy.run calls."
            )
        if self.num_workers > 1:
            # Each may have drawn numbers of its own: all take the chief's, as of variables.
            tree, args = agree_on((tree, args), functools.partial(_ownership.find_first, strategy=self))
        if callable(tree) and jax.tree_util.all_leaves([tree]):
            return shard_result(tree, args, self._layout)
        if args:
            raise errors.BadTypeError(
                "strategy.shard takes one tree of arrays, or a function and what it is called with. Received: "
                f"{shown(tree)} and {len(args)} more."
            )
        return shard_tree(tree, ArrayPlaces(self._layout))

    def layout_table(self, of: object, print_fn: Callable[[str], Any] = print) -> None:
        """Print where variables lie: by which axes each dimension is divided, why, and bytes on each device.

        Args:
            of: A model (with the variables of its optimizer), an optimizer, variables, or a tree of arrays (see
                :meth:`shard`) or of their types. They need not belong to the strategy.
            print_fn: Prints a text of several lines.

        Raises:
            BadArgumentError: If a rule of the layout decides about none of them: it matches nothing, or an earlier one
                does before it.
            BadTypeError: If it is something else.

        Example:
            >>> import keras, stratax as sx
            >>> strategy = sx.distribute.ShardedStrategy(["/cpu:0", "/cpu:1"])
            >>> with strategy.scope():
            ...     layer = keras.layers.Dense(128, name="up")
            ...     layer.build((None, 64))
            >>> strategy.layout_table(layer.variables)
            variable     shape     divided by     bytes on a device    rule
            up/kernel    64x128    None, shard    16,384               its largest dimension
            up/bias      128                      512                  whole: fewer than 8,192 elements
                                                  16,896               of 33,280 in all
        """
        layout = Layout(self._layout.mesh, self._layout.given)
        variables = _variables_of(of)
        if variables is None:
            array_places = ArrayPlaces(layout)
            rows = [leaf for leaf in leaves_of(of, types=True) if isinstance(leaf, NamedArray)]
            if not rows:
                raise errors.BadTypeError(
                    "layout_table expects a model, an optimizer, a list of variables, or a tree of arrays. Received: "
                    f"{shown(of)}."
                )
            places = [_actual(array_places.place_of(leaf), leaf, layout) for leaf in rows]
        else:
            rows = variables
            places = [self._place_of(variable, layout) for variable in variables]
        idle = layout.find_idle()
        if idle:
            raise errors.BadArgumentError(
                "Rules of the layout decide about no variable. Expected: each matches one. Received: "
                f"{'; '.join(idle)}. There are {', '.join(row.path for row in rows[:20])}."
            )
        print_fn(format_table(rows, places))

    def _place_of(self, variable: keras.Variable, layout: Layout) -> Place:
        place = layout.place_of(variable.path, tuple(variable.shape), trainable=variable.trainable)
        if _ownership.owner(variable) is not self:
            return place
        actual = sharding_in(variable, NamedSharding(layout.mesh, PartitionSpec()))
        return place if actual == place.sharding else Place(actual, "as the variable that it belongs to")


# The attribute of a slot that holds what the layout is asked of it: as the variable that it belongs to.
_PLACED_AS = "_stratax_placed_as"
# The variable beside which another one is made, such as an optimizer's slot.
_BESIDE: Slot[keras.Variable | None] = Slot("the variable beside which another one is made", None)


class DividedAmongDevices(OnDevices, UpdatesOnce):
    """Variables of which each device of a group has a part, as a layout says.

    Args:
        layout: The layout.
    """

    def __init__(self, layout: Layout) -> None:
        super().__init__(NamedSharding(layout.mesh, PartitionSpec()))
        self._layout = layout
        self.divides = layout.mesh.shape[SHARD_AXIS] > 1
        # By id: Keras' variables are compared element by element.
        self._known: weakref.WeakValueDictionary[int, keras.Variable] = weakref.WeakValueDictionary()

    @property
    def layout(self) -> Layout:
        """Which dimensions are divided."""
        return self._layout

    @contextlib.contextmanager
    def elsewhere(self, sharding: jax.sharding.Sharding) -> Iterator[None]:
        if not isinstance(sharding, NamedSharding):
            raise errors.BadTypeError(f"Expected: a place on a mesh. Received: {shown(sharding)}.")
        # The same rules say of another mesh what its devices have: other dimensions may divide there.
        layout = Layout(sharding.mesh, self._layout.given)
        kept = [(variable, variable._layout) for variable in self._known.values()]
        places = [_ask(layout, variable) for variable, _ in kept]
        divides, self.divides = self.divides, layout.mesh.shape[SHARD_AXIS] > 1
        try:
            for (variable, _), place in zip(kept, places, strict=True):
                variable._layout = place.sharding if place.sharding.spec else None
            with super().elsewhere(sharding):
                yield
        finally:
            self.divides = divides
            for variable, before in kept:
                variable._layout = before

    def find_sharding(self, variable: keras.Variable) -> jax.sharding.NamedSharding | None:
        self._known[id(variable)] = variable
        other = _BESIDE.get()
        if other is not None and tuple(other.shape) == tuple(variable.shape):
            setattr(variable, _PLACED_AS, _question(other))
            return sharding_in(other, self.storage)
        return _ask(self._layout, variable).sharding

    def prepare(self, region: regions.ProgramRegion) -> None:
        super().prepare(region)
        if self.divides:
            region.divide = functools.partial(find_places, self.find_array_sharding)
            region.adopt_variable = self._adopt
            for source in region.inputs:
                if isinstance(source, keras.Variable):
                    self._adopt(source)

    def _adopt(self, variable: keras.Variable) -> None:
        """Divide a variable that no strategy has made, or another one: each device would get a copy of it."""
        is_own = isinstance(variable, Parts) or is_on_read(variable) or store_of(variable) is not None
        if is_own or not has_value(variable) or sharding_in(variable, self.storage) != self.storage:
            return
        sharding = _ask(self._layout, variable).sharding
        if sharding.spec:
            self._known[id(variable)] = variable
            _ownership.lay_out(variable, sharding)

    def find_array_sharding(self, array: NamedArray) -> jax.sharding.NamedSharding:
        return find_place(array.value, self._layout.mesh) or ArrayPlaces(self._layout).find_place_of(array)

    def make_beside(self, variable: keras.Variable, make: Callable[[], Any]) -> Any:
        with _BESIDE.holding(variable):
            return make()

    def place(self, variables: Sequence[keras.Variable], values: Sequence[Any]) -> None:
        shardings = [sharding_in(variable, self.storage) for variable in variables]
        write_all(
            variables,
            [place(value, sharding) for value, sharding in zip(values, shardings, strict=True)],
        )


def _question(variable: keras.Variable) -> tuple[str, tuple[int, ...], bool]:
    """Return what a layout is asked of a variable."""
    own = variable.path, tuple(variable.shape), variable.trainable
    asked: tuple[str, tuple[int, ...], bool] = variable.__dict__.get(_PLACED_AS, own)
    return asked


def _ask(layout: Layout, variable: keras.Variable) -> Place:
    path, shape, trainable = _question(variable)
    return layout.place_of(path, shape, trainable=trainable)


def _actual(place: Place, leaf: NamedArray, layout: Layout) -> Place:
    """Return where an array lies, which may be elsewhere than a layout says."""
    found = find_place(leaf.value, layout.mesh)
    return place if found in (None, place.sharding) else Place(found, "as it was placed")


def _variables_of(of: Any) -> list[keras.Variable] | None:
    """Return the variables of what a table is asked for; None for arrays."""
    if isinstance(of, keras.Variable):
        return [of]
    if isinstance(of, keras.Model):
        optimizer = getattr(of, "optimizer", None)
        return [*of.variables, *(() if optimizer is None else optimizer.variables)]
    found = getattr(of, "variables", of) if isinstance(of, keras.Layer | keras.optimizers.Optimizer) else of
    is_list = isinstance(found, list | tuple) and all(isinstance(each, keras.Variable) for each in found)
    return list(found) if is_list else None


def _find_cluster(resolver: object) -> Cluster:
    """Return the cluster that a resolver names, or that this process belongs to; perhaps of this process alone."""
    connected = current()
    if resolver is None and connected is not None and has_peers(connected):
        return connected
    chosen = find_resolver(resolver)
    if not chosen.cluster_spec().jobs:
        # Alone, and no cluster for others to find: another strategy may join one later.
        return Cluster(chosen.cluster_spec(), chosen.task_type, chosen.task_id)
    # Before any connection: a wrong cluster should not wait for tasks that never come.
    check_jobs(chosen.cluster_spec(), JOBS, "ShardedStrategy")
    return connect(chosen)


def _find_devices(named: Sequence[Any] | None, cluster: Cluster) -> list[jax.Device]:
    """Return the devices of all workers, of which each names its own."""
    if named is None:
        return devices_of(cluster)
    own = resolve_devices(named)
    index = jax.process_index()
    # A list in which there are devices of others has all of them.
    if not has_peers(cluster) or any(device.process_index != index for device in own):
        return own
    by_worker: dict[int, list[jax.Device]] = {}
    for device in devices_of(cluster, own):
        by_worker.setdefault(device.process_index, []).append(device)
    places = [by_worker[index].index(device) for device in own]
    # Of a worker that has fewer, all: the workers compare what they found.
    return [each[place] for each in by_worker.values() for place in places if place < len(each)]


def _check_of_one_worker(model: int, devices: Sequence[jax.Device], count: int) -> None:
    if len(devices) // count % model:
        raise errors.BadArgumentError(
            "Neighbours that share a part of the batch are devices of one worker. Expected: model divides the "
            f"{len(devices) // count} devices that each of {count} workers has. Received: model={model}."
        )


def _check_remat(remat: object) -> None:
    if isinstance(remat, str) and remat != "layer":
        raise errors.BadArgumentError(
            f"remat must be 'layer', a function of a layer, or None. Received: remat={shown(remat)}."
        )
    if remat is not None and not isinstance(remat, str) and not callable(remat):
        raise errors.BadTypeError(
            f"remat must be 'layer', a function of a layer, or None. Received: remat={shown(remat)}."
        )


def _check_divides(name: str, value: object, what: str, count: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise errors.BadTypeError(
            f"{name} must be a whole number of {what}. Received: {name}={shown(value)}."
        )
    if value < 1 or count % value:
        raise errors.BadArgumentError(
            f"{name} must divide {count} devices into {what}. Expected: one of "
            f"{[each for each in range(1, count + 1) if count % each == 0]}. Received: {name}={value}."
        )
