# SPDX-License-Identifier: BSD-3-Clause
"""The part of snappi's interface that our guide uses, over HTTP as the model has it: objects whose attributes
are fields, `choice` set by the field that is used, answers as objects."""

import http.client
import json
import urllib.parse

import yaml


class Message:
    """Fields as attributes. Reading an absent field makes a message, which its parent then has as its choice."""

    def __init__(self, **fields):
        self.__dict__.update(fields)

    def __getattr__(self, name):
        if name.startswith('_'):
            raise AttributeError(name)
        self.__dict__.update({name: Message(), 'choice': name})
        return self.__dict__[name]

    def deserialize(self, text):
        """Takes the fields of a text in YAML or JSON."""
        self.__dict__.update(yaml.safe_load(text))


def _plain(value):
    return {name: _plain(each) for name, each in vars(value).items()} if isinstance(value, Message) else value


class _Api:
    config = control_state = metrics_request = Message

    def __init__(self, location):
        self._place = urllib.parse.urlsplit(location).netloc

    def _post(self, path, message):
        client = http.client.HTTPConnection(self._place, timeout=60)
        client.request('POST', path, json.dumps(_plain(message)), {'Content-Type': 'application/json'})
        answer = client.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise RuntimeError(f'{answer.status}: {text}')
        return json.loads(text, object_hook=lambda fields: Message(**fields))

    def set_config(self, config):
        return self._post('/config', config)

    def set_control_state(self, state):
        return self._post('/control/state', state)

    def get_metrics(self, request):
        return self._post('/monitor/metrics', request)


def api(location):
    """A client of the server at `location`, http://HOST:PORT."""
    return _Api(location)
