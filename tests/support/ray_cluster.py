"""A Ray cluster of several nodes on this machine, as the tests of engines in one need it."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import psutil

ATTEMPTS = 4
"""A node gives up after 30 s, which no setting changes; on a machine at its limit its helpers take longer."""
Made = TypeVar("Made")


@contextmanager
def ray_cluster(nodes: int = 2, engines_per_node: int = 1) -> Iterator[Any]:
    """A `ray.cluster_utils.Cluster`: a head without room for engines, and nodes with room for so many each, counted by
    the resource `engine`.
    """
    os.environ["RAY_DISABLE_IMPORT_WARNING"] = "1"
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 0, "include_dashboard": False}
    cluster = _patiently(lambda: Cluster(initialize_head=True, head_node_args=head))
    try:
        for _ in range(nodes):
            add_node(cluster, engine=engines_per_node)
        yield cluster
    finally:
        cluster.shutdown()


def add_node(cluster: Any, **resources: float) -> Any:
    """One more node, with these resources."""
    return _patiently(lambda: cluster.add_node(num_cpus=0, resources=resources, wait=True))


def engines_in_ray() -> list[psutil.Process]:
    """The processes of all engines on this machine that are actors of a cluster."""
    return [each for each in psutil.process_iter(["cmdline"]) if "EngineActor" in " ".join(each.info["cmdline"] or ())]


def _patiently(make: Callable[[], Made]) -> Made:
    for _ in range(ATTEMPTS - 1):
        try:
            return make()
        except Exception as error:  # Ray raises no other
            if "timed out during startup" not in str(error):
                raise
    return make()
