"""The events of a slice so far, as hashes, which tell repeats from new events."""

from collections.abc import Iterable

from .page import PageKeys


class Hashes:
    """A set of hashes; beyond `limit` the older half is forgotten."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.forgotten = False
        self._older: set[int] = set()
        self._newer: set[int] = set()

    def __contains__(self, key: int) -> bool:
        return key in self._newer or key in self._older

    def are_new(self, keys: set[int]) -> bool:
        return self._newer.isdisjoint(keys) and self._older.isdisjoint(keys)

    def update(self, keys: Iterable[int]) -> None:
        self._newer.update(keys)
        if len(self._newer) > self._limit // 2:
            self.forgotten |= bool(self._older)
            self._older, self._newer = self._newer, set()


class EventMemory:
    """The events of a slice: an event is a repeat if it has the id and the text of an earlier one.

    One of the same page is a copy. Of events and of ids only hashes are kept; beyond `limit` the
    older half is forgotten. An id under which events with different texts arrive identifies none.
    """

    def __init__(self, limit: int) -> None:
        self.texts, self._ids = Hashes(limit), Hashes(limit)
        self.shared: set[int] = set()
        # The events that one page had once more.
        self.copies = 0
        # Whether the last page has an event that is kept, although an earlier one has its text.
        self.has_equal = False

    @property
    def oddity(self) -> str:
        if self.shared:
            return "have the same event_id and differ otherwise"
        return "come twice on one page" if self.copies else ""

    def add(self, keys: PageKeys) -> list[bool]:
        """Return for each event whether it is a repeat, and remember the others."""
        repeats = [False] * len(keys.ids)
        self.has_equal = False
        if not keys.texts:
            return repeats
        # In C, for 10,000 events per page. In a tuple, because a whole number is its own hash.
        ids = [*map(hash, zip(keys.ids))]
        new_ids = {*ids}
        # Events with different ids have different texts.
        if len(new_ids) == len(ids) and self._ids.are_new(new_ids):
            self.texts.update(keys.texts)
            self._ids.update(new_ids)
            return repeats
        earlier = {text for text in keys.texts if text in self.texts}
        for index, (text, key, value) in enumerate(zip(keys.texts, ids, keys.ids, strict=True)):
            if value is not None:
                is_known = text in self.texts
                if key in self._ids and not is_known:
                    self.shared.add(key)
                repeats[index] = text in earlier and key not in self.shared
                self.copies += is_known and text not in earlier
                self.has_equal |= is_known and key in self.shared
                self.texts.update((text,))
                self._ids.update((key,))
        return repeats
