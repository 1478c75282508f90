// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/session/payload_pattern.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace lw::gen {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio

/// Returns the size of the number at the start of a message.
std::size_t head_of(std::size_t size) noexcept { return std::min(size, kWord); }

/// SplitMix64's output function (G. Steele et al., OOPSLA 2014).
std::uint64_t mixed(std::uint64_t x) noexcept {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

/// The number in the first bytes of a message of `size` bytes, as it is in memory.
std::array<std::byte, kWord> number_bytes(std::size_t size, std::uint64_t number) noexcept {
  std::array<std::byte, kWord> bytes{};
  for (std::size_t i = head_of(size); i-- > 0; number >>= 8)
    bytes[i] = static_cast<std::byte>(number & 0xff);
  return bytes;
}

/// Writes words from `word` on: 0.06 us for 4 KiB, as the compiler makes vectors of them.
void write_words(wire::MutableBytes out, std::uint64_t word) noexcept {
  std::byte* to = out.data();
  for (std::size_t left = out.size() / kWord; left > 0; --left, to += kWord, word += kStep)
    std::memcpy(to, &word, kWord);
  std::memcpy(to, &word, out.size() % kWord);
}

/// Compares with words from `word` on, to the end: 0.07 us for 4 KiB. A call of memcmp() for each
/// word took 2 us.
bool are_words(wire::Bytes bytes, std::uint64_t word) noexcept {
  const std::byte* from = bytes.data();
  std::uint64_t difference = 0;
  for (std::size_t left = bytes.size() / kWord; left > 0; --left, from += kWord, word += kStep) {
    std::uint64_t found;
    std::memcpy(&found, from, kWord);
    difference |= found ^ word;
  }
  return difference == 0 && std::memcmp(from, &word, bytes.size() % kWord) == 0;
}

}  // namespace

/// Word 0 is the place of the number; word i is i steps further.
std::uint64_t PayloadPattern::start_of(std::uint64_t number) const noexcept {
  return mixed(mixed(key_) + number * kStep);
}

void PayloadPattern::write_part(wire::MutableBytes part, std::size_t offset, std::size_t size,
                                std::uint64_t number) const noexcept {
  const std::uint64_t start = start_of(number);
  while (!part.empty() && (offset < kWord || offset % kWord != 0)) {
    const std::uint64_t word = start + offset / kWord * kStep;
    std::array<std::byte, kWord> bytes = number_bytes(size, number);
    if (offset >= kWord) std::memcpy(bytes.data(), &word, kWord);
    const std::size_t in_word = offset % kWord;
    const std::size_t count = std::min(kWord - in_word, part.size());
    std::memcpy(part.data(), bytes.data() + in_word, count);
    part = part.subspan(count);
    offset += count;
  }
  write_words(part, start + offset / kWord * kStep);
}

std::uint64_t PayloadPattern::number_of(wire::Bytes message) noexcept {
  std::uint64_t found = 0;
  for (const std::byte b : message.first(head_of(message.size())))
    found = found << 8 | static_cast<std::uint8_t>(b);
  return found;
}

bool PayloadPattern::holds_part(wire::Bytes part, std::size_t offset, std::size_t size,
                                std::uint64_t number) const noexcept {
  const std::size_t before = offset < kWord ? kWord - offset : (kWord - offset % kWord) % kWord;
  const std::size_t head = std::min(before, part.size());
  std::array<std::byte, kWord> expected{};
  write_part(wire::MutableBytes(expected).first(head), offset, size, number);
  if (std::memcmp(part.data(), expected.data(), head) != 0) return false;
  if (head == part.size()) return true;
  return are_words(part.subspan(head), start_of(number) + (offset + head) / kWord * kStep);
}

/// Doesn't write zeros, because a short message with number 0 consists of zeros.
void PayloadPattern::clear(wire::MutableBytes slot) noexcept {
  if (!slot.empty()) std::memset(slot.data(), 0xff, slot.size());
}

}  // namespace lw::gen
