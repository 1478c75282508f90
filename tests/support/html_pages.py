# SPDX-License-Identifier: BSD-3-Clause
"""Reads the pages that the programs write, and takes the pictures of them that the manual shows."""

import base64
import json
import os
import pathlib
import re

import accessibility
from longwire_test import SOURCE

LARGEST_PICTURE = 300_000  # bytes


def page_data(path):
    """The data that is in a page."""
    text = path.read_text(encoding='utf-8')
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text,
                                re.DOTALL)[1])


def pictures_wanted():
    """Whether `./dev pictures` runs, which draws the manual's pictures again."""
    return 'LONGWIRE_PICTURES' in os.environ


def take_picture(browser, name, width=1280, height=800, of=None):
    """Takes the picture docs/NAME.png: of an element, or of the top of the page. ./dev pictures keeps it."""
    if of is not None:
        picture = base64.b64decode(of.screenshot_as_base64)
    else:
        accessibility.set_width(browser, width, height)
        browser.execute_script('scrollTo(0, 0)')
        picture = base64.b64decode(browser.execute_cdp_cmd('Page.captureScreenshot', {})['data'])
        browser.execute_cdp_cmd('Emulation.clearDeviceMetricsOverride', {})
    assert 5000 < len(picture) < LARGEST_PICTURE, f'{name}: {len(picture)} bytes'
    if pictures_wanted():
        pathlib.Path(os.environ['LONGWIRE_PICTURES'], f'{name}.png').write_bytes(picture)
    assert (SOURCE / f'docs/{name}.png').exists(), name


def pixels(browser, plot, colour):
    """How many pixels of a plot have about a colour of the theme."""
    return browser.execute_script('''const [id, name] = arguments;
        const canvas = document.querySelector(`#${id} canvas`);
        const probe = document.createElement('canvas').getContext('2d');
        probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(name);
        probe.fillRect(0, 0, 1, 1);
        const wanted = probe.getImageData(0, 0, 1, 1).data;
        const copy = new OffscreenCanvas(canvas.width, canvas.height)
            .getContext('2d', {willReadFrequently: true});
        copy.drawImage(canvas, 0, 0);
        const all = copy.getImageData(0, 0, canvas.width, canvas.height).data;
        let found = 0;
        for (let at = 0; at < all.length; at += 4)
          if ([0, 1, 2].every((i) => Math.abs(all[at + i] - wanted[i]) < 12) && all[at + 3] > 200)
            ++found;
        return found;''', plot, colour)
