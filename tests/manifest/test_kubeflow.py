"""The specs of the kubeflow.org kinds."""

import pytest

from dlf.manifest.jobs.jaxjob import JAXJobSpec
from dlf.manifest.jobs.kubeflow import KubeflowJobSpec, ReplicaSpec, RunPolicy
from dlf.manifest.jobs.mpijob import MPIJobSpec
from dlf.manifest.jobs.mxjob import MXJobSpec
from dlf.manifest.jobs.paddlejob import PaddleElasticPolicy, PaddleJobSpec
from dlf.manifest.jobs.pytorchjob import PyTorchJobSpec
from dlf.manifest.jobs.tfjob import TFJobSpec
from dlf.manifest.meta import ObjectMeta
from dlf.manifest.pods import PodSpec, PodTemplate

POLICY = RunPolicy(clean_pod_policy="None", backoff_limit=1)
TEMPLATE = PodTemplate(metadata=ObjectMeta(), spec=PodSpec(containers=[]))
ROLES = {
    role: ReplicaSpec(replicas=1, restart_policy="Never", template=TEMPLATE)
    for role in ("Worker", "Master")
}
ELASTIC = PaddleElasticPolicy(min_replicas=1, max_replicas=1, max_restarts=0)


@pytest.mark.parametrize(
    "spec",
    [
        PyTorchJobSpec(run_policy=POLICY, pytorch_replica_specs=ROLES),
        TFJobSpec(run_policy=POLICY, success_policy="AllWorkers", tf_replica_specs=ROLES),
        PaddleJobSpec(run_policy=POLICY, elastic_policy=ELASTIC, paddle_replica_specs=ROLES),
        JAXJobSpec(run_policy=POLICY, jax_replica_specs=ROLES),
        MXJobSpec(run_policy=POLICY, job_mode="MXTrain", mx_replica_specs=ROLES),
        MPIJobSpec(run_policy=POLICY, slots_per_worker=1, mpi_replica_specs=ROLES),
    ],
    ids=lambda spec: type(spec).__name__,
)
def test_replica_specs_are_found_in_every_kind(spec: KubeflowJobSpec) -> None:
    """Each kind has its own key for them; the order is that of the rendering."""
    assert list(ROLES.items()) == list(spec.replica_specs.items())
