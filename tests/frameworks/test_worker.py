"""`dlf worker` in the training containers, where a flag asks for it."""

import pytest
from frameworks.cases import RENDERINGS, pod_templates, rendering_id
from frameworks.pods import container, manifest

from dlf.errors import UsageError
from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.jobs.volcano import VOLCANO_JOB

_IMAGE = ["--worker_image", "dlf:1"]
_MPI = {"mpi", "horovod"}


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--processes", "2"], ["--processes=2"]),
        (["--process_env", "--processes=3"], ["--processes=3", "--process_env=auto"]),
        (["--wait_peers", "--wait_timeout", "90s"], ["--wait_peers", "--wait_timeout=90s"]),
        (["--hostfile", "--slots", "4"], ["--hostfile=auto", "--slots=4"]),
        (["--remote", "--hostfile=/h"], ["--hostfile=/h", "--remote"]),
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
        assert refused.value.message == "--processes is not for jobs that mpirun starts"
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
