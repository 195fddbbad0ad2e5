"""Following survives the API server's bad days: one failing call never ends the step."""

import asyncio

from job.histories import JOB, MASTER, succeed, three_pods
from job.play import play
from job.stage import Stage

from dlf.errors import ClusterLost, ExitCode, Rejected


async def outage(stage: Stage, seconds: float) -> None:
    """Connections are refused for so long."""
    await stage.api.server.stop()
    await asyncio.sleep(seconds)
    await stage.api.server.start()


def test_server_away_for_half_an_hour_is_ridden_out() -> None:
    """The budget is 30 minutes; the job ends meanwhile, and its last lines are printed."""

    async def history(stage: Stage) -> None:
        job, pods = await three_pods(stage)
        await stage.api.server.stop()
        for pod in pods:
            stage.ends(pod, 0, "written while nobody could read")
        stage.condition(job, "Created", "-Running", "Succeeded")
        await asyncio.sleep(1700)
        await stage.api.server.start()

    played = play(history, sweep=30)

    assert played.code == ExitCode.SUCCEEDED
    assert sum("written while nobody" in line for line in played.out) == 3
    assert played.count("cannot reach the API server at") == 1


def test_server_away_for_longer_ends_with_4_and_leaves_the_job() -> None:
    """The next try attaches to it."""

    async def history(stage: Stage) -> None:
        await three_pods(stage)
        await stage.api.server.stop()

    played = play(history, "--api_outage", "5m", sweep=30)

    assert played.code == ExitCode.CLUSTER_LOST
    assert isinstance(played.error, ClusterLost)
    assert "could not be reached for 5m (--api_outage)" in str(played.error)
    assert played.jobs == [JOB]
    assert 300 <= played.ended < 400


def test_5xx_for_minutes_is_ridden_out() -> None:
    """Whatever is asked meanwhile."""

    async def history(stage: Stage) -> None:
        job, pods = await three_pods(stage)
        stage.api.fail(seconds=400, status=503)
        stage.api.end_watches()
        await stage.heard("the API server answers again after")
        await succeed(stage, job, pods)

    played = play(history, sweep=10)

    assert played.code == ExitCode.SUCCEEDED
    assert played.count("cannot reach the API server at") == 1
    assert played.ended > 400


def test_429_is_waited_out_as_long_as_the_server_asks() -> None:
    """Retry-After is honoured, also before the job is submitted."""

    async def history(stage: Stage) -> None:
        await succeed(stage, *(await three_pods(stage)))

    def before(stage: Stage) -> None:
        stage.api.fail(verb="create", path="pytorchjobs", status=429, retry_after=40)

    played = play(history, before=before)

    assert played.code == ExitCode.SUCCEEDED
    assert len(played.asked("POST", "pytorchjobs")) == 2
    assert 40 <= played.ended < 60


def test_410_lists_again_and_misses_nothing() -> None:
    """What changed while the history was forgotten is in the new list."""

    async def history(stage: Stage) -> None:
        job, pods = await three_pods(stage)
        stage.api.expire_watches()
        await asyncio.sleep(5)
        stage.api.fail(verb="watch", seconds=30, status=503)
        stage.api.end_watches()
        await asyncio.sleep(10)
        await succeed(stage, job, pods)
        stage.api.store.compact()

    played = play(history)

    assert played.code == ExitCode.SUCCEEDED
    # Twice more than the look for earlier jobs and the first list.
    assert len([r for r in played.api.requests if _is_list(r, "pytorchjobs")]) == 4


def test_watches_that_end_early_are_opened_again() -> None:
    """Load balancers cut what is quiet."""

    async def history(stage: Stage) -> None:
        job, pods = await three_pods(stage)
        for _ in range(20):
            await asyncio.sleep(20)
            stage.api.end_watches()
        await succeed(stage, job, pods)

    played = play(history, sweep=10)

    assert played.code == ExitCode.SUCCEEDED
    assert played.count("does not answer") == 0


def test_dead_sockets_are_replaced() -> None:
    """All connections are reset at once, again and again."""

    async def history(stage: Stage) -> None:
        job, pods = await three_pods(stage)
        for _ in range(5):
            await asyncio.sleep(20)
            await stage.api.server.drop()
        await succeed(stage, job, pods)

    assert play(history, sweep=10).code == ExitCode.SUCCEEDED


def test_unknown_event_is_told_once_and_waited_on() -> None:
    """A newer API server may send what dlf does not know."""

    async def history(stage: Stage) -> None:
        job, pods = await three_pods(stage)
        for _ in range(3):
            stage.api.send_event("SURPRISE", stage.api.store.get(stage.jobs, job), "pytorchjobs")
        await asyncio.sleep(1)
        await succeed(stage, job, pods)

    played = play(history)

    assert played.code == ExitCode.SUCCEEDED
    assert played.count("unknown event `SURPRISE`") == 1


def test_unknown_condition_is_told_once_and_waited_on() -> None:
    """A newer operator may write what dlf does not know."""

    async def history(stage: Stage) -> None:
        job, pods = await three_pods(stage)
        for _ in range(3):
            stage.condition(job, "Created", "Running", "Levitating")
            await asyncio.sleep(1)
        await succeed(stage, job, pods)

    played = play(history)

    assert played.code == ExitCode.SUCCEEDED
    assert played.count("the job's status has an unknown `Levitating`") == 1


def test_token_that_is_refused_from_the_start_ends_with_3() -> None:
    """401: the hint says what to do; nothing was created."""

    async def history(stage: Stage) -> None:
        pass

    def before(stage: Stage) -> None:
        stage.api.tokens = {"another"}

    played = play(history, before=before)

    assert played.code == ExitCode.REJECTED
    assert isinstance(played.error, Rejected)
    assert (played.error.status, played.jobs) == (401, [])


def test_token_that_is_refused_for_a_while_is_waited_for() -> None:
    """A rotated token, or an authenticator that is out of order: the job is followed on."""

    async def history(stage: Stage) -> None:
        job, pods = await three_pods(stage)
        stage.api.tokens = {"rotated"}
        stage.api.end_watches()
        await asyncio.sleep(300)
        stage.api.tokens = {"secret"}
        await succeed(stage, job, pods)

    played = play(history, sweep=10)

    assert played.code == ExitCode.SUCCEEDED


def test_role_that_is_away_for_a_while_is_waited_for() -> None:
    """What was allowed once is asked for again."""

    async def history(stage: Stage) -> None:
        job, pods = await three_pods(stage)
        stage.api.denied = {("watch", "pods"), ("watch", "pytorchjobs.kubeflow.org")}
        stage.api.end_watches()
        await asyncio.sleep(100)
        stage.api.denied = set()
        await succeed(stage, job, pods)

    assert play(history, sweep=10).code == ExitCode.SUCCEEDED


def test_create_that_is_forbidden_ends_with_3_naming_verb_and_resource() -> None:
    """403, and the Role to ask for."""

    async def history(stage: Stage) -> None:
        pass

    def before(stage: Stage) -> None:
        stage.api.denied = {("create", "pytorchjobs.kubeflow.org")}

    played = play(history, before=before)

    assert played.code == ExitCode.REJECTED
    assert isinstance(played.error, Rejected)
    assert "cannot create pytorchjobs.kubeflow.org in namespace pipeline" in played.error.message
    assert "`create` on `pytorchjobs.kubeflow.org`" in played.error.hint


def test_job_that_may_not_be_followed_is_not_left_behind() -> None:
    """Nobody would see its end: it is deleted by the rule of `--on_exit`."""

    async def history(stage: Stage) -> None:
        pass

    def before(stage: Stage) -> None:
        stage.api.denied = {("watch", "pods")}

    played = play(history, before=before)

    assert played.code == ExitCode.REJECTED
    assert "cannot watch pods" in str(played.error)
    assert (played.jobs, played.pods) == ([], [])


def test_kind_that_is_not_served_ends_with_3() -> None:
    """Naming what would have to be installed."""

    async def history(stage: Stage) -> None:
        pass

    def before(stage: Stage) -> None:
        del stage.api.resources["kubeflow.org", "v1"]["pytorchjobs"]

    played = play(history, before=before)

    assert played.code == ExitCode.REJECTED
    assert "the cluster does not serve PyTorchJob (kubeflow.org/v1)" in str(played.error)


def test_job_that_someone_deletes_ends_with_5() -> None:
    """Also when the pods stay for a while."""

    async def history(stage: Stage) -> None:
        job, _ = await three_pods(stage)
        stage.api.store.hold_deletions = True
        stage.api.store.delete(stage.jobs, job, foreground=True)

    played = play(history)

    assert played.code == ExitCode.DELETED
    assert f"PyTorchJob {JOB} was deleted by someone else" in played.said


def test_job_that_is_deleted_while_the_server_is_away_ends_with_5() -> None:
    """No event tells of it: the list does not have it."""

    async def history(stage: Stage) -> None:
        job, _ = await three_pods(stage)
        await stage.api.server.stop()
        stage.api.store.remove(stage.jobs, job)
        stage.api.store.compact()
        await asyncio.sleep(100)
        await stage.api.server.start()

    assert play(history, sweep=10).code == ExitCode.DELETED


def test_job_of_the_same_name_with_another_uid_is_not_ours() -> None:
    """Somebody deleted and created it anew: exit 5, and the new one is left alone."""

    async def history(stage: Stage) -> None:
        job, _ = await three_pods(stage)
        await stage.api.server.stop()
        stage.api.store.remove(stage.jobs, job)
        stage.earlier(job, task="8")
        stage.condition(job, "Succeeded")
        stage.api.store.compact()
        await stage.api.server.start()

    played = play(history)

    assert (played.code, played.jobs) == (ExitCode.DELETED, [JOB])
    assert (
        f"PyTorchJob {JOB} was deleted by someone else: another one has its name now" in played.said
    )


def test_namespace_that_is_deleted_ends_with_5() -> None:
    """Pods first, then the job; nothing is asked for again."""

    async def history(stage: Stage) -> None:
        job, pods = await three_pods(stage)
        for pod in pods:
            stage.deletes(pod)
            stage.ends(pod, 143)
            stage.api.store.remove(stage.pods, pod)
        stage.api.store.remove(stage.jobs, job)

    played = play(history)

    assert played.code == ExitCode.DELETED
    assert played.asked("DELETE", "") == []


def test_job_that_vanishes_while_dlf_attaches_ends_with_5() -> None:
    """Between the list and the watch."""

    async def history(stage: Stage) -> None:
        await stage.heard("attached")
        stage.api.store.remove(stage.jobs, "earlier")

    def before(stage: Stage) -> None:
        stage.earlier("earlier")

    assert play(history, before=before).code == ExitCode.DELETED


def test_provisional_failure_of_an_mpi_job_is_waited_on() -> None:
    """mpi-operator takes it back when the launcher still succeeds."""

    async def history(stage: Stage) -> None:
        job = await stage.job()
        launcher = stage.pod(job, "launcher", 0, "mpi")
        stage.runs(launcher)
        for index in range(2):
            stage.runs(stage.pod(job, "worker", index, "mpi"))
        stage.condition(job, "Created", "-Running", "Failed")
        await asyncio.sleep(1000)
        stage.ends(launcher)
        stage.condition(job, "Succeeded", "-Failed", completionTime=stage.api.store.stamp())

    played = play(history, framework="mpi", before=only_v2beta1, sweep=60)

    assert played.code == ExitCode.SUCCEEDED


def test_provisional_failure_counts_when_the_launcher_is_gone() -> None:
    """Nobody can take it back any more."""

    async def history(stage: Stage) -> None:
        job = await stage.job()
        launcher = stage.pod(job, "launcher", 0, "mpi")
        stage.runs(launcher)
        for index in range(2):
            stage.runs(stage.pod(job, "worker", index, "mpi"))
        stage.condition(job, "Created", "-Running", "Failed")
        await asyncio.sleep(30)
        stage.ends(launcher, 1)

    played = play(history, framework="mpi", before=only_v2beta1, sweep=60)

    assert played.code == ExitCode.FAILED
    assert 300 <= played.ended < 400


def only_v2beta1(stage: Stage) -> None:
    """The cluster has mpi-operator instead of training-operator."""
    del stage.api.resources["kubeflow.org", "v1"]["mpijobs"]


def test_job_whose_pods_never_leave_a_dead_node_ends() -> None:
    """Volcano stays in Terminating for ever; the result is known all the same."""

    async def history(stage: Stage) -> None:
        job = await stage.job()
        pods = [stage.pod(job, "worker", index, "worker") for index in range(3)]
        for pod in pods:
            stage.runs(pod)
        stage.phase(job, "Terminating")
        for pod in pods:
            stage.deletes(pod)

    played = play(history, framework="mindspore", sweep=60)

    assert played.code == ExitCode.FAILED
    assert 300 <= played.ended < 400


def test_watch_of_the_pods_that_lags_behind_the_end_takes_nothing_back() -> None:
    """It would tell of the first pod's deletion when the second one's log is being printed."""

    async def history(stage: Stage) -> None:
        job, pods = await three_pods(stage)
        await stage.api.server.stop()
        stage.api.store.remove(stage.pods, pods[2])
        stage.runs(stage.pod(job, "worker", 1), "hello from another")
        stage.condition(job, "Created", "-Running", "Succeeded")
        stage.api.fail(verb="watch", path="/pods", status=503)
        await stage.api.server.start()

    played = play(history)

    assert played.code == ExitCode.SUCCEEDED
    assert sum("hello from another" in line for line in played.out) == 1


def test_failing_log_does_not_end_the_step() -> None:
    """A node that does not answer for its logs is no reason."""

    async def history(stage: Stage) -> None:
        stage.api.fail(verb="log", path=MASTER, times=None, status=502)
        job, pods = await three_pods(stage)
        await succeed(stage, job, pods)

    played = play(history)

    assert played.code == ExitCode.SUCCEEDED
    assert played.count(f"note: logs not read to their end: {MASTER}") == 1


def _is_list(request: object, plural: str) -> bool:
    method, path, query = (getattr(request, name) for name in ("method", "path", "query"))
    return method == "GET" and path.endswith(f"/{plural}") and "watch" not in query
