"""`dlf worker` in the training containers, where a flag asks for it."""

import pytest
from frameworks.cases import RENDERINGS, pod_templates, rendering_id
from frameworks.pods import container, manifest

from dlf.errors import UsageError
from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.jobs.mpijob import MPIJOB, MPIJOB_V2BETA1
from dlf.manifest.jobs.pytorchjob import PYTORCHJOB
from dlf.manifest.jobs.volcano import VOLCANO_JOB

_IMAGE = ["--worker_image", "dlf:1"]
_MPI = {"mpi", "horovod"}
_MPI_COMMAND = 'exec "$0" ${LD_LIBRARY_PATH+-x LD_LIBRARY_PATH} "$@"'


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--processes", "2"], ["--processes=2"]),
        (["--process_env", "--processes=3"], ["--processes=3", "--process_env=auto"]),
        (["--wait_peers", "--wait_timeout", "90s"], ["--wait_peers", "--wait_timeout=90s"]),
        (["--hostfile", "--slots", "4"], ["--hostfile=auto", "--slots=4"]),
        (
            ["--remote", "--hostfile=/h", "--token_file=/t"],
            ["--hostfile=/h", "--remote", "--token_file=/t"],
        ),
        (["--worker", "image"], []),
    ],
)
def test_worker_comes_before_the_command(flags: list[str], words: list[str]) -> None:
    """With the flags that are not the default, and the container's command unchanged behind."""
    plain = container()["command"]
    made = container([*_IMAGE, *flags])["command"]
    asked = made[2 : made.index("--")]
    assert (["/dlf/dlf", "worker"], sorted(words), plain) == (
        made[:2],
        sorted(asked),
        made[made.index("--") + 1 :],
    )


def test_worker_is_copied_by_an_init_container() -> None:
    """From dlf's image into a volume that the training container can only read."""
    job = manifest("deepspeed", VOLCANO_JOB, argv=[*_IMAGE, "--processes", "2"])
    for _, _, template in pod_templates(job):
        (init,) = template["spec"]["initContainers"]
        (main,) = template["spec"]["containers"]
        (volume,) = [v for v in template["spec"]["volumes"] if v["name"] == "dlf-worker"]
        (mount,) = [m for m in main["volumeMounts"] if m["name"] == "dlf-worker"]
        assert {
            "name": "dlf-worker",
            "image": "dlf:1",
            "imagePullPolicy": "IfNotPresent",
            "command": ["dlf", "install", "--quiet", "/dlf"],
            "volumeMounts": [{"name": "dlf-worker", "mountPath": "/dlf"}],
        } == init
        assert {"name": "dlf-worker", "emptyDir": {}} == volume
        assert {"name": "dlf-worker", "mountPath": "/dlf", "readOnly": True} == mount


def test_worker_of_the_training_image_needs_nothing_else() -> None:
    job = manifest("deepspeed", VOLCANO_JOB, argv=["--worker", "/usr/bin/dlf", "--remote"])
    (template, *_) = [template for _, _, template in pod_templates(job)]
    assert "initContainers" not in template["spec"]
    command = template["spec"]["containers"][0]["command"]
    assert ["/usr/bin/dlf", "worker", "--remote", "--"] == command[:4]


@pytest.mark.parametrize(("name", "kind"), RENDERINGS, ids=rendering_id)
def test_every_framework_has_it_or_says_why_not(name: str, kind: JobKind) -> None:
    """mpirun starts the ranks of an MPIJob, so processes are numbered by it."""
    argv = [*_IMAGE, "--processes", "2"]
    if name in _MPI:
        with pytest.raises(UsageError) as refused:
            manifest(name, kind, argv=argv)
        assert (
            refused.value.message
            == "--processes: mpirun starts the processes of an MPIJob, and numbers them"
        )
        return
    commands = [
        each["command"][:2]
        for _, _, template in pod_templates(manifest(name, kind, argv=argv))
        for each in template["spec"]["containers"]
        if "GPU_NUM" in {variable["name"] for variable in each["env"]}
    ]
    assert ["/dlf/dlf", "worker"] in commands


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--processes", "2"], "it is not known which image `dlf worker` comes from"),
        (["--worker", "off", "--remote"], "--worker=off, but --remote needs the worker"),
    ],
)
def test_what_cannot_be_rendered_is_refused(argv: list[str], message: str) -> None:
    with pytest.raises(UsageError) as refused:
        manifest("deepspeed", VOLCANO_JOB, argv=argv)
    assert message == refused.value.message


def test_remote_without_any_secret_is_refused() -> None:
    """Found when the job is rendered, not in its pods."""
    with pytest.raises(UsageError) as refused:
        manifest("pytorch", PYTORCHJOB, argv=[*_IMAGE, "--remote"])
    expected = (
        "--remote needs a secret of the job, and the operator makes none for a PyTorchJob of"
        " kubeflow.org/v1",
        "mount one, --volume='NAME(secret):/PATH', and write --token_file=/PATH/KEY",
    )
    assert expected == (refused.value.message, refused.value.hint)


@pytest.mark.parametrize(
    ("name", "kind", "key"),
    [
        ("deepspeed", VOLCANO_JOB, "id_rsa"),
        ("mpi", MPIJOB_V2BETA1, "ssh-privatekey"),
        ("horovod", MPIJOB_V2BETA1, "ssh-privatekey"),
    ],
)
def test_remote_mounts_the_operators_secret_readable_by_any_user(
    name: str, kind: JobKind, key: str
) -> None:
    """Operators mount it in /root/.ssh for root alone; containers may run as another user."""
    job = manifest(name, kind, argv=[*_IMAGE, "--remote"])
    for _, _, template in pod_templates(job):
        (main,) = template["spec"]["containers"]
        (volume,) = [v for v in template["spec"]["volumes"] if v["name"] == "dlf-token"]
        (mount,) = [m for m in main["volumeMounts"] if m["name"] == "dlf-token"]
        secret = {
            "secretName": f"{job['metadata']['name']}-ssh",
            "items": [{"key": key, "path": "token"}],
            "defaultMode": 0o444,
        }
        assert {"name": "dlf-token", "secret": secret} == volume
        expected = {"name": "dlf-token", "mountPath": "/var/run/secrets/dlf", "readOnly": True}
        assert expected == mount


def test_a_secret_of_the_user_is_taken_instead() -> None:
    """No other is mounted, so it works with every operator."""
    argv = [*_IMAGE, "--remote", "--token_file", "/etc/job/token"]
    for name, kind in (("deepspeed", VOLCANO_JOB), ("pytorch", PYTORCHJOB)):
        for _, _, template in pod_templates(manifest(name, kind, argv=argv)):
            (main,) = template["spec"]["containers"]
            assert "--token_file=/etc/job/token" in main["command"]
            assert "dlf-token" not in {v["name"] for v in template["spec"]["volumes"]}


def _commands(kind: JobKind, *argv: str) -> dict[str, list[str]]:
    """Role of an MPIJob to its container's command."""
    templates = pod_templates(manifest("mpi", kind, argv=[*_IMAGE, "--command", "a", *argv]))
    return {role: each["spec"]["containers"][0]["command"] for role, _, each in templates}


def test_workers_of_an_mpijob_serve_instead_of_sshd() -> None:
    """The launcher waits for them and runs mpirun, whose ssh is the worker's."""
    commands = _commands(MPIJOB_V2BETA1, "--remote", "--hostfile", "--stacks")
    assert ["/dlf/dlf", "worker", "--remote", "--stacks", "--"] == commands["Worker"]
    launcher = commands["Launcher"]
    end = launcher.index("--")
    assert (
        ["/dlf/dlf", "worker", "--hostfile=auto", "--slots=1", "--remote"],
        ["bash", "-c", _MPI_COMMAND, "mpirun"],
        ["bash", "-c", "a"],
    ) == (launcher[:end], launcher[end + 1 : end + 5], launcher[-3:])


@pytest.mark.parametrize("kind", [MPIJOB, MPIJOB_V2BETA1], ids=["v1", "v2beta1"])
def test_ranks_of_an_mpijob_have_a_worker_for_their_stacks(kind: JobKind) -> None:
    """The agent that starts them, sshd or kubectl, has not its environment from a worker."""
    commands = _commands(kind, "--stacks")
    agent = ["/usr/sbin/sshd", "-De"] if kind == MPIJOB_V2BETA1 else ["sleep", "365d"]
    assert ["/dlf/dlf", "worker", "--", *agent] == commands["Worker"]
    rank = ["/dlf/dlf", "worker", "--stacks", "--", "bash", "-c", "a"]
    assert rank == commands["Launcher"][-len(rank) :]


@pytest.mark.parametrize(
    ("kind", "argv", "message"),
    [
        (MPIJOB, ["--remote"], "--remote reaches workers by their names, and training-operator"),
        (MPIJOB, ["--wait_peers"], "--wait_peers reaches workers by their names"),
        (MPIJOB_V2BETA1, ["--process_env"], "--process_env: mpirun starts the processes"),
        (
            MPIJOB_V2BETA1,
            ["--stacks", "--command", "mpirun python a.py"],
            "--stacks: the command starts mpirun itself",
        ),
    ],
)
def test_what_an_mpijob_has_no_place_for_is_refused(
    kind: JobKind, argv: list[str], message: str
) -> None:
    with pytest.raises(UsageError) as refused:
        manifest("mpi", kind, argv=[*_IMAGE, *argv])
    assert refused.value.message.startswith(message)
