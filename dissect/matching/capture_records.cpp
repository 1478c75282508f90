// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/matching/capture_records.h"

#include <algorithm>

#include "wire/opcode.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace lw::dissect {
namespace {

bool has_role(const CaptureRecord& record, wire::Role role) noexcept {
  const wire::OpcodeInfo* info = wire::find_opcode(record.opcode);
  return info != nullptr && info->role == role;
}

}  // namespace

bool is_request(const CaptureRecord& record) noexcept {
  return has_role(record, wire::Role::request);
}

bool is_answer(const CaptureRecord& record) noexcept {
  return has_role(record, wire::Role::response);
}

bool is_rc_request(const CaptureRecord& record) noexcept {
  constexpr unsigned kTransport = 5;  // bits below it
  return record.opcode >> kTransport == 0 && !is_answer(record);
}

void CaptureRecords::push_back(const CaptureRecord& record) {
  const std::size_t index = size_++ % kBlock;
  if (index == 0) {
    blocks_.push_back(std::make_unique_for_overwrite<Block>());
    blocks_.back()->keys = std::make_unique_for_overwrite<Keys>();
  }
  Block& block = *blocks_.back();
  block.frames[index] = {.stamp_ns = record.stamp_ns,
                         .number = record.number,
                         .flow = record.flow,
                         .psn = record.psn & 0xffffff,
                         .opcode = record.opcode,
                         .form = static_cast<std::uint16_t>(record.form & 0x3fff),
                         .bad_icrc = record.bad_icrc,
                         .ce = record.ce,
                         .length = record.length};
  block.keys->identities[index] = record.identity;
  block.keys->rests[index] = record.rest;
}

void CaptureRecords::free_keys() {
  for (auto& block : blocks_) block->keys.reset();
#ifdef __GLIBC__
  malloc_trim(0);  // gives back pages between others that are in use
#endif
}

StampSpan span_of(Records records) noexcept {
  if (records.empty()) return {};
  StampSpan span{records.stamp_ns(0), records.stamp_ns(0)};
  for (std::size_t order = 1; order < records.size(); ++order) {
    const std::int64_t stamp = records.stamp_ns(order);
    span = {std::min(span.first, stamp), std::max(span.last, stamp)};
  }
  return span;
}

}  // namespace lw::dissect
