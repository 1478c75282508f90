// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace lw::report {

/// A text as the content of an SVG element.
std::string svg_text(const std::string& text);

}  // namespace lw::report
