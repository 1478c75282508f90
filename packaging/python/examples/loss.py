# SPDX-License-Identifier: BSD-3-Clause
"""How many frames of a flow come through 1 % loss: two generators and a box between shared memory
ports, without root."""

import pathlib
import sys
import tempfile

import longwire

PROFILE = '[[rule]]\nname = "path"\ndelay = "1ms"\n'
FLOW = '''[[flow]]
source = "198.18.0.1"
destination = "198.18.0.2"
operation = "write"
message_size = 1024
messages = 20000
rate = "20000 frames/s"
'''


def measure(folder: pathlib.Path) -> tuple[int, int]:
    """Frames sent, and frames received."""
    (folder / 'path.toml').write_text(PROFILE, encoding='utf-8')
    (folder / 'flow.toml').write_text(FLOW, encoding='utf-8')
    west, east = f'memif:{folder}/west', f'memif:{folder}/east'
    with longwire.Box(folder / 'path.toml', '--set', 'path.loss=1%', west=west + ',server',
                      east=east + ',server') as box:
        with longwire.Receiver(east, options=('--until-idle', '1s')) as receiver:
            sent = longwire.generate(folder / 'flow.toml', port=west)
            received = receiver.wait()
    dropped = box.report.directions[0].dropped_by_rule.frames
    print(f'{sent.frames} frames sent, {dropped} dropped by the rule, '
          f'{received.frames} received')
    return sent.frames, received.frames


if __name__ == '__main__':
    with tempfile.TemporaryDirectory() as name:
        sys.exit(0 if measure(pathlib.Path(name))[1] > 0 else 1)
