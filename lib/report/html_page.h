// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

#include "report/json_line.h"

namespace lw::report {

/// A page without its data, as lib/report/html/embed.py puts it into a program: a whole HTML
/// document with styles and scripts in it, cut where the data goes.
struct HtmlPage {
  std::string_view before, after;
};

/// The page with its data. The text of `data` can't end the element that it is in, whatever names
/// it holds. Bytes that aren't UTF-8 become U+FFFD.
std::string html_text(const HtmlPage& page, const Json& data);

}  // namespace lw::report
