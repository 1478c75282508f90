// SPDX-License-Identifier: BSD-3-Clause
#include "report/svg_text.h"

namespace lw::report {

std::string svg_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace lw::report
