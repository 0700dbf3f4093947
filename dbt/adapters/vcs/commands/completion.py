"""`dbt-vcs completion`: a script with which a shell completes command lines.

The script asks the command itself for what fits: a line per word, with its help after a tab. So
an installed script knows every option of a later version, and the repository's names of now.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Annotated, Any, Final, Literal

import click
from click.shell_completion import CompletionItem, ShellComplete

from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import Option, verb
from dbt.adapters.vcs.core.errors import VcsError

# Bash gives the line as it was typed and takes words as they are to be typed; its own words end at
# each of its COMP_WORDBREAKS, such as the @ of `orders@main`. Zsh and fish give and take the words
# themselves. Without an answer, each of them completes names of files.
_BASH: Final = r"""
_dbt_vcs() {
    local word program=dbt-vcs
    COMPREPLY=()
    while IFS= read -r word; do
        COMPREPLY+=("$word")
    done < <($program completion bash --words="${COMP_LINE:0:COMP_POINT}" \
        --words="$COMP_WORDBREAKS" 2>/dev/null)
}
complete -o bashdefault -o default -F _dbt_vcs dbt-vcs
"""
_ZSH: Final = r"""#compdef dbt-vcs
_dbt_vcs() {
    local -a given names shown each
    local line program=dbt-vcs
    given=("${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}")
    while IFS= read -r line; do
        names+=("${line%%$'\t'*}")
        shown+=("${line/$'\t'/  -- }")
        [[ $line == *$'\t'* ]] && each=(-l)
    done < <($program completion zsh "--words=${(@)^given}" 2>/dev/null)
    if (( $#names )); then
        compadd $each -d shown -a names
    else
        _files
    fi
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _dbt_vcs "$@"
else
    compdef _dbt_vcs dbt-vcs
fi
"""
_FISH: Final = r"""
function __dbt_vcs
    set -l program dbt-vcs
    set -l given (commandline -opc) (commandline -ct)
    set -l found ($program completion fish --words=$given[2..-1] 2>/dev/null)
    if set -q found[1]
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c dbt-vcs -f -a '(__dbt_vcs)'
"""
_SCRIPTS: Final = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


@verb(prints_json=False)
def completion_command(
    session: CommandSession,
    shell: Literal["bash", "zsh", "fish"],
    *,
    words: Annotated[tuple[str, ...], Option(hidden=True)] = (),
) -> None:
    """Print a script with which a shell completes command lines.

    It completes commands, options and the names of branches, tags, tables and runs. Put it where
    the shell looks for such scripts, or read it when the shell starts:
    source <(dbt-vcs completion bash).
    """
    if not words:
        click.echo(_SCRIPTS[shell].strip())
        return
    try:
        lines = list(_bash_lines(*words) if shell == "bash" else _lines(words[:-1], words[-1]))
    except (click.ClickException, VcsError, OSError):
        # A line that is not finished may be wrong, and a repository out of reach.
        return
    for text in lines:
        click.echo(text)


def _lines(words: Iterable[str], begun: str) -> Iterator[str]:
    """Yield the words that go on from the one that is begun, with their help after a tab."""
    for item in _fitting(words, begun):
        told = " ".join((item.help or "").split())
        yield f"{item.value}\t{told}" if told else item.value


def _fitting(words: Iterable[str], begun: str) -> list[Any]:
    root = click.get_current_context().find_root().command
    found = ShellComplete(root, {}, "dbt-vcs", "").get_completions([*words], begun)
    # Of `--at=ma`, click looks at the value alone.
    option, is_value, _ = begun.partition("=")
    before = f"{option}=" if is_value and option.startswith("--") else ""
    # A line of the answer is one word.
    return [
        CompletionItem(before + item.value, help=item.help)
        for item in found
        if item.value.isprintable()
    ]


def _bash_lines(line: str, breaks: str) -> Iterator[str]:
    """Yield what bash puts in the place of the part of a word that it sees."""
    quote, (_, *words, begun) = _split(line)
    # Within quotes, no character ends a word.
    seen = 0 if quote else 1 + max(map(begun.rfind, breaks), default=-1)
    for item in _fitting(words, begun):
        if not quote:
            yield re.sub(r"([^\w@%+=:,./-])", r"\\\1", item.value[seen:])
        elif not set(item.value) & set("'" if quote == "'" else '"$`\\!'):
            yield item.value


def _split(line: str) -> tuple[str, list[str]]:
    """Return the quote that a line leaves open, and its words; the last one is the one begun."""
    for quote in ("", "'", '"'):
        with suppress(ValueError):
            # Something at the end, so that the last word is there even if it is empty.
            *words, last = shlex.split(f"{line}\0{quote}")
            return quote, [*words, last.removesuffix("\0")]
    raise click.UsageError(f"The line {line!r} can't be split into words.")
