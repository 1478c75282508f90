// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

#include "report/json_line.h"

namespace lw::report {

/// A page without its data: a whole HTML document with its styles and scripts, split at the place
/// for the data. lib/report/html/embed.py builds it into the programs.
struct HtmlPage {
  std::string_view before, after;
};

/// Returns the page with its data. No text in `data` can end the element that contains it. Bytes
/// that aren't UTF-8 become U+FFFD.
std::string html_text(const HtmlPage& page, const Json& data);

}  // namespace lw::report
