// SPDX-License-Identifier: BSD-3-Clause
#include "impair/control/recent_text.h"

namespace lw::impair {
namespace {

constexpr auto kFresh = std::chrono::milliseconds(20);

}  // namespace

SharedText RecentText::get(const std::function<std::string()>& make) {
  const auto now = std::chrono::steady_clock::now();
  if (!text_ || now - made_ > kFresh) {
    text_ = net::shared(make());
    made_ = now;
  }
  return text_;
}

}  // namespace lw::impair
