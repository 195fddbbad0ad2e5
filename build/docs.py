"""Write docs/reference from the declarations in the code.

python3 build/docs.py           write the pages
python3 build/docs.py --check   exit 1 and name the pages that are out of date
"""

import sys
from pathlib import Path

from dlf.commands.invocation import GROUPS
from dlf.frameworks import SUMMARIES, load_framework
from dlf.task.reference import flags_markdown, variables_markdown
from dlf.task.settings import TaskSettings
from dlf.usage import EXIT_CODES
from dlf.worker.flags import GROUPS as WORKER_GROUPS

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"
_NOTE = "This page is generated from the code by `build/docs.py`."


def pages() -> dict[str, str]:
    """File name to content of every generated page."""
    frameworks = [(name, load_framework(name).settings) for name in SUMMARIES]
    codes = "".join(f"| {code.value} | {meaning} |\n" for code, meaning in EXIT_CODES.items())
    return {
        "flags.md": (
            f"# Flags\n\n{_NOTE}\n\n"
            "In a flag, `-` and `_` are the same. A flag wins over its variables, the first"
            " variable over the second, and an empty value counts as not given.\n\n"
            f"## Of every framework\n\n{flags_markdown(GROUPS)}\n"
            f"## Of each framework\n\n{flags_markdown(frameworks)}\n"
            f"## Of `dlf worker`\n\n{flags_markdown(WORKER_GROUPS)}"
        ),
        "variables.md": (
            f"# Environment variables of the platform\n\n{_NOTE}\n\n"
            f"{variables_markdown([('Task', TaskSettings), *GROUPS])}"
        ),
        "exit-codes.md": (
            f"# Exit codes\n\n{_NOTE}\n\n| Code | Meaning |\n| --- | --- |\n{codes}\n"
            "A job that failed, was deleted or ran out of time is a result; everything else means"
            " that `dlf` could not do its work, and the last line on stderr says why.\n"
        ),
    }


def main(check: bool) -> int:
    """Write the pages, or compare them."""
    REFERENCE.mkdir(parents=True, exist_ok=True)
    stale = []
    for name, content in pages().items():
        page = REFERENCE / name
        if not page.exists() or page.read_text(encoding="utf-8") != content:
            stale.append(name)
            if not check:
                page.write_text(content, encoding="utf-8")
    if check and stale:
        print(f"out of date: {', '.join(stale)}; run build/docs.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
