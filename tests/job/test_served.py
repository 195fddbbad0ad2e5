"""What the cluster serves decides which resource a framework becomes."""

from job.play import play
from job.stage import Stage

from dlf.errors import ExitCode, Rejected


def test_mxnet_becomes_a_volcano_job_where_mxjob_is_not_served() -> None:
    """The detour is said, and the same roles are submitted as tasks."""

    async def history(stage: Stage) -> None:
        job = await stage.job()
        tasks = stage.api.store.get(stage.jobs, job)["spec"]["tasks"]
        assert [task["name"] for task in tasks] == ["scheduler", "server", "worker"]
        stage.phase(job, "Completed")

    played = play(
        history,
        "--num_ps=1",
        framework="mxnet",
        plural="jobs",
        before=lambda stage: stage.api.resources["kubeflow.org", "v1"].pop("mxjobs"),
    )

    assert played.code == ExitCode.SUCCEEDED
    assert played.said[0] == (
        "the cluster does not serve MXJob (kubeflow.org/v1);"
        " this is a Job (batch.volcano.sh/v1alpha1)"
    )


def test_mxnet_without_any_operator_is_rejected() -> None:
    """Neither kind is served: exit 3, naming both, and nothing is created."""

    async def history(stage: Stage) -> None:
        assert stage.task is not None
        await stage.until(stage.task.done)

    def bare(stage: Stage) -> None:
        stage.api.resources["kubeflow.org", "v1"].pop("mxjobs")
        stage.api.resources.pop(("batch.volcano.sh", "v1alpha1"))

    played = play(history, framework="mxnet", before=bare)

    assert played.code == ExitCode.REJECTED
    assert isinstance(played.error, Rejected)
    assert played.error.message == (
        "the cluster does not serve MXJob (kubeflow.org/v1) or Job (batch.volcano.sh/v1alpha1)"
    )
    assert [request for request in played.requests if request.startswith("POST")] == []


def test_mpi_uses_the_version_that_is_served() -> None:
    """With mpi-operator in place of training-operator the workers run sshd."""

    async def history(stage: Stage) -> None:
        await stage.until(lambda: any("/v2beta1/" in r.path for r in stage.api.requests))
        job = await stage.job()
        replicas = stage.api.store.get(stage.jobs, job)["spec"]["mpiReplicaSpecs"]
        worker = replicas["Worker"]["template"]["spec"]["containers"][0]
        assert worker["command"] == ["/usr/sbin/sshd", "-De"]
        stage.condition(job, "Created", "Succeeded", completionTime="2026-01-01T00:00:00Z")

    played = play(
        history,
        framework="mpi",
        before=lambda stage: stage.api.resources["kubeflow.org", "v1"].pop("mpijobs"),
    )

    assert played.code == ExitCode.SUCCEEDED
