// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <tuple>

#include "analysis/extraction/ranges.h"
#include "wire/opcode.h"

namespace lw::analysis {

enum class DataKind : std::uint8_t {
  memory,  // of a host and R_Key, as WRITEs and atomics left it
  reads,   // data of the READs of one direction, one after the other
  sends,   // payload of the SENDs of one direction, one after the other
};
std::string_view name_of(DataKind kind) noexcept;  // "memory"

/// Bytes that packets carried, by position: the virtual address in memory, the offset in a stream.
struct DataImage {
  DataKind kind{};
  std::uint32_t point = 0;
  std::array<std::byte, 16> host{};  // memory: its host; IPv4 as in a GID
  std::uint32_t r_key = 0;           // memory
  /// The session and direction of a stream's requests; of memory, the first that wrote.
  std::uint32_t session = 0;
  std::uint8_t direction = 0;
  std::set<std::uint32_t> sessions = {};  // sessions that wrote to memory; at most kMostSessions
  Ranges written = {};                    // bytes that were captured
  Ranges expected = {};                   // bytes that packets announced, or that are missing
  std::uint64_t end = 0;                  // of a stream
  std::uint64_t messages = 0, packets = 0;
  std::uint64_t repeated = 0;  // packets with only bytes that were placed before

  static constexpr std::size_t kMostSessions = 16;
  static constexpr std::uint64_t kLongestStream = std::uint64_t{1} << 43;
};

/// A message of an image. `missing` counts bytes. Unknown members are empty.
struct DataMessage {
  std::uint32_t image = 0;
  std::uint32_t session = 0;
  std::uint8_t direction = 0;
  wire::Operation operation = wire::Operation::send;
  std::uint64_t position = 0, bytes = 0, missing = 0;
  std::uint64_t va = 0;
  std::uint32_t r_key = 0, immediate = 0;
  bool has_address = false, has_immediate = false;
  bool partial = false;  // bytes of it, its begin or its end are missing
  std::uint32_t first_psn = 0;
  std::uint64_t first_frame = 0, last_frame = 0;
};

/// Why bytes of a capture have no place in an image.
enum class Unplaced : std::uint8_t {
  bad_icrc,     // the receiver drops the packet
  malformed,    // lengths that contradict each other
  no_address,   // the address, in the first packet of its message, was not captured
  no_request,   // nothing shows where in its READ a response belongs
  no_response,  // a READ without a captured response
  late,         // a SEND with a position that was passed
  no_room,      // more files, ranges or bytes of a stream than the bounds
};
constexpr std::size_t kUnplacedReasons = 7;
std::string_view name_of(Unplaced reason) noexcept;  // "no_address"
std::string_view help_of(Unplaced reason) noexcept;  // in words

/// Packets of one direction without a place, for one reason.
struct UnplacedPackets {
  std::uint64_t packets = 0, bytes = 0;
  std::uint64_t first_frame = 0, last_frame = 0;
};

/// Receives the data.
class DataSink {
 public:
  DataSink() = default;
  DataSink(const DataSink&) = delete;
  DataSink& operator=(const DataSink&) = delete;
  virtual ~DataSink() = default;
  /// Stores `bytes` at `position` of an image, an index into Extractor::images(). They don't pass
  /// 2^64-1. Returns false if there is no room.
  virtual bool place(std::uint32_t image, std::uint64_t position,
                     std::span<const std::byte> bytes) = 0;
  /// A message is complete, or no longer followed. Messages of a stream come in its order, except
  /// for a few late ones.
  virtual void completed(const DataMessage& message) = 0;
};

/// The images of a capture, and the bytes that are placed in them.
class DataImages {
 public:
  /// Limit for all images together; beyond it, bytes that would begin another range have no place.
  static constexpr std::size_t kMostRanges = 1'000'000;

  explicit DataImages(DataSink& sink) : sink_(sink) {}

  /// Returns the image of a host's memory, which this direction begins if it is new.
  std::uint32_t memory_of(std::uint32_t point, const std::array<std::byte, 16>& host,
                          std::uint32_t r_key, std::uint32_t session, std::uint8_t direction);
  /// Begins a new stream.
  std::uint32_t begin_stream(DataKind kind, std::uint32_t point, std::uint32_t session,
                             std::uint8_t direction);
  /// Adds at least one byte, none past 2^64-1. Returns false if there is no room.
  bool place(std::uint32_t image, std::uint64_t position, std::span<const std::byte> bytes,
             std::uint64_t frame);
  /// Adds bytes that a packet announces: at least one, none past 2^64-1. Returns false if there are
  /// too many ranges.
  bool expect(std::uint32_t image, const Range& range, std::uint64_t frame);
  void completed(const DataMessage& message);

  [[nodiscard]] DataImage& operator[](std::uint32_t image) { return images_[image]; }
  [[nodiscard]] const std::deque<DataImage>& all() const noexcept { return images_; }

 private:
  using MemoryKey = std::tuple<std::uint32_t, std::array<std::byte, 16>, std::uint32_t>;

  DataSink& sink_;
  std::deque<DataImage> images_;
  std::map<MemoryKey, std::uint32_t> memory_;
  std::size_t ranges_ = 0, expected_ranges_ = 0;
};

}  // namespace lw::analysis
