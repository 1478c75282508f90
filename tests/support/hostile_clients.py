# SPDX-License-Identifier: BSD-3-Clause
"""Hostile clients of a listener: idle ones, half requests, many requests, random bytes. A
kind is a function of a listener and an ExitStack: it returns while its clients are connected or at
work, and they end with the stack."""

import contextlib
import dataclasses
import itertools
import random
import socket
import threading
import time

CLIENTS = 200
REQUESTS_PER_SECOND, SENDERS = 1000, 8
TIMEOUT = 60  # s, for an answer
SEED = 37
# Hostile clients come from another address of this machine than the regular client.
HOSTILE, REGULAR = '127.0.0.2', '127.0.0.1'


@dataclasses.dataclass(frozen=True)
class Listener:
    """Where a program takes requests, a request that anyone may make, and that of a regular client,
    which may ask more. The answers end with their connections."""
    address: object  # the path of a UNIX socket, or (host, port)
    request: bytes
    regular_request: bytes
    answer: bytes  # is in each answer
    refusal: bytes  # is in each refusal

    def connect(self, source=HOSTILE):
        """A connected socket."""
        if isinstance(self.address, tuple):
            here = self.address[0].startswith('127.')
            return socket.create_connection(self.address, TIMEOUT, (source, 0) if here else None)
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(TIMEOUT)
        client.connect(self.address)
        return client

    def ask(self, request, source=HOSTILE):
        """All that is answered, also if the connection is reset."""
        answer = bytearray()
        try:
            with self.connect(source) as client:
                client.sendall(request)
                while piece := client.recv(1 << 16):
                    answer += piece
        except OSError:
            pass
        return bytes(answer)

    def answers_regular(self):
        """Whether a regular client gets its answer."""
        return self.answer in self.ask(self.regular_request, REGULAR)


def connected(listener, stack):
    """Sockets that stay connected until the stack ends."""
    return [stack.enter_context(listener.connect()) for _ in range(CLIENTS)]


def send(client, data):
    """Sends as much as is taken at once."""
    client.setblocking(False)
    with contextlib.suppress(OSError):  # it may have been disconnected
        client.send(data)


def idle(listener, stack):
    """Clients that send nothing."""
    connected(listener, stack)


def half(listener, stack):
    """Clients that send the first half of a request."""
    for client in connected(listener, stack):
        send(client, listener.request[:len(listener.request) // 2])


def random_bytes(listener, stack):
    """Clients that send bytes without a meaning."""
    chance = random.Random(SEED)
    for client in connected(listener, stack):
        send(client, chance.randbytes(chance.randrange(1, 50_000)))


def many(listener, stack, request=None):
    """Requests without end, REQUESTS_PER_SECOND as far as they are answered: the listener's, or what
    request() returns. Returns a list that grows by one a request."""
    request = request or (lambda: listener.request)
    begin, stop, numbers, done = time.monotonic(), threading.Event(), itertools.count(), []

    def ask():
        due = begin
        while not stop.wait(max(0, due - time.monotonic())):
            done.append(len(listener.ask(request())))
            due = begin + next(numbers) / REQUESTS_PER_SECOND

    for _ in range(SENDERS):
        sender = threading.Thread(target=ask)
        sender.start()
        stack.callback(sender.join)
    stack.callback(stop.set)  # runs first
    return done


KINDS = {'idle clients': idle, 'half requests': half, 'random bytes': random_bytes,
         'requests': many}
