"""How most histories of a PyTorchJob begin and end."""

from job.stage import Stage

JOB = "pytorchjob-demo-ab12"
MASTER, FIRST, SECOND = f"{JOB}-master-0", f"{JOB}-worker-0", f"{JOB}-worker-1"


async def three_pods(stage: Stage, job: str = "") -> tuple[str, list[str]]:
    """The operator accepts a job of three pods, and all of them run."""
    job = job or await stage.job()
    stage.condition(job, "Created")
    pods = [stage.pod(job, "master", 0), stage.pod(job, "worker", 0), stage.pod(job, "worker", 1)]
    for number, pod in enumerate(pods):
        stage.runs(pod, f"hello from {number}")
    stage.condition(job, "Created", "Running")
    await stage.heard("3 of 3 running")
    return job, pods


async def succeed(stage: Stage, job: str, pods: list[str]) -> None:
    """All pods end well, and the operator says so."""
    for pod in pods:
        stage.ends(pod)
    stage.condition(job, "Created", "-Running", "Succeeded")


async def fail(stage: Stage, job: str) -> None:
    """The operator says that the job has failed."""
    stage.condition(job, "Created", "-Running", "Failed")
