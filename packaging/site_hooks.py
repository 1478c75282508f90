# SPDX-License-Identifier: BSD-3-Clause
"""What mkdocs does with the manual's Markdown before it becomes the web site, and with the pages after."""

import re

# A fence's words after its language tell the tests of the guides how to run it.
FENCE = re.compile(r'^( *```\w+) [^\n`]+$', re.MULTILINE)
# The site has the manual only: a link to another file of the project keeps its text.
ELSEWHERE = re.compile(r'\[([^\]\n]+)\]\((?:\.\./)+(?!reference/)[^)\s]+\)')


# Parts of the theme's pages that a keyboard or a screen reader misses: code that scrolls takes the focus, and
# what has no text has a name.
NAMED = ((re.compile(r'<pre>'), '<pre tabindex="0">'),
         (re.compile(r'(id="__search")'), r'\1 aria-label="Search is open"'),
         (re.compile(r'(id="__drawer")'), r'\1 aria-label="Navigation is open"'),
         (re.compile(r'(data-md-component="search" role="dialog")'), r'\1 aria-label="Search"'))


# A prompt at the start of a line of code: `$ ` anywhere, `# ` only where the block is of a terminal.
BLOCK = re.compile(r'(<pre><code(?: class="language-(\w+)")?>)(.*?)(</code></pre>)', re.S)
PROMPTS = {True: re.compile(r'^([$#]) ', re.M), False: re.compile(r'^(\$) ', re.M)}


def without_prompts(block):
    """A block of code whose prompts are drawn by the style sheet: who selects or copies it, by hand or
    by the button, gets the commands without them."""
    begin, language, code, end = block.groups()
    return begin + PROMPTS[language == 'console'].sub(r'<span class="prompt" data-prompt="\1 "></span>', code) + end


def on_page_content(html, **_):
    return BLOCK.sub(without_prompts, html)


def on_post_page(output, **_):
    for part, named in NAMED:
        output = part.sub(named, output)
    return output


on_post_template = on_post_page


def on_page_markdown(markdown, page, **_):
    above = page.file.src_path.count('/')
    markdown = FENCE.sub(r'\1', markdown)
    return ELSEWHERE.sub(lambda link: link[0] if inside(link[0], above) else link[1], markdown)


def inside(link, above):
    """Whether a link stays within docs/, from a page that is so many folders below it."""
    return link.count('../') <= above
