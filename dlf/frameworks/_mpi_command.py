"""Whether a command line starts MPI ranks itself, read as a shell reads it.

A command that does is run as it is, once, in the launcher; any other is run by dlf's own mpirun, on
every rank. What cannot be read with certainty (loops, pipes after the first command, subshells,
text in quotes) counts as not starting ranks.
"""

import re
import shlex

_STARTERS = {"mpirun", "mpiexec", "horovodrun"}
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
# Run what follows them in their own place.
_PREFIXES = {"time", "exec", "env", "command", "nohup"}
_WORD = re.compile(rf"(?<![\w.-])(?:{'|'.join(_STARTERS)})(?![\w.-])")
_REDIRECTIONS = {"<", ">", ">>", ">&", "&>", ">|", "<>"}
# A command substitution is a word, or a part of one, whatever is in it.
_SUBSTITUTION = re.compile(r"\$\([^()]*\)|`[^`]*`")


def starts_ranks(command: str) -> bool:
    """Whether one of the simple commands that the shell runs in turn is mpirun or its like."""
    return any(_name(words).rpartition("/")[2] in _STARTERS for words in _simple_commands(command))


def mentioned_starter(command: str) -> str:
    """The name of mpirun or its like in a command that, as far as read, does not run it; or ""."""
    found = _WORD.search(command)
    return found[0] if found and not starts_ranks(command) else ""


def _name(words: list[str]) -> str:
    """The word that names the program: after assignments, and after prefixes and their options."""
    prefixed = False
    for word in words:
        if word in _PREFIXES:
            prefixed = True
        elif not _ASSIGNMENT.match(word) and not (prefixed and word.startswith("-")):
            return word
    return ""


def _simple_commands(command: str) -> list[list[str]]:
    """The words of each command that runs if those before it succeed or whatever they do.

    They are separated by `;`, `&&` and newlines; anything else ends what is read.
    """
    text = command.replace("\\\n", "")
    while _SUBSTITUTION.search(text):
        text = _SUBSTITUTION.sub("_", text)
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|()<>\n")
    lexer.whitespace = " \t\r"
    lexer.commenters = ""
    commands: list[list[str]] = [[]]
    try:
        for token in lexer:
            operator = set(token) <= set(lexer.punctuation_chars)
            if operator and token.strip("\n") in {"", ";", "&&"}:
                commands.append([])
            elif operator and token not in _REDIRECTIONS:
                return commands
            else:
                commands[-1].append(token)
    except ValueError:  # a quote that is not closed
        return []
    return commands
