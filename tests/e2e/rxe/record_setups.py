#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Records what a capture at a client shows of connections that fail, for pcaps/setups: ten with each
fault, by rping and perftest between two guests with soft-RoCE. Needs root; takes minutes.

    tests/e2e/rxe/record_setups.py FOLDER [FAULT...]
"""

import gzip
import pathlib
import shutil
import sys
import time

import guests

SERVER = guests.ADDRESSES['a'][0]
FIRST_PORT = 7200
KINDS = ('rping', 'ib_send_bw', 'rping', 'ib_read_bw', 'ib_write_bw')  # in turns


class Ends:
    """A server in guest a and a client in guest b, of kind NUMBER, until a fault ends them."""

    def __init__(self, lab, number, size=64):
        self.lab, self.kind, self.port, self.size = lab, KINDS[number % len(KINDS)], FIRST_PORT + number, size

    def command(self, options, ping_options):
        if self.kind == 'rping':
            return f'rping -a {SERVER} -p {self.port} -S {self.size} {ping_options}'
        return f'{self.kind} -d rxe0 -x 1 -F -R -s {self.size} -p {self.port} {options}'

    def serve(self):
        self.server = self.lab.a.begin('exec ' + self.command('-D 600', '-s'))
        self.lab.a.check(f'until [ -s /run/pid.{self.server.number} ]; do sleep 0.02; done; '
                         f'exec listening $(cat /run/pid.{self.server.number})', 60)
        return self

    def ask(self, seconds=60):
        """The client, that runs until the fault or for `seconds`."""
        rate = '' if self.kind == 'ib_read_bw' else '--rate_limit 100 --rate_units p --rate_limit_type SW'
        self.client = self.lab.b.begin(f'timeout {seconds} ' + self.command(f'-D 600 -t 1 {rate} {SERVER}', '-c'))
        return self

    def run(self, seconds=20):
        """The client runs until packets have passed."""
        sent = self.lab.b.counters()['sent_pkts']
        self.serve().ask(seconds)
        while self.lab.b.counters()['sent_pkts'] < sent + 60:
            time.sleep(0.05)
        return self

    def finish(self):
        code, said = self.client.wait(120)
        print(f'{self.kind} {self.port}: client {code}: {said.strip().splitlines()[-1:]}', flush=True)
        if hasattr(self, 'server') and not self.server.done():
            self.server.signal('KILL')
            self.server.wait(20)


def firewall(lab, verdict):
    lab.a.check('need nf_tables nft_reject_inet; nft add table inet filter; '
                "nft 'add chain inet filter input { type filter hook input priority 0; }'; "
                f'nft add rule inet filter input udp dport 4791 {verdict}')


def no_firewall(lab):
    lab.a.check('nft delete table inet filter')


def no_listener(lab):
    """Nobody listens at the port."""
    for number in range(10):
        Ends(lab, number).ask().finish()


def killed_server(lab):
    """The server's process is killed while packets pass."""
    for number in range(10):
        ends = Ends(lab, number).run()
        ends.server.signal('KILL')
        ends.finish()


def blocked(lab, verdict):
    """A firewall in the server's guest: five connections do not come up, five are stopped later."""
    firewall(lab, verdict)
    asking = [Ends(lab, number).ask(20) for number in range(5)]
    for ends in asking:
        ends.finish()
    no_firewall(lab)
    for number in range(5, 10):
        ends = Ends(lab, number).run(12)
        firewall(lab, verdict)
        ends.finish()
        no_firewall(lab)


def firewall_rejects(lab):
    blocked(lab, 'reject')


def firewall_drops(lab):
    blocked(lab, 'drop')


def wrong_mtu(lab):
    """The way to the server carries 1500 bytes, and the client's packets have up to 4096."""
    guests.ip('link set tapA mtu 1500')
    for number in range(10):
        Ends(lab, number, size=4000).serve().ask(12).finish()
    guests.ip(f'link set tapA mtu {lab.mtu}')


def killed_qp(lab):
    """The server's QP ends without a word: its device is removed behind a firewall for what it sends."""
    for number in range(10):
        ends = Ends(lab, number).run(15)
        lab.a.check('need nf_tables; nft add table inet filter; '
                    "nft 'add chain inet filter output { type filter hook output priority 0; }'; "
                    'nft add rule inet filter output udp dport 4791 drop')
        ends.server.signal('KILL')
        time.sleep(1)
        no_firewall(lab)
        ends.finish()


def disconnected(lab):
    """All as it should be: the client ends its connection."""
    for number in range(10):
        ends = Ends(lab, number)
        ends.server = lab.a.begin('exec ' + ends.command('-n 10', '-s -C 10'))
        lab.a.check(f'until [ -s /run/pid.{ends.server.number} ]; do sleep 0.02; done; '
                    f'exec listening $(cat /run/pid.{ends.server.number})', 60)
        ends.client = lab.b.begin('timeout 60 ' + ends.command(f'-n 10 {SERVER}', '-c -C 10'))
        ends.finish()


FAULTS = (no_listener, killed_server, firewall_rejects, firewall_drops, wrong_mtu, killed_qp, disconnected)


def record(lab, folder, fault):
    lab.ping()
    with guests.Capture(lab.folder, only='') as capture:
        fault(lab)
    with open(capture.b, 'rb') as taken, gzip.GzipFile(folder / f'{fault.__name__}.pcap.gz', 'wb', mtime=0) as kept:
        shutil.copyfileobj(taken, kept)


def main():
    folder = pathlib.Path(sys.argv[1])
    chosen = [fault for fault in FAULTS if not sys.argv[2:] or fault.__name__ in sys.argv[2:]]
    with guests.Guests() as lab, lab.bridge():
        for fault in chosen:
            print(f'# {fault.__name__}', flush=True)
            record(lab, folder, fault)


if __name__ == '__main__':
    main()
