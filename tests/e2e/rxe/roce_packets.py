# SPDX-License-Identifier: BSD-3-Clause
"""RoCEv2 packets of captured frames, read without any of the project's code, and what roce-dissect
says about two captures."""

import collections
import dataclasses
import json
import subprocess

import longwire_test
import pcap_file

ROCE_MTU = 4096
READ_REQUEST = 0x0C
ACK, REQUESTS = 0x11, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 19, 20, 22, 23}
ACKNOWLEDGING = {0x0D, 0x0F, 0x10, ACK, 0x12}  # opcodes with an AETH
CE = 3


@dataclasses.dataclass(frozen=True)
class Packet:
    """What the tests look at; `syndrome` is None without an AETH."""

    time_ns: int
    source: bytes  # MAC address
    ecn: int
    opcode: int
    qp: int
    psn: int
    syndrome: int | None
    span: int  # PSNs that a request takes; a READ takes those of its responses

    @property
    def is_request(self):
        return self.opcode & 0x1F in REQUESTS

    @property
    def is_nak(self):
        """A NAK for a PSN sequence error."""
        return self.opcode == ACK and self.syndrome == 0x60


def packet(time_ns, frame):
    """The Packet of a frame to UDP port 4791, or None."""
    if frame[12:14] == b'\x08\x00' and frame[23] == 17:
        ecn, udp = frame[15] & 3, 14 + 4 * (frame[14] & 15)
    elif frame[12:14] == b'\x86\xdd' and frame[20] == 17:
        ecn, udp = frame[15] >> 4 & 3, 54
    else:
        return None
    if frame[udp + 2:udp + 4] != b'\x12\xb7' or len(frame) < udp + 24:
        return None
    bth = frame[udp + 8:]
    span = 1
    if bth[0] == READ_REQUEST:
        span = max(1, -(-int.from_bytes(bth[24:28], 'big') // ROCE_MTU))
    return Packet(time_ns, frame[6:12], ecn, bth[0], int.from_bytes(bth[5:8], 'big'),
                  int.from_bytes(bth[9:12], 'big'),
                  bth[12] if bth[0] in ACKNOWLEDGING else None, span)


def packets(path, source=None):
    """The RoCEv2 packets of a capture, all or those from an address."""
    found = (packet(*frame) for frame in pcap_file.read_pcap(path))
    return [one for one in found if one and source in (None, one.source)]


def by_qp(some):
    """{destination QP: its packets in order}."""
    sorted_out = collections.defaultdict(list)
    for one in some:
        sorted_out[one.qp].append(one)
    return sorted_out


def distance(psn, other):
    """psn - other, in the circle of 2^24."""
    return (psn - other + (1 << 23)) % (1 << 24) - (1 << 23)


def responses(sent, arrived):
    """What a responder does with the RC requests that arrive, of those that were sent: (requests
    repeated, NAKs). It answers the first request that comes too early, and no other one until the
    missing one has come."""
    repeated = naks = 0
    begins = {}
    for one in sent:
        if one.opcode < 0x20 and one.is_request:
            begins.setdefault(one.qp, one.psn)
    expected, asked = dict(begins), set()
    for one in arrived:
        if one.opcode >= 0x20 or not one.is_request:
            continue
        ahead = distance(one.psn, expected[one.qp])
        if ahead < 0:
            repeated += 1
        elif ahead > 0:
            naks += one.qp not in asked
            asked.add(one.qp)
        else:
            expected[one.qp] = (one.psn + one.span) % (1 << 24)
            asked.discard(one.qp)
    return repeated, naks


def dissect(*words):
    """(exit code, what roce-dissect says)."""
    done = subprocess.run([longwire_test.program('roce-dissect'), *map(str, words)],
                          capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def icrcs(path):
    """(right ICRCs, wrong ones, unverifiable ones) of a capture."""
    code, said = dissect('verify', path, '--json')
    report = json.loads(said.splitlines()[0])
    right, wrong = report['icrc_ok'], report['bad_icrc']
    assert code == (1 if wrong else 0), said
    return right, wrong, report['icrc_unverifiable']


def compare(near, far):
    """{'near_to_far': ..., 'far_to_near': ...} of `roce-dissect compare`."""
    code, said = dissect('compare', near, far, '--json')
    assert code == 0, said
    return {one['direction']: one for one in json.loads(said)['directions']}
