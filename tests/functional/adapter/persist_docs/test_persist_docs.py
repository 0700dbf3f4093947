from __future__ import annotations

from dbt.tests.adapter.persist_docs import test_persist_docs as persist_docs


class TestPersistDocs(persist_docs.TestPersistDocs):
    pass


class TestPersistDocsColumnMissing(persist_docs.TestPersistDocsColumnMissing):
    pass


class TestPersistDocsAllColumnsMissing(persist_docs.TestPersistDocsAllColumnsMissing):
    pass


class TestPersistDocsQuotedColumnCaseSensitive(
    persist_docs.TestPersistDocsQuotedColumnCaseSensitive
):
    pass


class TestPersistDocsQuotedDescriptionNotAppliedOnMismatch(
    persist_docs.TestPersistDocsQuotedDescriptionNotAppliedOnMismatch
):
    pass


class TestPersistDocsCommentOnQuotedColumn(persist_docs.TestPersistDocsCommentOnQuotedColumn):
    pass
