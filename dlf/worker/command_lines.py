"""Parses the command lines of `ssh` and `pdsh` that training launchers write. Pure.

Options that mean nothing between pods of one job (user, port, host keys, terminal, compression) are
accepted and ignored; an option that would change what is run is refused.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from dlf.errors import UsageError

_SSH_WITH_VALUE = "BbcDEeFIiJLlmOopQRSWw"
_SSH_SWITCHES = "46AaCfGgKkMNnqsTtVvXxYy"
_PDSH_WITH_VALUE = "ftulRwxe"
_PDSH_SWITCHES = "SNbhqdL"


class SshCall(NamedTuple):
    """A call of ssh.

    Attributes:
        host: without the user.
        command: the words joined by blanks, as sshd gives them to the shell.
        stdin: whether standard input is sent.
    """

    host: str
    command: str
    stdin: bool


class PdshCall(NamedTuple):
    """A call of pdsh.

    Attributes:
        hosts: in the order given.
        command: with `%h`, `%n` and `%u` not yet replaced.
        fanout: how many at once.
        largest_code: exit with the largest exit code (-S).
        labels: prefix lines by the host.
    """

    hosts: tuple[str, ...]
    command: str
    fanout: int
    largest_code: bool
    labels: bool

    def command_for(self, index: int, user: str) -> str:
        """The command for one of the hosts."""
        values = {"%h": self.hosts[index], "%n": str(index), "%u": user, "%%": "%"}
        return re.sub("%[hnu%]", lambda match: values[match[0]], self.command)


def parse_ssh(argv: Sequence[str]) -> SshCall:
    """Read what follows `ssh`.

    Raises:
        UsageError: there is no host or no command, or an option is not one of ssh's.
    """
    options, rest = _options(argv, _SSH_WITH_VALUE, _SSH_SWITCHES, "ssh")
    if not rest:
        raise UsageError("ssh: the host is missing", "write ssh HOST COMMAND")
    host, *words = rest
    # ssh takes options after the host, too.
    more, words = _options(words, _SSH_WITH_VALUE, _SSH_SWITCHES, "ssh")
    if not words:
        raise UsageError(
            f"ssh: the command for {host} is missing",
            "write ssh HOST COMMAND: there are no interactive logins between pods",
        )
    name = host.removeprefix("ssh://").rpartition("@")[2]
    return SshCall(name, " ".join(words), "n" not in options and "n" not in more)


def parse_pdsh(argv: Sequence[str]) -> PdshCall:
    """Read what follows `pdsh`.

    Raises:
        UsageError: there are no hosts or no command, or an option is not one of pdsh's.
    """
    options, words = _options(argv, _PDSH_WITH_VALUE, _PDSH_SWITCHES, "pdsh")
    excluded = set(expand(options.get("x", "")))
    hosts = tuple(host for host in expand(options.get("w", "")) if host not in excluded)
    if not hosts:
        raise UsageError("pdsh: the hosts are missing", "write pdsh -w HOST,HOST COMMAND")
    if not words:
        raise UsageError("pdsh: the command is missing", "write pdsh -w HOST,HOST COMMAND")
    fanout = options.get("f", "32")
    if not fanout.isdecimal() or not int(fanout):
        raise UsageError(f"pdsh: -f={fanout!r} is not a number", "write a whole number, 1 or more")
    return PdshCall(hosts, " ".join(words), int(fanout), "S" in options, "N" not in options)


def expand(text: str) -> list[str]:
    """A list of hosts: commas between them, and ranges in brackets, as `worker-[0-2,5]`."""
    hosts = []
    for part in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", text):
        match = re.fullmatch(r"([^\[]*)\[([^\]]*)\](.*)", part)
        if not match:
            hosts.append(part.rpartition("@")[2].rpartition(":")[2])
            continue
        for item in match[2].split(","):
            first, dash, last = item.partition("-")
            if dash and first.isdecimal() and last.isdecimal():
                names = [f"{each:0{len(first)}}" for each in range(int(first), int(last) + 1)]
            else:
                names = [item]
            hosts += [host for name in names for host in expand(match[1] + name + match[3])]
    return hosts


def _options(
    argv: Sequence[str], with_value: str, switches: str, program: str
) -> tuple[dict[str, str], list[str]]:
    """The options before the first other word, and what follows; like getopt(3) of POSIX."""
    options: dict[str, str] = {}
    words = list(argv)
    while words and words[0].startswith("-") and words[0] != "-":
        word = words.pop(0)
        if word == "--":
            break
        letters = word[1:]
        while letters:
            letter, letters = letters[0], letters[1:]
            if letter in switches:
                options[letter] = ""
            elif letter in with_value:
                if not letters and not words:
                    raise UsageError(f"{program}: -{letter} needs a value")
                options[letter] = letters or words.pop(0)
                letters = ""
            else:
                raise UsageError(
                    f"{program}: unknown option '-{letter}'", f"see dlf {program} --help"
                )
    return options, words
