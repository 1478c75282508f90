// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/upper/kept_payloads.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace lw::dissect {

void KeptPayloads::keep(std::uint64_t number, Bytes bytes) {
  bytes = bytes.first(std::min(bytes.size(), kBlock));
  if (bytes.size() > kBlock - used_ || blocks_.empty()) add_block();
  std::byte* const to = blocks_.back().data() + used_;
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  used_ += bytes.size();
  kept_.push_back({number, {to, bytes.size()}});
}

void KeptPayloads::add_block() {
  used_ = 0;
  if (kept_.empty() && !blocks_.empty()) return;  // nothing is in the newest one any more
  if (!kept_.empty()) kept_.back().ends_block = true;
  if (spare_.empty()) {
    blocks_.emplace_back(kBlock);
    return;
  }
  blocks_.push_back(std::move(spare_.back()));
  spare_.pop_back();
}

KeptPayloads::Bytes KeptPayloads::of(std::uint64_t number) {
  while (!kept_.empty() && kept_.front().number < number) forget_oldest();
  const bool has = !kept_.empty() && kept_.front().number == number;
  return has ? kept_.front().bytes : Bytes();
}

void KeptPayloads::forget_oldest() {
  if (kept_.front().ends_block) {
    spare_.push_back(std::move(blocks_.front()));
    blocks_.pop_front();
  }
  kept_.pop_front();
}

}  // namespace lw::dissect
