// SPDX-License-Identifier: BSD-3-Clause
#include "report/html_page.h"

namespace lw::report {

std::string html_text(const HtmlPage& page, const Json& data) {
  const std::string json = json_line(data);
  std::string text;
  text.reserve(page.before.size() + json.size() + page.after.size());
  text = page.before;
  // Escape "<", with which "</script>" and "<!--" begin. In JSON it occurs only in strings.
  for (const char c : json)
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  return text += page.after;
}

}  // namespace lw::report
