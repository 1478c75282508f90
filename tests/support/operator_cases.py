# SPDX-License-Identifier: BSD-3-Clause
"""What goes wrong where operators start, as composed captures with the truth about each: a kind is a
function that composes one, with numbers of a random generator."""

import dataclasses
import struct

from composed_frames import (
    ACKNOWLEDGE, ATOMIC_WRITE, FLUSH, READ_ONLY, SEQUENCE_ERROR, UC, WRITE_FIRST, WRITE_LAST, WRITE_MIDDLE,
    WRITE_ONLY, ComposedCapture, Connection, Host, Managers, aeth, castagnoli, reth, reversed_bytes, right,
    unmasked_tos, unmasked_ttl, without_ones)

# The reasons of a REJ (IBTA vol. 1, table 111) and the words that name them.
REASONS = {
    1: 'No QP available', 2: 'No EEC available', 3: 'No resources available', 4: 'Timeout',
    5: 'Unsupported request', 6: 'Invalid Communication ID', 7: 'Invalid Communication Instance',
    8: 'Invalid Service ID', 9: 'Invalid Transport Service Type', 10: 'Stale connection', 11: 'RDC does not exist',
    12: 'Primary Remote Port GID rejected', 13: 'Primary Remote Port LID rejected', 14: 'Invalid Primary SL',
    15: 'Invalid Primary Traffic Class', 16: 'Invalid Primary Hop Limit', 17: 'Invalid Primary Packet Rate',
    18: 'Alternate Remote Port GID rejected', 19: 'Alternate Remote Port LID rejected', 20: 'Invalid Alternate SL',
    21: 'Invalid Alternate Traffic Class', 22: 'Invalid Alternate Hop Limit', 23: 'Invalid Alternate Packet Rate',
    24: 'Port and CM Redirection', 25: 'Port Redirection', 26: 'Invalid Path MTU',
    27: 'Insufficient Responder Resources', 28: 'Consumer Reject', 29: 'RNR Retry Count Reject',
    30: 'Duplicate Local Communication ID', 31: 'Invalid Class Version', 32: 'Invalid Primary Flow Label',
    33: 'Invalid Alternate Flow Label'}
SIDR_STATUSES = {1: 'Service ID not supported', 2: 'Rejected by Service Provider', 3: 'No QP available',
                 4: 'Request should be redirected'}
# ICMP errors (RFC 792, RFC 1812) and ICMPv6 errors (RFC 4443): type, code, words.
ICMP = ((3, 0, 'net unreachable'), (3, 1, 'host unreachable'), (3, 3, 'port unreachable'),
        (3, 4, 'fragmentation needed'), (3, 9, 'net'), (3, 10, 'host'), (3, 13, 'administratively prohibited'),
        (11, 0, 'TTL'))
ICMP6 = ((1, 0, 'no route'), (1, 1, 'prohibited'), (1, 3, 'address unreachable'), (1, 4, 'port unreachable'),
         (2, 0, 'too big'), (3, 0, 'hop limit'))


@dataclasses.dataclass
class Truth:
    """What `explain` must say."""
    capture: ComposedCapture
    verdicts: dict  # by question: fine, wrong, cannot tell
    topics: set = dataclasses.field(default_factory=set)  # of statements that must be there
    words: tuple = ()  # in the statements and answers, whatever their case
    never: tuple = ('Nothing is wrong',)  # not in the text
    congestion: tuple = ()  # answers that are allowed; empty: any


def retry_wait(timeout):
    """Microseconds of a timer (IBTA vol. 1, 9.7.6.1.3)."""
    return 4.096 * 2**timeout


class Scene:
    """Two hosts and a capture, with random numbers."""

    def __init__(self, chance):
        self.chance = chance
        v6 = chance.random() < 0.4
        self.capture = ComposedCapture(v6, chance.randrange(0, 2**31) * 1e6)
        numbers = chance.sample(range(1, 250), 4)
        self.one, self.other, self.third, self.device = (Host(number, v6) for number in numbers)
        self.qps = (self.qp(), self.qp())

    def qp(self):
        return self.chance.randrange(2, 2**24)

    def psn(self):
        return self.chance.choice((self.chance.randrange(2**24), 2**24 - self.chance.randrange(1, 12)))

    def managers(self, **options):
        options = {'ids': (self.chance.randrange(1, 2**32), self.chance.randrange(1, 2**32)), 'qps': self.qps,
                   'psns': (self.psn(), self.psn()), 'rdma': self.chance.random() < 0.6,
                   'port': self.chance.randrange(1, 2**16), 'mtu': self.chance.randrange(1, 6),
                   'timeout': self.chance.randrange(10, 21), **options}
        return Managers(self.capture, self.one, self.other, **options)

    def connection(self, **options):
        return Connection(self.capture, self.one, self.other,
                          **{'qps': self.qps, 'psn': self.psn(), 'port': self.chance.choice((None, 0xD123)), **options})

    def other_traffic(self, to_one=True):
        """A healthy connection of the host `one`, or of two other hosts."""
        ends = (self.one, self.third) if to_one else (self.third, self.device)
        talk = Connection(self.capture, *ends, qps=(self.qp(), self.qp()), psn=self.psn())
        talk.good(self.chance.randrange(4, 20))
        self.capture.wait(50)

    def give_up(self, talk, timeout=None, retries=7, each=None):
        """A request and its retries, none of which is answered. Each is passed to `each`."""
        timeout = timeout or self.chance.randrange(13, 19)
        size = self.chance.choice((64, 256, 1024))

        def send():
            frame = talk.write(talk.psn, size)
            if each:
                each(frame)

        send()
        talk.repeat(send, retries, retry_wait(timeout))


def rejected(chance):
    """A connection request is refused, one to five times."""
    scene = Scene(chance)
    reason = chance.choice(list(REASONS))
    times = chance.randrange(1, 6)
    if chance.random() < 0.3:
        scene.other_traffic()
    for _ in range(times):
        ends = scene.managers()
        ends.request()
        scene.capture.wait(chance.randrange(20, 900))
        if chance.random() < 0.3:
            ends.more_time()
            scene.capture.wait(chance.randrange(1000, 90_000))
        ends.reject(reason)
        scene.capture.wait(chance.randrange(1000, 2_000_000))
    return Truth(scene.capture, {'setup': 'wrong'}, {'connect_rejected'}, (f'reason {reason}', REASONS[reason]))


def rejected_by_asker(chance):
    """The side that asked refuses the reply."""
    scene = Scene(chance)
    reason = chance.choice((4, 10, 28, 6))
    ends = scene.managers()
    ends.request()
    scene.capture.wait(300)
    ends.reply()
    scene.capture.wait(300)
    ends.reject(reason, by=0, of=1)
    return Truth(scene.capture, {'setup': 'wrong'}, {'connect_rejected'}, (f'reason {reason}', REASONS[reason]))


def request_unanswered(chance):
    """A connection request is sent again and again, and nobody answers."""
    scene = Scene(chance)
    count = chance.randrange(2, 17)
    ends = scene.managers()
    if chance.random() < 0.3:
        scene.other_traffic()
    for _ in range(count):
        ends.request()
        scene.capture.wait(chance.choice((1_000_000, 4_294_967)))
    return Truth(scene.capture, {'setup': 'wrong'}, {'connect_unanswered'}, (f'{count} requests', 'never answered'))


def reply_unconfirmed(chance):
    scene = Scene(chance)
    count = chance.randrange(2, 16)
    ends = scene.managers()
    ends.request()
    for _ in range(count):
        scene.capture.wait(400_000)
        ends.reply()
    scene.capture.wait(400_000)
    return Truth(scene.capture, {'setup': 'wrong'}, {'connect_unconfirmed'}, (f'{count} replies', 'never confirmed'))


def service_refused(chance):
    scene = Scene(chance)
    status = chance.choice(list(SIDR_STATUSES))
    ends = scene.managers()
    ends.ask_service()
    scene.capture.wait(chance.randrange(20, 900))
    ends.tell_service(status)
    return Truth(scene.capture, {'setup': 'wrong'}, {'connect_rejected'}, (f'status {status}', SIDR_STATUSES[status]))


def service_unanswered(chance):
    scene = Scene(chance)
    count = chance.randrange(2, 16)
    ends = scene.managers()
    for _ in range(count):
        ends.ask_service()
        scene.capture.wait(2_000_000)
    return Truth(scene.capture, {'setup': 'wrong'}, {'connect_unanswered'}, (f'{count} requests', 'SIDR_REQ'))


def came_up(chance):
    """A set-up as it should be, the connection's packets, and its end."""
    scene = Scene(chance)
    ends = scene.managers()
    if chance.random() < 0.3:
        ends.request()
        scene.capture.wait(500_000)
    ends.request()
    scene.capture.wait(200)
    if chance.random() < 0.3:
        ends.more_time()
        scene.capture.wait(50_000)
    ends.reply()
    scene.capture.wait(200)
    if chance.random() < 0.8:
        ends.ready()
    scene.capture.wait(200)
    scene.connection(psn=ends.psns[0]).good(chance.randrange(20, 60))
    by = chance.randrange(2)
    if chance.random() < 0.7:
        ends.disconnect(by)
        scene.capture.wait(100)
        ends.disconnected(1 - by)
    return Truth(scene.capture, {'setup': 'fine', 'answers': 'fine', 'losses': 'fine'},
                 words=('1 connection came up',), never=(), congestion=('no',))


def disconnected(chance):
    """One side ends the connection; what is sent after that is not answered."""
    scene = Scene(chance)
    by = chance.randrange(2)
    ends = scene.managers()
    talk = scene.connection(psn=ends.psns[0])
    if chance.random() < 0.6:
        ends.come_up()
    talk.good(chance.randrange(5, 30))
    scene.capture.wait(10_000_000)
    ends.disconnect(by)
    scene.capture.wait(100)
    if chance.random() < 0.7:
        ends.disconnected(1 - by)
    scene.capture.wait(1000)
    scene.give_up(talk)
    host = (scene.one, scene.other)[by]
    return Truth(scene.capture, {'answers': 'wrong'}, {'unanswered'}, (f'{host.name} disconnected', 'DREQ'))


def never_answers(chance):
    """A peer that never answers a host that others answer."""
    scene = Scene(chance)
    if chance.random() < 0.5:
        scene.other_traffic()
        late = False
    else:
        late = True
    timeout = chance.randrange(13, 19)
    retries = chance.randrange(3, 8)
    scene.give_up(scene.connection(), timeout, retries)
    if late:
        scene.capture.wait(1000)
        scene.other_traffic()
    return Truth(scene.capture, {'answers': 'wrong', 'congestion': 'cannot tell'}, {'unanswered'},
                 ('No answer ever came', f'{retries} retries', f'timeout {timeout}', 'answers to this host'),
                 never=('Nothing is wrong', 'a timer, or a NAK', 'one direction only'), congestion=('cannot tell',))


def nobody_answers(chance):
    """The same, in a capture without any answer to this host."""
    scene = Scene(chance)
    if chance.random() < 0.5:
        scene.other_traffic(to_one=False)
    timeout = chance.randrange(13, 19)
    scene.give_up(scene.connection(), timeout)
    return Truth(scene.capture, {'answers': 'wrong'}, {'unanswered'},
                 ('No answer ever came', '7 retries', f'timeout {timeout}', 'may hold one direction only'))


def refused_by_device(chance):
    """Each packet is refused by an ICMP message that quotes it."""
    scene = Scene(chance)
    kind, code, words = chance.choice(ICMP6 if scene.capture.v6 else ICMP)
    device = chance.choice((scene.device, scene.other))
    quoted = chance.choice((None, 48 if scene.capture.v6 else 28, 128))
    talk = scene.connection()
    if chance.random() < 0.4:
        talk.good(12)
    count = 0

    def refuse(frame):
        nonlocal count
        scene.capture.wait(30)
        scene.capture.icmp(device, frame, kind, code, quoted)
        count += 1

    scene.give_up(talk, each=refuse)
    return Truth(scene.capture, {'answers': 'wrong'}, {'icmp_refused', 'unanswered'},
                 (f'type {kind} code {code}', words, f'from {device.name}', '8 times'))


def request_refused_by_device(chance):
    """The connection request is refused by ICMP."""
    scene = Scene(chance)
    kind, code, words = chance.choice(ICMP6 if scene.capture.v6 else ICMP)
    ends = scene.managers()
    for _ in range(chance.randrange(2, 9)):
        frame = ends.request()
        scene.capture.wait(30)
        scene.capture.icmp(scene.device, frame, kind, code)
        scene.capture.wait(2_000_000)
    return Truth(scene.capture, {'setup': 'wrong', 'answers': 'wrong'}, {'connect_unanswered', 'icmp_refused'},
                 (f'type {kind} code {code}', words, 'refuses the requests by ICMP'))


def address_unresolved(chance):
    """The peer vanishes: its link address is asked for, and not told."""
    scene = Scene(chance)
    talk = scene.connection()
    scene.capture.asks_address(scene.one, scene.other)
    scene.capture.wait(50)
    scene.capture.tells_address(scene.other, scene.one)
    scene.capture.wait(50)
    talk.good(chance.randrange(5, 20))
    asker = chance.choice((scene.one, scene.device))
    timeout = chance.randrange(15, 18)
    talk.write(talk.psn)
    for _ in range(7):
        scene.capture.wait(retry_wait(timeout))
        talk.write(talk.psn)
    for _ in range(chance.randrange(3, 9)):
        scene.capture.wait(1_000_000)
        scene.capture.asks_address(asker, scene.other)
    return Truth(scene.capture, {'answers': 'wrong'}, {'address_unresolved', 'unanswered'},
                 (f'{asker.name} asks for {scene.other.name}', 'got no answer'))


MISTAKES = {reversed_bytes: 'revers', castagnoli: 'CRC-32C', unmasked_tos: None, unmasked_ttl: None,
            without_ones: None}


def wrong_icrcs(chance):
    """A host computes its ICRCs in a wrong way, so nobody answers it."""
    scene = Scene(chance)
    mistake = chance.choice(list(MISTAKES))
    scene.capture.icrc[scene.one.number] = mistake
    scene.give_up(scene.connection(tos=0x6A), retries=chance.randrange(3, 8))
    words = (MISTAKES[mistake],) if MISTAKES[mistake] else ()
    return Truth(scene.capture, {'validity': 'wrong', 'answers': 'wrong'}, {'wrong_icrcs', 'unanswered'},
                 ('written, and wrong', *words), never=('Nothing is wrong', 'has yet to write'))


def unwritten_icrcs(chance):
    """A capture at the sender, whose NIC writes its ICRCs later: they are zero, or any constant, or right
    answers come."""
    scene = Scene(chance)
    constant = chance.choice((bytes(4), b'\xff' * 4, b'\xde\xad\xbe\xef', chance.randbytes(4)))
    scene.capture.icrc[scene.one.number] = lambda packet, v6: constant
    scene.connection().good(chance.randrange(20, 60))
    return Truth(scene.capture, {'validity': 'fine', 'answers': 'fine', 'losses': 'fine'}, {'no_icrcs'},
                 ('has yet to write',), never=('written, and wrong',))


def translated(chance):
    """The path translates an address and does not compute the ICRC again."""
    scene = Scene(chance)
    while scene.capture.v6:
        scene = Scene(chance)
    inner = Host(chance.randrange(1, 250))
    inner.ip = bytes([192, 168, 1, inner.number])

    def old(packet, v6):
        return right(packet[:12] + inner.ip + packet[16:], v6)

    scene.capture.icrc[scene.one.number] = old
    scene.give_up(scene.connection())
    return Truth(scene.capture, {'validity': 'wrong', 'answers': 'wrong'}, {'wrong_icrcs'},
                 (f'192.168.1.{inner.number}',), never=('Nothing is wrong', 'has yet to write'))


def link_cut(chance):
    """Good messages, then none is answered any more."""
    scene = Scene(chance)
    timeout = chance.randrange(13, 19)
    retries = chance.randrange(3, 8)
    talk = scene.connection()
    talk.good(chance.randrange(5, 60))
    scene.give_up(talk, timeout, retries)
    return Truth(scene.capture, {'answers': 'wrong', 'congestion': 'cannot tell'}, {'unanswered'},
                 (f'{retries} retries', f'timeout {timeout}', 'either it has stopped, or the path'),
                 never=('Nothing is wrong', '1 us later', 'Nothing was lost'), congestion=('cannot tell',))


def backed_off(chance):
    """The same, with waits that double."""
    scene = Scene(chance)
    talk = scene.connection()
    talk.good(chance.randrange(5, 30))
    size = chance.choice((64, 256))
    talk.write(talk.psn, size)
    first = retry_wait(chance.randrange(10, 13))
    talk.repeat(lambda: talk.write(talk.psn, size), 6, first, 2)
    return Truth(scene.capture, {'answers': 'wrong'}, {'unanswered'}, ('6 retries',), congestion=('cannot tell',))


def other_mtu(chance):
    """A READ is answered in packets of another size than the requester's MTU."""
    scene = Scene(chance)
    mtu, sent = chance.sample((256, 512, 1024, 2048, 4096), 2)
    talk = scene.connection()
    psn = talk.psn
    for _ in range(12):  # the requester's own packets show its MTU
        talk.message(psn, 4, mtu)
        scene.capture.wait(8)
        talk.ack(psn + 3)
        scene.capture.wait(8)
        psn += 4
    size = 4 * max(mtu, sent)

    def ask():
        talk.read(psn, size)
        scene.capture.wait(8)
        talk.responses(psn, [sent] * (size // sent))

    ask()
    talk.repeat(ask, 7, retry_wait(14))
    return Truth(scene.capture, {'validity': 'wrong'}, {'wrong_answer'}, ('MTU',),
                 never=('Nothing is wrong', 'shorter than the round trip'))


def read_at_wrong_psn(chance):
    """READ responses at a PSN that no request has."""
    scene = Scene(chance)
    talk = scene.connection()
    talk.good(20)
    psn, off = talk.psn, chance.choice((1, 3, -2, 1000))

    def ask():
        talk.read(psn, 1024)
        scene.capture.wait(8)
        talk.responses(psn + off, [1024])

    ask()
    talk.repeat(ask, 7, retry_wait(14))
    return Truth(scene.capture, {'validity': 'wrong'}, {'wrong_answer'}, ("responder's fault",),
                 never=('Nothing is wrong', 'bad link', 'was lost before'))


def ack_at_wrong_psn(chance):
    """ACKs of PSNs that were never sent."""
    scene = Scene(chance)
    talk = scene.connection()
    talk.good(20)
    off = chance.choice((1, 5, 300))

    def ask():
        talk.write(talk.psn)
        scene.capture.wait(8)
        talk.ack(talk.psn + off)

    ask()
    talk.repeat(ask, 7, retry_wait(14))
    return Truth(scene.capture, {'validity': 'wrong'}, {'wrong_answer'}, ("responder's fault",),
                 never=('Nothing is wrong', 'bad link'))


def ack_instead_of_data(chance):
    """A READ is answered by an ACK."""
    scene = Scene(chance)
    talk = scene.connection()
    talk.good(20)

    def ask():
        talk.read(talk.psn, 1024)
        scene.capture.wait(8)
        talk.ack(talk.psn)

    ask()
    talk.repeat(ask, 7, retry_wait(14))
    return Truth(scene.capture, {'validity': 'wrong'}, {'wrong_answer'}, ("responder's fault",),
                 never=('Nothing is wrong', 'bad link'))


def trimmed_by_switch(chance):
    """A switch trims packets: their DSCP is another, and the others are whole."""
    scene = Scene(chance)
    talk = scene.connection()
    trims = set(chance.sample(range(5, 55), chance.randrange(1, 6)))
    psn = talk.psn
    size = chance.choice((80, 128, 256)) + (20 if scene.capture.v6 else 0)
    for at in range(60):
        body = talk.head(WRITE_FIRST if at % 6 == 0 else WRITE_LAST if at % 6 == 5 else WRITE_MIDDLE, psn + at,
                         at % 6 == 5) + (reth(6144) if at % 6 == 0 else b'') + bytes(1024)
        scene.capture.wait(1)
        if at in trims:
            scene.capture.trimmed(*talk.ends, body, size, tos=chance.choice((0x28, 0xB8)), port=talk.port)
        else:
            scene.capture.roce(*talk.ends, body, **talk.options())
    # Those behind each trimmed packet are sent again.
    first = min(trims)
    scene.capture.wait(8)
    talk.ack(psn + first, SEQUENCE_ERROR)
    for at in range(first, 60):
        scene.capture.wait(1)
        opcode = WRITE_FIRST if at % 6 == 0 else WRITE_LAST if at % 6 == 5 else WRITE_MIDDLE
        talk.request(opcode, psn + at, (reth(6144) if at % 6 == 0 else b'') + bytes(1024), at % 6 == 5)
    scene.capture.wait(8)
    talk.ack(psn + 59)
    return Truth(scene.capture, {'losses': 'wrong', 'congestion': 'wrong'}, {'trimmed'}, ('queue',),
                 never=('Nothing is wrong', 'bad link is likelier'), congestion=('yes',))


def truncated_by_mirror(chance):
    """A mirror cuts all long frames at one length."""
    scene = Scene(chance)
    talk = scene.connection()
    size = chance.choice((96, 128, 160)) + (20 if scene.capture.v6 else 0)
    psn = talk.psn
    for number in range(chance.randrange(20, 40)):
        body = talk.head(WRITE_ONLY, psn + number, True) + reth(1024) + bytes(1024)
        scene.capture.wait(2)
        scene.capture.trimmed(*talk.ends, body, size, tos=2, port=talk.port)
        scene.capture.wait(8)
        talk.ack(psn + number)
    return Truth(scene.capture, {'losses': 'fine', 'answers': 'fine'}, {'cut_by_mirror'}, ('mirror',),
                 never=('trimmed by',), congestion=('no', 'cannot tell'))


def flush_and_atomic_write(chance):
    """FLUSH and ATOMIC WRITE, answered by READ RESPONSE ONLY without data."""
    scene = Scene(chance)
    talk = scene.connection()
    psn = talk.psn
    for number in range(chance.randrange(8, 30)):
        kind = chance.choice((FLUSH, ATOMIC_WRITE, WRITE_ONLY))
        if kind == FLUSH:
            talk.request(FLUSH, psn + number, struct.pack('>I', 1) + reth(4096))
        elif kind == ATOMIC_WRITE:
            talk.request(ATOMIC_WRITE, psn + number, reth(8) + bytes(8))
        else:
            talk.write(psn + number)
        scene.capture.wait(8)
        talk.msn += 1
        if kind == WRITE_ONLY:
            talk.answer(ACKNOWLEDGE, psn + number, aeth(talk.msn))
        else:
            talk.answer(READ_ONLY, psn + number, aeth(talk.msn))
        scene.capture.wait(4)
    return Truth(scene.capture, {'answers': 'fine', 'losses': 'fine', 'validity': 'fine'}, never=('misses',),
                 congestion=('no',))


def unreliable_with_holes(chance):
    """Messages of UC with holes: they are dropped, and no two of them are one."""
    scene = Scene(chance)
    talk = scene.connection(service=UC)
    psn, holes, count = talk.psn, 0, chance.randrange(8, 16)
    for number in range(count):
        lost = ()
        if number not in (0, count - 1) and chance.random() < 0.4:
            lost = tuple(chance.sample(range(4), chance.randrange(1, 3)))
            holes += 1
        talk.message(psn, 4, lost=lost)
        scene.capture.wait(20)
        psn += 4
    if holes == 0:
        return unreliable_with_holes(chance)
    return Truth(scene.capture, {'losses': 'wrong'}, set(), (f'{holes} of', 'not completed'))


def sampled(chance):
    """A mirror lets one frame in some through."""
    scene = Scene(chance)
    share = chance.choice((3, 4, 5, 8))
    talk = scene.connection()
    psn, messages = talk.psn, 200
    begin, reads = scene.capture.at, chance.random() < 0.4
    for number in range(messages):
        if reads:
            talk.read(psn, 8 * 1024)
            scene.capture.wait(8)
            talk.responses(psn, [1024] * 8)
        else:
            talk.message(psn, 8)
            scene.capture.wait(8)
            talk.ack(psn + 7)
        scene.capture.wait(4)
        psn += 8
    rate = messages * 8 * 1024 * 8 / (scene.capture.at - begin) * 1e6
    scene.capture.frames = [frame for frame in scene.capture.frames if chance.random() < 1 / share]
    truth = Truth(scene.capture, {'capture': 'wrong'}, set(), ('it is a sample',))
    truth.rate, truth.messages, truth.share = rate, messages, 1 / share
    return truth


# Kinds that are tried by seeds.
KINDS = (rejected, rejected_by_asker, request_unanswered, reply_unconfirmed, service_refused, service_unanswered,
         came_up, disconnected, never_answers, nobody_answers, refused_by_device, request_refused_by_device,
         address_unresolved, wrong_icrcs, unwritten_icrcs, translated, link_cut, backed_off, other_mtu,
         read_at_wrong_psn, ack_at_wrong_psn, ack_instead_of_data, trimmed_by_switch, truncated_by_mirror,
         flush_and_atomic_write, unreliable_with_holes, sampled)
