// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/quantity.h"
#include "gen/perf/session/session_params.h"

namespace lw::gen::rdma {

/// What a session needs of a region, and where its slots are: QP after QP, each with its slots
/// without gaps. So much is registered, and nothing else.
class SlotLayout {
 public:
  SlotLayout(const SessionParams& params, std::size_t qps) noexcept;

  /// Offset of a slot's message; UD: behind its GRH.
  [[nodiscard]] std::uint64_t at(std::size_t qp, std::uint64_t number) const noexcept {
    return (qp * slots_ + number % slots_) * stride_ + grh_;
  }
  [[nodiscard]] std::uint64_t stride() const noexcept { return stride_; }
  [[nodiscard]] std::uint64_t grh() const noexcept { return grh_; }
  [[nodiscard]] std::uint64_t slots() const noexcept { return slots_; }
  /// Bytes of all slots; nothing if 64 bits don't hold the number.
  [[nodiscard]] std::optional<std::uint64_t> size() const noexcept;

 private:
  std::uint64_t slots_, stride_, grh_, qps_;
};

/// Memory that an endpoint may offer to its peer.
struct RegionSpec {
  std::uint64_t size = 0;  // bytes
  std::string file;        // empty: anonymous memory
  bool huge_pages = false;
};

/// Parses "64MiB", "1GiB,hugepages" or "64MiB,file=PATH".
Parsed<RegionSpec> parse_region(std::string_view text);

/// Mapped memory, unmapped with the object. It is not registered: no peer can reach it.
class Region {
 public:
  /// Anonymous memory is zero. A file is made or grown to the size, and what the peer writes is in
  /// it. Errors (environment): the file can't be made; too few huge pages, with the command that
  /// reserves them; no memory.
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
  /// Bytes at an offset; the caller stays within size().
  [[nodiscard]] std::span<std::byte> bytes(std::uint64_t offset,
                                           std::uint64_t size) const noexcept {
    return {data_ + offset, size};
  }
  /// Makes what was written to a file region reach the file. Errors (environment): the disk's.
  [[nodiscard]] Result<void> flush() const;

 private:
  std::byte* data_ = nullptr;
  std::uint64_t size_ = 0, mapped_ = 0;
  std::string file_;
};

}  // namespace lw::gen::rdma
