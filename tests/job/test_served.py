"""What the cluster serves decides which resource a framework becomes."""

from job.scenario import run_scenario
from job.simulated_cluster import SimulatedCluster

from dlf.errors import ExitCode, Rejected


def test_mxnet_becomes_a_volcano_job_where_mxjob_is_not_served() -> None:
    """The detour is said, and the same roles are submitted as tasks."""

    async def history(cluster: SimulatedCluster) -> None:
        job = await cluster.job()
        tasks = cluster.api.store.get(cluster.jobs, job)["spec"]["tasks"]
        assert [task["name"] for task in tasks] == ["scheduler", "server", "worker"]
        cluster.phase(job, "Completed")

    result = run_scenario(
        history,
        "--num_ps=1",
        framework="mxnet",
        plural="jobs",
        before=lambda cluster: cluster.api.resources["kubeflow.org", "v1"].pop("mxjobs"),
    )

    assert result.code == ExitCode.SUCCEEDED
    assert result.messages[0] == (
        "the cluster does not serve MXJob (kubeflow.org/v1);"
        " this is a Job (batch.volcano.sh/v1alpha1)"
    )


def test_mxnet_without_any_operator_is_rejected() -> None:
    """Neither kind is served: exit 3, naming both, and nothing is created."""

    async def history(cluster: SimulatedCluster) -> None:
        assert cluster.task is not None
        await cluster.until(cluster.task.done)

    def bare(cluster: SimulatedCluster) -> None:
        cluster.api.resources["kubeflow.org", "v1"].pop("mxjobs")
        cluster.api.resources.pop(("batch.volcano.sh", "v1alpha1"))

    result = run_scenario(history, framework="mxnet", before=bare)

    assert result.code == ExitCode.REJECTED
    assert isinstance(result.error, Rejected)
    assert result.error.message == (
        "the cluster does not serve MXJob (kubeflow.org/v1) or Job (batch.volcano.sh/v1alpha1)"
    )
    assert [request for request in result.requests if request.startswith("POST")] == []


def test_mpi_uses_the_version_that_is_served() -> None:
    """With mpi-operator in place of training-operator the workers run sshd."""

    async def history(cluster: SimulatedCluster) -> None:
        await cluster.until(lambda: any("/v2beta1/" in r.path for r in cluster.api.requests))
        job = await cluster.job()
        replicas = cluster.api.store.get(cluster.jobs, job)["spec"]["mpiReplicaSpecs"]
        worker = replicas["Worker"]["template"]["spec"]["containers"][0]
        assert worker["command"] == ["/usr/sbin/sshd", "-De"]
        cluster.condition(job, "Created", "Succeeded", completionTime="2026-01-01T00:00:00Z")

    result = run_scenario(
        history,
        framework="mpi",
        before=lambda cluster: cluster.api.resources["kubeflow.org", "v1"].pop("mpijobs"),
    )

    assert result.code == ExitCode.SUCCEEDED
