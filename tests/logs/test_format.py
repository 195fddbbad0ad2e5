"""What is printed: text, JSON, colour, chosen ranks, collapsed repetitions, files."""

import errno
import io
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typing_extensions import override

from dlf.errors import UsageError
from dlf.logs.collapse import COLLAPSE_WINDOW_SECONDS, Collapser
from dlf.logs.format import formatter, wants_colour
from dlf.logs.instances import Target
from dlf.logs.lines import Batch
from dlf.logs.log_files import LogFiles
from dlf.logs.log_options import LogOptions
from dlf.logs.rank_filter import ErrorFilter, is_selected
from dlf.logs.renderer import LineRenderer

TARGET = Target("job-worker-3", "pytorch", "cri://1", role="worker", rank=3, uid="5e1f")
TIMESTAMP = b"2026-01-02T03:04:05.000000001Z"


def batch(*messages: bytes) -> Batch:
    return Batch(
        [TIMESTAMP + b" " + message for message in messages], timestamp_width=len(TIMESTAMP) + 1
    )


def test_text_is_pod_and_message() -> None:
    """The format that the platform's users have always had; bytes pass as they are."""
    text = formatter(TARGET, LogOptions())([b"a b", b"", b"\xff\r"], ())
    assert b"job-worker-3 a b\njob-worker-3 \njob-worker-3 \xff\r\n" == text


def test_text_is_coloured_in_turn() -> None:
    """The name alone is coloured; ten pods have ten colours, each always the same."""
    targets = [msgspec.structs.replace(TARGET, order=order) for order in range(11)]
    texts = [formatter(target, LogOptions(colour=True))([b"a"], ()) for target in targets]
    colours = [text.partition(b"job-worker-3")[0] for text in texts]
    assert [colour + b"job-worker-3\x1b[0m a\n" for colour in colours] == texts
    assert 10 == len(set(colours[:10]))
    assert colours[0] == colours[10]


def test_progress_bar_is_its_last_state_on_a_terminal() -> None:
    r"""A `\r` would destroy the pod's name; elsewhere the bytes are exact."""
    bar = [b"10%\r 20%\r", b"99%\r\r", b"\r", b"no bar"]
    text = formatter(TARGET, LogOptions(terminal=True))(bar, ())
    names = [b"job-worker-3 " + state for state in (b" 20%", b"99%", b"", b"no bar")]
    assert names == text.splitlines()
    exact = formatter(TARGET, LogOptions())(bar, ())
    assert [b"job-worker-3 " + line for line in bar] == exact.split(b"\n")[:-1]


def test_json_is_one_object_a_line() -> None:
    """All that is known of a line; bad bytes are replaced, since JSON is text."""
    text = formatter(TARGET, LogOptions(log_format="json"))(
        [b'say "x"', b"\xff"], [TIMESTAMP, TIMESTAMP]
    )
    first, second = [msgspec.json.decode(line) for line in text.splitlines()]
    assert {
        "time": TIMESTAMP.decode(),
        "pod": "job-worker-3",
        "role": "worker",
        "rank": 3,
        "container": "pytorch",
        "restart": 0,
        "pod_uid": "5e1f",
        "message": 'say "x"',
    } == first
    assert "\ufffd" == second["message"]


def test_json_tells_instances_apart() -> None:
    """Restart and uid of the pod: a container restarts, a pod is created again under its name."""
    seen = []
    for change in ({}, {"restart": 1}, {"uid": "77aa"}):
        target = msgspec.structs.replace(TARGET, **change)
        text = formatter(target, LogOptions(log_format="json"))([b"x"], [TIMESTAMP])
        seen.append([msgspec.json.decode(text)[key] for key in ("pod_uid", "restart")])
    assert [["5e1f", 0], ["5e1f", 1], ["77aa", 0]] == seen


@pytest.mark.parametrize(
    ("env", "is_terminal", "expected"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"CLICOLOR_FORCE": "1"}, False, True),
        ({"CLICOLOR_FORCE": "0"}, False, False),
        ({"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, True, False),
        ({"TERM": "dumb"}, True, False),
    ],
)
def test_colour_is_for_terminals(env: dict[str, str], is_terminal: bool, expected: bool) -> None:
    """NO_COLOR first, then CLICOLOR_FORCE, then whether it is a terminal that can."""
    assert expected is wants_colour(env, is_terminal=is_terminal)


@pytest.mark.parametrize(
    ("rank", "chosen", "ranks", "expected"),
    [
        (5, (), 8, True),
        (0, (0,), 8, True),
        (5, (0,), 8, False),
        (7, (0, -1), 8, True),
        (6, (0, -1), 8, False),
        (7, (-1,), 0, False),
        (None, (0,), 8, True),
    ],
)
def test_ranks_are_chosen_from_both_ends(
    rank: int | None, chosen: tuple[int, ...], ranks: int, expected: bool
) -> None:
    """Negative ranks count from the last; what has no rank is printed."""
    assert expected is is_selected(rank, chosen, ranks)


def test_errors_of_other_ranks_come_through() -> None:
    """A rank that is not chosen is silent, but not about what went wrong."""
    renderer = LineRenderer(TARGET, LogOptions(log_ranks=(0,)), None, None)
    lines = [b"loss 0.1", b"RuntimeError: CUDA error", b"loss 0.2", b"NCCL WARN ok", b"terror"]
    text = renderer.render(batch(*lines), b"", 0.0)
    assert b"job-worker-3 RuntimeError: CUDA error\n" == text
    assert b"" == renderer.render(batch(b"loss 0.3"), b"", 0.0)


def test_errors_bring_their_whole_traceback_over_several_batches() -> None:
    """From its first line to the line that names the exception, and nothing after it."""
    errors = ErrorFilter()
    assert [1, 2] == errors.select([b"x", b"Traceback (most recent call last):", b'  File "a.py"'])
    assert [0, 1] == errors.select([b"    step()", b"KeyboardInterrupt", b"x"])
    assert [] == errors.select([b"  x"])


@pytest.mark.parametrize(
    "prefix",
    [b"", b"[rank1]: ", b"[default1]:", b"[1,1]<stderr>:", b"worker-1: ", b" 10%|#  | 1/9"],
)
def test_traceback_with_prefixes_comes_through_whole(prefix: bytes) -> None:
    """All six lines of it; lines of another process in between do not."""
    text = [
        b"Traceback (most recent call last):",
        b'  File "train.py", line 9, in <module>',
        b"    main()",
        b'  File "train.py", line 2, in main',
        b"    raise Failure()",
        b"Failure",
    ]
    is_bar = prefix.startswith(b" ")
    lines = [prefix + line if index == 0 or not is_bar else line for index, line in enumerate(text)]
    others = [b"[rank0]: step"] if prefix.endswith((b": ", b":")) else []
    came = [*lines[:2], *others, *lines[2:], prefix.strip() + b"step 2"]

    picked = ErrorFilter().select(came)

    assert lines == [came[index] for index in picked]


def test_collapse_prints_once_and_counts_the_others() -> None:
    """The first pod's line at once, the others' as a number when the time is over."""
    collapser = Collapser()
    for number in range(5):
        target = Target(f"p-{number}", "c", str(number))
        selected = collapser.select(
            target, [b"same", b"own %d" % number], [TIMESTAMP, TIMESTAMP], 0.0
        )
        assert ([0, 1] if number == 0 else [1]) == selected
    assert [] == collapser.expired(COLLAPSE_WINDOW_SECONDS / 2)
    [told] = collapser.expired(COLLAPSE_WINDOW_SECONDS)
    assert ("p-0", TIMESTAMP, b"[and 4 other pods] same") == (
        told.target.pod,
        told.timestamp,
        told.text,
    )
    assert [] == collapser.expired(COLLAPSE_WINDOW_SECONDS * 2)


def test_collapse_leaves_a_pod_its_own_repetitions() -> None:
    """A pod that says the same thing twice has said it twice."""
    collapser = Collapser()
    other = Target("p-9", "c", "9")
    assert [0, 1] == collapser.select(TARGET, [b"x", b"x"], [TIMESTAMP, TIMESTAMP], 0.0)
    assert [1] == collapser.select(other, [b"x", b"x"], [TIMESTAMP, TIMESTAMP], 0.0)


def test_collapse_keeps_a_bounded_number_of_lines() -> None:
    """Ten thousand different lines a second do not fill the memory; none is lost."""
    collapser = Collapser()
    for number in range(10_000):
        assert [0] == collapser.select(TARGET, [b"%d" % number], [TIMESTAMP], 0.0)
        collapser.expired(0.0)
    assert len(collapser._seen) < 5000


def test_printer_goes_on_with_a_line_that_was_printed_in_part() -> None:
    """The rest of a long line is a line of its own, before the next ones."""
    renderer = LineRenderer(TARGET, LogOptions(log_format="json"), None, None)
    continuation = Batch(
        batch(b"next").lines, timestamp_width=len(TIMESTAMP) + 1, continuation=b"of the line"
    )
    objects = [
        msgspec.json.decode(line)
        for line in renderer.render(continuation, TIMESTAMP, 0.0).splitlines()
    ]
    assert [(TIMESTAMP.decode(), "of the line"), (TIMESTAMP.decode(), "next")] == [
        (each["time"], each["message"]) for each in objects
    ]


def test_files_get_every_rank_and_each_instance_its_own(tmp_path: Path) -> None:
    """One file a container instance, with messages only, whatever the console shows."""
    notices: list[str] = []
    files = LogFiles(str(tmp_path / "new" / "logs"), notices.append)
    options = LogOptions(log_ranks=(0,))
    changes: list[dict[str, Any]] = [
        {},
        {"restart": 1},
        {"generation": 2},
        {"generation": 2, "restart": 1},
    ]
    for target in (msgspec.structs.replace(TARGET, **change) for change in changes):
        assert b"" == LineRenderer(target, options, files, None).render(batch(b"a", b"b"), b"", 0.0)
    files.close()
    found = {path.name: path.read_bytes() for path in (tmp_path / "new" / "logs").iterdir()}
    assert {
        "job-worker-3.pytorch.log": b"a\nb\n",
        "job-worker-3.pytorch.1.log": b"a\nb\n",
        "job-worker-3.pytorch.recreated-2.log": b"a\nb\n",
        "job-worker-3.pytorch.recreated-2.1.log": b"a\nb\n",
    } == found
    assert [] == notices


def test_files_are_more_than_may_be_open(tmp_path: Path) -> None:
    """A thousand containers need a thousand files, not a thousand descriptors."""
    files = LogFiles(str(tmp_path), print)
    for _ in range(2):
        for number in range(200):
            files.write(Target(f"p-{number}", "c", str(number)), b"line\n")
    files.close()
    assert {b"line\nline\n"} == {path.read_bytes() for path in tmp_path.iterdir()}
    assert 200 == len(list(tmp_path.iterdir()))


def test_files_begin_anew_in_the_next_run(tmp_path: Path) -> None:
    """Logs are read from their start, so what an earlier run wrote would be repeated."""
    for _ in range(2):
        files = LogFiles(str(tmp_path), print)
        files.write(TARGET, b"line\n")
        files.close()
    assert b"line\n" == (tmp_path / "job-worker-3.pytorch.log").read_bytes()


def test_files_that_cannot_be_written_are_told_once(tmp_path: Path) -> None:
    """A full or read-only disk does not end the job, nor the log on the console."""
    notices: list[str] = []
    files = LogFiles(str(tmp_path), notices.append)
    (tmp_path / "job-worker-3.pytorch.log").mkdir()
    for _ in range(3):
        files.write(TARGET, b"line\n")
    words = "Is a directory; files are incomplete, and no more is written"
    assert [f"--log_dir `{tmp_path}`: {words}"] == notices
    with pytest.raises(UsageError, match="--log_dir"):
        LogFiles("/dev/null/logs", print)


class FullAtClose(io.BytesIO):
    """A file on a file system that reports its quota only when the file is closed."""

    @override
    def close(self) -> None:
        if not self.closed:
            super().close()
            raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))


def test_files_that_cannot_be_closed_are_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NFS reports a full quota at the end: a notice, every file is closed, nothing is raised."""
    notices: list[str] = []
    opened: list[FullAtClose] = []

    def open_(*_: object, **__: object) -> FullAtClose:
        opened.append(FullAtClose())
        return opened[-1]

    files = LogFiles(str(tmp_path), notices.append)
    monkeypatch.setattr(Path, "open", open_)
    for number in range(3):
        files.write(Target(f"p-{number}", "c", str(number)), b"line\n")
    files.close()
    assert [True, True, True] == [file.closed for file in opened]
    words = "Disk quota exceeded; files are incomplete, and no more is written"
    assert [f"--log_dir `{tmp_path}`: {words}"] == notices
