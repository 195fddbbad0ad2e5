"""What the end of a log says: the error, its traceback, the process, whether it is a victim."""

import pytest
from diagnose import log_ends as ends

from dlf.diagnose.log_evidence import find_evidence
from dlf.outcome.evidence import Evidence


def evidence(*texts: str) -> Evidence:
    """Of a log that ends in these texts, after the output of a training."""
    steps = [f"step {n} loss 0.{n}" for n in range(30)]
    return find_evidence([line.encode() for line in "\n".join([*steps, *texts]).split("\n")])


def test_traceback_of_a_process_is_found_with_its_error() -> None:
    """All of it, as Python printed it."""
    found = evidence(ends.NO_DATA)

    assert found == Evidence(error="ValueError: no data", traceback=tuple(ends.NO_DATA.split("\n")))


def test_exception_above_torchruns_boilerplate_is_found() -> None:
    """39 lines of it follow; its block names rank and local rank."""
    found = evidence(ends.prefixed("[rank5]: ", ends.NO_DATA), ends.torchrun(error_file="/tmp/e"))

    assert found == Evidence(
        error="ValueError: no data",
        traceback=tuple(ends.NO_DATA.split("\n")),
        process_rank=5,
        local_rank=1,
        process_exit_code=1,
        error_file="/tmp/e",
        source="torchrun",
    )


def test_old_torch_marks_no_lines_and_torchruns_block_tells_the_rank() -> None:
    """Before torch 2.2."""
    found = evidence(ends.NO_DATA, ends.torchrun())

    assert (found.error, found.process_rank) == ("ValueError: no data", 5)


def test_victim_that_torchrun_saw_first_is_not_blamed() -> None:
    """Its block has whole seconds and takes the first in them; the error texts know better."""
    culprit = ends.prefixed("[rank4]: ", ends.NO_DATA)
    victim = ends.prefixed("[rank5]: ", ends.GLOO_VICTIM)

    found = evidence(victim, culprit, ends.torchrun())

    assert (found.error, found.process_rank, found.is_victim) == ("ValueError: no data", 4, False)
    assert (found.process_exit_code, found.source) == (None, "torchrun")


def test_torchrun_names_the_first_of_several_causes() -> None:
    """Of two own errors, its block decides."""
    first = ends.prefixed("[rank4]: ", ends.CUDA_OUT_OF_MEMORY)
    second = ends.prefixed("[rank5]: ", ends.NO_DATA)

    assert evidence(first, second, ends.torchrun()).error == "ValueError: no data"


@pytest.mark.parametrize(
    ("prefix", "rank", "local_rank"),
    [
        pytest.param("[rank13]: ", 13, None, id="torch"),
        pytest.param("[default1]:", None, 1, id="torchrun --tee"),
        pytest.param("[default1]:[rank9]: ", 9, 1, id="both"),
        pytest.param("[1,7]<stderr>:", 7, None, id="mpirun --tag-output"),
        pytest.param("[prterun-host-12@1,7]<stderr>: ", 7, None, id="Open MPI 5"),
        pytest.param("[0]<stderr>:", 0, None, id="horovodrun"),
        pytest.param("worker-1: ", None, None, id="pdsh of deepspeed"),
    ],
)
def test_prefixes_of_processes(prefix: str, rank: int | None, local_rank: int | None) -> None:
    """Cut off; the rank is taken from them; lines of others in between do not matter."""
    other = "\n".join(["[default0]:step 30", "other: step 31"] * 4)

    found = evidence(ends.woven(ends.prefixed(prefix, ends.NO_DATA), other))

    assert found.traceback == tuple(ends.NO_DATA.split("\n"))
    assert (found.process_rank, found.local_rank) == (rank, local_rank)


def test_two_processes_that_print_at_once_are_told_apart() -> None:
    """Line by line."""
    culprit = ends.prefixed("[rank1]: ", ends.NO_DATA)
    victim = ends.prefixed("[rank0]: ", ends.NCCL_VICTIM)

    found = evidence(ends.woven(victim, culprit))

    assert (found.error, found.process_rank) == ("ValueError: no data", 1)
    assert found.traceback == tuple(ends.NO_DATA.split("\n"))


def test_caught_exception_of_one_process_is_not_the_cause() -> None:
    """It was logged, and the process went on: its last traceback ended it."""
    caught = ends.CUDA_OUT_OF_MEMORY

    assert evidence(caught, "retrying with half the batch", ends.NO_DATA).error == (
        "ValueError: no data"
    )


def test_error_that_python_ignores_at_exit_is_not_the_cause() -> None:
    """Destructors fail when a process ends."""
    at_exit = (
        "Exception ignored in: <function Pool.__del__ at 0x7f10>\n"
        'Traceback (most recent call last):\n  File "pool.py", line 1, in __del__\n'
        "    self.close()\nOSError: [Errno 9] bad"
    )

    assert evidence(ends.NO_DATA, at_exit).error == "ValueError: no data"


def test_message_of_several_lines_is_kept() -> None:
    """Up to what is no part of it."""
    found = evidence(
        'Traceback (most recent call last):\n  File "a.py", line 4, in <module>\n    run()\n'
        "torch.AcceleratorError: CUDA error: misaligned address\n"
        "CUDA kernel errors might be asynchronously reported at some other API call.\n"
        "For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n\n"
        "terminate called after throwing an instance of 'c10::AcceleratorError'\n"
        "  what():  CUDA error: misaligned address"
    )

    assert found.error == "torch.AcceleratorError: CUDA error: misaligned address"
    assert found.traceback[-1] == "For debugging consider passing CUDA_LAUNCH_BLOCKING=1"


@pytest.mark.parametrize("prefix", ["", "[rank1]: "])
def test_chained_exceptions_are_one_traceback(prefix: str) -> None:
    """The last ends the process, the first is why."""
    chained = (
        'Traceback (most recent call last):\n  File "t.py", line 2, in <module>\n    1/0\n'
        "ZeroDivisionError: division by zero\n\n"
        "The above exception was the direct cause of the following exception:\n\n"
        'Traceback (most recent call last):\n  File "t.py", line 4, in <module>\n'
        '    raise ValueError("bad shard") from e\nValueError: bad shard'
    )

    found = evidence(ends.prefixed(prefix, chained))

    assert found.error == "ValueError: bad shard"
    assert found.traceback == tuple(chained.split("\n"))


def test_exception_group_tells_its_first_leaf() -> None:
    """The group's own message says only how many there are."""
    group = (
        "  + Exception Group Traceback (most recent call last):\n"
        '  |   File "t.py", line 1, in <module>\n'
        '  |     raise ExceptionGroup("eg",[ValueError("one"),TypeError("two")])\n'
        "  | ExceptionGroup: eg (2 sub-exceptions)\n"
        "  +-+---------------- 1 ----------------\n"
        "    | ValueError: one\n"
        "    +---------------- 2 ----------------\n"
        "    | TypeError: two\n"
        "    +------------------------------------"
    )

    found = evidence(ends.prefixed("[rank3]: ", group))

    assert found.error == "ExceptionGroup: eg (2 sub-exceptions): ValueError: one"
    assert (found.process_rank, found.traceback) == (3, tuple(group.split("\n")))


def test_script_that_cannot_be_compiled() -> None:
    """Python prints no heading then."""
    text = (
        "  File \"/job/train.py\", line 1\n    x = (\n        ^\nSyntaxError: '(' was never closed"
    )

    found = evidence(text)

    assert (found.error, found.traceback) == (
        "SyntaxError: '(' was never closed",
        tuple(text.split("\n")),
    )


def test_progress_bar_before_the_heading_is_no_prefix() -> None:
    r"""It ends in no newline; what `\r` wrote over is not shown."""
    bar = "  0%|          | 0/9\r 22%|##        | 2/9 [00:03<00:12]"

    found = evidence(f"{bar}{ends.NO_DATA}")

    assert found.traceback == tuple(ends.NO_DATA.split("\n"))


def test_mpirun_names_the_rank_of_the_only_traceback() -> None:
    """All ranks write to the launcher's log."""
    found = evidence(ends.NO_DATA, ends.MPIRUN.format(rank=1))

    assert (found.error, found.process_rank, found.source) == ("ValueError: no data", 1, "mpirun")


def test_mpirun_names_a_victim_when_horovod_raises() -> None:
    """The culprit's traceback stands above; whose it is, nothing tells without --tag-output."""
    found = evidence(ends.NO_DATA, ends.HOROVOD_VICTIM, ends.MPIRUN.format(rank=0))

    assert (found.error, found.process_rank, found.is_victim) == (
        "ValueError: no data",
        None,
        False,
    )


def test_mpirun_with_tagged_output_tells_the_culprits_rank() -> None:
    """Although its message names the victim."""
    found = evidence(
        ends.prefixed("[1,2]<stderr>:", ends.NO_DATA),
        ends.prefixed("[1,0]<stderr>:", ends.HOROVOD_VICTIM),
        ends.MPIRUN.format(rank=0),
    )

    assert (found.error, found.process_rank) == ("ValueError: no data", 2)


def test_processes_that_signals_end_leave_the_launchers_words() -> None:
    """Nothing else is said."""
    mpi, mpich = evidence(ends.MPIRUN_SIGNAL), evidence(ends.MPICH)
    torch = evidence(ends.torchrun(-9, traceback="Signal 9 (SIGKILL) received by PID 143"))
    paddle = evidence(ends.PADDLE.format(code=-9, detail="step 29"))

    assert mpi.error == (
        "mpirun noticed that process rank 1 with PID 0 on node job-worker-1 exited on signal 9"
        " (Killed)."
    )
    assert mpich.error == "rank 2: ended by SIGKILL"
    assert torch.error == "Signal 9 (SIGKILL) received by PID 143"
    assert paddle.error == "the process was ended by SIGKILL"
    assert [(1, -9), (2, -9), (5, -9), (None, -9)] == [
        (each.process_rank, each.process_exit_code) for each in (mpi, mpich, torch, paddle)
    ]
    assert not any(each.is_victim for each in (mpi, mpich, torch, paddle))


def test_open_mpi_5_and_mpi_abort() -> None:
    """Their forms of naming a process."""
    missing = "/job/a.out: error while loading shared libraries: libx.so: cannot open shared object"

    prte, abort = evidence(missing, ends.PRTERUN), evidence(ends.MPI_ABORT)

    assert (prte.error, prte.process_rank, prte.process_exit_code) == (missing, 3, 127)
    assert (abort.process_rank, abort.process_exit_code) == (3, 6)
    assert abort.error == "MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD"


def test_horovodruns_own_traceback_is_not_the_cause() -> None:
    """It only passes on that a process failed."""
    found = evidence(ends.prefixed("[1]<stderr>:", ends.NO_DATA), ends.HOROVODRUN)

    assert (found.error, found.process_rank, found.source) == (
        "ValueError: no data",
        1,
        "horovodrun",
    )


def test_paddles_repeated_log_does_not_hide_the_first() -> None:
    """Its launcher prints the last 3000 bytes again, cut anywhere."""
    detail = ends.NO_DATA[30:]

    found = evidence(ends.NO_DATA, ends.PADDLE.format(code=1, detail=detail))

    assert found.traceback == tuple(ends.NO_DATA.split("\n"))
    assert (found.local_rank, found.error_file) == (0, "log/workerlog.0")


def test_traceback_of_torchruns_error_file_is_read_from_its_block() -> None:
    """With @record it may be there alone, as with --redirects."""
    recorded = ends.NO_DATA.replace("\n", "\n  ")

    found = evidence(ends.torchrun(error_file="/tmp/error.json", traceback=recorded))

    assert found.traceback == tuple(ends.NO_DATA.split("\n"))
    assert (found.process_rank, found.error_file) == (5, "/tmp/error.json")


def test_process_of_torch_multiprocessing_is_told_by_its_index() -> None:
    """The parent's exception quotes the child's traceback."""
    parent = (
        'Traceback (most recent call last):\n  File "spawn.py", line 211, in join\n'
        "    raise ProcessRaisedException(msg, error_index, failed_process.pid)\n"
        "torch.multiprocessing.spawn.ProcessRaisedException: \n\n"
        "-- Process 1 terminated with the following error:"
    )

    found = evidence(parent, ends.NO_DATA)

    assert (found.error, found.local_rank) == ("ValueError: no data", 1)
    assert found.traceback == tuple(ends.NO_DATA.split("\n"))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(ends.GLOO_VICTIM, id="gloo"),
        pytest.param(ends.NCCL_VICTIM, id="nccl"),
        pytest.param(ends.HOROVOD_VICTIM, id="horovod"),
        pytest.param(
            "tensorflow.python.framework.errors_impl.UnavailableError: Collective ops is aborted"
            " by: failed to connect to all addresses",
            id="tensorflow",
        ),
        pytest.param(
            "[rank3]:[E806 16:18:52 ProcessGroupNCCL.cpp:689] [Rank 3] Watchdog caught collective"
            " operation timeout: WorkNCCL(SeqNum=3, OpType=ALLREDUCE) ran for 600003 milliseconds\n"
            "Fatal Python error: Aborted",
            id="watchdog, then abort",
        ),
        pytest.param(
            'Traceback (most recent call last):\n  File "api.py", line 86, in handler\n'
            "    raise SignalException(...)\ntorch.distributed.elastic.multiprocessing.api."
            "SignalException: Process 76 got signal: 15",
            id="stopped torchrun",
        ),
        pytest.param(ends.PADDLE_SIGNAL.format(what="Termination signal"), id="stopped paddle"),
        pytest.param(
            "terminate called after throwing an instance of 'gloo::TimeoutException'\n"
            "  what():  [/paddle/third_party/gloo/gloo/transport/tcp/pair.cc:584] TIMEOUT"
            " self_rank = 2 pair_rank = 1 peer_str = [127.0.0.1]:14006\n"
            + ends.PADDLE.format(
                code=-6, detail=ends.PADDLE_SIGNAL.format(what="Process abort signal")
            ),
            id="paddle whose peer raised",
        ),
    ],
)
def test_lost_peers_and_stops_mark_a_victim(text: str) -> None:
    """They say that another one ended, not why."""
    assert evidence(text).is_victim


@pytest.mark.parametrize(
    ("text", "error"),
    [
        pytest.param(
            ends.FAULTHANDLER, "Fatal Python error: Segmentation fault", id="faulthandler"
        ),
        pytest.param(
            "terminate called after throwing an instance of 'std::bad_alloc'\n"
            "  what():  std::bad_alloc",
            "terminate called after throwing an instance of 'std::bad_alloc' what():"
            "  std::bad_alloc",
            id="C++ exception",
        ),
        pytest.param(
            "bash: line 1:    43 Segmentation fault      (core dumped) python train.py",
            "bash: line 1:    43 Segmentation fault      (core dumped) python train.py",
            id="shell",
        ),
        pytest.param(
            "python3: can't open file '/job/trian.py': [Errno 2] No such file or directory",
            "python3: can't open file '/job/trian.py': [Errno 2] No such file or directory",
            id="no such script",
        ),
        pytest.param(
            "sh: 1: deepspeed: not found", "sh: 1: deepspeed: not found", id="no such command"
        ),
        pytest.param(
            "mpirun was unable to find the specified executable file, and therefore",
            "mpirun was unable to find the specified executable file, and therefore",
            id="no such program for mpirun",
        ),
        pytest.param(
            "usage: train.py [-h] --data DATA\n"
            "train.py: error: the following arguments are required: --data",
            "train.py: error: the following arguments are required: --data",
            id="arguments",
        ),
        pytest.param(
            ends.PADDLE_SIGNAL.format(what="Segmentation fault"),
            "FatalError: `Segmentation fault` is detected by the operating system.",
            id="paddle",
        ),
        pytest.param(ends.CUDA_OUT_OF_MEMORY, ends.CUDA_OUT_OF_MEMORY.split("\n")[-1], id="CUDA"),
    ],
)
def test_own_causes(text: str, error: str) -> None:
    """Crashes and failed starts."""
    found = evidence(text)

    assert (found.error, found.is_victim) == (error, False)


def test_crash_after_peers_were_lost_is_that_of_a_victim_only_if_it_is_an_abort() -> None:
    """NCCL's watchdog aborts its own process; it does not dereference null."""
    lost = "RuntimeError: Connection closed by peer [10.0.0.1]:99"

    assert evidence(lost, "Fatal Python error: Aborted").is_victim
    assert not evidence(lost, ends.FAULTHANDLER).is_victim


def test_log_that_tells_nothing_gives_no_evidence() -> None:
    """Words such as error or killed in the training's own output are none."""
    assert evidence("mean error: 0.3", "killed 3 of 4 agents, error rate 0.1") == Evidence()
    assert find_evidence([]) == Evidence()


def test_long_traceback_is_cut_in_its_middle() -> None:
    """Recursion; where it began and where it ended are told."""
    frame = '  File "a.py", line 2, in f\n    f()'
    text = "Traceback (most recent call last):\n" + "\n".join([frame] * 200) + "\nRecursionError: x"

    found = evidence(text)

    assert len(found.traceback) == 61
    assert found.traceback[30] == "  ... 342 lines left out ..."
    assert found.traceback[-1] == "RecursionError: x"
