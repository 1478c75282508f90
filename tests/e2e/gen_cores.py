# SPDX-License-Identifier: BSD-3-Clause
"""roce-gen run --cores 2: each flow's frames are those of one core, each core has its own queue."""


import needs
import gen_decoder
import longwire_test
from gen_run import FLOWS, InFolder, gen


class Cores(InFolder):
    def frames_by_qp(self, *files):
        """Each QP's frames in their order, whichever file has them."""
        by_qp = {}
        for file in files:
            for _, _, frame in gen_decoder.read_pcap(self.path(file)):
                by_qp.setdefault(gen_decoder.decode(frame)['bth.destqp'], []).append(frame)
        return by_qp

    @needs.cpus(2)
    def test_two_cores_send_what_one_sends_each_on_its_queue(self):
        text = ('[[flow]]\nqps = 4\noperation = "write"\nmessage_size = 3000\nmessages = 50\n'
                '[[flow]]\ndst_qp = 0x300\npayload = "prbs31"\nmessages = 100\n')
        one = f'net_pcap0,tx_pcap={self.path("one")}'
        two = f'net_pcap0,tx_pcap={self.path("a")},tx_pcap={self.path("b")}'
        self.assertEqual(self.report('run', '-', '--port', one, text=text)['frames'], 700)
        report = self.report('run', '-', '--port', two, '--cores', 2, text=text)
        self.assertEqual([flow['frames'] for flow in report['flows']], [600, 100])
        self.assertEqual(self.frames_by_qp('a', 'b'), self.frames_by_qp('one'))
        # QPs 0, 2 and 4 are the first core's, 1 and 3 the second's.
        self.assertEqual((len(self.frames_by_qp('a')), len(self.frames_by_qp('b'))), (3, 2))

    @needs.cpus(2)
    def test_the_count_is_all_cores_together(self):
        text = '[[flow]]\nqps = 64\nrepeat = "forever"\nrate = "10 Mframes/s"\n'
        report = self.report('run', '-', '--port', 'net_null0', '--cores', 2, '--count', 10007,
                             text=text)
        self.assertEqual((report['frames'], report['not_sent']), (10007, 0))

    def test_cores_need_as_many_queues_and_cpus(self):
        profile = FLOWS / 'ipv4-rc-send.toml'
        for port, cores, code in (('memif:' + self.path('x'), 2, 2),
                                  ('pcap:,' + self.path('x.pcap'), 2, 3),
                                  ('null', 128, 3)):
            result = gen('run', profile, '--port', port, '--cores', cores)
            self.assertEqual(result.returncode, code, result.stderr)
        result = gen('run', profile, '--pcap', self.path('x'), '--cores', 2)
        self.assertEqual(result.returncode, 2, result.stderr)


if __name__ == '__main__':
    longwire_test.main()
