// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/address_range.h"
#include "core/error.h"
#include "core/quantity.h"
#include "gen/perf/session/session_params.h"

namespace lw::gen::endpoint {

/// Layout of a session's slots in a region: QP after QP, each with its slots, without gaps. Exactly
/// this part of the region is registered. Requires parameters that check() accepts.
class SlotLayout {
 public:
  SlotLayout(const SessionParams& params, std::size_t qps) noexcept;

  /// Returns the offset of a slot's message; for UD, after its GRH.
  [[nodiscard]] std::uint64_t at(std::size_t qp, std::uint64_t number) const noexcept {
    return (qp * slots_ + number % slots_) * stride_ + grh_;
  }
  [[nodiscard]] std::uint64_t stride() const noexcept { return stride_; }
  [[nodiscard]] std::uint64_t grh() const noexcept { return grh_; }
  [[nodiscard]] std::uint64_t slots() const noexcept { return slots_; }
  /// Returns the size of all slots in bytes; nothing if it exceeds 64 bits.
  [[nodiscard]] std::optional<std::uint64_t> size() const noexcept;

 private:
  std::uint64_t slots_, stride_, grh_, qps_;
};

/// The memory that an endpoint offers to its peer.
struct RegionSpec {
  std::uint64_t size = 0;  // bytes
  std::string file;        // empty: anonymous memory
  bool huge_pages = false;
};

/// Parses "64MiB", "1GiB,hugepages" or "64MiB,file=PATH".
Parsed<RegionSpec> parse_region(std::string_view text);

/// Mapped memory, unmapped by the destructor. It is not registered, so peers have no access yet.
class Region {
 public:
  /// Maps the memory. Anonymous memory is zero. A file is created, or extended to the size, and
  /// then contains what the peer writes. Errors (environment): the file can't be created; too few
  /// huge pages, with the command that reserves them; no memory.
  static Result<Region> map(const RegionSpec& spec);
  Region() = default;
  Region(Region&& other) noexcept;
  Region& operator=(Region&& other) noexcept;
  ~Region();

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint64_t va() const noexcept {
    return reinterpret_cast<std::uintptr_t>(data_);
  }
  /// Returns the bytes at an offset; empty if they are not all within size().
  [[nodiscard]] std::span<std::byte> bytes(std::uint64_t offset,
                                           std::uint64_t size) const noexcept {
    return AddressRange(0, size_).part({data_, size_}, offset, size);
  }
  /// Overwrites the first `size` bytes with zeros.
  void clear(std::uint64_t size) noexcept { std::ranges::fill(bytes(0, size), std::byte{0}); }
  /// Writes the contents of a file region to the disk. Errors (environment): those of the disk.
  [[nodiscard]] Result<void> flush() const;

 private:
  std::byte* data_ = nullptr;
  std::uint64_t size_ = 0, mapped_ = 0;
  std::string file_;
};

}  // namespace lw::gen::endpoint
