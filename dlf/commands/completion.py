"""`dlf completion SHELL`: the script for the shell, and the words that it asks for.

The scripts know nothing: they hand the words of the command line to `dlf __complete`, which prints
one candidate a line, or `:files` or `:dirs` where the shell itself knows best.
"""

import asyncio
import importlib
from collections.abc import Iterable, Sequence

import msgspec

from dlf.commands.arguments import Where, read
from dlf.edge import Edge
from dlf.errors import DlfError, ExitCode, UsageError
from dlf.task.flag import Setting, settings_of
from dlf.task.load import load, split
from dlf.task.settings import Connection

_JOB_NAMES_SECONDS = 1.0  # a prompt that waits longer is worse than one without names
_FILES = {"FILE": ":files", "DIR": ":dirs", "DEST": ":files"}
_NAMING_JOBS = {"status", "logs", "delete", "stacks"}
_WITHOUT_MODULE = {"ssh", "pdsh"}  # parts of `worker`
_NAMING_FRAMEWORKS = {"check"}

_BASH = r"""# bash completion of dlf; load it by: source <(dlf completion bash)
_dlf() {
    local candidate word=${COMP_WORDS[COMP_CWORD]} joined=
    [[ $word == = || ${COMP_WORDS[COMP_CWORD-1]} == = ]] && joined=1
    COMPREPLY=()
    while IFS= read -r candidate; do
        case $candidate in
            :files) compopt -o default 2>/dev/null ;;
            :dirs) compopt -o dirnames 2>/dev/null ;;
            *) [[ $joined ]] && candidate=${candidate#*=}
               COMPREPLY+=("$candidate") ;;
        esac
    done < <("${COMP_WORDS[0]}" __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _dlf dlf
"""
_ZSH = r"""#compdef dlf
# zsh completion of dlf; load it by: source <(dlf completion zsh), after compinit
_dlf() {
    local -a candidates
    candidates=("${(@f)$(${words[1]} __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    case ${candidates[1]} in
        :files) _files ;;
        :dirs) _files -/ ;;
        *) compadd -- ${candidates:#} ;;
    esac
}
compdef _dlf dlf
"""
_FISH = r"""# fish completion of dlf; load it by: dlf completion fish | source
function __dlf_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l candidates ($words[1] __complete -- $words[2..-1] 2>/dev/null)
    switch "$candidates[1]"
        case :files
            __fish_complete_path (commandline -ct)
        case :dirs
            __fish_complete_directories (commandline -ct)
        case '*'
            printf '%s\n' $candidates
    end
end
complete -c dlf -f -a '(__dlf_complete)'
"""
_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def run(argv: Sequence[str], edge: Edge) -> ExitCode:
    """Print the script."""
    parsed = read(argv, edge, "dlf completion SHELL", ())
    if parsed is None:
        return ExitCode.SUCCEEDED
    shell = parsed[0][0]
    if shell not in _SCRIPTS:
        raise UsageError(f"unknown shell {shell!r}", f"write one of {', '.join(_SCRIPTS)}")
    edge.out(_SCRIPTS[shell])
    return ExitCode.SUCCEEDED


def complete(argv: Sequence[str], edge: Edge, commands: Sequence[str]) -> ExitCode:
    """Print the candidates for the last word; nothing, silently, where there is none.

    Args:
        argv: `--` and the words after `dlf`, up to the one that is to be completed.
        edge: the process.
        commands: beside the frameworks.
    """
    found = _candidates(_joined(argv[1:]), edge, commands)
    edge.out("".join(f"{candidate}\n" for candidate in found))
    return ExitCode.SUCCEEDED


def _joined(words: Sequence[str]) -> list[str]:
    """The words of a shell that splits `--flag=value` at `=`, as bash does."""
    joined: list[str] = []
    for word in words:
        if joined and (word == "=" or joined[-1].endswith("=")) and joined[-1].startswith("--"):
            joined[-1] += word
        else:
            joined.append(word)
    return joined or [""]


def _candidates(words: Sequence[str], edge: Edge, commands: Sequence[str]) -> list[str]:
    from dlf.frameworks import SUMMARIES

    *before, word = words
    if not before or before == ["help"]:
        return _beginning(word, [*SUMMARIES, *commands, *([] if before else ["help"])])
    command, *rest = before
    if command not in {*SUMMARIES, *commands}:
        return []
    settings = [s for group in _groups(command, rest) for s in settings_of(group) if s.option]
    flags = {key: setting for setting in settings for key in _names(setting)}
    flag, equals, value = word.partition("=")
    if equals and flag in flags:
        return [f"{flag}={each}" for each in _values(flags[flag], value) if each[:1] != ":"]
    previous = flags.get(rest[-1]) if rest else None
    if previous and previous.flag.form in {"value", "repeat"}:
        return _values(previous, word)
    if word.startswith("-"):
        given = {part.partition("=")[0] for part in rest}
        return _beginning(word, [s.option for s in settings if s.option not in given])
    if command in _NAMING_FRAMEWORKS and not rest:
        return _beginning(word, SUMMARIES)
    if command in _NAMING_JOBS:
        return _beginning(word, _jobs(command, rest, edge))
    if command == "completion":
        return _beginning(word, _SCRIPTS)
    return [":files"] if command == "install" else []


def _groups(command: str, rest: Sequence[str]) -> list[type[msgspec.Struct]]:
    """The groups of a command's flags."""
    from dlf.commands.invocation import GROUPS
    from dlf.frameworks import SUMMARIES, load_framework

    framework = rest[0] if command == "check" and rest else command
    if framework in SUMMARIES:
        return [load_framework(framework).settings, *(group for _, group in GROUPS)]
    if command in _WITHOUT_MODULE:
        return []
    module = importlib.import_module(f"dlf.commands.{command}")
    return [group for _, group in getattr(module, "GROUPS", ())]


def _names(setting: Setting) -> list[str]:
    """All that the flag may be written as."""
    dashed = setting.option[2:].replace("_", "-")
    return [*{setting.option, f"--{setting.key}", f"--{dashed}"}, setting.flag.short]


def _values(setting: Setting, word: str) -> list[str]:
    """The choices of a flag, or what the shell is to look for."""
    choices = setting.flag.metavar.split("|")
    if len(choices) > 1:
        return _beginning(word, choices)
    return [_FILES[setting.flag.metavar]] if setting.flag.metavar in _FILES else []


def _jobs(command: str, words: Sequence[str], edge: Edge) -> list[str]:
    """Names of the jobs in the cluster that the words so far name, or on this machine.

    None where the cluster takes long.
    """
    groups = _groups(command, words)
    try:
        given = split(words, *groups)
        if Where in groups and load(Where, given, edge.env).is_local:
            return _local_names(edge)
        names: list[str] = edge.run(_job_names(load(Connection, given, edge.env), edge))
    except (DlfError, OSError, TimeoutError):
        return []
    return names


def _local_names(edge: Edge) -> list[str]:
    from dlf.local.recorder import state_directory
    from dlf.local.stored_runs import stored_runs

    return [run.history.header.name for run in stored_runs(state_directory(edge.env))]


async def _job_names(connection: Connection, edge: Edge) -> list[str]:
    from dlf.commands.cluster import connect
    from dlf.inspect.lookup import dlf_jobs

    async with asyncio.timeout(_JOB_NAMES_SECONDS):
        quiet = edge._replace(notify=lambda _: None)
        async with connect(connection, quiet) as (client, namespace):
            return [job.metadata.name for _, job in await dlf_jobs(client, namespace)]


def _beginning(word: str, candidates: Iterable[str]) -> list[str]:
    return [each for each in candidates if each.startswith(word)]
