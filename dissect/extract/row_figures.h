// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/extraction/data_image.h"
#include "core/figure.h"
#include "dissect/points/tap_groups.h"

namespace lw::dissect {

/// Where data lies in memory: host, R_Key and address; all null for a stream.
struct PlaceColumns {
  std::optional<std::string> host = {}, r_key = {}, va = {};

  static const FigureTable& figures();
};

/// A file of extracted data.
struct ExtractedFile {
  std::string file = {};
  analysis::DataKind kind{};
  std::string point = {};
  PointBy decided_by = PointBy::one_tap;
  std::uint32_t session = 0;
  std::uint8_t direction = 0;
  std::vector<std::uint32_t> sessions = {};  // all that wrote it
  PlaceColumns place = {};
  std::uint64_t length = 0;                     // bytes
  std::uint64_t written_bytes = 0, ranges = 0;  // that packets carried
  std::uint64_t missing_bytes = 0, gaps = 0;    // announced and not captured
  std::uint64_t messages = 0, packets = 0, repeated_packets = 0;

  static const FigureTable& figures();
};

/// Bytes that lie together in a file.
struct ExtractedRange {
  std::string file = {};
  std::uint64_t offset = 0;  // in the file, in bytes
  PlaceColumns place = {};
  std::uint64_t bytes = 0, first_frame = 0, last_frame = 0, packets = 0;

  static const FigureTable& figures();
};

/// Bytes that packets announced, and that were not captured.
struct ExtractedGap {
  std::optional<std::string> file = {};
  analysis::DataKind kind{};
  std::uint32_t session = 0;
  std::uint8_t direction = 0;
  std::optional<std::uint64_t> offset = {};  // in the file, in bytes
  PlaceColumns place = {};
  std::uint64_t bytes = 0;

  static const FigureTable& figures();
};

/// Packets whose data has no place.
struct UnplacedRow {
  std::uint32_t session = 0;
  std::uint8_t direction = 0;
  std::string_view reason = {};
  std::uint64_t packets = 0;
  std::optional<std::uint64_t> bytes = {}, first_frame = {}, last_frame = {}, first_psn = {};

  static const FigureTable& figures();
};

/// A message whose data was extracted.
struct ExtractedMessage {
  const analysis::DataMessage& message;
  analysis::DataKind kind{};
  std::optional<std::uint64_t> offset = {};  // in the stream, in bytes
  PlaceColumns place = {};
  std::optional<std::string> immediate = {};

  static const FigureTable& figures();
};

inline constexpr JsonOutput kFileOutput{.name = "extracted_file",
                                        .title = "roce-dissect extract --json",
                                        .figures = &ExtractedFile::figures};
inline constexpr JsonOutput kRangeOutput{.name = "extracted_range",
                                         .title = "map.jsonl of roce-dissect extract",
                                         .figures = &ExtractedRange::figures};
inline constexpr JsonOutput kGapOutput{.name = "extracted_gap",
                                       .title = "roce-dissect extract --json",
                                       .figures = &ExtractedGap::figures};
inline constexpr JsonOutput kUnplacedOutput{
    .name = "unplaced", .title = "roce-dissect extract --json", .figures = &UnplacedRow::figures};
inline constexpr JsonOutput kExtractedMessageOutput{
    .name = "extracted_message",
    .title = "messages.jsonl of roce-dissect extract",
    .figures = &ExtractedMessage::figures};

}  // namespace lw::dissect
