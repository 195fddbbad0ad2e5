"""How most histories of a PyTorchJob begin and end."""

from job.simulated_cluster import SimulatedCluster

JOB = "pytorchjob-demo-ab12"
MASTER, FIRST, SECOND = f"{JOB}-master-0", f"{JOB}-worker-0", f"{JOB}-worker-1"


async def three_pods(cluster: SimulatedCluster, job: str = "") -> tuple[str, list[str]]:
    """The operator accepts a job of three pods, and all of them run."""
    job = job or await cluster.job()
    cluster.condition(job, "Created")
    pods = [
        cluster.pod(job, "master", 0),
        cluster.pod(job, "worker", 0),
        cluster.pod(job, "worker", 1),
    ]
    for number, pod in enumerate(pods):
        cluster.runs(pod, f"hello from {number}")
    cluster.condition(job, "Created", "Running")
    await cluster.until_message("3 of 3 running")
    return job, pods


async def succeed(cluster: SimulatedCluster, job: str, pods: list[str]) -> None:
    """All pods end well, and the operator says so."""
    for pod in pods:
        cluster.ends(pod)
    cluster.condition(job, "Created", "-Running", "Succeeded")


async def fail(cluster: SimulatedCluster, job: str) -> None:
    """The operator says that the job has failed."""
    cluster.condition(job, "Created", "-Running", "Failed")
