# SPDX-License-Identifier: BSD-3-Clause
"""Reads the pages that the programs write."""

import json
import re


def page_data(path):
    """The data that is in a page."""
    text = path.read_text(encoding='utf-8')
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text,
                                re.DOTALL)[1])


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
