# SPDX-License-Identifier: BSD-3-Clause
"""Reads the pages that the programs write."""

import json
import re


def page_data(path):
    """The data that is in a page."""
    text = path.read_text(encoding='utf-8')
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text,
                                re.DOTALL)[1])
