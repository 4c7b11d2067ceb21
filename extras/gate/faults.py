"""The faults that the gate names."""

from enum import StrEnum
from typing import Self


class Fault(StrEnum):
    """A fault of a server's scheduler, by its name, and its meaning in words."""

    meaning: str

    def __new__(cls, name: str, meaning: str) -> Self:
        """Makes a member of its name and its meaning."""
        made = str.__new__(cls, name)
        made._value_, made.meaning = name, meaning
        return made

    IGNORES_URGENCY = "ignores urgency", "the order of the streams does not depend on their urgency"
    IGNORES_INCREMENTAL = "ignores incremental", "incremental streams of one urgency are sent one after the other"
    INVERTS = "inverts", "a stream gets less if it is asked for first"
    STARVES = "starves", "a stream gets nothing although no other stream has bytes to send"
    FORGETS_UPDATES = "forgets updates", "a change of an open stream's priority has no effect, or only long after"
    BUFFERS = "buffers", "the scheduler is right, but bytes chosen long before are sent first"
    LATE_LAST = (
        "sends a late response last",
        "a late urgent response comes after all others: its HEADERS wait, or all others were chosen long before",
    )
    BY_STREAM_ID = (
        "ignores priorities",
        "streams come one after the other, as they were requested, whatever their priority",
    )
    LATE_CHOICE = "changes streams late", "a stream that has begun goes on for a while before a more urgent one comes"
    AFTER_WINDOW = (
        "forgets the urgency of a blocked stream",
        "the order is right while windows are open, and does not depend on urgency once a stream's window was closed",
    )
    FIRST_FOR_ALL = (
        "takes the first request's priority for all",
        "the order does not depend on urgency, and streams with i share only if the first request has i",
    )
    FIRST_UNREAD = (
        "ignores the first request's priority",
        "the field of a request that comes while no stream is open has no effect",
    )
    FIRST_REQUESTS = (
        "knows only the first priorities",
        "the first requests have their priorities, later ones the default",
    )
    LAST_REQUESTS = (
        "knows only the last priorities",
        "the last requests have their priorities, earlier ones the default",
    )
    BITS = "keeps only some bits of the urgency", "urgencies are those that are left when the highest bit is cut off"
    TEXT = "compares the text of fields", "the order is that of the fields' texts, and not of their urgencies"
    AGES = "favours what has waited", "a stream that has waited for long comes before a more urgent one"
    SMALL_FIRST = "sends small responses first", "a small response comes before a more urgent one"
    IMPATIENT = "serves less urgent streams in between", "some get bytes while a more urgent one waits"
    ENDS_LATE = "ends streams late", "END_STREAM comes when bytes of less urgent streams have come after the last byte"
    STALE = "keeps the priority of an ended stream", "a request without a field has the priority of an earlier stream"
    ONE_LINE = "reads one line of the field", "two lines `priority` of a request are one list, and one of them counts"
    REQUEUES = "moves a stream back when its window opens", "streams of one urgency come as their windows were opened"
    UNORDERED = "keeps no order among several streams", "the order is right for two streams, and wrong for several"
    LOST_BY_RESET = "loses the priority after a RST_STREAM", "the order is right until the client resets a stream"
    LOSES_STREAM = "loses a stream at the RST_STREAM of another", "a stream that was not reset is never sent to its end"
    BREAKS_AT_RESET = "breaks off at a RST_STREAM", "the connection ends when the client resets a stream"
    MIXES_CONNECTIONS = "mixes up connections", "priorities of another connection count"
    ONLY_FIRST_LOAD = (
        "honours only the first load",
        "the order is right in a connection's first page load, and not in later ones",
    )
    SHARES = "shares by urgency", "the more urgent stream gets more, but not all"
    ZERO_IS_DEFAULT = "takes u=0 for the default", "a stream of urgency 0 is sent as one of urgency 3"
    SEVEN_IS_DEFAULT = "takes u=7 for the default", "a stream of urgency 7 is sent as one of urgency 3"
    WRONG_DEFAULT = (
        "has another default urgency",
        "a stream without the field `priority` is not sent as one of urgency 3",
    )
    COARSE = "confuses neighbouring urgencies", "urgencies on one side of the default are not told apart"
    INCREMENTAL_LAST = "sends incremental streams last", "a less urgent stream without incremental comes before them"
    INCREMENTAL_FIRST = "sends incremental streams first", "they come before a more urgent stream without incremental"
    URGENCY_WITHOUT_I = "ignores the urgency of incremental streams", "streams with i are sent as those of urgency 3"
    INVERTS_INCREMENTAL = "inverts among incremental streams", "those of a smaller urgency come later, and only those"
    SHARES_INCREMENTAL = "shares among all incremental streams", "those of different urgencies share the window"
    PARTLY = "keeps the order in part", "two streams do not come in the order of their urgencies, and most of many do"
    EARLY_UPDATE = "forgets updates before the request", "a PRIORITY_UPDATE that comes before its request has no effect"
    WRONG_STREAM = (
        "applies an update to another stream",
        "a PRIORITY_UPDATE of a stream that has ended changes one that is open",
    )
    UPDATE_AT_ONCE = (
        "forgets updates before the response",
        "a PRIORITY_UPDATE between a request and its response has no effect",
    )
    SECOND_UPDATE = "takes only the first update", "a second PRIORITY_UPDATE of a stream has no effect"
    MERGES_UPDATES = (
        "merges updates",
        "a parameter that a PRIORITY_UPDATE leaves out keeps its old value, and must have its default",
    )
    URGENCY_UPDATES = "takes only the urgency of updates", "a PRIORITY_UPDATE does not make a stream incremental"
    MISREADS_UPDATES = "misreads updates", "the order is wrong after changes of priority"
    OUT_OF_RANGE = "takes an urgency out of range", "u=8, u=10 or u=-1 must be ignored, and counts"
    NO_INTEGER = "takes an urgency that is no integer", "u=a or u=1.5 must be ignored, and counts"
    UNKNOWN_PARAMETER = "stumbles over an unknown parameter", "known parameters beside an unknown one do not count"
    MALFORMED = "reads a malformed field", "a field that is no dictionary must be ignored as a whole, and counts"
    NO_SPACE = "stumbles over a comma without a space", "i,u=1 is not read as u=1 and i"
    ITS_PARAMETERS = "stumbles over parameters of a value", "u=2;x=y is not read as u=2"
    FALSE_IS_TRUE = "takes i=?0 for incremental", "streams with i=?0 share the window"
    NUMBER_IS_TRUE = "takes i=1 for incremental", "streams with i=1, which is no boolean and must be ignored, share"
    TRUE_IS_FALSE = "overlooks i=?1", "streams with i=?1, which is the same as i, come one after the other"
    FIRST_OF_KEY = "misreads a repeated parameter", "of u=0, u=4 the last value counts"
    MISREADS_PARAMETERS = "misreads unusual parameters", "the order is wrong with unknown or malformed parameters"
    BREAKS_OFF = "breaks off at unusual parameters", "the connection or a stream ends because of a malformed field"
    BREAKS_AT_UPDATE = "breaks off at an update", "the connection or a stream ends because of a PRIORITY_UPDATE"
    IGNORES_RESPONSE = "ignores the response's priority", "the client's priority counts, and not that of the origin"
    REPLACES_BY_RESPONSE = (
        "takes only the response's priority",
        "a parameter that the origin leaves out must keep the client's value, and has its default",
    )
    MISREADS_RESPONSE = "misreads the response's priority", "the order is wrong where the origin has given a priority"
    WAITS_FOR_BLOCKED = (
        "waits for a blocked stream",
        "other streams get nothing while the window of one that comes before them, or shares with them, is closed",
    )
    SKIPS_LEVEL = (
        "passes over the urgency of a blocked stream",
        "while a stream's window is closed, others of its urgency get nothing",
    )
    FORGETS_BLOCKED = "forgets a blocked stream", "a stream does not come first when its window opens again"
    SHARES_EQUALS = (
        "shares instead of serving in order of arrival",
        "streams of one urgency without incremental share the window, or change places when it closes",
    )
    LAST_FIRST = "serves later requests first", "of streams of one urgency without incremental, a later one comes first"
    NO_FIELD_SHARES = "takes no field for incremental", "streams without the field share the window"
    NO_ARRIVAL = "ignores the order of arrival", "streams of one urgency come in another order than their requests"
    UNFAIR = "shares unfairly", "incremental streams of one urgency get unequal parts of the window"
    MANY = "keeps no order among many streams", "the order is right for two streams, and wrong for twenty"
    NO_PREEMPTION = (
        "finishes less urgent streams first",
        "an urgent request waits until a less urgent stream that is being sent ends",
    )
    LATER_REQUESTS = "ignores priorities of later requests", "the order is wrong on a connection that was used before"
    TAKES_TURNS = "shares instead of serving in turn", "incremental streams of one urgency share the window"
