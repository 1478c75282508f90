# SPDX-License-Identifier: BSD-3-Clause
"""The command lines of the three programs: help with examples, version, usage errors."""

import subprocess
import unittest

from longwire_test import program

COMMANDS = {
    'roce-gen': ('run', 'receive', 'replay', 'search', 'perf', 'respond', 'plan', 'experiment',
                 'check', 'opcodes'),
    'roce-impair': ('check', 'ctl', 'ledger', 'replay', 'run'),
    'roce-dissect': ('list', 'verify', 'summary', 'compare', 'fields'),
}


def run(name, *words):
    return subprocess.run([program(name), *words], capture_output=True, text=True)


class CommandLine(unittest.TestCase):
    def test_every_command_has_help_with_an_example(self):
        for name, commands in COMMANDS.items():
            for words in (), *((command,) for command in commands):
                shown = run(name, *words, '--help')
                self.assertEqual(shown.returncode, 0, words)
                self.assertRegex(shown.stdout, rf'Examples:\n  {" ".join((name, *words))}\b')

    def test_help_names_each_command(self):
        for name, commands in COMMANDS.items():
            shown = run(name, '--help').stdout
            for command in commands:
                self.assertRegex(shown, rf'\n  {command} +\w')

    def test_version(self):
        for name in COMMANDS:
            self.assertRegex(run(name, '--version').stdout, rf'^{name} \d+\.\d+\.\d+\n$')

    def test_usage_errors_exit_with_2_and_name_the_option(self):
        for name, words, said in (
                ('roce-gen', (), 'subcommand is required'),
                ('roce-gen', ('fly',), 'subcommand is required'),
                ('roce-gen', ('run', 'x.toml', '--pcap'), '--pcap'),
                ('roce-gen', ('run', 'x.toml'), '--pcap OUT or --port PORT is required'),
                ('roce-gen', ('plan', '--size', 'big'), '--size: '),
                ('roce-gen', ('plan', '--qps', '0'), '--qps: expected a whole number from 1'),
                ('roce-gen', ('plan', '--op', 'fly'), '--op: expected write, send, read or atomic'),
                ('roce-gen', ('receive',), '--port is required'),
                ('roce-impair', ('run', 'x.toml', '--west', 'null'), '--east is required'),
                ('roce-impair', ('ctl', 'x.sock', 'set', 'rule', 'loss'), 'expected KEY=VALUE'),
                ('roce-impair', ('replay', 'a', 'b', 'c', '--back', 'd', '--both'), 'excludes'),
                ('roce-dissect', ('list', 'x', '--json', '--csv'), 'excludes'),
                ('roce-dissect', ('compare', 'a', 'b', '--loss', 'much'), '--loss: ')):
            done = run(name, *words)
            self.assertEqual(done.returncode, 2, words)
            self.assertEqual(done.stdout, '')
            self.assertIn(said, done.stderr)

    def test_options_of_an_outer_command_may_follow_the_inner_one(self):
        done = run('roce-impair', 'ctl', '/nowhere/x.sock', 'show', '--json')
        self.assertNotIn('expected', done.stderr)
        self.assertNotEqual(done.returncode, 2)


if __name__ == '__main__':
    import longwire_test
    longwire_test.main()
