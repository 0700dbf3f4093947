"""The cache of decoded objects."""

from dbt.adapters.vcs.core.model import SchemaTree, Tree
from dbt.adapters.vcs.core.store.cache import ObjectCache


def held(cache: ObjectCache) -> str:
    """The letters of `abcdefg` that are held; asking makes each the last used one in turn."""
    return "".join(id for id in "abcdefg" if cache.get((Tree, id)) is not None)


def test_the_least_recently_used_goes_first() -> None:
    cache = ObjectCache(max_values=3, max_bytes=1_000)
    for id in "abcd":
        cache.put((Tree, id), Tree(), 10)
    assert held(cache) == "bcd"
    cache.get((Tree, "b"))
    cache.put((Tree, "e"), Tree(), 10)
    assert held(cache) == "bde"


def test_weight_is_bounded_too() -> None:
    cache = ObjectCache(max_values=100, max_bytes=100)
    for id in "abc":
        cache.put((Tree, id), Tree(), 30)
    cache.put((Tree, "d"), Tree(), 50)
    assert held(cache) == "cd"
    cache.put((Tree, "e"), Tree(), 101)
    assert held(cache) == "cd"


def test_a_value_put_twice_weighs_once() -> None:
    cache = ObjectCache(max_values=100, max_bytes=100)
    for _ in range(5):
        cache.put((Tree, "a"), Tree(), 60)
    cache.put((Tree, "b"), Tree(), 40)
    assert held(cache) == "ab"


def test_types_are_kept_apart() -> None:
    cache = ObjectCache()
    cache.put((Tree, "a"), Tree(), 1)
    assert cache.get((SchemaTree, "a")) is None
