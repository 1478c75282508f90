# SPDX-License-Identifier: BSD-3-Clause
"""Which frames roce-dissect follows: envelopes that are read, opcodes, UDP ports and link types that
are not, each with its reason."""

import json
import unittest

import longwire_test
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
            for words in (('list',), ('summary',), ('sessions',), ('messages',), ('anomalies',),
                          ('explain',), ('verify',), ('compare', path)):
                with self.subTest(link=link, command=words[0]):
                    self.assertIn(f'link type {link} (', dissect(*words, path).stderr)


if __name__ == '__main__':
    longwire_test.main()
