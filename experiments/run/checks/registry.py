"""All checks that can make a run invalid, with what each compares, and the test that makes it fail.

The checks over logs are pure, and are in analysis/loads; experiments/execution/conclusion.py carries them out. The
table in docs/reference/checks.md is this one. A test compares both, looks for the tests, and looks in the code for
checks that are not registered.
"""

from dataclasses import dataclass

from priolab.analysis.reports.markdown import Table


@dataclass(frozen=True, kw_only=True)
class Check:
    """A check. compares: a value with its reference. by: the functions that compare. test: the name of a test."""

    name: str
    compares: str
    by: tuple[str, ...]
    test: str


_RUN, _LOADS = "priolab.experiments.run", "priolab.analysis.loads"
_SETTINGS, _CONTRADICTIONS = f"{_RUN}.checks.settings", f"{_LOADS}.contradictions"
_LIES = "tests/lab/test_lies.py::test_a_lie_makes_the_run_invalid"
_UNIT = "tests/unit/experiments/run/checks"
_OF_LOGS = "tests/unit/analysis/loads/test_contradictions.py"

CHECKS = (
    Check(
        name="pictures of the places",
        compares="all settings of all places, before and after the loads and when the connection stood, with the "
        "lab's requests",
        by=(f"{_RUN}.checks.pictures.check_pictures",),
        test="tests/lab/test_drawn_lies.py::test_no_drawn_deviation_is_believed",
    ),
    Check(
        name="live sockets",
        compares="the options of the connections in all places with those of a new socket",
        by=(f"{_RUN}.checks.sockets.check_sockets",),
        test=f"{_UNIT}/test_sockets.py::test_an_option_that_somebody_changed",
    ),
    Check(
        name="settings of the front",
        compares="LOWAT, send buffer, GSO, the front's qdisc and ECN in the places with the scenario",
        by=(f"{_SETTINGS}.check_settings",),
        test=f"{_UNIT}/test_settings.py::test_another_setting_is_invalid",
    ),
    Check(
        name="the time that the front's work takes",
        compares="that of all its processes in a guest with SERVICE",
        by=("priolab.experiments.hosts.namespaces.front_service._check_marked",),
        test="tests/unit/experiments/hosts/namespaces/test_front_service.py::test_a_process_with_another_service_time",
    ),
    Check(
        name="settings of the second front",
        compares="LOWAT and send buffer in its place with the scenario",
        by=(f"{_SETTINGS}.check_hop",),
        test=f"{_UNIT}/test_settings.py::test_another_setting_of_the_second_front_is_invalid",
    ),
    Check(
        name="settings after the loads, in containers",
        compares="LOWAT, send buffer and GSO with their values before",
        by=(f"{_SETTINGS}.check_unchanged",),
        test=f"{_UNIT}/test_settings.py::test_a_changed_setting_is_invalid",
    ),
    Check(
        name="the memory for TCP",
        compares="the front's send buffer with the largest that it had: the kernel reduces it if memory is short",
        by=(f"{_RUN}.checks.limits.check_memory",),
        test=f"{_UNIT}/test_limits.py::test_a_send_buffer_that_the_kernel_reduced",
    ),
    Check(
        name="the front's live socket",
        compares="its congestion control, LOWAT and send buffer with the scenario",
        by=(f"{_SETTINGS}.check_live_socket", f"{_SETTINGS}.live_socket_state"),
        test=f"{_UNIT}/test_settings.py::test_another_live_socket_is_invalid",
    ),
    Check(
        name="the handshake",
        compares="what the client's connection has from it with the settings of both ends",
        by=(f"{_RUN}.checks.handshake.check_handshake",),
        test=f"{_UNIT}/test_handshake.py::test_a_setting_that_was_another_for_the_handshake",
    ),
    Check(
        name="LOWAT while pages load",
        compares="the sysctl at each sample of the front's process with the scenario",
        by=(f"{_SETTINGS}.check_sysctl",),
        test=f"{_UNIT}/test_settings.py::test_lowat_that_was_another_for_a_while",
    ),
    Check(
        name="the sampled connection",
        compares="its port with that of the client",
        by=(f"{_SETTINGS}.check_connection",),
        test="tests/unit/experiments/run/test_browser.py::test_the_connection_looked_at_is_the_one_that_carried",
    ),
    Check(
        name="samples until the end",
        compares="the time of the last sample of the front's process with the end of the loads",
        by=(f"{_SETTINGS}.check_seen",),
        test=f"{_UNIT}/test_settings.py::test_a_front_that_was_not_seen_to_the_end",
    ),
    Check(
        name="the tuner's decisions",
        compares="the live socket's LOWAT with the journal of the tuner",
        by=(f"{_SETTINGS}.check_tuned",),
        test="tests/unit/proxy/tuner/test_journal.py::test_a_socket_that_had_something_else",
    ),
    Check(
        name="TLS records",
        compares="the largest record that the client decrypted with the scenario",
        by=(f"{_SETTINGS}.check_record",),
        test=f"{_UNIT}/test_settings.py::test_another_record_is_invalid",
    ),
    Check(
        name="the link's qdiscs, with QDISC or in containers",
        compares="rate, times, limits, losses and ECN in the counters with the requested link",
        by=(f"{_SETTINGS}.check_kept",),
        test=f"{_UNIT}/test_settings.py::test_a_qdisc_with_another_option_is_invalid",
    ),
    Check(
        name="calibration",
        compares="round trip, rate and queue (one in bytes also with small packets, and toward the front) of the"
        " running link with the requested one",
        by=(f"{_RUN}.steps._calibrate", f"{_RUN}.upstream_proxy.second_hop"),
        test=_LIES,
    ),
    Check(
        name="rate steps",
        compares="the journal of the steps with the requested steps",
        by=(f"{_RUN}.checks.rate_steps.check_steps",),
        test=f"{_UNIT}/test_rate_steps.py::test_a_step_that_is_not_what_was_asked",
    ),
    Check(
        name="the ferry",
        compares="its lost packets with none, and its lateness with the tolerance",
        by=(f"{_SETTINGS}.check_ferry",),
        test=f"{_UNIT}/test_settings.py::test_a_late_ferry",
    ),
    Check(
        name="the guest's kernel",
        compares="its mark of faults with none",
        by=("priolab.testbed.guest.kernel_faults.check_kernel",),
        test=f"{_UNIT}/test_settings.py::test_a_kernel_with_a_fault",
    ),
    Check(
        name="bytes that the link carried",
        compares="them with the bytes that the client received and the front sent again",
        by=(f"{_RUN}.checks.traffic.check_carried",),
        test=f"{_UNIT}/test_traffic.py::test_less_or_more",
    ),
    Check(
        name="datagrams that the link carried, over HTTP/3",
        compares="their bytes with the datagrams that the client received or the bottleneck dropped",
        by=(f"{_RUN}.checks.traffic.check_datagrams",),
        test=f"{_UNIT}/test_traffic.py::test_datagrams_of_somebody_else",
    ),
    Check(
        name="cross traffic",
        compares="its open flows and its bytes with the scenario",
        by=(f"{_RUN}.checks.traffic.check_cross",),
        test=f"{_UNIT}/test_traffic.py::test_a_flow_that_was_missing",
    ),
    Check(
        name="pauses of cross traffic",
        compares="for how long each flow had bytes to send with the time of the loads",
        by=(f"{_RUN}.checks.traffic.check_sending",),
        test=f"{_UNIT}/test_traffic.py::test_a_flow_that_pauses",
    ),
    Check(
        name="captures",
        compares="the packets that a capture missed with none",
        by=("priolab.testbed.topology.packet_capture.listening",),
        test="tests/server/testbed/test_packet_capture.py::test_packets_that_were_missed",
    ),
    Check(
        name="the browser",
        compares="the number of its connections that carried requests with one",
        by=(f"{_RUN}.browser.check_browser",),
        test="tests/unit/experiments/run/test_browser.py::test_what_a_browser_must_have_done",
    ),
    Check(
        name="lateness",
        compares="how late the machine was on a real clock with the tolerance",
        by=("priolab.experiments.execution.lateness.check_lateness",),
        test="tests/unit/analysis/loads/test_lateness.py::test_a_run_on_a_starved_machine_is_invalid",
    ),
    Check(
        name="payload",
        compares="the size of each response with the page",
        by=(f"{_CONTRADICTIONS}._payload",),
        test=_LIES,
    ),
    Check(
        name="requests in time",
        compares="the origin's times of requests with the time of the loads",
        by=(f"{_CONTRADICTIONS}.outside",),
        test=_LIES,
    ),
    Check(
        name="times of each log",
        compares="each time with the previous one",
        by=(f"{_CONTRADICTIONS}._order",),
        test=f"{_OF_LOGS}::test_a_clock_that_steps_back",
    ),
    Check(
        name="pauses of the samples",
        compares="in the guest, the longest time between two samples with the usual one",
        by=(f"{_CONTRADICTIONS}._pauses",),
        test=f"{_OF_LOGS}::test_a_program_that_takes_the_processor",
    ),
    Check(
        name="causes before effects",
        compares="arrivals and acknowledgments with the bytes sent and arrived before",
        by=(f"{_CONTRADICTIONS}._transport",),
        test=f"{_OF_LOGS}::test_a_clock_that_is_off",
    ),
    Check(
        name="bytes in the link",
        compares="them with the bytes that were sent and had not arrived",
        by=(f"{_CONTRADICTIONS}._held",),
        test=f"{_OF_LOGS}::test_a_clock_that_is_off",
    ),
    Check(
        name="unsent bytes",
        compares="the unsent bytes in the front's kernel with LOWAT",
        by=(f"{_CONTRADICTIONS}.unsent",),
        test=f"{_OF_LOGS}::test_more_unsent_than_lowat_allows",
    ),
    Check(
        name="dropped packets",
        compares="the packets in the bottleneck soon after a drop with QUEUE",
        by=(f"{_LOADS}.queue_check._dropped",),
        test="tests/unit/analysis/loads/test_queue_check.py::test_a_queue_that_was_shorter_for_a_while",
    ),
    Check(
        name="rate of arrival",
        compares="the rate at which data arrive while packets wait in the bottleneck with the link's rate",
        by=(f"{_LOADS}.rate_check.rate_contradictions",),
        test=f"{_OF_LOGS}::test_another_rate",
    ),
    Check(
        name="requests at the origin",
        compares="their number, their causes, their delays, and how long the origin held each response back",
        by=tuple(f"{_LOADS}.request_checks.{name}" for name in ("_requests", "_causes", "_delays", "_origin")),
        test=f"{_OF_LOGS}::test_another_origin",
    ),
    Check(
        name="responses that the origin handed over",
        compares="when the origin had handed over a response with the page, if the front takes it at once",
        by=(f"{_LOADS}.request_checks._handed_over",),
        test=f"{_OF_LOGS}::test_an_origin_that_stalls",
    ),
    Check(
        name="bytes on their way",
        compares="when bytes arrived and were acknowledged with delays, rate and queue of the link",
        by=tuple(f"{_LOADS}.wire_checks.{name}" for name in ("late_on_the_way", "late_acknowledgments")),
        test="tests/unit/analysis/loads/test_wire_checks.py::test_a_packet_that_is_late",
    ),
    Check(
        name="datagrams that wait at the client, over HTTP/3",
        compares="how long they waited in its kernel with the tolerance",
        by=(f"{_LOADS}.wire_checks.late_reads",),
        test="tests/unit/analysis/loads/test_wire_checks.py::test_datagrams_that_the_client_reads_late",
    ),
    Check(
        name="an idle front",
        compares="a front that hands nothing over with the bytes that it has and its kernel would take, and a kernel "
        "that sends nothing with the room in both windows",
        by=tuple(f"{_LOADS}.idle_checks.{name}" for name in ("_not_handed_over", "_unused_window")),
        test="tests/unit/analysis/loads/test_idle_checks.py::test_a_front_or_an_origin_that_stalls",
    ),
    Check(
        name="packet buffers",
        compares="the most unsent bytes with a small LOWAT and the size of a packet buffer",
        by=(f"{_LOADS}.idle_checks._small_buffers",),
        test="tests/unit/analysis/loads/test_idle_checks.py::test_segmentation_that_the_connection_alone_lacks",
    ),
    Check(
        name="retransmissions",
        compares="the packets that the front sent again with the dropped ones, and those that came twice",
        by=(f"{_LOADS}.retransmission_check.retransmission_contradictions",),
        test="tests/unit/analysis/loads/test_retransmission_check.py::test_a_single_packet_that_nobody_dropped",
    ),
    Check(
        name="the ledger",
        compares="the part of the focal resource's wait that is certainly unexplained with a tenth",
        by=(f"{_CONTRADICTIONS}.unexplained",),
        test=f"{_OF_LOGS}::test_a_wait_that_nothing_explains",
    ),
    Check(
        name="passages between the fronts",
        compares="their number and their times with the loads and the link between the fronts",
        by=(f"{_LOADS}.hop_checks.hop_contradictions", f"{_LOADS}.hop_checks._times"),
        test="tests/unit/analysis/loads/test_upstream_proxy.py::test_a_false_capture_is_found",
    ),
)
"""Every check, in the order in which a run meets them, those over logs at the end."""


def table() -> str:
    """Returns the table of docs/reference/checks.md."""
    rows = tuple((check.name, check.compares, f"{check.test.replace('::', ', `')}`") for check in CHECKS)
    return Table(head=("check", "compares", "a test that makes it fail"), rows=rows).markdown() + "\n"
