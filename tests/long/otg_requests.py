# SPDX-License-Identifier: BSD-3-Clause
"""roce-gen otg answers 1,000 requests a second beside 20,000 frames a second: no request is refused, and no frame is
lost. LONGWIRE_SECONDS sets how long."""

import multiprocessing
import os
import pathlib
import socket
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'e2e'))

import gen_otg_flows  # noqa: E402
import longwire_test  # noqa: E402
import otg_client  # noqa: E402

SECONDS = int(os.environ.get('LONGWIRE_SECONDS', 30))
CLIENTS, REQUESTS, FRAMES = 4, 1000, 20000  # requests and frames per second
BODY = b'{"choice": "flow", "flow": {"metric_names": ["frames_tx", "frames_rx"]}}'


def ask(port, answers):
    """Sends this client's share of the requests, each at its time; puts how many were answered with 200."""
    request = (f'POST /monitor/metrics HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n'
               f'Content-Length: {len(BODY)}\r\n\r\n').encode() + BODY
    begin, right, total = time.monotonic(), 0, SECONDS * REQUESTS // CLIENTS
    for number in range(total):
        time.sleep(max(0, begin + number * CLIENTS / REQUESTS - time.monotonic()))
        with socket.create_connection(('127.0.0.1', port)) as client:
            client.sendall(request)
            right += client.makefile('rb').read().startswith(b'HTTP/1.1 200')
    answers.put((right, total))


class Requests(unittest.TestCase):
    def test_no_request_is_refused_and_no_frame_is_lost(self):
        server = otg_client.Server(self)
        with tempfile.TemporaryDirectory(prefix='longwire-') as folder:
            flow = gen_otg_flows.flow('f', [gen_otg_flows.header(kind) for kind in ('ethernet', 'ipv4', 'udp')], 512,
                                      {'choice': 'pps', 'pps': FRAMES}, gen_otg_flows.packets(SECONDS * FRAMES))
            server.set_config({'ports': otg_client.ports(pathlib.Path(folder), '10Gb/s'), 'flows': [flow]})
            server.traffic('start')
            answers = multiprocessing.Queue()
            clients = [multiprocessing.Process(target=ask, args=(server.port, answers)) for _ in range(CLIENTS)]
            for client in clients:
                client.start()
            for right, total in [answers.get() for _ in clients]:
                self.assertEqual(right, total)
            for client in clients:
                client.join()
            row, = server.wait_for(lambda rows: rows[0]['transmit'] == 'stopped' and
                                   rows[0]['frames_rx'] == rows[0]['frames_tx'], choice='flow')
        self.assertEqual((row['frames_tx'], row['frames_rx'], row['loss']), (SECONDS * FRAMES, SECONDS * FRAMES, 0))


if __name__ == '__main__':
    longwire_test.main()
