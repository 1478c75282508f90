# SPDX-License-Identifier: BSD-3-Clause
"""Which frames roce-dissect follows: envelopes that are read, opcodes, UDP ports and link types that
are not, each with its reason."""

import json
import struct

import longwire_test
from connect_requests import icrc
from conversation import SEND, Conversation
from dissect_analysis import InFolder, dissect, rows
from dissect_explain import explained
from pcap_file import write_pcap

CASES = longwire_test.SOURCE / 'pcaps' / 'cases'


class Followed(InFolder):
    def test_envelopes_that_are_read(self):
        for name in ('qinq_9100', 'erf_ethernet', 'answers_from_port_4791', 'srv6_ethernet'):
            with self.subTest(name):
                path = CASES / f'{name}.pcap.gz'
                self.assertEqual((rows('anomalies', path), explained(path)['roce']), ([], 40))

    def test_opcodes_that_are_not_defined(self):
        said, = explained(CASES / 'vendor_opcode_gap.pcap.gz')['statements']
        self.assertIn('27 of 27 RoCE frames have the opcode 0xca', said['text'])

    def test_unknown_opcodes_within_a_connection(self):
        talk = Conversation()
        for psn in range(8):
            talk.request(psn, opcode=0xCA if psn % 2 else SEND)
            talk.answer(psn)
        talk.save(self.folder / 'mixed.pcap')
        text = ' '.join(said['text'] for said in
                        explained(self.folder / 'mixed.pcap')['statements'])
        self.assertIn('4 of 16 RoCE frames have the opcode 0xca', text)

    def test_another_udp_port(self):
        """Something on the way replaced the port, and the ICRC is right for 4791."""
        path = CASES / 'roce_on_port_9741.pcap.gz'
        self.assertEqual(explained(path)['roce'], 0)
        explanation = explained(path, '--roce-port', '9741')
        self.assertEqual((explanation['roce'], explanation['statements']), (40, []))
        compared = json.loads(dissect('compare', path, path, '--json', '--roce-port', '9741').stdout)
        self.assertEqual((compared['near']['roce'], compared['directions'][0]['received']), (40, 40))

    def test_damage_on_another_udp_port(self):
        talk = Conversation()
        for psn in range(4):
            talk.request(psn)
            talk.answer(psn)
        frames = [(at, frame[:36] + (9741).to_bytes(2) + frame[38:]) for at, frame in talk.frames]
        at, frame = frames[2]
        frames[2] = at, frame[:-5] + bytes([frame[-5] ^ 1]) + frame[-4:]
        write_pcap(self.folder / 'ported.pcap', frames)
        bad = rows('anomalies', self.folder / 'ported.pcap', '--roce-port', '9741',
                   '--kind', 'bad_icrc')
        self.assertEqual([row['frame'] for row in bad], [3])

    def test_a_link_type_that_is_not_read(self):
        talk = Conversation()
        talk.requests(0, 3)
        for link in (105, 127):
            path = self.folder / f'wifi{link}.pcap'
            write_pcap(path, talk.frames, link=link)
            for words in (('list',), ('summary',), ('connections',), ('messages',), ('anomalies',),
                          ('explain',), ('verify',), ('compare', path)):
                with self.subTest(link=link, command=words[0]):
                    self.assertIn(f'link type {link} (', dissect(*words, path).stderr)


def session():
    """12 requests, each with its answer."""
    talk = Conversation(counted=True)
    for psn in range(12):
        talk.request(psn, opcode=SEND)
        talk.answer(psn)
    return talk


def with_ports(frame, source, destination):
    """Something on the way changed the ports, and the ICRC is right for them."""
    changed = frame[:34] + source.to_bytes(2, 'big') + destination.to_bytes(2, 'big') + frame[38:]
    return changed[:-4] + icrc(changed)


def in_erf(frame, extensions=0):
    """An ERF record of type 2, Ethernet, with extension headers (wiki.wireshark.org/ERF)."""
    more = bytes(7) + b'\1'
    length = 16 + 8 * extensions + 2 + len(frame) + 4
    head = bytes(8) + struct.pack('>BBHHH', 2 | (0x80 if extensions else 0), 4, length, 0, len(frame) + 4)
    chain = b''.join((b'\x80' if one + 1 < extensions else b'\0') + more[1:] for one in range(extensions))
    return head + chain + bytes(2) + frame + bytes(4)


class Siblings(InFolder):
    """The same 24 frames in other envelopes: all are followed, or counted with the reason."""

    def said(self, frames, *words, link=1):
        path = self.folder / 'sibling.pcap'
        write_pcap(path, frames, link=link)
        explanation = explained(path, *words)
        return explanation['roce'], len(rows('connections', path, *words)), ' '.join(
            one['text'] for one in explanation['statements']), rows('anomalies', path, *words)

    def check_followed(self, frames, *words, link=1):
        self.assertEqual(self.said(frames, *words, link=link), (24, 1, '', []))

    def test_two_vlan_tags(self):
        for outer, inner in ((b'\x91\0', b'\x81\0'), (b'\x88\xa8', b'\x81\0')):
            for host in ((1, 2), (1,)):
                self.check_followed([(at, frame[:12] + outer + b'\0\5' + inner + b'\0\7' + frame[12:]
                                      if frame[11] in host else frame) for at, frame in session().frames])

    def test_an_outer_9100_without_an_8100(self):
        frames = [(at, frame[:12] + b'\x91\0\0\5' + frame[12:]) for at, frame in session().frames]
        self.assertEqual(self.said(frames)[:2], (0, 0))

    def test_erf(self):
        for extensions in (0, 1, 3):
            self.check_followed([(at, in_erf(frame, extensions)) for at, frame in session().frames],
                                link=197)

    def test_other_udp_ports(self):
        """Of one direction; two of them; without the option the frames are no RoCE."""
        frames = session().frames
        answers = [(at, with_ports(frame, 50_000, 9741) if frame[11] == 2 else frame)
                   for at, frame in frames]
        self.check_followed(answers, '--roce-port', '9741')
        self.assertEqual(self.said(answers)[0], 12)
        both = [(at, with_ports(frame, 50_000, 9741 + (frame[11] == 2))) for at, frame in frames]
        self.check_followed(both, '--roce-port', '9741', '--roce-port', '9742')
        self.assertEqual(self.said(both)[0], 0)

    def test_swapped_ports(self):
        for hosts in ((2,), (1, 2)):
            self.check_followed([(at, with_ports(frame, 4791, 50_000) if frame[11] in hosts else frame)
                                 for at, frame in session().frames])

    def test_vendor_opcodes(self):
        """Of one direction, and of two kinds: as many are named as there are."""
        for codes, hosts in (((0xC5,), (1,)), ((0xCA, 0xE1), (1, 2))):
            frames = []
            for number, (at, frame) in enumerate(session().frames):
                if frame[11] in hosts:
                    frame = frame[:42] + bytes([codes[number // 2 % len(codes)]]) + frame[43:]
                    frame = frame[:-4] + icrc(frame)
                frames.append((at, frame))
            text = self.said(frames)[2]
            for code in codes:
                self.assertIn(f'12 of 24 RoCE frames have the opcode {code:#x}', text)

    def test_link_types_that_are_not_read(self):
        for link in (147, 189):
            path = self.folder / f'link{link}.pcap'
            write_pcap(path, session().frames, link=link)
            for words in (('list', path), ('summary', path), ('connections', path), ('messages', path),
                          ('anomalies', path), ('explain', path), ('verify', path), ('compare', path, path),
                          ('report', path, '-o', self.folder / f'{link}.html'),
                          ('extract', path, '--out', self.folder / f'data{link}')):
                with self.subTest(link=link, command=words[0]):
                    self.assertIn(f'24 frames are not read: their link type {link} ', dissect(*words).stderr)


if __name__ == '__main__':
    longwire_test.main()
