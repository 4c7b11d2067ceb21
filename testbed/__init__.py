"""The engine: hosts joined by links, in a guest on virtual time, or in namespaces on real time.

This is its face. The lab, the extras and the tools import these names alone, and no module of the engine
(tests/contract/test_engine_face.py), so its modules may change, but for three that people name: the pytest plugin
and the strategies of hypothesis (testbed/sandbox/pytest_plugin.py, strategies.py), and the command's module in the
lab's table of commands. Among the names are:

    Sandbox, Host, Result, ClientFailed, Outcome, OutputFrame    programs on hosts, and what came of them
    Net, AsyncNet, NotInTime                                      hosts that a test steers
    FailingSeed                                                   a run that a search of seeds has found
    Packet, Loss, Timeline                                        the packets of a run, and a picture of them
    command, session                                              the command `priolab sandbox`, and its runs
    Topology, Wire, Shaping, Capture, pair, WIRE, WARM_UP         hosts, and what joins them, as a value
    build, Network, Namespace, near_host                          what makes them, as namespaces
    ActiveLink, ActiveCross, cross_traffic                        links and cross traffic at work
    CongestionControl, EndSettings, FrontQdisc                    settings of a link's ends
    end_settings, end_words                                       their sysctls, and their knobs
    ExpectedSettings, Portrayed, Look, packet_capture             what a host should have, has, and what passes it
    Guest, guests, kernel, kernel_source, prebuilt, io_uring      guests, their kernel, and changes of its source
    jobs, Work, keep_guests, work_folder                          the processes of a command that keep guests
    guest_requirements, namespace_requirements                    what this machine lacks

A name is imported when it is used. The errors are in common/errors.py, and a link is a value of netem/link.py.
"""

from typing import TYPE_CHECKING

from priolab.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from priolab.testbed.guest import guest_requirements as guest_requirements
    from priolab.testbed.guest import guests as guests
    from priolab.testbed.guest import io_uring as io_uring
    from priolab.testbed.guest import kernel as kernel
    from priolab.testbed.guest import kernel_source as kernel_source
    from priolab.testbed.guest import prebuilt as prebuilt
    from priolab.testbed.guest.guests import Guest as Guest
    from priolab.testbed.guest.kernel_faults import check_kernel as check_kernel
    from priolab.testbed.guest.kernel_patches import study_kernels as study_kernels
    from priolab.testbed.guest.kernel_patches.edit import Change as Change
    from priolab.testbed.guest.kernel_patches.edit import Edit as Edit
    from priolab.testbed.guest.kernel_patches.edit import Effect as Effect
    from priolab.testbed.guest.kernel_patches.edit import Version as Version
    from priolab.testbed.guest.kernel_patches.study_kernels import Additions as Additions
    from priolab.testbed.guest.kernel_patches.study_kernels import added as added
    from priolab.testbed.option_values import SEED_WORD as SEED_WORD
    from priolab.testbed.option_values import overridden as overridden
    from priolab.testbed.option_values import parsed_time_ns as parsed_time_ns
    from priolab.testbed.option_values import value_of as value_of
    from priolab.testbed.process import jobs as jobs
    from priolab.testbed.process import work_folder as work_folder
    from priolab.testbed.process.command_process import Work as Work
    from priolab.testbed.process.command_process import keep_guests as keep_guests
    from priolab.testbed.sandbox import command as command
    from priolab.testbed.sandbox import session as session
    from priolab.testbed.sandbox.net import AsyncNet as AsyncNet
    from priolab.testbed.sandbox.net import Net as Net
    from priolab.testbed.sandbox.net import NotInTime as NotInTime
    from priolab.testbed.sandbox.outcome import Outcome as Outcome
    from priolab.testbed.sandbox.output_log import OutputFrame as OutputFrame
    from priolab.testbed.sandbox.packet import Loss as Loss
    from priolab.testbed.sandbox.packet import Packet as Packet
    from priolab.testbed.sandbox.sandbox import ClientFailed as ClientFailed
    from priolab.testbed.sandbox.sandbox import FailingSeed as FailingSeed
    from priolab.testbed.sandbox.sandbox import Host as Host
    from priolab.testbed.sandbox.sandbox import Result as Result
    from priolab.testbed.sandbox.sandbox import Sandbox as Sandbox
    from priolab.testbed.sandbox.timeline import Timeline as Timeline
    from priolab.testbed.topology import cgroup as cgroup
    from priolab.testbed.topology import cross_traffic as cross_traffic
    from priolab.testbed.topology import end_settings as end_settings
    from priolab.testbed.topology import end_words as end_words
    from priolab.testbed.topology import namespace_requirements as namespace_requirements
    from priolab.testbed.topology import packet_capture as packet_capture
    from priolab.testbed.topology.active import ActiveCross as ActiveCross
    from priolab.testbed.topology.active import ActiveLink as ActiveLink
    from priolab.testbed.topology.active import Look as Look
    from priolab.testbed.topology.active import Portrayed as Portrayed
    from priolab.testbed.topology.active import no_look as no_look
    from priolab.testbed.topology.end_settings import CongestionControl as CongestionControl
    from priolab.testbed.topology.end_settings import CrossTraffic as CrossTraffic
    from priolab.testbed.topology.end_settings import EndSettings as EndSettings
    from priolab.testbed.topology.end_settings import FrontQdisc as FrontQdisc
    from priolab.testbed.topology.expected_settings import ExpectedSettings as ExpectedSettings
    from priolab.testbed.topology.host_link import near_host as near_host
    from priolab.testbed.topology.namespace import Namespace as Namespace
    from priolab.testbed.topology.network import Network as Network
    from priolab.testbed.topology.network import build as build
    from priolab.testbed.topology.topology import WARM_UP as WARM_UP
    from priolab.testbed.topology.topology import WIRE as WIRE
    from priolab.testbed.topology.topology import Capture as Capture
    from priolab.testbed.topology.topology import Shaping as Shaping
    from priolab.testbed.topology.topology import Topology as Topology
    from priolab.testbed.topology.topology import Wire as Wire
    from priolab.testbed.topology.topology import pair as pair

if not TYPE_CHECKING:  # type checkers would take any name for one that is there
    __getattr__, __dir__ = lazy_names(
        globals(),
        homes={
            "priolab.testbed.guest.guests": ["Guest"],
            "priolab.testbed.guest.kernel_faults": ["check_kernel"],
            "priolab.testbed.guest.kernel_patches.edit": ["Change", "Edit", "Effect", "Version"],
            "priolab.testbed.guest.kernel_patches.study_kernels": ["Additions", "added"],
            "priolab.testbed.option_values": ["SEED_WORD", "overridden", "parsed_time_ns", "value_of"],
            "priolab.testbed.process.command_process": ["Work", "keep_guests"],
            "priolab.testbed.sandbox.net": ["AsyncNet", "Net", "NotInTime"],
            "priolab.testbed.sandbox.outcome": ["Outcome"],
            "priolab.testbed.sandbox.output_log": ["OutputFrame"],
            "priolab.testbed.sandbox.packet": ["Loss", "Packet"],
            "priolab.testbed.sandbox.sandbox": ["ClientFailed", "FailingSeed", "Host", "Result", "Sandbox"],
            "priolab.testbed.sandbox.timeline": ["Timeline"],
            "priolab.testbed.topology.active": ["ActiveCross", "ActiveLink", "Look", "Portrayed", "no_look"],
            "priolab.testbed.topology.end_settings": ["CongestionControl", "CrossTraffic", "EndSettings", "FrontQdisc"],
            "priolab.testbed.topology.expected_settings": ["ExpectedSettings"],
            "priolab.testbed.topology.host_link": ["near_host"],
            "priolab.testbed.topology.namespace": ["Namespace"],
            "priolab.testbed.topology.network": ["Network", "build"],
            "priolab.testbed.topology.topology": ["Capture", "Shaping", "Topology", "WARM_UP", "WIRE", "Wire", "pair"],
        },
        modules=[
            "priolab.testbed.guest.guest_requirements",
            "priolab.testbed.guest.guests",
            "priolab.testbed.guest.io_uring",
            "priolab.testbed.guest.kernel",
            "priolab.testbed.guest.kernel_patches.study_kernels",
            "priolab.testbed.guest.kernel_source",
            "priolab.testbed.guest.prebuilt",
            "priolab.testbed.process.jobs",
            "priolab.testbed.process.work_folder",
            "priolab.testbed.sandbox.command",
            "priolab.testbed.sandbox.session",
            "priolab.testbed.topology.cgroup",
            "priolab.testbed.topology.cross_traffic",
            "priolab.testbed.topology.end_settings",
            "priolab.testbed.topology.end_words",
            "priolab.testbed.topology.namespace_requirements",
            "priolab.testbed.topology.packet_capture",
        ],
    )
