"""What each status means, for every kind and every state that an operator can leave behind."""

import pytest

from dlf.frameworks import job_state
from dlf.manifest.jobs.mpijob import MPIJOB, MPIJOB_V2BETA1
from dlf.manifest.jobs.mxjob import MXJOB
from dlf.manifest.jobs.paddlejob import PADDLEJOB
from dlf.manifest.jobs.pytorchjob import PYTORCHJOB
from dlf.manifest.jobs.tfjob import TFJOB
from dlf.manifest.jobs.volcano import VOLCANO_JOB
from dlf.manifest.kinds import Kind
from dlf.manifest.observed import Condition, Job, JobStatus, Meta, VolcanoState
from dlf.manifest.phase import JobState, Phase

TRAINING = [TFJOB, PYTORCHJOB, PADDLEJOB, MXJOB, MPIJOB]
DONE = "2024-01-01T00:00:00Z"


def job(kind: Kind, status: JobStatus | None) -> Job:
    return Job(
        api_version=kind.api_version, kind=kind.name, metadata=Meta(name="job"), status=status
    )


def conditions(text: str) -> list[Condition]:
    """`Created Running=False`: conditions in the order of the list; the status is "True" if not
    said otherwise.
    """
    return [
        Condition(type=name, status=status or "True")
        for name, _, status in (word.partition("=") for word in text.split())
    ]


def phase_of(kind: Kind, text: str, completion_time: str | None = None) -> Phase:
    status = JobStatus(conditions=conditions(text), completion_time=completion_time)
    return job_state(job(kind, status)).phase


# The condition sets of training-operator 1.4 to 1.9, in the order in which its lists grow.
CONDITION_SETS = [
    pytest.param("", Phase.SUBMITTED, id="not seen by the operator"),
    pytest.param("Created", Phase.QUEUED, id="created"),
    pytest.param("Created Running", Phase.RUNNING, id="running"),
    pytest.param("Created Restarting", Phase.RESTARTING, id="a pod is recreated"),
    pytest.param("Created Running", Phase.RUNNING, id="running again"),
    pytest.param("Created Running=False Succeeded", Phase.SUCCEEDED, id="succeeded"),
    pytest.param("Created Running Succeeded", Phase.SUCCEEDED, id="succeeded, up to 1.6"),
    pytest.param("Created Running=False Failed", Phase.FAILED, id="failed"),
    pytest.param("Created Failed", Phase.FAILED, id="failed before it ran"),
    pytest.param("Created Restarting Failed", Phase.FAILED, id="restarts used up"),
    pytest.param(
        "Created Succeeded Running=False", Phase.SUCCEEDED, id="Running=False after Succeeded"
    ),
    pytest.param("Created Failed Running=False", Phase.FAILED, id="Running=False after Failed"),
    pytest.param(
        "Created Running=False Succeeded Failed", Phase.FAILED, id="both, Failed added later"
    ),
    pytest.param("Created Failed Succeeded", Phase.FAILED, id="both, in the other order"),
    pytest.param("Created Succeeded=False Failed=False", Phase.QUEUED, id="neither holds"),
    pytest.param("Created Running=False Suspended", Phase.QUEUED, id="suspended"),
    pytest.param("Created Suspended", Phase.QUEUED, id="created suspended"),
    pytest.param("Created Running=False Suspended=False", Phase.QUEUED, id="resumed"),
    pytest.param("Created Suspended=False Running", Phase.RUNNING, id="running after a resume"),
    pytest.param("Created Running=Unknown", Phase.QUEUED, id="Unknown does not hold"),
    pytest.param("Running=False", Phase.SUBMITTED, id="nothing holds"),
]


@pytest.mark.parametrize("kind", TRAINING, ids=lambda kind: kind.name)
@pytest.mark.parametrize(("found", "expected"), CONDITION_SETS)
@pytest.mark.parametrize("completion_time", [None, DONE], ids=["open", "completed"])
def test_phase_of_training_operator(
    kind: Kind, found: str, expected: Phase, completion_time: str | None
) -> None:
    """Conditions decide, wherever they stand; a failure may lack its completion time."""
    assert expected == phase_of(kind, found, completion_time)


@pytest.mark.parametrize(
    ("found", "completion_time", "expected"),
    [
        pytest.param("", None, Phase.SUBMITTED, id="not seen by the operator"),
        pytest.param("Created", None, Phase.QUEUED, id="created"),
        pytest.param("Created Running", None, Phase.RUNNING, id="running"),
        pytest.param("Created Suspended Running=False", None, Phase.QUEUED, id="suspended"),
        pytest.param("Created Suspended=False Running", None, Phase.RUNNING, id="resumed"),
        pytest.param("Created Running=False Succeeded", DONE, Phase.SUCCEEDED, id="succeeded"),
        pytest.param("Created Running=False Failed", DONE, Phase.FAILED, id="failed"),
        pytest.param(
            "Created Succeeded Running=False",
            DONE,
            Phase.SUCCEEDED,
            id="Running=False appended after the end",
        ),
        pytest.param(
            "Created Running Failed", None, Phase.FINISHING, id="a worker evicted: provisional"
        ),
        pytest.param(
            "Created Running=False Failed=False Succeeded",
            DONE,
            Phase.SUCCEEDED,
            id="the launcher succeeded after all",
        ),
        pytest.param("Created Succeeded", None, Phase.FINISHING, id="succeeded, not yet completed"),
        pytest.param("Created Succeeded Failed", DONE, Phase.FAILED, id="both"),
    ],
)
def test_phase_of_mpi_operator(found: str, completion_time: str | None, expected: Phase) -> None:
    """Only the completion time makes an end final."""
    assert expected == phase_of(MPIJOB_V2BETA1, found, completion_time)


@pytest.mark.parametrize(
    ("phase", "expected"),
    [
        ("", Phase.SUBMITTED),
        ("Pending", Phase.QUEUED),
        ("Running", Phase.RUNNING),
        ("Restarting", Phase.RESTARTING),
        ("Completing", Phase.FINISHING),
        ("Aborting", Phase.FINISHING),
        ("Terminating", Phase.FINISHING),
        ("Completed", Phase.SUCCEEDED),
        ("Failed", Phase.FAILED),
        ("Aborted", Phase.FAILED),
        ("Terminated", Phase.FAILED),
    ],
)
def test_phase_of_volcano(phase: str, expected: Phase) -> None:
    """All ten phases, and the empty one of a job that was just created."""
    status = JobStatus(state=VolcanoState(phase=phase))
    assert expected == job_state(job(VOLCANO_JOB, status)).phase


@pytest.mark.parametrize("kind", [*TRAINING, MPIJOB_V2BETA1, VOLCANO_JOB], ids=lambda k: k.name)
@pytest.mark.parametrize("status", [None, JobStatus()], ids=["no status", "empty status"])
def test_phase_without_status_is_submitted(kind: Kind, status: JobStatus | None) -> None:
    """The operator has not reacted yet."""
    assert JobState(Phase.SUBMITTED) == job_state(job(kind, status))


def test_job_state_has_the_operator_s_words() -> None:
    """Reason and message are those of the condition that decides."""
    status = JobStatus(
        conditions=[
            Condition(type="Succeeded", status="True", reason="Ok", message="fine"),
            Condition(type="Failed", status="True", reason="Bad", message="1 Worker failed"),
        ]
    )
    assert JobState(Phase.FAILED, "Bad", "1 Worker failed") == job_state(job(TFJOB, status))


def test_job_state_of_volcano_falls_back_to_the_phase() -> None:
    """Volcano leaves the reason empty: then its phase tells Aborted from Failed."""
    bare = JobStatus(state=VolcanoState(phase="Aborted"))
    told = JobStatus(state=VolcanoState(phase="Failed", reason="Evicted", message="by hand"))
    assert JobState(Phase.FAILED, "Aborted") == job_state(job(VOLCANO_JOB, bare))
    assert JobState(Phase.FAILED, "Evicted", "by hand") == job_state(job(VOLCANO_JOB, told))


def test_unknown_condition_is_reported_and_decides_nothing() -> None:
    """A newer operator's condition is named while it holds, and waited on."""
    status = JobStatus(conditions=conditions("Created Paused Thawed=False"))
    assert JobState(Phase.QUEUED, unknown=("Paused",)) == job_state(job(TFJOB, status))


def test_unknown_volcano_phase_is_reported_and_not_final() -> None:
    """The same for a phase."""
    status = JobStatus(state=VolcanoState(phase="Hibernating"))
    found = job_state(job(VOLCANO_JOB, status))
    assert (("Hibernating",), False) == (found.unknown, found.phase.final)


def test_only_success_and_failure_are_final() -> None:
    """Every other phase may still change."""
    assert [Phase.SUCCEEDED, Phase.FAILED] == [phase for phase in Phase if phase.final]
