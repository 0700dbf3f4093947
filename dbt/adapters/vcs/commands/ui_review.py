"""The page of `dbt-vcs ui` that reviews a branch, and the button that approves it."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from dbt.adapters.vcs.changes.merges.approvals import approvals_of, approve
from dbt.adapters.vcs.commands.review import review, review_request
from dbt.adapters.vcs.commands.review_page import page_values
from dbt.adapters.vcs.commands.revisions import named_branch
from dbt.adapters.vcs.commands.ui_site import Form, UiSite, asked, posting
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.workspace.run_branch import run_of

SEEN: Final = frozenset({"tests", "approval"})
"""What a branch can require that has to see the very versions that are published."""


class ReviewPages:
    """The review of two revisions, and what can be done about it."""

    def __init__(self, site: UiSite) -> None:
        self._site = site
        self._repository = site.repository

    def routes(self) -> list[Route]:
        """Return the pages."""
        return [
            Route("/review", self.review),
            Route("/approve", posting(self.approve), methods=["POST"]),
        ]

    def review(self, request: Request) -> Response:
        """Return the review of what a revision changes; with `direct`, not from the merge base."""
        repository = self._repository
        base = request.query_params.get("base") or repository.default_branch
        head = asked(request, "head")
        session = self._site.session()
        with self._site.measuring:
            found = review(
                repository,
                base,
                head,
                review_request(session, base),
                from_merge_base="direct" not in request.query_params,
            )
        branch = named_branch(repository, head)
        # Of two commits by their ids, nothing would move.
        is_whole = "direct" not in request.query_params
        into = named_branch(repository, base) if is_whole else None
        verdict = found.verdict
        # Nothing has tested or approved what a merge makes of rows. So where the base asks for
        # that, they are merged on the branch first.
        turns = (
            into is not None
            and branch is not None
            and run_of(branch) is None
            and verdict.how in ("merge", "conflict")
            and bool(SEEN.intersection(verdict.requires))
        )
        mine = branch is not None and any(
            item.author == session.author
            for item in approvals_of(repository, branch.name, found.head.commit)
        )
        return self._site.page(
            "review.html.j2",
            **page_values(found),
            # An approval is for a branch, and for what it showed when this page was made.
            branch=branch.name if branch is not None else None,
            author=session.author,
            is_mine=mine,
            into=into.name if into is not None else None,
            turns=turns,
            is_stuck=turns and verdict.how == "conflict",
            promotes=into is not None
            and (into.protection or session.rules.protection_of(into.name)) is not None,
        )

    def approve(self, request: Request, form: Form) -> Response:
        """Approve what a review showed, or withdraw that, as `dbt-vcs approve` does."""
        branch, base, at = form.get("branch"), form.get("base"), form.get("at")
        if not branch or not base or not at:
            raise InputError("The page did not say what is approved. Reload the review.")
        with self._site.writing() as session:
            approve(
                self._repository,
                branch,
                author=session.author,
                at=self._repository.resolve(at),
                note=form.get("note", ""),
                withdraw="withdraw" in form,
            )
        back = urlencode({"base": base, "head": form.get("head") or branch})
        return RedirectResponse(f"/review?{back}", 303)
