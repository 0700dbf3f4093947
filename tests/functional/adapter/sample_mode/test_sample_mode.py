"""Runs that read samples of their inputs."""

from dbt.tests.adapter.sample_mode.test_sample_mode import BaseSampleModeTest


class TestSampleMode(BaseSampleModeTest):
    pass
