"""What a worker of the campaign does about the life before its own."""

import msgspec

from chaos.life import outlive
from dbt.adapters.vcs.core.codec import encode_record
from dbt.adapters.vcs.core.groups import LandingPlan
from dbt.adapters.vcs.core.ids import Micros
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.core.turns import FOLDER


def test_plans_of_an_earlier_life_are_taken_down_and_no_others() -> None:
    blobs = MemoryBlobs()
    plan = LandingPlan(at=Micros(0), author="w0", message="", changes={})
    others = msgspec.structs.replace(plan, author="w1")
    blobs.create(f"{FOLDER}/main/1-a.1", encode_record(plan))
    blobs.create(f"{FOLDER}/lab=2Fw0/2-b.1", encode_record(plan))
    outlive(blobs, "w0")
    assert list(blobs.walk(FOLDER)) == []
    blobs.create(f"{FOLDER}/main/3-c.1", encode_record(others))
    blobs.create(f"{FOLDER}/main/4-d", b"")
    outlive(blobs, "w0")
    assert len(list(blobs.walk(FOLDER))) == 2
