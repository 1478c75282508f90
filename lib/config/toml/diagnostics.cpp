// SPDX-License-Identifier: BSD-3-Clause
#include "config/toml/diagnostics.h"

#include <fmt/format.h>

namespace lw::config {

Result<void> Diagnostics::verdict() const {
  if (complaints_.empty()) return {};
  std::string text;
  for (const auto& [at, message] : complaints_) {
    if (!text.empty()) text += '\n';
    // What came by command stands in no file.
    text += at.line == 0 ? fmt::format("{}: {}", name_, message)
                         : fmt::format("{}:{}:{}: {}", name_, at.line, at.column, message);
  }
  return fail(std::move(text));
}

}  // namespace lw::config
