"""The calls of ssh and pdsh that launchers make."""

import pytest

from dlf.errors import UsageError
from dlf.worker.command_lines import PdshCall, SshCall, parse_pdsh, parse_ssh


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param(
            ["-o", "PasswordAuthentication=no", "-p", "2222", "worker-1", "hostname"],
            SshCall("worker-1", "hostname", True),
            id="DeepSpeed's check",
        ),
        pytest.param(
            ["worker-1", "hostname", "-I"], SshCall("worker-1", "hostname -I", True), id="-I"
        ),
        pytest.param(
            ["-x", "worker-1", "PATH=/a:$PATH ; export PATH ; orted -mca ess env"],
            SshCall("worker-1", "PATH=/a:$PATH ; export PATH ; orted -mca ess env", True),
            id="Open MPI",
        ),
        pytest.param(
            [
                *("-o", "PasswordAuthentication=no", "-o", "StrictHostKeyChecking=no"),
                *("worker-1", "-p22", "true"),
            ],
            SshCall("worker-1", "true", True),
            id="horovodrun",
        ),
        pytest.param(["-n", "root@h", "a"], SshCall("h", "a", False), id="no stdin, a user"),
        pytest.param(["-qTn", "h", "--", "-a"], SshCall("h", "-a", False), id="switches together"),
    ],
)
def test_ssh_calls_of_launchers(words: list[str], expected: SshCall) -> None:
    assert expected == parse_ssh(words)


def test_pdsh_call_of_deepspeed() -> None:
    """As PDSHRunner makes it: -S -f 1024 -w HOSTS, then the command with %n for the rank."""
    call = parse_pdsh(
        [
            "-S",
            "-f",
            "1024",
            "-w",
            "a,b",
            "export X=1; ",
            "cd /w;",
            "python",
            "--node_rank=%n",
            "%h",
        ]
    )
    assert (
        PdshCall(("a", "b"), "export X=1;  cd /w; python --node_rank=%n %h", 1024, True, True),
        "export X=1;  cd /w; python --node_rank=1 b",
    ) == (call, call.command_for(1, "root"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b", ("a", "b")),
        ("worker-[0-2,5]", ("worker-0", "worker-1", "worker-2", "worker-5")),
        ("n[08-10].x,y", ("n08.x", "n09.x", "n10.x", "y")),
        ("ssh:root@h", ("h",)),
    ],
)
def test_pdsh_hosts(text: str, expected: tuple[str, ...]) -> None:
    assert expected == parse_pdsh(["-w", text, "true"]).hosts


@pytest.mark.parametrize(
    ("parse", "words", "message"),
    [
        (parse_ssh, [], "ssh: the host is missing"),
        (parse_ssh, ["h"], "ssh: the command for h is missing"),
        (parse_ssh, ["-z", "h", "a"], "ssh: unknown option '-z'"),
        (parse_ssh, ["-p"], "ssh: -p needs a value"),
        (parse_pdsh, ["true"], "pdsh: the hosts are missing"),
        (parse_pdsh, ["-w", "h"], "pdsh: the command is missing"),
        (parse_pdsh, ["-f", "many", "-w", "h", "true"], "pdsh: -f='many' is not a number"),
    ],
)
def test_other_calls_are_refused(parse, words: list[str], message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UsageError) as refused:
        parse(words)
    assert message == refused.value.message
