"""`dbt-vcs docs`: the review of a branch beside the pages of dbt docs."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Annotated, Final

from dbt.adapters.vcs.commands.profile import target_folder
from dbt.adapters.vcs.commands.review import PAGE, page_of, review_of, write_review, written_text
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import Option, verb
from dbt.adapters.vcs.core.errors import InputError, NotFoundError

_INDEX: Final = "index.html"
_BEGIN: Final = "<!-- review by dbt-vcs -->"
_END: Final = "<!-- /review by dbt-vcs -->"
_STYLE: Final = (
    "position:fixed;right:16px;bottom:80px;z-index:9999;padding:6px 12px;border-radius:4px;"
    "background:#fff;color:#0b5c8a;border:1px solid #0b5c8a;font:14px sans-serif"
)


@verb(prints_json=False)
def docs_command(
    session: CommandSession,
    *,
    review: Annotated[
        str | None,
        Option(
            "What to review; by default the profile's branch, compared with where it left the "
            "default branch.",
            metavar="BASE...HEAD",
        ),
    ] = None,
) -> None:
    """Put the review of a branch beside the pages that `dbt docs generate` wrote.

    Writes review.html into dbt's target folder, and a link to it into index.html there. `dbt docs
    serve` shows both. Generate the docs on the same target first: they show each table's branch,
    rows, and whether it is stale.
    """
    folder = target_folder(session.settings, session.target)
    index = folder / _INDEX
    revisions = review or _revisions(session)
    page = linked(_read(index), revisions)
    found = review_of(session, revisions)
    write_review(str(folder / PAGE), page_of(found))
    # The link last, so that it never leads nowhere.
    write_review(str(index), page)
    session.say(written_text(found, str(folder / PAGE)))


def _revisions(session: CommandSession) -> str:
    base, head = session.repository.default_branch, session.shown
    if base == head:
        raise InputError(
            f"The profile's branch is the default branch {base!r}, so there is nothing to review. "
            "Name another one: dbt-vcs docs --review main...BRANCH"
        )
    return f"{base}...{head}"


def _read(index: Path) -> str:
    try:
        return index.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise NotFoundError(
            f"There are no docs of dbt in {index.parent}: it has no {index.name}. Make them "
            "first: dbt docs generate"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"Can't read {index}: {error}. Make it again: dbt docs generate"
        ) from error


def linked(page: str, revisions: str) -> str:
    """Return dbt's page with the link to the review, in place of an earlier one."""
    from dbt.adapters.vcs.commands.review_markdown import visible

    before, begin, rest = page.partition(_BEGIN)
    if begin:
        page = before + rest.partition(_END)[2]
    body, end, after = page.rpartition("</body>")
    if not end:
        raise InputError(
            f"Found no </body> in {_INDEX}, so it isn't the page of dbt docs. Make it again: "
            "dbt docs generate"
        )
    # dbt's page is a template of Angular, which would run braces in the name of a branch.
    link = (
        f'<a ng-non-bindable href="{PAGE}" target="_self" style="{_STYLE}">'
        f"Review of {escape(visible(revisions))}</a>"
    )
    return f"{body}{_BEGIN}{link}{_END}{end}{after}"
