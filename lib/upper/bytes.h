// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace lw::upper {

using Bytes = std::span<const std::byte>;

/// The number at an offset, lowest byte first; nothing: the bytes end before.
template <std::unsigned_integral T>
std::optional<T> little(Bytes bytes, std::size_t offset) noexcept {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value = 0;
  for (std::size_t i = sizeof(T); i-- > 0;)
    value = static_cast<T>(std::uint64_t{value} << 8 | std::to_integer<T>(bytes[offset + i]));
  return value;
}

/// The number at an offset, highest byte first; nothing: the bytes end before.
template <std::unsigned_integral T>
std::optional<T> big(Bytes bytes, std::size_t offset) noexcept {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value = static_cast<T>(std::uint64_t{value} << 8 | std::to_integer<T>(bytes[offset + i]));
  return value;
}

/// Reads values of XDR (RFC 4506) one after the other. After the end of the bytes all are 0, and
/// ok() is false.
class XdrReader {
 public:
  explicit XdrReader(Bytes bytes) : bytes_(bytes) {}

  [[nodiscard]] bool ok() const noexcept { return ok_; }
  [[nodiscard]] std::size_t position() const noexcept { return at_; }
  std::uint32_t u32() noexcept { return read<std::uint32_t>(); }
  std::uint64_t u64() noexcept { return read<std::uint64_t>(); }
  void skip(std::uint64_t bytes) noexcept {
    if (!ok_ || bytes > bytes_.size() - at_) {
      ok_ = false;
      return;
    }
    at_ += static_cast<std::size_t>(bytes);
  }
  /// Skips opaque data of variable length, with their pad; returns their length.
  std::uint32_t opaque() noexcept {
    const std::uint32_t length = u32();
    skip((std::uint64_t{length} + 3) / 4 * 4);
    return length;
  }
  [[nodiscard]] Bytes rest() const noexcept { return bytes_.subspan(at_); }

 private:
  template <class T>
  T read() noexcept {
    const std::optional<T> value = ok_ ? big<T>(bytes_, at_) : std::nullopt;
    ok_ = value.has_value();
    if (ok_) at_ += sizeof(T);
    return value.value_or(0);
  }

  Bytes bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace lw::upper
