"""Following survives the API server's bad days: one failing call never ends the step."""

import asyncio

from job.pytorch_histories import JOB, MASTER, succeed, three_pods
from job.scenario import run_scenario
from job.simulated_cluster import SimulatedCluster

from dlf.errors import ClusterLost, ExitCode, Rejected


async def outage(cluster: SimulatedCluster, seconds: float) -> None:
    """Connections are refused for so long."""
    await cluster.api.server.stop()
    await asyncio.sleep(seconds)
    await cluster.api.server.start()


def test_server_away_for_half_an_hour_is_ridden_out() -> None:
    """The budget is 30 minutes; the job ends meanwhile, and its last lines are printed."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        await cluster.api.server.stop()
        for pod in pods:
            cluster.ends(pod, 0, "written while nobody could read")
        cluster.condition(job, "Created", "-Running", "Succeeded")
        await asyncio.sleep(1700)
        await cluster.api.server.start()

    result = run_scenario(history, sweep=30)

    assert result.code == ExitCode.SUCCEEDED
    assert sum("written while nobody" in line for line in result.out) == 3
    assert result.count("cannot reach the API server at") == 1


def test_server_away_for_longer_ends_with_4_and_leaves_the_job() -> None:
    """The next try attaches to it."""

    async def history(cluster: SimulatedCluster) -> None:
        await three_pods(cluster)
        await cluster.api.server.stop()

    result = run_scenario(history, "--api_outage", "5m", sweep=30)

    assert result.code == ExitCode.CLUSTER_LOST
    assert isinstance(result.error, ClusterLost)
    assert "could not be reached for 5m (--api_outage)" in str(result.error)
    assert result.jobs == [JOB]
    assert 300 <= result.ended < 400


def test_5xx_for_minutes_is_ridden_out() -> None:
    """Whatever is asked meanwhile."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        cluster.api.fail(seconds=400, status=503)
        cluster.api.end_watches()
        await cluster.until_message("the API server answers again after")
        await succeed(cluster, job, pods)

    result = run_scenario(history, sweep=10)

    assert result.code == ExitCode.SUCCEEDED
    assert result.count("cannot reach the API server at") == 1
    assert result.ended > 400


def test_429_is_waited_out_as_long_as_the_server_asks() -> None:
    """Retry-After is honoured, also before the job is submitted."""

    async def history(cluster: SimulatedCluster) -> None:
        await succeed(cluster, *(await three_pods(cluster)))

    def before(cluster: SimulatedCluster) -> None:
        cluster.api.fail(verb="create", path="pytorchjobs", status=429, retry_after=40)

    result = run_scenario(history, before=before)

    assert result.code == ExitCode.SUCCEEDED
    assert len(result.asked("POST", "pytorchjobs")) == 2
    assert 40 <= result.ended < 60


def test_410_lists_again_and_misses_nothing() -> None:
    """What changed while the history was forgotten is in the new list."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        cluster.api.expire_watches()
        await asyncio.sleep(5)
        cluster.api.fail(verb="watch", seconds=30, status=503)
        cluster.api.end_watches()
        await asyncio.sleep(10)
        await succeed(cluster, job, pods)
        cluster.api.store.compact()

    result = run_scenario(history)

    assert result.code == ExitCode.SUCCEEDED
    # Twice more than the look for earlier jobs and the first list.
    assert len([r for r in result.api.requests if _is_list(r, "pytorchjobs")]) == 4


def test_watches_that_end_early_are_opened_again() -> None:
    """Load balancers cut what is quiet."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        for _ in range(20):
            await asyncio.sleep(20)
            cluster.api.end_watches()
        await succeed(cluster, job, pods)

    result = run_scenario(history, sweep=10)

    assert result.code == ExitCode.SUCCEEDED
    assert result.count("does not answer") == 0


def test_dead_sockets_are_replaced() -> None:
    """All connections are reset at once, again and again."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        for _ in range(5):
            await asyncio.sleep(20)
            await cluster.api.server.drop()
        await succeed(cluster, job, pods)

    assert run_scenario(history, sweep=10).code == ExitCode.SUCCEEDED


def test_unknown_event_is_told_once_and_waited_on() -> None:
    """A newer API server may send what dlf does not know."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        for _ in range(3):
            cluster.api.send_event(
                "SURPRISE", cluster.api.store.get(cluster.jobs, job), "pytorchjobs"
            )
        await asyncio.sleep(1)
        await succeed(cluster, job, pods)

    result = run_scenario(history)

    assert result.code == ExitCode.SUCCEEDED
    assert result.count("unknown event `SURPRISE`") == 1


def test_unknown_condition_is_told_once_and_waited_on() -> None:
    """A newer operator may write what dlf does not know."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        for _ in range(3):
            cluster.condition(job, "Created", "Running", "Levitating")
            await asyncio.sleep(1)
        await succeed(cluster, job, pods)

    result = run_scenario(history)

    assert result.code == ExitCode.SUCCEEDED
    assert result.count("the job's status has an unknown `Levitating`") == 1


def test_token_that_is_refused_from_the_start_ends_with_3() -> None:
    """401: the hint says what to do; nothing was created."""

    async def history(cluster: SimulatedCluster) -> None:
        pass

    def before(cluster: SimulatedCluster) -> None:
        cluster.api.tokens = {"another"}

    result = run_scenario(history, before=before)

    assert result.code == ExitCode.REJECTED
    assert isinstance(result.error, Rejected)
    assert (result.error.status, result.jobs) == (401, [])


def test_token_that_is_refused_for_a_while_is_waited_for() -> None:
    """A rotated token, or an authenticator that is out of order: the job is followed on."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        cluster.api.tokens = {"rotated"}
        cluster.api.end_watches()
        await asyncio.sleep(300)
        cluster.api.tokens = {"secret"}
        await succeed(cluster, job, pods)

    result = run_scenario(history, sweep=10)

    assert result.code == ExitCode.SUCCEEDED


def test_role_that_is_away_for_a_while_is_waited_for() -> None:
    """What was allowed once is asked for again."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        cluster.api.denied = {("watch", "pods"), ("watch", "pytorchjobs.kubeflow.org")}
        cluster.api.end_watches()
        await asyncio.sleep(100)
        cluster.api.denied = set()
        await succeed(cluster, job, pods)

    assert run_scenario(history, sweep=10).code == ExitCode.SUCCEEDED


def test_create_that_is_forbidden_ends_with_3_naming_verb_and_resource() -> None:
    """403, and the Role to ask for."""

    async def history(cluster: SimulatedCluster) -> None:
        pass

    def before(cluster: SimulatedCluster) -> None:
        cluster.api.denied = {("create", "pytorchjobs.kubeflow.org")}

    result = run_scenario(history, before=before)

    assert result.code == ExitCode.REJECTED
    assert isinstance(result.error, Rejected)
    assert "cannot create pytorchjobs.kubeflow.org in namespace pipeline" in result.error.message
    assert "`create` on `pytorchjobs.kubeflow.org`" in result.error.hint


def test_job_that_may_not_be_followed_is_not_left_behind() -> None:
    """Nobody would see its end: it is deleted by the rule of `--on_exit`."""

    async def history(cluster: SimulatedCluster) -> None:
        pass

    def before(cluster: SimulatedCluster) -> None:
        cluster.api.denied = {("watch", "pods")}

    result = run_scenario(history, before=before)

    assert result.code == ExitCode.REJECTED
    assert "cannot watch pods" in str(result.error)
    assert (result.jobs, result.pods) == ([], [])


def test_kind_that_is_not_served_ends_with_3() -> None:
    """Naming what would have to be installed."""

    async def history(cluster: SimulatedCluster) -> None:
        pass

    def before(cluster: SimulatedCluster) -> None:
        del cluster.api.resources["kubeflow.org", "v1"]["pytorchjobs"]

    result = run_scenario(history, before=before)

    assert result.code == ExitCode.REJECTED
    assert "the cluster does not serve PyTorchJob (kubeflow.org/v1)" in str(result.error)


def test_job_that_someone_deletes_ends_with_5() -> None:
    """Also when the pods stay for a while."""

    async def history(cluster: SimulatedCluster) -> None:
        job, _ = await three_pods(cluster)
        cluster.api.store.hold_deletions = True
        cluster.api.store.delete(cluster.jobs, job, foreground=True)

    result = run_scenario(history)

    assert result.code == ExitCode.DELETED
    assert f"PyTorchJob {JOB} was deleted by someone else" in result.messages


def test_job_that_is_deleted_while_the_server_is_away_ends_with_5() -> None:
    """No event tells of it: the list does not have it."""

    async def history(cluster: SimulatedCluster) -> None:
        job, _ = await three_pods(cluster)
        await cluster.api.server.stop()
        cluster.api.store.remove(cluster.jobs, job)
        cluster.api.store.compact()
        await asyncio.sleep(100)
        await cluster.api.server.start()

    assert run_scenario(history, sweep=10).code == ExitCode.DELETED


def test_job_of_the_same_name_with_another_uid_is_not_ours() -> None:
    """Somebody deleted and created it anew: exit 5, and the new one is left alone."""

    async def history(cluster: SimulatedCluster) -> None:
        job, _ = await three_pods(cluster)
        await cluster.api.server.stop()
        cluster.api.store.remove(cluster.jobs, job)
        cluster.earlier(job, task="8")
        cluster.condition(job, "Succeeded")
        cluster.api.store.compact()
        await cluster.api.server.start()

    result = run_scenario(history)

    assert (result.code, result.jobs) == (ExitCode.DELETED, [JOB])
    assert (
        f"PyTorchJob {JOB} was deleted by someone else: another one has its name now"
        in result.messages
    )


def test_namespace_that_is_deleted_ends_with_5() -> None:
    """Pods first, then the job; nothing is asked for again."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        for pod in pods:
            cluster.deletes(pod)
            cluster.ends(pod, 143)
            cluster.api.store.remove(cluster.pods, pod)
        cluster.api.store.remove(cluster.jobs, job)

    result = run_scenario(history)

    assert result.code == ExitCode.DELETED
    assert result.asked("DELETE", "") == []


def test_job_that_vanishes_while_dlf_attaches_ends_with_5() -> None:
    """Between the list and the watch."""

    async def history(cluster: SimulatedCluster) -> None:
        await cluster.until_message("attached")
        cluster.api.store.remove(cluster.jobs, "earlier")

    def before(cluster: SimulatedCluster) -> None:
        cluster.earlier("earlier")

    assert run_scenario(history, before=before).code == ExitCode.DELETED


def test_provisional_failure_of_an_mpi_job_is_waited_on() -> None:
    """mpi-operator takes it back when the launcher still succeeds."""

    async def history(cluster: SimulatedCluster) -> None:
        job = await cluster.job()
        launcher = cluster.pod(job, "launcher", 0, "mpi")
        cluster.runs(launcher)
        for index in range(2):
            cluster.runs(cluster.pod(job, "worker", index, "mpi"))
        cluster.condition(job, "Created", "-Running", "Failed")
        await asyncio.sleep(1000)
        cluster.ends(launcher)
        cluster.condition(job, "Succeeded", "-Failed", completionTime=cluster.api.store.stamp())

    result = run_scenario(history, framework="mpi", before=only_v2beta1, sweep=60)

    assert result.code == ExitCode.SUCCEEDED


def test_provisional_failure_counts_when_the_launcher_is_gone() -> None:
    """Nobody can take it back any more; the workers do not hold accelerators for minutes."""

    async def history(cluster: SimulatedCluster) -> None:
        job = await cluster.job()
        launcher = cluster.pod(job, "launcher", 0, "mpi")
        cluster.runs(launcher)
        for index in range(2):
            cluster.runs(cluster.pod(job, "worker", index, "mpi"))
        cluster.condition(job, "Created", "-Running", "Failed")
        await asyncio.sleep(30)
        cluster.ends(launcher, 1)

    result = run_scenario(history, framework="mpi", before=only_v2beta1, sweep=60)

    assert result.code == ExitCode.FAILED
    assert result.count("its workers are stopped within 30 s") == 1
    assert 60 <= result.ended < 100


def only_v2beta1(cluster: SimulatedCluster) -> None:
    """The cluster has mpi-operator instead of training-operator."""
    del cluster.api.resources["kubeflow.org", "v1"]["mpijobs"]


def test_job_whose_pods_never_leave_a_dead_node_ends() -> None:
    """Volcano stays in Terminating for ever; the result is known all the same."""

    async def history(cluster: SimulatedCluster) -> None:
        job = await cluster.job()
        pods = [cluster.pod(job, "worker", index, "worker") for index in range(3)]
        for pod in pods:
            cluster.runs(pod)
        cluster.phase(job, "Terminating")
        for pod in pods:
            cluster.deletes(pod)

    result = run_scenario(history, framework="mindspore", sweep=60)

    assert result.code == ExitCode.FAILED
    assert 300 <= result.ended < 400


def test_watch_of_the_pods_that_lags_behind_the_end_takes_nothing_back() -> None:
    """It would tell of the first pod's deletion when the second one's log is being printed."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        await cluster.api.server.stop()
        cluster.api.store.remove(cluster.pods, pods[2])
        cluster.runs(cluster.pod(job, "worker", 1), "hello from another")
        cluster.condition(job, "Created", "-Running", "Succeeded")
        cluster.api.fail(verb="watch", path="/pods", status=503)
        await cluster.api.server.start()

    result = run_scenario(history)

    assert result.code == ExitCode.SUCCEEDED
    assert sum("hello from another" in line for line in result.out) == 1


def test_failing_log_does_not_end_the_step() -> None:
    """A node that does not answer for its logs is no reason."""

    async def history(cluster: SimulatedCluster) -> None:
        cluster.api.fail(verb="log", path=MASTER, times=None, status=502)
        job, pods = await three_pods(cluster)
        await succeed(cluster, job, pods)

    result = run_scenario(history)

    assert result.code == ExitCode.SUCCEEDED
    assert result.count(f"note: logs not read to their end: {MASTER}") == 1


def _is_list(request: object, plural: str) -> bool:
    method, path, query = (getattr(request, name) for name in ("method", "path", "query"))
    return method == "GET" and path.endswith(f"/{plural}") and "watch" not in query
