// SPDX-License-Identifier: BSD-3-Clause
#include "profile/diagnostics.h"

#include <fmt/format.h>

namespace lw::profile {

Result<void> Diagnostics::verdict() const {
  if (complaints_.empty()) return {};
  std::string text;
  for (const auto& [at, message] : complaints_) {
    if (!text.empty()) text += '\n';
    text += fmt::format("{}:{}:{}: {}", name_, at.line, at.column, message);
  }
  return fail(std::move(text));
}

}  // namespace lw::profile
