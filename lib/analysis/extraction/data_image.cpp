// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/extraction/data_image.h"

namespace lw::analysis {

std::string_view name_of(DataKind kind) noexcept {
  constexpr std::string_view kNames[] = {"memory", "reads", "sends"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view name_of(Unplaced reason) noexcept {
  constexpr std::string_view kNames[kUnplacedReasons] = {
      "bad_icrc", "malformed", "no_address", "no_request", "no_response", "late", "no_room"};
  return kNames[static_cast<std::size_t>(reason)];
}

std::string_view help_of(Unplaced reason) noexcept {
  constexpr std::string_view kTexts[kUnplacedReasons] = {
      "bad ICRC: the receiver drops them",
      "their lengths contradict each other",
      "the address, in the first packet of their message, was not captured",
      "which part of which READ they answer is not known",
      "READs without a captured response",
      "late, behind what is already in the stream",
      "no room: a bound was reached",
  };
  return kTexts[static_cast<std::size_t>(reason)];
}

std::uint32_t DataImages::memory_of(std::uint32_t point, const std::array<std::byte, 16>& host,
                                    std::uint32_t r_key, std::uint32_t session,
                                    std::uint8_t direction) {
  const auto next = static_cast<std::uint32_t>(images_.size());
  const auto [known, is_new] = memory_.try_emplace(MemoryKey{point, host, r_key}, next);
  if (is_new)
    images_.push_back({.kind = DataKind::memory,
                       .point = point,
                       .host = host,
                       .r_key = r_key,
                       .session = session,
                       .direction = direction});
  auto& sessions = images_[known->second].sessions;
  if (sessions.size() < DataImage::kMostSessions) sessions.insert(session);
  return known->second;
}

std::uint32_t DataImages::begin_stream(DataKind kind, std::uint32_t point, std::uint32_t session,
                                       std::uint8_t direction) {
  images_.push_back({.kind = kind, .point = point, .session = session, .direction = direction});
  return static_cast<std::uint32_t>(images_.size() - 1);
}

bool DataImages::place(std::uint32_t image, std::uint64_t position,
                       std::span<const std::byte> bytes, std::uint64_t frame) {
  Ranges& written = images_[image].written;
  const Range range = Range::of(position, bytes.size());
  if (ranges_ >= kMostRanges && !written.touches(range)) return false;
  if (!sink_.place(image, position, bytes)) return false;
  ranges_ -= written.size();
  written.add(range, frame);
  ranges_ += written.size();
  return true;
}

bool DataImages::expect(std::uint32_t image, const Range& range, std::uint64_t frame) {
  Ranges& expected = images_[image].expected;
  if (expected_ranges_ >= kMostRanges && !expected.touches(range)) return false;
  expected_ranges_ -= expected.size();
  expected.add(range, frame);
  expected_ranges_ += expected.size();
  return true;
}

void DataImages::completed(const DataMessage& message) {
  ++images_[message.image].messages;
  sink_.completed(message);
}

}  // namespace lw::analysis
