"""Warnings of worker threads reach their receiver; other threads keep their filters."""

import threading
import warnings

import pytest

from rankgrove._warning_relay import WarningRelay, relaying_warnings
from rankgrove.errors import DataWarning


@pytest.fixture
def relaying_thread():
    """A thread that relays its warnings until the test ends; the list of what it sent."""
    sent, begun, ask, done = [], threading.Event(), threading.Event(), threading.Event()

    def work():
        with relaying_warnings(lambda category, text: sent.append((category, text))):
            begun.set()
            ask.wait()
            warnings.warn("of the worker", DataWarning, stacklevel=1)
            done.set()

    def warned():
        ask.set()
        assert done.wait(60)
        return sent

    thread = threading.Thread(target=work)
    thread.start()
    assert begun.wait(60)
    yield warned
    ask.set()
    thread.join()


def warn():
    warnings.warn("of this thread", DataWarning, stacklevel=1)


# Filters are set before the worker begins, as a caller of a fit sets them.
@pytest.mark.filterwarnings("error::rankgrove.errors.DataWarning")
def test_a_warning_of_another_thread_that_is_an_error_stays_one(relaying_thread):
    with pytest.raises(DataWarning, match="of this thread"):
        warn()
    assert relaying_thread() == [("DataWarning", "of the worker")]


@pytest.mark.filterwarnings("ignore::rankgrove.errors.DataWarning")
def test_a_warning_of_another_thread_that_is_ignored_stays_so(relaying_thread, monkeypatch):
    shown = []
    monkeypatch.setattr("rankgrove._warning_relay._ORIGINAL", [None, lambda *_: shown.append(1)])
    warn()
    assert shown == []


def test_the_filter_can_be_read_as_others_are(relaying_thread):
    message = warnings.filters[0][1]
    assert message.pattern == ""  # as scikit-learn reads it


@pytest.mark.parametrize(
    "again",
    [
        "X: 3 of 9 values of 'size' are unknown",
        "X: 1 of 10 values of 'colour', 2 of 10 values of 'size' are unknown",
    ],
)
def test_what_differs_in_counted_columns_is_shown_once(again):
    relay = WarningRelay()
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        relay.relay("fold 1", "DataWarning", "X: 80 of 748 values of 'colour' are unknown")
        relay.relay("fold 2", "DataWarning", again)
        relay.relay("fold 2", "DataWarning", "X: 80 of 748 values of 'colour' are infinite")
    assert [str(w.message).split(": ")[0] for w in shown] == ["fold 1", "fold 2"]
